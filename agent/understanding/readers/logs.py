"""Numbers in pasted logs: memory errors, kills by the system, start-up logs (data/logs.yaml)."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from agent.understanding.data import load
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document
from tools.units import GIB, KIB, parse_bytes

_PLACEHOLDERS = {
    "<size>": r"(?P<size>\d{1,9}(?:\.\d{1,6})?\s?(?:[kmgt]i?b))",
    "<int>": r"(?P<int>\d[\d,]{0,12})",
    "<num>": r"(?P<num>\d{1,9}(?:\.\d{1,6})?)",
    "<gib>": r"(?P<gib>\d{1,6}(?:\.\d{1,6})?)",
    "~": r"[^\n]{0,40}?",
}


@cache
def _pattern(template: str) -> re.Pattern[str]:
    pieces = re.split(r"(<size>|<int>|<num>|<gib>|~)", template)
    body = "".join(
        _PLACEHOLDERS.get(piece) or re.escape(piece).replace(r"\ ", r"\s{1,3}") for piece in pieces
    )
    return re.compile(body.replace(r"gpus\?", "gpus?"))


def has_marks(kind: str, text: str) -> bool:
    """Whether the text holds a telling piece of this kind of log."""
    return any(mark in text for mark in load("logs")[kind]["marks"])


def fields_of(kind: str, document: Document, board: Board) -> dict[str, Any]:
    """Numbers of one kind of log; sizes in bytes. What was read is taken from the document.

    A field that several templates or lines give is the first; sizes of other processes are all
    kept, with their process ids, as lists.
    """
    fields: dict[str, Any] = {}
    text, program = document.text, _program_of(kind, document.text)
    read: list[tuple[int, int]] = []
    for name, templates in load("logs")[kind]["fields"].items():
        for template in templates:
            if name == "other_process_bytes":
                read += _other_processes(_pattern(template), text, fields)
                continue
            found = _pattern(template).search(text)
            value = _read(found) if found is not None else None
            if value is not None and kind == "host_kill" and found is not None:
                value = _kernel_size(found, value)
            if value is not None and found is not None and program == _BINARY:
                value = _binary_size(found, value)
            if found is not None and value is not None:
                fields[name] = value
                read.append(found.span())
                break
    for start, end in read:
        document.take(start, end)
        board.add("quiet", True, start, end)
    return fields | {"program": program} if fields and program else fields


def _program_of(kind: str, text: str) -> str | None:
    """Whose message it is, where it is not the usual one's."""
    programs = load("logs")[kind].get("programs") or {}
    return next((name for name, marks in programs.items() if any(m in text for m in marks)), None)


def _other_processes(
    pattern: re.Pattern[str], text: str, fields: dict[str, Any]
) -> list[tuple[int, int]]:
    read = []
    for count, found in enumerate(pattern.finditer(text)):
        size = _size(found["size"])
        if count >= 16 or size is None:
            break
        fields.setdefault("other_process_bytes", []).append(size)
        fields.setdefault("other_process_ids", []).append(int(found["int"].replace(",", "")))
        read.append(found.span())
    return read


def _read(found: re.Match[str]) -> int | float | None:
    groups = found.groupdict()
    if groups.get("size"):
        return _size(groups["size"])
    if groups.get("gib"):
        return round(float(groups["gib"]) * GIB)
    if groups.get("int"):
        return int(groups["int"].replace(",", ""))
    return float(groups["num"]) if groups.get("num") else None


def _kernel_size(found: re.Match[str], value: float) -> int | float:
    """The kernel writes kB and means KiB."""
    written = found.groupdict().get("size") or ""
    return round(value * KIB / 1000) if written.endswith("kb") else value


_BINARY = "paddle"
"""Writes MB and GB and means MiB and GiB."""
_STEPS_OF_1024 = {"k": 1, "m": 2, "g": 3, "t": 4}


def _binary_size(found: re.Match[str], value: float) -> int | float:
    """A size written in MB or GB that was reckoned in steps of 1024."""
    written = (found.groupdict().get("size") or "").rstrip()
    steps = _STEPS_OF_1024.get(written[-2:-1], 0) if written.endswith("b") else 0
    return round(value * (KIB / 1000) ** steps)


def _size(written: str) -> int | None:
    return parse_bytes(written)


def messages_in(text: str) -> list[tuple[str, int, int]]:
    """Known error messages: id, start, end."""
    found = []
    for name, phrases in load("logs")["error_message"]["messages"].items():
        for phrase in phrases:
            hit = _pattern(phrase).search(text)
            if hit is not None:
                found.append((name, hit.start(), hit.end()))
                break
    return found
