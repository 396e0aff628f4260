"""Where a client wants a text to end: after so many tokens, or before a word of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

BYTES_PER_TOKEN = 4
"""There is no tokenizer here: four bytes of UTF-8 count as one token."""


class Cut:
    """Passes text through, piece by piece, until it has to end.

    Args:
        stops: Texts before the first of which it ends; the stop itself is not passed on.
        most_tokens: Tokens (count) after which it ends; None for any number.

    >>> cut = Cut(["END"], None)
    >>> cut.feed("one E") + cut.feed("ND two") + cut.end(), cut.finish
    ('one ', 'stop')
    """

    def __init__(self, stops: Sequence[str], most_tokens: int | None) -> None:
        self._stops = [stop for stop in stops if stop]
        self._left = None if most_tokens is None else most_tokens * BYTES_PER_TOKEN
        self._held = ""
        self._is_over = False
        self.finish: Literal["stop", "length"] = "stop"

    def feed(self, piece: str) -> str:
        """What may be passed on of this piece and of what was held back before."""
        if self._is_over:
            return ""
        text = self._held + piece
        found = [at for at in (text.find(stop) for stop in self._stops) if at >= 0]
        if found:
            passed = self._bounded(text[: min(found)])
            self._is_over, self._held = True, ""
            return passed
        # A stop may begin at the end of this piece and go on in the next.
        keep = max((len(stop) - 1 for stop in self._stops), default=0)
        at = max(0, len(text) - keep)
        self._held = text[at:]
        return self._bounded(text[:at])

    def end(self) -> str:
        """What was held back."""
        rest, self._held = self._held, ""
        return "" if self._is_over else self._bounded(rest)

    def _bounded(self, text: str) -> str:
        if self._left is None:
            return text
        written = text.encode()
        if len(written) <= self._left:
            self._left -= len(written)
            return text
        self._is_over, self.finish = True, "length"
        return written[: self._left].decode(errors="ignore")
