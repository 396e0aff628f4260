"""How much more a training objective takes than plain fine-tuning: both runs, and the reason."""

from __future__ import annotations

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.found import failed
from agent.answering.telling.numbers import gib
from agent.answering.telling.phrases import sentences
from agent.answering.telling.run_words import (
    memory_arguments,
    memory_range,
    method_name,
    short_model,
)
from agent.request import Request
from agent.toolbox.memory import MemoryReport

_LITTLE = 0.02
"""Share of the plain need up to which a difference is none."""
_PLAIN = ("sft", "pretrain", "cpt", "full", "lora", "qlora")


def applies(request: Request, context: Context) -> bool:
    """True where an objective is set against plain fine-tuning of a model of known size."""
    slots = request.slots
    objective = (slots.method or "").split("+")[0]
    sized = slots.has_model
    has_objective = bool(objective) and objective not in _PLAIN
    return sized and has_objective and request.says("sizing.beyond_plain")


def compose(request: Request, context: Context) -> Plan:
    """Both needs and the difference."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    objective, _, scale = (request.slots.method or "").partition("+")
    scale = scale or "lora"
    methods = (f"{objective}+{scale}", scale)
    results = yield tuple(
        Call("estimate_memory", memory_arguments(request.slots, task="train", method=method))
        for method in methods
    )
    draft.use(*results)
    first, plain = (result.report for result in results)
    if not isinstance(first, MemoryReport) or not isinstance(plain, MemoryReport):
        failed(draft, results[0])
        return draft.finish("not_applicable")
    more = first.process_bytes - plain.process_bytes
    draft.figure("more_than_plain", more, "B", formula="need with the objective - need of SFT")
    key = "more" if more > _LITTLE * plain.process_bytes else "same"
    values = {
        "name": method_name(draft, methods[0]), "model": short_model(first),
        "need": gib(first.process_bytes), "plain": gib(plain.process_bytes),
        "more": gib(max(more, 0)), "scale": method_name(draft, scale),
    }  # fmt: skip
    draft.say(f"objective_extra.{key}", importance=HEAD, **values)
    if first.objective in sentences("objective"):
        draft.say(f"objective.{first.objective}")
    say_assumptions(draft, first)
    return draft.finish("not_applicable", memory=memory_range(first))
