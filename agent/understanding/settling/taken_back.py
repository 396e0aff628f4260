"""What a text takes back of itself: "not A10, A100", "fp32.. no sorry, I mean bf16"."""

from __future__ import annotations

from agent.understanding.lexicon.phrases import table
from agent.understanding.lexicon.readings import Board, Reading
from agent.understanding.lexicon.text import Document

_NAMES = (("card",), ("model_match",), ("model_family",), ("params_b",), ("instance",),
          ("quantization", "precision"))  # fmt: skip
"""Slots that say the same thing: one that is taken back has another in its place."""


def drop_taken_back(document: Document, board: Board) -> bool:
    """Forget what is taken back ("不是 A10,是 A100"); whether anything was."""
    dropped = False
    for slots in _NAMES:
        readings = [reading for slot in slots for reading in board.of(slot)]
        negated = [reading for reading in readings if _is_taken_back(document.text, reading)]
        if negated and len(negated) < len(readings):
            board.readings = [r for r in board.readings if not any(r is n for n in negated)]
            dropped = True
    return _drop_misspoken(document, board) or dropped


_SPOKEN = ("card", "model_match", "params_b", "precision", "method_scale", "batch", "seq_len",
           "gpu_mem_gb", "loose_count", "concurrency", "epochs", "quantization")  # fmt: skip


def _drop_misspoken(document: Document, board: Board) -> bool:
    """Forget what the same sentence puts right ("full precision.. no sorry I mean bf16")."""
    slips = table("conversation", "slip").find(document.text)
    dropped = False
    for slot in _SPOKEN if slips else ():
        readings = board.of(slot)
        last = readings[-1] if readings else None
        wrong = [
            r
            for r in readings
            if last is not None
            and any(
                r.end <= hit.start and hit.end <= last.start and last.start - hit.end <= _SLIP_REACH
                for hit in slips
            )
        ]
        if wrong:
            board.readings = [r for r in board.readings if not any(r is w for w in wrong)]
            dropped = True
    return dropped


_SLIP_REACH = 12
"""Characters between the word of a slip and what is meant instead."""


def _is_taken_back(text: str, reading: Reading) -> bool:
    before = text[max(0, reading.start - 12) : reading.start].rstrip(" \"'-")
    behind = text[reading.end : reading.end + _BEHIND]
    if any(hit.start <= 1 for hit in table("conversation", "taken_back_behind").find(behind)):
        return True
    words = table("conversation", "negators").find(before)
    if not words or words[-1].end < len(before):
        return False
    kept = table("conversation", "not_negators").find(before)
    return not (kept and kept[-1].end >= words[-1].end)


_BEHIND = 8
"""Characters behind a name in which it is taken back ("fp8 去掉")."""
