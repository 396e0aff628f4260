"""How many cards for many users at once: groups of cards that each hold a part of them."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from agent.answer import Answer
from agent.answering.plan import Call
from agent.answering.renting.renting import cards_to_rent
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.parts import say_parts
from agent.answering.telling.run_words import memory_arguments, memory_range, short_model
from agent.toolbox import ToolResult
from agent.toolbox.limits import LimitReport

_SIZES = (1, 2, 4, 8)
"""Cards of a group, up to a full machine."""


class _Group(NamedTuple):
    cards: int
    held: int
    groups: int
    limit: LimitReport

    @property
    def total(self) -> int:
        """Cards of all groups."""
        return self.cards * self.groups


def needs_groups(draft: Draft) -> bool:
    """True for a service whose requests at once are many."""
    slots = draft.request.slots
    return slots.task != "train" and (slots.concurrency or 1) > 1 and slots.gpu is not None


def compose_groups(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]:
    """The group size with the fewest cards in all, and how many groups."""
    slots = draft.request.slots
    asked = slots.concurrency or 1
    arguments = memory_arguments(slots, task="infer", concurrency=None, batch=None)
    arguments.pop("with_changes")
    results = yield tuple(
        Call("find_limit", {**arguments, "gpu_count": size, "tp": size, "goal": "most_concurrent"})
        for size in _SIZES
    )
    draft.use(*results)
    found = [
        _Group(size, report.value, -(-asked // report.value), report)
        for size, result in zip(_SIZES, results, strict=True)
        if isinstance(report := result.report, LimitReport) and report.value
    ]
    if not found:
        draft.say("fleet.none", gpu=slots.gpu or "", importance=HEAD)
        return draft.finish("does_not_fit")
    best = min(found, key=lambda group: (group.total, group.cards))
    for group in found:
        for name, value in (("requests held", group.held), ("groups", group.groups),
                            ("cards", group.total), ("cards of a group", group.cards)):  # fmt: skip
            draft.figure(f"{name}, groups of {group.cards}", value, "1",
                         formula="requests / requests held, rounded up")  # fmt: skip
    draft.figure("requests asked", asked, "1", sources=("user:concurrency",))
    memory = best.limit.memory
    draft.say(
        "fleet.best", total=best.total, gpu=memory.gpu or slots.gpu, groups=best.groups,
        cards=best.cards, held=best.held, asked=asked, model=short_model(memory), importance=HEAD,
    )  # fmt: skip
    rows = [(f"{g.cards}", f"{g.held}", f"{g.groups}", f"{g.total}") for g in found]
    header = [draft.phrase(f"fleet.head_{name}") for name in ("cards", "held", "groups", "total")]
    draft.table(header, rows)
    draft.say("fleet.memory", need=gib(memory.process_bytes), usable=gib(memory.usable_bytes or 0))
    draft.say("fleet.shorter")
    say_parts(draft, memory)
    say_assumptions(draft, memory)
    yield from cards_to_rent(draft, memory.gpu or "", count=best.cards)
    return draft.finish("depends", memory=memory_range(memory))
