"""What a changed job takes less than the one before it: hours and money of both, and between."""

from __future__ import annotations

from agent.answer import Answer
from agent.answering.plan import Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.joining import in_front
from agent.answering.telling.numbers import duration
from agent.request import Request

_INTENTS = ("time_estimate", "cost_estimate")
_MARK = "money.difference"
_CURRENCIES = ("CNY", "USD", "EUR")
_SAME = 0.02
"""Share below which two estimates are one."""


def applies(request: Request, context: Context) -> bool:
    """True where a job was counted in the turn before and its change is asked about."""
    if request.intent not in _INTENTS or not context.earlier or not request.says(_MARK):
        return False
    was_counted = context.earlier[-1].intent in _INTENTS
    return was_counted and bool(request.changed) and bool(request.inherited)


def compose(request: Request, context: Context) -> Plan:
    """The answer to the changed job, with the difference to the one before in front."""
    from agent.answering import compose as answer_to

    before = context.earlier[-1].model_copy(update={"corrections": ()})
    old: Answer = yield from answer_to(before, Context(earlier=context.earlier[:-1]))
    marks = tuple(mark for mark in request.marks if mark != _MARK)
    new: Answer = yield from answer_to(request.model_copy(update={"marks": marks}), context)
    draft = Draft(request.model_copy(update={"corrections": (), "clarifying_question": None}))
    for name, units in (("hours", ("h",)), ("cost", _CURRENCIES)):
        for unit in units:
            _say(draft, name, unit, _figure(old, name, unit), _figure(new, name, unit))
    if not draft.has_text:
        return new
    if _figure(new, "hours_low", "h") is not None:
        draft.say("saved.basis")
    return in_front(draft.finish("not_applicable"), new)


def _figure(answer: Answer, name: str, unit: str) -> float | None:
    """The one value of a figure; None where it has several or none."""
    values = {float(f.value) for f in answer.figures if (f.name, f.unit) == (name, unit)}
    return values.pop() if len(values) == 1 else None


def _say(draft: Draft, name: str, unit: str, before: float | None, after: float | None) -> None:
    """Both values and what lies between them."""
    if not before or not after or abs(after - before) <= _SAME * before:
        return

    def told(label: str, value: float) -> str:
        if unit == "h":
            return duration(value, draft.language)
        return draft.about_money(label, value, unit, formula="hours * price")

    difference = abs(before - after)
    draft.figure(f"{name} before", before, unit, formula="of the turn before")
    draft.figure(f"{name} between", round(difference, 4), unit, formula="before - after")
    draft.figure(f"{name} between, share", round(100 * difference / before, 2), "%",
                 formula="difference / before")  # fmt: skip
    draft.say(f"saved.{'less' if after < before else 'more'}_{name}", importance=HEAD,
              difference=told("difference", difference), before=told("before", before),
              after=told("after", after),
              share=f"{100 * difference / before:.0f}%")  # fmt: skip
