"""A question that names nothing that it asks of, or a service where a model has to stand."""

from __future__ import annotations

from agent.answering.hosts import llm_on_cpu
from agent.answering.plan import Context, Plan
from agent.answering.renting import rent
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.joining import in_front
from agent.request import Request

_OF_WORDS = ("concept", "cost_estimate", "time_estimate", "probe_local")
"""Kinds of questions that words alone, without a job, are taken for."""
_SUBJECT = ("model", "params_b", "gpu", "gpus", "instance", "gpu_mem_gb", "instances")


def applies(request: Request, context: Context) -> bool:
    """True for a first question without a model, a card or a machine of a catalog."""
    if any(getattr(request.slots, slot) is not None for slot in _SUBJECT) or context.earlier:
        return False
    if request.opening == "machines_for_ai":
        return request.intent == "concept" or _is_of_a_service(request)
    return request.intent in _OF_WORDS and request.opening == "unfinished"


def _is_of_a_service(request: Request) -> bool:
    return request.intent == "fit_check" and request.says("concepts.service")


def compose(request: Request, context: Context) -> Plan:
    """What is missing and one question; of a service what runs in its place."""
    if _is_of_a_service(request):
        return (yield from _in_place_of_a_service(request, context))
    if request.opening == "machines_for_ai":
        return (yield from rent.compose(
            request.model_copy(update={"intent": "recommend_instance"}), context
        ))  # fmt: skip
    draft = Draft(request)
    question = draft.phrase("beginnings.question")
    draft = Draft(request.model_copy(update={"clarifying_question": question}))
    draft.say("beginnings.unfinished", importance=HEAD)
    return draft.finish("depends")


def _in_place_of_a_service(request: Request, context: Context) -> Plan:
    """Its model is on no disk: open models that the computer's memory holds."""
    slots = request.slots.model_copy(update={"gpu": "none", "task": "infer"})
    answer = yield from llm_on_cpu.compose(request.model_copy(update={"slots": slots}), context)
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    draft.say("beginnings.service", importance=HEAD)
    question = draft.phrase("beginnings.which_computer")
    asked = draft.phrase("common.question", question=question)
    answer = answer.model_copy(update={"text": f"{answer.text}\n\n{asked}"})
    return in_front(draft.finish("depends"), answer, clarifying_question=question,
                    request={**answer.request, "gpu": None})  # fmt: skip
