"""Command lines read strictly: one sentence on what was given, and the flag that was meant."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterator
from typing import NoReturn

from tools.errors import UserInputError

LARGEST = 1e18
"""No count or amount that a person means is above it; the HTTP face refuses the same."""
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_LONGEST = 80
"""Characters of what was given that a sentence repeats."""


class CommandParser(argparse.ArgumentParser):
    """A parser whose complaint is one sentence with the closest flag; exit status 2."""

    def error(self, message: str) -> NoReturn:
        """Prints the complaint and ends the command.

        Raises:
            SystemExit: Always, with status 2.
        """
        head, mark, rest = message.partition(":")
        if mark and head == "unrecognized arguments":
            message = self._unrecognized(rest.split())
        end = "" if message.endswith("?") else "."
        said = f"{self.prog}: {message.rstrip('.')}{end} Flags: {self.prog} --help."
        print(said, file=sys.stderr)
        raise SystemExit(2)

    def _unrecognized(self, words: list[str]) -> str:
        from difflib import get_close_matches

        known = sorted(set(_flags(self)))
        said = " ".join(shown(word) for word in words[:5])
        meant = (
            match
            for word in words
            if _FLAG.match(word)
            for match in get_close_matches(word.partition("=")[0], known, n=1, cutoff=0.6)
        )
        closest = ", ".join(dict.fromkeys(meant))
        return f"unknown: {said}" + (f"; did you mean {closest}?" if closest else "")


def _flags(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from (option for option in action.option_strings if option.startswith("--"))
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from _flags(one)


def shown(text: str) -> str:
    """What was given, cut to a length that a sentence can hold.

    >>> shown("a" * 81)[-3:], shown("A10")
    ('aa…', 'A10')
    """
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def name(text: str) -> str:
    """A name that was written.

    Raises:
        ArgumentTypeError: If it is empty.
    """
    if not text.strip():
        raise argparse.ArgumentTypeError("the value is empty; write a name or leave the flag out")
    return text


def count(text: str) -> int:
    """A whole number from 1 on.

    Raises:
        ArgumentTypeError: If it is none, or above `LARGEST`.
    """
    try:
        value = int(text) if len(text) <= _LONGEST else None
    except ValueError:
        value = None
    if value is None or not 1 <= value <= LARGEST:
        raise argparse.ArgumentTypeError(f"given {shown(text)!r}; allowed: 1, 2, 3, ... up to 1e18")
    return value


def amount(text: str) -> float:
    """A number above 0.

    Raises:
        ArgumentTypeError: If it is none, or above `LARGEST`.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= LARGEST:
        raise argparse.ArgumentTypeError(f"given {shown(text)!r}; allowed: above 0 up to 1e18")
    return value


def one_model(positional: str | None, flag: str | None) -> str | None:
    """The model that a command line names, in either of the two places.

    Raises:
        UserInputError: If both name one, and not the same.
    """
    if positional and flag and positional != flag:
        raise UserInputError(
            f"Two models are given, {shown(positional)!r} and {shown(flag)!r}; name one."
        )
    return positional or flag
