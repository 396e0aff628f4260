"""A training run of which both the memory and the hours are asked for."""

from __future__ import annotations

from agent.answering.fitting import fit
from agent.answering.plan import Context, Plan
from agent.answering.speed import item_work, items, times
from agent.answering.speed.step_work import samples_of_steps
from agent.answering.telling.draft import TYPICAL_CHARACTERS, Draft
from agent.answering.telling.joining import in_front
from agent.answering.telling.phrases import sentences
from agent.request import Request

_BETWEEN = "\n\n"
_LEADS = 3
"""Characters by which the sentence about the work is known."""
_ROOM = 0.5
"""Share of an answer's usual length that is left for the hours."""


def applies(request: Request, context: Context) -> bool:
    """True where a fit is asked for together with the hours of work that was told."""
    slots = request.slots
    if request.intent != "fit_check" or slots.task != "train" or request.goal is not None:
        return False
    has_job = slots.has_model and slots.has_card and not (slots.gpus or slots.models)
    is_asked = request.says("speed.asks_hours") and slots.hours is None and slots.step_s is None
    return has_job and is_asked and not request.pasted and _has_work(request)


def _has_work(request: Request) -> bool:
    """Whether the work is told: a known data set, samples, tokens, or steps of a batch."""
    slots = request.slots
    is_set = item_work.data_set_of(request) is not None
    return is_set or bool(slots.samples or slots.tokens or samples_of_steps(slots))


def compose(request: Request, context: Context) -> Plan:
    """The answer on memory, with the hours and their cost behind its first sentence."""
    answer = yield from fit.compose(request, context)
    timed = request.model_copy(update={"intent": "time_estimate", "corrections": ()})
    if items.applies(timed, context):
        told = yield from items.compose(timed, context)
        kept = told.text.split(_BETWEEN)[:3]
    elif answer.verdict == "does_not_fit":
        return answer  # hours of a run that is not held are none
    else:
        told = yield from times.training_time(Draft(timed))
        first, *rest = told.text.split(_BETWEEN)
        work = sentences("times")["work"][request.language].split("{")[0]
        kept = [first, *(part for part in rest[:-1] if part.startswith(work[:_LEADS])), *rest[-1:]]
    told = told.model_copy(update={"text": _BETWEEN.join(kept)})
    most = int(TYPICAL_CHARACTERS[request.language] * (1 + _ROOM))
    return in_front(told, answer, behind_first=True, most=most)
