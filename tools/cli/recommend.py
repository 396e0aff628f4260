"""`python -m tools recommend`: what to rent for a workload, and why the nearest others fail."""

from __future__ import annotations

import argparse
import json
import time
from decimal import Decimal
from typing import TYPE_CHECKING

from tools.arguments import amount, count, name, one_model
from tools.errors import BadQuantityError

if TYPE_CHECKING:
    from tools.catalog import Constraints, Miss, PlainNeed, Recommendation, Work
    from tools.memory import InferenceWorkload, TrainingWorkload

_WARM_RUNS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's flags."""
    run_ = parser.add_argument_group("what is run")
    parser.add_argument("name", nargs="?", type=name, metavar="MODEL", help="the same as --model")
    run_.add_argument("--model", type=name, help="name in any spelling, a size, a config.json")
    run_.add_argument("--params-b", type=amount, help="nominal size in billions, without a name")
    run_.add_argument("--need-gib", type=amount, help="memory that is known already, GiB")
    run_.add_argument("--task", choices=("train", "infer"), default="infer")
    run_.add_argument("--method", default="lora", help="full, lora, qlora (with --task train)")
    run_.add_argument("--seq-len", type=count)
    run_.add_argument("--batch", type=count, help="sequences per GPU and step")
    run_.add_argument("--context", type=count, help="tokens per served sequence")
    run_.add_argument("--concurrency", type=count)
    run_.add_argument("--weight-format", type=name, help="bf16, fp8, awq-int4, gguf-q4_k_m, ...")
    run_.add_argument("--engine", type=name)
    work = parser.add_argument_group("how much")
    work.add_argument("--hours", type=amount)
    work.add_argument("--tokens", type=amount, help="training tokens of one epoch")
    work.add_argument("--samples", type=amount)
    work.add_argument("--tokens-per-sample", type=amount)
    work.add_argument("--epochs", type=amount, default=1)
    limits = parser.add_argument_group("what is acceptable")
    limits.add_argument("--provider", action="append", default=[])
    limits.add_argument("--region", type=name, help="region, city or group (cn = mainland China)")
    limits.add_argument("--gpus", type=count, help="exactly this many")
    limits.add_argument("--budget", type=Decimal)
    limits.add_argument("--currency", default="CNY")
    limits.add_argument("--per", choices=("hour", "month", "run"), default="hour")
    limits.add_argument("--hours-per-month", type=amount)
    limits.add_argument("--deadline-hours", type=amount)
    limits.add_argument("--spot", action="store_true")
    limits.add_argument("--nvlink", action="store_true")
    limits.add_argument("--rdma", action="store_true")
    limits.add_argument("--limit", type=count, default=5)
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("--time", action="store_true", help="print how long it takes, warm")


def run(args: argparse.Namespace) -> int:
    """Runs the command; exit 1 when nothing fits."""
    from tools.catalog import recommend

    workload, constraints, work = _workload(args), _constraints(args), _work(args)
    found = recommend(workload, constraints, work=work)
    if args.json:
        from tools.catalog.views import recommendation_view

        print(json.dumps(recommendation_view(found), ensure_ascii=False))
    else:
        _print(found)
    if args.time:
        times = []
        for _ in range(_WARM_RUNS):
            start, busy = time.perf_counter(), time.process_time()
            recommend(workload, constraints, work=work)
            passed = time.perf_counter() - start
            times.append((passed * 1000, (time.process_time() - busy) * 1000))
        wall, cpu = sorted(times)[len(times) // 2]
        print(f"recommend_ms: {wall:.1f} (CPU {cpu:.1f}; median of {_WARM_RUNS}, warm)")
    return 0 if found.offers else 1


def _workload(args: argparse.Namespace) -> TrainingWorkload | InferenceWorkload | PlainNeed:
    if args.need_gib is not None:
        from tools.catalog import PlainNeed
        from tools.units import bytes_from_gib

        size = bytes_from_gib(args.need_gib)
        return PlainNeed(size, size, splits=args.gpus is not None and args.gpus > 1)
    from tools.cli.workload_flags import read_model
    from tools.memory import InferenceWorkload, TrainingWorkload, split_method
    from tools.models import reference_model

    named = one_model(args.name, args.model)
    if named is not None:
        model = read_model(named)
    elif args.params_b is not None:
        model = reference_model(args.params_b)
    else:
        raise BadQuantityError(
            field="--model", given=None, allowed="a model's name, or --params-b, or --need-gib"
        )
    if args.task == "train":
        goal = split_method(args.method)
        return TrainingWorkload(
            model,
            method=goal.method,
            objective=goal.objective,
            seq_len=args.seq_len,
            micro_batch_size=args.batch,
        )
    return InferenceWorkload(
        model,
        context_len=args.context,
        concurrency=args.concurrency,
        weight_format=args.weight_format,
        engine=args.engine,
    )


def _constraints(args: argparse.Namespace) -> Constraints:
    from tools.catalog import Constraints, currency_code

    return Constraints(
        providers=tuple(args.provider),
        region=args.region,
        gpu_count=args.gpus,
        budget=args.budget,
        budget_currency=currency_code(args.currency),
        budget_per=args.per,
        hours_per_month=args.hours_per_month,
        deadline_hours=args.deadline_hours,
        spot_allowed=args.spot,
        nvlink=args.nvlink,
        rdma=args.rdma,
        limit=args.limit,
    )


def _work(args: argparse.Namespace) -> Work | None:
    from tools.catalog import Work

    if not (args.hours or args.tokens or args.samples):
        return None
    return Work(
        hours=args.hours,
        tokens=args.tokens,
        samples=args.samples,
        tokens_per_sample=args.tokens_per_sample,
        epochs=args.epochs,
    )


def _print(found: Recommendation) -> None:
    from tools.units import format_gib, format_significant

    if not found.offers:
        print("No offer with a dated price fits with margin.")
    for number, one in enumerate(found.offers, start=1):
        price, offer = one.price, one.offer
        print(
            f"{number}. {offer.provider} {offer.instance_type}: {offer.gpu_count} x "
            f"{offer.gpu_label}, {price.amount} {price.currency}/{price.per} {price.billing} "
            f"({price.region or 'region not stated'}, {price.priced_on})"
        )
        need = f"{format_gib(one.need.likely_bytes)} to {format_gib(one.need.high_bytes)}"
        spread = f", {one.need.parallelism}" if one.need.parallelism else ""
        print(f"   needs {need} of {format_gib(one.need.usable_bytes)} per GPU{spread}")
        monthly = format_significant(float(one.cost_per_month), 5)
        hourly = format_significant(float(one.cost_per_hour), 4)
        cost = f"   {hourly} {one.currency}/h, {monthly} {one.currency} a month round the clock"
        if one.cost_of_job is not None and one.hours is not None:
            hours = format_significant(one.hours.value)
            cost += f"; job {one.cost_of_job} {one.currency} in {hours} h"
        if one.affordable_hours is not None:
            cost += f"; the budget buys {format_significant(one.affordable_hours)} h"
        print(cost + (f" [{', '.join(one.notes)}]" if one.notes else ""))
    if found.near_misses:
        print("Nearest that do not do:")
    for miss in found.near_misses:
        reasons = "; ".join(_reason(m) for m in miss.misses)
        print(f"   {miss.offer.provider} {miss.offer.instance_type}: {reasons}")
    for assumption in found.assumptions:
        print(f"Assumed: {assumption.name} = {assumption.value} ({assumption.why})")


def _reason(miss: Miss) -> str:
    from tools.units import format_gib, format_significant

    def figure(value: float | Decimal) -> str:
        if miss.unit == "B":
            return format_gib(float(value))
        return f"{format_significant(float(value), 4)} {miss.unit}".removesuffix(" 1")

    text = str(miss.code).replace("_", " ")
    if miss.needed is not None and miss.has is not None:
        return f"{text} ({figure(miss.needed)} against {figure(miss.has)})"
    if miss.has is not None:
        return f"{text} ({figure(miss.has)})"
    return f"{text} ({miss.detail})" if miss.detail else text
