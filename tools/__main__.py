"""`python -m tools ...`: the deterministic tools from a shell.

Each command lives in `tools/cli/<name>.py` and is imported only when it is called, so that a
cold start costs what that command needs and no more.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Protocol, cast

from tools.arguments import CommandParser
from tools.console import run_console
from tools.errors import AdvisorError

COMMANDS = {
    "estimate": "memory of a run, from flags or a file of cases",
    "fit": "does it fit this card, and what to change",
    "speed": "training and serving speed, from flags or a file of cases",
    "copy": "how long data takes to move, and what the traffic costs",
    "models": "the model registry",
    "gpus": "the GPU table",
    "catalog": "cloud instance types and prices",
    "recommend": "what to rent for a workload",
    "probe": "what this machine has and what fits here now",
}


class Command(Protocol):
    """What a module of `tools.cli` offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declares the command's flags."""

    def run(self, args: argparse.Namespace) -> int:
        """Runs it and gives the exit status."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; exit 0 done, 1 a negative finding, 2 bad usage."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m tools COMMAND ...\n")
        for name, text in COMMANDS.items():
            print(f"  {name:<10} {text}")
        return 0 if arguments else 2
    name = arguments[0]
    if name not in COMMANDS:
        print(f"Unknown command {name!r}. Known: {', '.join(COMMANDS)}.", file=sys.stderr)
        return 2
    if name == "catalog":
        arguments = _with_action(arguments)
    command = cast(Command, importlib.import_module(f"tools.cli.{name}"))
    parser = CommandParser(prog=f"python -m tools {name}", description=COMMANDS[name])
    command.add_arguments(parser)
    try:
        return command.run(parser.parse_args(arguments[1:]))
    except AdvisorError as error:
        print(error, file=sys.stderr)
        return 2


def _with_action(arguments: list[str]) -> list[str]:
    """`catalog p5.48xlarge` is a lookup, written without its word."""
    from tools.cli.catalog import ACTIONS

    is_name = len(arguments) > 1 and not arguments[1].startswith("-")
    if not is_name or arguments[1] in ACTIONS:
        return arguments
    return [arguments[0], "lookup", *arguments[1:]]


if __name__ == "__main__":
    run_console(main)
