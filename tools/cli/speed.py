"""`python -m tools speed`: training and serving speed, from flags or a file of cases."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.arguments import amount, count, name, one_model
from tools.errors import UserInputError
from tools.json_lines import read_rows

if TYPE_CHECKING:
    from tools.provenance import Assumption, Figure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("--cases", type=Path, help="rows of measurements, one JSON object a line")
    parser.add_argument("--out", type=Path, help="where the answers go, one JSON object a line")
    parser.add_argument("--score", type=Path, nargs="+", help="rows with their truths: error table")
    parser.add_argument("--runs", action="store_true", help="published whole runs against ours")
    parser.add_argument("name", nargs="?", type=name, metavar="MODEL", help="the same as --model")
    parser.add_argument("--model", type=name, help="a model by any spelling, or a size such as 7B")
    parser.add_argument("--gpu", type=name, help="a card by any spelling")
    parser.add_argument("--gpus", type=count, default=1, help="number of cards")
    parser.add_argument("--train", action="store_true", help="training speed instead of serving")
    parser.add_argument("--method", choices=["full", "lora", "qlora"], default="lora")
    parser.add_argument("--seq", type=count, help="tokens of a training sequence")
    parser.add_argument("--batch", type=amount, help="sequences per GPU, or streams when serving")
    parser.add_argument("--engine", type=name, help="vllm, sglang, llama.cpp, transformers, ...")
    parser.add_argument("--format", type=name, help="bf16, fp8, awq, gptq-int4, Q4_K_M, ...")
    parser.add_argument("--prompt", type=count, help="tokens of a prompt")
    parser.add_argument("--output", type=count, help="tokens generated")
    parser.add_argument("--json", action="store_true", help="figures as JSON")


def run(args: argparse.Namespace) -> int:
    """Answers a file of cases, prints an error table, or answers one question from flags."""
    if args.out is not None and args.cases is None:
        raise UserInputError("--out is where the answers of --cases go; give --cases IN.jsonl too.")
    args.model = one_model(args.name, args.model)
    if args.cases:
        return _answer_file(args.cases, args.out)
    if args.score:
        return _score(args.score, args.json)
    if args.runs:
        return _runs(args.json)
    if not args.model or not args.gpu:
        raise UserInputError("Give a model and --gpu, or --cases with --out, or --score.")
    return _train(args) if args.train else _serve(args)


def _answer_file(source: Path, target: Path | None) -> int:
    from tools.speed.answers import answer_case

    lines = [json.dumps(answer_case(row), ensure_ascii=False) for row in read_rows(source)]
    text = "\n".join(lines) + "\n"
    if target is None:
        print(text, end="")
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return 0


def _score(sources: list[Path], as_json: bool) -> int:
    from dataclasses import asdict

    from tools.speed.answers import score_rows

    rows = [row for source in sources for row in read_rows(source)]
    scores = score_rows(rows)
    if as_json:
        print(json.dumps([asdict(score) for score in scores]))
        return 0
    head = f"{'group':<20}{'rows':>6}{'answered':>10}{'median':>9}{'baseline':>10}{'close':>8}"
    print(head + f"{'covered':>9}")
    for s in scores:
        print(
            f"{s.name:<20}{s.rows:>6}{s.answered / s.rows:>10.0%}{s.median_error:>9.1%}"
            f"{s.baseline_error:>10.1%}{s.within:>8.0%}{s.covered:>9.0%}"
        )
    _left_out()
    return 0


def _left_out() -> None:
    """Errors on rows whose source, card or model family was left out of the learning."""
    from tools.speed import left_out_scores

    print(f"{'left out of the learning':<34}{'rows':>6}{'median':>9}{'close':>8}{'covered':>9}")
    for row in left_out_scores():
        name = f"{row.name}, by {row.way}"
        print(
            f"{name:<34}{row.rows:>6}{row.median_error:>9.1%}{row.within:>8.0%}{row.covered:>9.0%}"
        )


def _runs(as_json: bool) -> int:
    from tools.speed.published import compare_runs

    worst = 1.0
    rows = compare_runs()
    for row in rows:
        worst = max(worst, row.factor, 1 / row.factor)
        if not as_json:
            print(
                f"{row.name:<44}{row.hours:>9.2f} h{row.published_hours:>9.2f} h"
                f"{row.cost:>12} {row.currency}{row.published_cost:>12}{row.factor:>7.2f}x"
            )
    if as_json:
        from dataclasses import asdict

        print(json.dumps([asdict(row) for row in rows], default=str))
    return 0 if worst <= 1.5 else 1


def _size(text: str) -> tuple[str | None, float | None]:
    """(name, billions): `7B` is a size, everything else a name."""
    import re

    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*[bB]", text.strip())
    return (None, float(found[1])) if found else (text, None)


def _train(args: argparse.Namespace) -> int:
    from tools.speed import TrainingJob, training_speed

    model, size = _size(args.model)
    speed = training_speed(
        TrainingJob(
            gpu=args.gpu,
            model=model,
            params_b=size,
            method=args.method,
            num_gpus=args.gpus,
            seq_len=args.seq,
            micro_batch=args.batch,
        )
    )
    return _print(speed.figures(), speed.assumptions, args.json)


def _serve(args: argparse.Namespace) -> int:
    from tools.speed import ServingJob, serving_speed

    model, size = _size(args.model)
    speed = serving_speed(
        ServingJob(
            gpu=args.gpu,
            model=model,
            params_b=size,
            engine=args.engine,
            weight_format=args.format,
            num_gpus=args.gpus,
            concurrency=max(1, int(args.batch or 1)),
            prompt_len=args.prompt,
            output_len=args.output,
        )
    )
    return _print(speed.figures(), speed.assumptions, args.json)


def _print(figures: tuple[Figure, ...], assumptions: tuple[Assumption, ...], as_json: bool) -> int:
    if as_json:
        rows: list[dict[str, Any]] = [
            {"name": f.name, "value": float(f.value), "unit": f.unit, "formula": f.formula}
            for f in figures
        ]
        assumed = [{"name": a.name, "value": a.value, "why": a.why} for a in assumptions]
        print(json.dumps({"figures": rows, "assumptions": assumed}, ensure_ascii=False))
        return 0
    from tools.units import format_significant

    for figure in figures:
        print(f"{figure.name:<28}{format_significant(float(figure.value)):>12} {figure.unit}")
    for a in assumptions:
        print(f"assumed {a.name} = {a.value} {a.unit}: {a.why}")
    return 0
