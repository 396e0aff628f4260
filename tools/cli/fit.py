"""`python -m tools fit`: does it fit this card, and what to change."""

from __future__ import annotations

import argparse
import json

from tools.cli.estimate import as_dict, as_text
from tools.cli.workload_flags import add_workload_arguments, read_workload
from tools.errors import BadQuantityError
from tools.gpus import find_gpu
from tools.units import bytes_from_gib, format_gib


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's flags."""
    add_workload_arguments(parser)
    parser.add_argument("--usable-gib", type=float, help="memory a process can get, in GiB")
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Runs the command; exit 1 when it does not fit."""
    from tools.memory import estimate, fit, what_to_change

    usable = _usable(args)
    workload = read_workload(args)
    need = estimate(workload)
    result = fit(need, usable)
    changes = what_to_change(workload, usable) if result.verdict != "fits" else ()
    if args.json:
        answer = {
            "verdict": result.verdict,
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
        print(f"{result.verdict}: {result.reason}")
        print(as_text(need))
        for change in changes:
            verdict = "fits" if change.fits else "does not fit"
            print(f"  {change.name}: {format_gib(change.after_bytes)}, {verdict}; {change.cost}")
    return 1 if result.verdict == "does_not_fit" else 0


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
