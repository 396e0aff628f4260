"""What a question is about, and what to look up in the guidance."""

from __future__ import annotations

import re

from agent.understanding.lexicon.phrases import tables
from agent.understanding.lexicon.text import Document, blanked

_LONGEST_QUERY = 300
_LOG_LINE = re.compile(
    r"\d{2}:\d{2}|\bmib\b|^\s*(?:file \"|at 0x|\|)|traceback|^[\s\W\d]*$", re.IGNORECASE
)
_SETTING_LINE = re.compile(r"^\s*[\"']?[a-z0-9_]{3,40}[\"']?\s*[:=]\s*\S", re.IGNORECASE)
_ERROR = re.compile(r"(?<![\w.])(?:[\w.]{0,60}(?:Error|Exception)|error|fatal): [^\n]{8,}")
_FOLDED_ERROR = re.compile(_ERROR.pattern, re.IGNORECASE)
_ERROR_CHARS = 300
"""Of messages of failures: what they say is asked about, whatever stands in front in the line."""


def topics_of(text: str) -> tuple[str, ...]:
    """Topics that the words name, in the order of the table."""
    return tuple(name for name, phrases in tables("topics").items() if phrases.has(text))


_TELLING = frozenset(
    "cpu_vs_gpu naming gpu_specs interconnect managed_platform rdma images_drivers accelerators "
    "sla vgpu billing virtualization reliability scaling".split()
)
"""Topics that make a question one about concepts; the others occur in every question."""


def has_telling_topic(topics: tuple[str, ...]) -> bool:
    """Whether a topic is one that people ask explanations about."""
    return not _TELLING.isdisjoint(topics)


def search_query(document: Document, orders: list[tuple[int, int]]) -> str:
    """The text without orders, log lines and settings, then the failures that logs name."""
    kept = document.raw
    spans = [document.span(start, end) for start, end in orders]
    for span in sorted(spans, key=lambda span: span.start, reverse=True):
        kept = kept[: span.start] + " " + kept[span.end :]
    lines = [line.strip() for line in kept[: 20 * _LONGEST_QUERY].splitlines()]
    prose = [
        line
        for line in lines
        if line and not _LOG_LINE.search(line) and not _SETTING_LINE.match(line)
    ]
    query = _printable(" ".join(prose or lines[:3]))
    if len(query) > _LONGEST_QUERY:
        query = f"{query[:200]} {query[-99:]}"
    failures = (found[0] for line in lines if line not in prose for found in [_ERROR.search(line)]
                if found is not None)  # fmt: skip
    failed = _printable(" ".join(dict.fromkeys(failures)))[:_ERROR_CHARS]
    if not prose and failed in query:
        failed = ""
    return re.sub(r"\s+", " ", f"{query} {failed}").strip()


_SPOKEN_HEAD, _SPOKEN_TAIL = 1200, 600


def told_lines(document: Document, orders: list[tuple[int, int]]) -> str:
    """The folded text with blanks in place of orders, log lines and settings.

    What a log says of a failure stays; of a long text head and tail do. Offsets are kept.
    """
    lines = blanked(document.text, orders).splitlines(keepends=True)
    kept = [_spoken_line(line) for line in lines]
    text = "".join(kept if any(line.strip() for line in kept) else lines)
    if len(text) <= _SPOKEN_HEAD + _SPOKEN_TAIL:
        return text
    return blanked(text, [(_SPOKEN_HEAD, len(text) - _SPOKEN_TAIL)])


def _spoken_line(line: str) -> str:
    if not (_LOG_LINE.search(line) or _SETTING_LINE.match(line)):
        return line
    failed = _FOLDED_ERROR.search(line)
    said = failed.span() if failed is not None else (0, 0)
    return blanked(line, [(0, said[0]), (said[1], len(line.rstrip("\n")))])


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
