"""`python -m tools fit`: does it fit this card, and what to change."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from tools.arguments import amount
from tools.cli.estimate import as_dict, as_text
from tools.cli.workload_flags import add_workload_arguments, read_workload
from tools.errors import BadQuantityError
from tools.gpus import find_gpu
from tools.units import bytes_from_gib, format_gib

if TYPE_CHECKING:
    from tools.memory.result import FitResult, Verdict


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's flags."""
    add_workload_arguments(parser)
    parser.add_argument("--usable-gib", type=amount, help="memory a process can get, in GiB")
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Runs the command; exit 1 when it does not fit."""
    from tools.memory import estimate, fit, likely_verdict, what_to_change

    usable = _usable(args)
    workload = read_workload(args)
    need = estimate(workload)
    result = fit(need, usable)
    expected = likely_verdict(need, usable)
    changes = what_to_change(workload, usable) if result.verdict != "fits" else ()
    if args.json:
        answer = {
            "verdict": result.verdict,
            "likely_verdict": expected,
            "headroom_bytes": result.headroom_bytes,
            "usable_bytes": result.usable_bytes,
            "reason": result.reason,
            "estimate": as_dict(need),
            "changes": [
                {"name": c.name, "after_bytes": c.after_bytes, "fits": c.fits, "cost": c.cost}
                for c in changes
            ],
        }
        print(json.dumps(answer, ensure_ascii=False))
    else:
        print(headline(result, expected))
        print(as_text(need))
        for change in changes:
            verdict = "fits" if change.fits else "does not fit"
            print(f"  {change.name}: {format_gib(change.after_bytes)}, {verdict}; {change.cost}")
    return 1 if result.verdict == "does_not_fit" else 0


def headline(result: FitResult, expected: Verdict) -> str:
    """Both readings of one estimate in a line: what is to be expected, and the worst of it.

    Args:
        result: The strict reading, which counts everything left open at its largest.
        expected: The reading that says fits with room to spare.
    """
    if result.verdict == expected:
        return f"{expected}: {result.reason}"
    need = f"{format_gib(result.need_bytes)} of {format_gib(result.usable_bytes)}"
    if result.verdict == "tight":
        worst = f"{format_gib(result.high_bytes)}"
        return f"{expected}: {need}; tight if everything left open turns out large ({worst})"
    return f"{expected}: {need}; {result.verdict} with the share of the card that an engine takes"


def _usable(args: argparse.Namespace) -> int:
    if args.usable_gib is not None:
        return bytes_from_gib(args.usable_gib)
    if args.gpu is None:
        raise BadQuantityError(field="--gpu", given=None, allowed="a card's name, or --usable-gib")
    usable = find_gpu(args.gpu).spec.usable_bytes
    if usable is None:
        raise BadQuantityError(
            field="--gpu", given=args.gpu, allowed="a card whose memory is known"
        )
    return usable
