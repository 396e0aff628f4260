"""`python -m evals run|compare|report|add|mutants|bench|readme ...`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from evals import commands
from tools.console import run_console
from tools.errors import AdvisorError


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    sub = parser.add_subparsers(dest="command", required=True)
    run = sub.add_parser("run", help="run suites; exit 1 when a case regressed")
    run.add_argument("suites", nargs="+", metavar="SUITE", help="a name, or `all`")
    run.add_argument(
        "--cases", type=Path, help="rows of the same schema, instead of the shipped ones"
    )
    run.add_argument("--backend", default="embedded", choices=["embedded", "openai_compatible"])
    run.add_argument(
        "--baseline", type=Path, help="baseline to compare with (default: the shipped one)"
    )
    run.add_argument("--write-baseline", action="store_true", help="keep this run as the baseline")
    run.add_argument("--filter", default="", help="only ids or tags that contain this text")
    run.add_argument("--repeat", type=int, default=1)
    run.add_argument("--concurrency", type=int, default=1)
    run.add_argument("--workers", type=int, default=1, help="processes to deal the cases out to")
    run.add_argument(
        "--cost", type=float, help="start no case after the endpoint cost so much (its currency)"
    )
    run.add_argument("--seconds", type=float, help="start no case after so many seconds")
    run.add_argument(
        "--judge",
        metavar="MODEL",
        help="a language model's opinion beside the rules; it never decides whether a case passes",
    )
    run.add_argument("--judge-url", metavar="URL", help="its endpoint (or XUANKA_JUDGE_URL)")
    run.add_argument("--json", type=Path, metavar="OUT", help="write the run here")
    run.add_argument("--junit", type=Path, metavar="OUT", help="write JUnit XML here")
    run.add_argument("--quiet", action="store_true", help="no progress bar, no list of failures")
    run.set_defaults(call=commands.run)
    compare = sub.add_parser("compare", help="what got better or worse between two runs, and why")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    compare.add_argument("--full", action="store_true", help="with the answers side by side")
    compare.set_defaults(call=commands.compare_runs)
    report = sub.add_parser("report", help="a run as a self-contained HTML page")
    report.add_argument("run", type=Path)
    report.add_argument(
        "--history",
        type=Path,
        nargs="*",
        default=[],
        help="earlier runs (default: the runs made here)",
    )
    report.add_argument("--out", type=Path, default=Path("build/evals.html"))
    report.set_defaults(call=commands.report)
    bench = sub.add_parser("bench", help="times on this machine")
    bench.add_argument("--out", type=Path, default=Path("build/bench.json"))
    bench.set_defaults(call=commands.bench)
    mutants = sub.add_parser("mutants", help="seeded faults; exit 1 when one is not caught")
    mutants.add_argument("--filter", default="", help="only faults whose id contains this text")
    mutants.add_argument("--workers", type=int, default=2)
    mutants.add_argument("--write", type=Path, metavar="PAGE", help="write docs/mutants.md")
    mutants.set_defaults(call=commands.mutants)
    add = sub.add_parser("add", help="a conversation or a report becomes a row; asks for its truth")
    add.add_argument("source", type=Path, help="exported conversation (JSON) or plain text")
    add.add_argument("--to", type=Path, help="file of cases (default: evals/suites/added.jsonl)")
    add.set_defaults(call=commands.add)
    readme = sub.add_parser("readme", help="fills the table and the example answer of README.md")
    readme.add_argument("--page", type=Path, default=Path("README.md"))
    readme.add_argument("--check", action="store_true", help="exit 1 when the table is stale")
    readme.set_defaults(call=commands.readme)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; exit 0 fine, 1 a regression or an unmet promise, 2 bad usage."""
    args = build_parser().parse_args(argv)
    try:
        return int(args.call(args))
    except AdvisorError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. The same run at the same commit goes on from here.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    run_console(main)
