"""Whether a dearer card is worth its price: speed for the money of two cards."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib, hourly, usual_currency
from agent.answering.telling.run_words import joined, memory_arguments, outcome, short_model
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.items import ItemReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.offers import InstanceOut
from agent.toolbox.registries import GpuReport
from agent.toolbox.timing import TimeReport
from tools.models import WRITING_KINDS, try_find_model
from tools.units import format_significant

_EVEN = 0.15
_PAIR = 2


class _Priced(NamedTuple):
    """A card with what one of it costs an hour; None where no price is known."""

    card: GpuReport
    price: float | None


def applies(request: Request, context: Context) -> bool:
    """True for two cards, or a card and an instance, of which one is asked to be worth more."""
    slots = request.slots
    if slots.budget is not None or not request.says("money.worth"):
        return False
    has_two = len(slots.gpus or ()) == 2
    has_types = len(slots.instances or ()) == 2
    has_pair = slots.has_card and slots.instance is not None
    is_asked = request.intent in ("gpu_compare", "cost_estimate", "recommend_instance")
    has_ratio = _ratio_said(request) is not None
    return (
        is_asked and (has_pair or ((has_two or has_types) and has_ratio)) and slots.samples is None
    )


def compose(request: Request, context: Context) -> Plan:
    """Ratio of price beside the ratios of bandwidth and compute, and whether both hold the job."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    names: list[str | None] = list(slots.gpus or ((slots.gpu,) if slots.gpu else ()))
    if len(names) < 2:
        types = slots.instances or (slots.instance,)
        looked = yield tuple(
            Call("find_instances", {"name": name, "limit": 50, **(
                {"provider": slots.provider} if slots.provider else {})})
            for name in types
        )  # fmt: skip
        draft.use(*looked)
        others = [card for result in looked if (card := _card_of(result.report)) is not None]
        names = list(dict.fromkeys((*names, *others)))
        if len(names) != _PAIR:
            from agent.answering.concepts import compare

            return (yield from compare.compose(request, context))
    currency = usual_currency(draft.language)
    results = yield (
        *(Call("find_gpu", {"name": name}) for name in names),
        *(Call("find_instances", {"gpu": name, "currency": currency, "min_gpu_count": 1,
                                  "limit": 50}) for name in names),
    )  # fmt: skip
    draft.use(*results)
    cards = [r.report for r in results[:2]]
    if not all(isinstance(card, GpuReport) for card in cards):
        draft.add(results[0].hint or results[1].hint or "", importance=HEAD)
        return draft.finish("not_applicable")
    pair = [
        _Priced(card, _price_of_one(found.report))
        for card, found in zip(cards, results[2:], strict=True)
        if isinstance(card, GpuReport)
    ]
    speeds = yield from _speeds(draft, names)
    dear, cheap = _dear_first(pair)
    _tell(draft, dear, cheap, currency, _over(speeds.get(dear.card.name),
                                              speeds.get(cheap.card.name)))  # fmt: skip
    yield from _say_fit(draft, names)
    draft.say("worth.when")
    return draft.finish("not_applicable", intent="gpu_compare")


def _ratio_said(request: Request) -> float | None:
    """How many times as dear one is said to be."""
    return next(iter(request.amounts.get("money.price_ratio", ())), None)


def _card_of(report: object) -> str | None:
    rows = report.instances if isinstance(report, InstancesReport) else ()
    return next((row.gpu for row in rows if row.gpu is not None), None)


def _price_of_one(report: object) -> float | None:
    """Lowest dated price of one whole card an hour."""
    rows: tuple[InstanceOut, ...] = report.instances if isinstance(report, InstancesReport) else ()
    prices = [
        float(row.compared.per_gpu_hour) for row in rows
        if row.compared is not None and row.compared.per_gpu_hour is not None
        and row.category == "gpu"
    ]  # fmt: skip
    return min(prices, default=None)


def _dear_first(pair: list[_Priced]) -> tuple[_Priced, _Priced]:
    """The dearer card first; by bandwidth where a price is missing."""
    first, second = pair
    if first.price is not None and second.price is not None:
        return (first, second) if first.price >= second.price else (second, first)
    speeds = [p.card.mem_bandwidth_gbs or 0 for p in pair]
    return (first, second) if speeds[0] >= speeds[1] else (second, first)


def _speeds(
    draft: Draft, names: list[str | None]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], dict[str, float]]:
    """Estimated throughput of the job on each card, where it is bound by compute."""
    slots = draft.request.slots
    kind = _kind(draft.request)
    named = {"model": slots.model, "params_b": slots.params_b, "precision": slots.precision}
    said = {name: value for name, value in named.items() if value is not None}
    if kind == "decode" or not slots.has_model:
        return {}
    task = "train" if slots.task == "train" else "infer"
    is_text = _writes_text(draft.request)
    tool = "estimate_time_and_cost" if is_text else "item_speed"
    extra = {"method": slots.method or "lora"} if is_text else {}
    if not is_text and slots.model is None:
        return {}
    results = yield tuple(
        Call(tool, {**said, **extra, "task": task, "gpu": name}) for name in names
    )
    draft.use(*results)
    found: dict[str, float] = {}
    for name, result in zip(names, results, strict=True):
        report = result.report
        rate = None
        if isinstance(report, TimeReport):
            rate = report.tokens_per_s
        elif isinstance(report, ItemReport):
            rate = report.per_s
        if rate is not None:
            found[str(name)] = rate.value
    return found


def _tell(
    draft: Draft, dear: _Priced, cheap: _Priced, currency: str, estimated: float | None
) -> None:
    bandwidth = _over(dear.card.mem_bandwidth_gbs, cheap.card.mem_bandwidth_gbs)
    compute = _over(_compute(dear.card), _compute(cheap.card))
    said = _ratio_said(draft.request)
    price = said or _over(dear.price, cheap.price)
    kind = _kind(draft.request)
    speed = bandwidth if kind == "decode" else estimated or compute
    _record(draft, dear.card, cheap.card)
    for name, value in (
        ("price", price),
        ("bandwidth", bandwidth),
        ("compute", compute),
        ("speed", speed),
    ):
        if value is not None:
            draft.figure(f"ratio of {name}", round(value, 3), "1", formula="dear / cheap")
    if price is not None and speed is not None:
        gain = speed / price
        key = "even" if abs(gain - 1) <= _EVEN else "yes" if gain > 1 else "no"
        draft.say(f"worth.head_{key}", dear=dear.card.name, cheap=cheap.card.name,
                  price=format_significant(price, 2), speed=format_significant(speed, 2),
                  what=draft.phrase(f"worth.{kind}"), importance=HEAD)  # fmt: skip
    draft.say(
        "worth.facts", dear=dear.card.name, cheap=cheap.card.name, importance=HEAD,
        dear_gbs=_number(dear.card.mem_bandwidth_gbs), dear_tf=_number(_compute(dear.card)),
        dear_gb=_number(dear.card.memory_label_gb), cheap_tf=_number(_compute(cheap.card)),
        cheap_gbs=_number(cheap.card.mem_bandwidth_gbs),
        cheap_gb=_number(cheap.card.memory_label_gb),
        bandwidth=format_significant(bandwidth or 0, 2),
        compute=format_significant(compute or 0, 2),
    )  # fmt: skip
    if said is None and dear.price is not None and cheap.price is not None:
        told = [hourly(p.price or 0, currency, draft.language) for p in (dear, cheap)]
        for item in (dear, cheap):
            draft.figure(f"{item.card.name}: price", round(item.price or 0, 4), f"{currency}/h",
                         formula="lowest price / cards")  # fmt: skip
        draft.say("worth.priced", dear=dear.card.name, cheap=cheap.card.name, dear_price=told[0],
                  cheap_price=told[1])  # fmt: skip


def _record(draft: Draft, *cards: GpuReport) -> None:
    for card in cards:
        for name, value, unit in (
            ("bandwidth", card.mem_bandwidth_gbs, "GB/s"), ("compute", _compute(card), "TFLOPS"),
            ("label", card.memory_label_gb, "GB"),
        ):  # fmt: skip
            if value is not None:
                draft.figure(f"{card.name}: {name}", value, unit, sources=(card.source,))


def _compute(card: GpuReport) -> float | None:
    return card.bf16_tflops or card.fp16_tflops or card.fp32_tflops


def _over(value: float | None, other: float | None) -> float | None:
    return value / other if value and other else None


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"


def _kind(request: Request) -> str:
    """What bounds the job: bandwidth for text that is written, compute for the rest."""
    slots = request.slots
    if slots.task == "train":
        return "training"
    return "decode" if _writes_text(request) else "images"


def _writes_text(request: Request) -> bool:
    model = request.slots.model
    match = try_find_model(model) if model is not None else None
    return match is None or match.spec.kind in WRITING_KINDS


def _say_fit(
    draft: Draft, names: list[str | None]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Whether each card holds the job, where one was named."""
    slots = draft.request.slots
    if not slots.has_model:
        return
    results = yield tuple(
        Call("estimate_memory", memory_arguments(
            slots, gpu=name, gpu_mem_gb=None, gpu_count=1, instance=None,
            task="train" if slots.task == "train" else "infer"))
        for name in names
    )  # fmt: skip
    draft.use(*results)
    reports = [r.report for r in results if isinstance(r.report, MemoryReport)]
    items = [
        draft.phrase("worth.fit_item", gpu=r.gpu, need=gib(r.process_bytes),
                     outcome=outcome(draft, r))
        for r in reports if r.verdict is not None
    ]  # fmt: skip
    if items:
        draft.say("worth.fit", what=short_model(reports[0]), items=joined(draft, items))
