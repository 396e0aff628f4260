"""fit_check: does it fit, with what figures, and what would make it fit."""

from __future__ import annotations

from agent.answering.concepts import compare
from agent.answering.failures.symptoms import is_explained, pasted, say_symptoms
from agent.answering.fitting.serving import serving
from agent.answering.fitting.training import training
from agent.answering.fitting.unsaid import no_model
from agent.answering.hosts.host import compose_host, is_host_question
from agent.answering.plan import Context, Plan
from agent.answering.sizing.largest import asks_largest, compose_largest
from agent.answering.telling.draft import Draft
from agent.answering.telling.found import settled
from agent.request import Request


def compose(request: Request, context: Context) -> Plan:
    """The answer to a question about fit."""
    draft = Draft(request)
    slots = request.slots
    if not slots.has_model:
        if slots.need_gb is not None and (slots.gpus or slots.gpu):
            return (yield from compare.compose(request, context))
        return (yield from no_model(draft))
    if pasted(request, "host_kill") is not None and slots.host_ram_gb is not None:
        from agent.answering.failures import oom

        return (yield from oom.compose(request, context))
    if is_host_question(request):
        return (yield from compose_host(draft))
    if slots.task != "train" and asks_largest(request):
        return (yield from compose_largest(draft))
    is_training = slots.task == "train"
    steps = training(draft, simulation=context.simulation) if is_training else serving(draft)
    found = yield from steps
    symptoms = say_symptoms(draft)
    verdict = found.verdict
    if symptoms and verdict != "not_applicable" and not is_explained(request, found, symptoms):
        verdict = "depends"
    return draft.finish(verdict, memory=found.memory, slots=settled(found))
