"""`python -m tools estimate`: memory of a run, from flags or a file of cases."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tools.errors import BadQuantityError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's flags."""
    parser.add_argument("--cases", type=Path, help="JSON lines with the fields of measured rows")
    parser.add_argument("--out", type=Path, help="where the answer lines go")
    parser.add_argument("--simulate", action="store_true", help="simulate rows that can be")
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    if args.cases is None:
        raise BadQuantityError(field="--cases", given=None, allowed="a file of JSON lines")
    from tools.memory.cases import answer_case

    lines = [line for line in args.cases.read_text(encoding="utf-8").splitlines() if line.strip()]
    answers = [json.dumps(answer_case(json.loads(line)), ensure_ascii=False) for line in lines]
    text = "\n".join(answers) + "\n"
    if args.out is None:
        print(text, end="")
    else:
        args.out.write_text(text, encoding="utf-8")
    return 0
