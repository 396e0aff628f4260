"""Two answers as one: what one composer has to say put in front of another's answer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from agent.answer import Answer

_BETWEEN = "\n\n"
_T = TypeVar("_T")


def in_front(
    told: Answer,
    answer: Answer,
    *,
    behind_first: bool = False,
    most: int | None = None,
    **changes: Any,
) -> Answer:
    """`answer` with the text of `told` in front of it, and all that `told` rests on.

    Every composer that leads another's answer with lines of its own uses this.

    Args:
        told: A finished draft of the lines; its verdict and request are left out.
        answer: The other composer's answer, whose fields stay.
        behind_first: Whether the lines go behind the first paragraph instead, where it is the
            answer and they are about it.
        most: Characters from which paragraphs of `answer` are left out at its end.
        changes: Fields of the result to set, such as a verdict.
    """
    first, *rest = answer.text.split(_BETWEEN)
    parts = [first, told.text, *rest] if behind_first else [told.text, first, *rest]
    paragraphs = [part for part in parts if part]
    if most is not None:
        paragraphs = _within(most, paragraphs)
    return answer.model_copy(update={
        "text": _BETWEEN.join(paragraphs),
        "figures": _each_once((*told.figures, *answer.figures),
                              lambda f: (f.name, f.unit, str(f.value))),
        "assumptions": _each_once((*told.assumptions, *answer.assumptions), lambda a: a.name),
        "citations": _each_once((*told.citations, *answer.citations), lambda c: c.id),
        "corrections": _each_once((*told.corrections, *answer.corrections), lambda c: c.fact),
        "offers": (*told.offers, *(o for o in answer.offers if o not in told.offers)),
        "tool_calls": (*told.tool_calls, *answer.tool_calls),
        **changes,
    })  # fmt: skip


def _within(most: int, paragraphs: list[str]) -> list[str]:
    """The first part and those behind it that stay within a length."""
    kept = paragraphs[:1]
    for paragraph in paragraphs[1:]:
        if sum(len(text) + len(_BETWEEN) for text in kept) + len(paragraph) > most:
            break
        kept.append(paragraph)
    return kept


def _each_once(items: Iterable[_T], key: Callable[[_T], Hashable]) -> tuple[_T, ...]:
    """Items without a second one of the same key; the first stays."""
    found: dict[Hashable, _T] = {}
    for item in items:
        found.setdefault(key(item), item)
    return tuple(found.values())
