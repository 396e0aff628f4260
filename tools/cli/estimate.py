"""`python -m tools estimate`: memory of a run, from flags or a file of cases."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.cli.workload_flags import add_workload_arguments, read_workload
from tools.errors import UserInputError
from tools.json_lines import read_rows
from tools.memory import MemoryEstimate
from tools.units import format_bytes, format_gib

if TYPE_CHECKING:
    from tools.memory import Workload
    from tools.memory.simulate import Simulation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's flags."""
    add_workload_arguments(parser)
    parser.add_argument("--cases", type=Path, help="JSON lines with the fields of measured rows")
    parser.add_argument("--out", type=Path, help="where the answer lines go")
    parser.add_argument(
        "--simulate", action="store_true", help="also run one real step on fake tensors, no GPU"
    )
    parser.add_argument(
        "--custom", help="module:function of your own that returns a model and a batch; runs it"
    )
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    if args.cases is not None:
        return _cases(args)
    if args.out is not None:
        raise UserInputError("--out is where the answers of --cases go; give --cases IN.jsonl too.")
    if args.custom is not None:
        return _custom(args)
    from tools.memory import estimate

    workload = read_workload(args)
    need = estimate(workload)
    found = _simulated(workload) if args.simulate else None
    if args.json:
        extra = {} if found is None else {"simulated": dataclasses.asdict(found)}
        print(json.dumps({**as_dict(need), **extra}, ensure_ascii=False))
    else:
        print(as_text(need))
        if found is not None:
            print(simulation_text(found))
    return 0


def _simulated(workload: Workload) -> Simulation:
    from tools.memory.simulate import simulate_workload

    return simulate_workload(workload, progress=_say)


def _say(text: str) -> None:
    print(f"  {text} ...", file=sys.stderr, flush=True)


def _custom(args: argparse.Namespace) -> int:
    """The user's own model: code of theirs runs, so only this command offers it."""
    from tools.memory.simulate import SimulationRequest, simulate

    request = SimulationRequest(
        model=args.custom, kind="custom", config={"target": args.custom},
        precision=args.precision or "fp32", optimizer=args.optimizer or "adamw",
        gradient_checkpointing=args.gradient_checkpointing or "none",
        task=args.task or "train",
    )  # fmt: skip
    found = simulate(request, progress=_say)
    print(json.dumps(dataclasses.asdict(found)) if args.json else simulation_text(found))
    return 0


def simulation_text(found: Simulation) -> str:
    """A simulated step for a terminal."""
    parts = ", ".join(f"{name} {format_bytes(size)}" for name, size in found.parts.items() if size)
    ran = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    return (
        f"  simulated step: {format_gib(found.peak_bytes)} allocated at the peak"
        f" ({found.peak_phase}): {parts}\n  {found.params:,} parameters; {ran}"
    )


def _cases(args: argparse.Namespace) -> int:
    answer = _answerer(simulates=args.simulate)
    answers = [json.dumps(answer(row), ensure_ascii=False) for row in read_rows(args.cases)]
    text = "\n".join(answers) + "\n"
    if args.out is None:
        print(text, end="")
    else:
        args.out.write_text(text, encoding="utf-8")
    return 0


def _answerer(*, simulates: bool) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What answers a row: the closed forms, or a simulated step where one can be run."""
    if simulates:
        from tools.memory.simulated_cases import answer_case_simulated

        return answer_case_simulated
    from tools.memory import answer_case

    return answer_case


def as_dict(need: MemoryEstimate) -> dict[str, Any]:
    """An estimate as plain values; sizes in bytes."""
    return {
        "allocated_bytes": need.allocated_bytes,
        "reserved_bytes": need.reserved_bytes,
        "process_bytes": need.process_bytes,
        "low_bytes": need.low_bytes,
        "high_bytes": need.high_bytes,
        "scope": need.scope,
        "weights_bytes": need.weights_bytes,
        "kv_cache_bytes": need.kv_cache_bytes,
        "host_ram_bytes": need.host_ram_bytes,
        "peak_moment": need.peak_moment,
        "dominant_unknown": need.dominant_unknown,
        "parts": [
            {"name": p.name, "bytes": p.bytes, "formula": p.formula, "sources": list(p.sources)}
            for p in need.parts
        ],
        "assumptions": [
            {"name": a.name, "value": a.value, "unit": a.unit, "why": a.why}
            for a in need.assumptions
        ],
        "notes": list(need.notes),
    }


def as_text(need: MemoryEstimate) -> str:
    """An estimate for a terminal."""
    lines = [
        f"{need.workload.model.name}, per card ({need.gpu_count}):",
        f"  allocated {format_gib(need.allocated_bytes)},"
        f" reserved {format_gib(need.reserved_bytes)},"
        f" process {format_gib(need.process_bytes)}"
        f" ({format_gib(need.low_bytes)} to {format_gib(need.high_bytes)})",
    ]
    lines += [f"  {p.name:<20} {format_bytes(p.bytes):>10}  {p.formula}" for p in need.parts]
    if need.host_ram_bytes:
        lines.append(f"  host memory          {format_bytes(need.host_ram_bytes):>10}")
    lines += [f"  assumed {a.name} = {a.value}: {a.why}" for a in need.assumptions]
    lines += [f"  note: {note}" for note in need.notes]
    if need.dominant_unknown:
        lines.append(f"  the assumption that moves this most: {need.dominant_unknown}")
    return "\n".join(lines)
