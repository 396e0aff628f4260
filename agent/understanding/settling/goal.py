"""Inverse questions: which number is looked for, where the reader asks for it and not for a fit."""

from __future__ import annotations

import re
from functools import cache

from agent.request import Goal
from agent.understanding.data import load
from agent.understanding.lexicon.readings import Board
from agent.understanding.settling.job import assume_method
from agent.understanding.settling.resolution import Resolution
from tools.models import SEEING_KINDS

_ASKED_SLOT: dict[Goal, str] = {
    "largest_batch": "batch",
    "longest_context": "seq_len",
    "most_concurrent": "concurrency",
    "fewest_cards": "gpu_count",
    "smallest_card": "gpu",
}
"""Slot whose value is looked for: a question that gives it asks something else."""
_TRAINED_KINDS = (*SEEING_KINDS, "encoder", "seq2seq")
"""Kinds whose batch people ask about for training."""


@cache
def _patterns() -> tuple[tuple[Goal, re.Pattern[str], re.Pattern[str] | None], ...]:
    rows = load("goals")
    return tuple(
        (
            goal,
            re.compile("|".join(rows[goal]["asked"])),
            re.compile("|".join(rows[goal]["unless"])) if rows[goal].get("unless") else None,
        )
        for goal in _ASKED_SLOT
    )


def goal_of(text: str, out: Resolution) -> Goal | None:
    """The number asked for; None where no pattern holds or the text gives that number itself.

    Args:
        text: Folded text of one turn.
        out: What was read in that turn.
    """
    for goal, asked, unless in _patterns():
        if _is_given(out, _ASKED_SLOT[goal]) or not asked.search(text):
            continue
        if goal == "fewest_cards" and out.get("instance") and not out.get("params_b"):
            continue  # how many a type has
        if unless is None or not unless.search(text):
            return goal
    return None


def _is_given(out: Resolution, slot: str) -> bool:
    """Whether the turn says the value; one that merely follows does not count."""
    if out.get(slot) is None or slot in out.inferred:
        return False
    return not (slot == "gpu_count" and out.get(slot) == 1)


def settle_goal(goal: Goal | None, board: Board, out: Resolution) -> None:
    """What follows from the number asked for: the size to fit into, training for a batch."""
    if goal is None:
        return
    if goal == "fewest_cards" and "gpu_count" in out.inferred:
        out.values.pop("gpu_count", None)  # it is what is asked
        out.readings.pop("gpu_count", None)
        out.inferred.discard("gpu_count")
    if not any(out.get(slot) for slot in ("gpu", "gpu_mem_gb", "instance")) and out.get("need_gb"):
        out.put("gpu_mem_gb", out.values.pop("need_gb"), out.readings.pop("need_gb", None))
    if goal != "largest_batch" or out.get("task") == "train":
        return
    serves = any(reading.value == "infer" for reading in board.of("task_cue"))
    kind = getattr(out.spec, "kind", None)
    if not serves and (kind in _TRAINED_KINDS or out.is_classic):
        out.put("task", "train", inferred=True)
        assume_method(out)
