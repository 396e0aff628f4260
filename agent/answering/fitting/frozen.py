"""A frozen backbone under a trained head: weights and one forward pass, no states of its own."""

from __future__ import annotations

from agent.answer import AssumptionOut, MemoryRange
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.found import Found, settled
from agent.answering.telling.numbers import gib
from agent.answering.telling.parts import say_parts
from agent.answering.telling.run_words import memory_arguments, short_model
from agent.request import Request, Slots
from agent.toolbox.memory import MemoryReport
from tools.memory import likely

_INTENTS = ("fit_check", "oom_diagnosis", "concept", "recommend_instance")
_DECODERS = ("decoder-lm", "moe-lm", "vlm")
_ADAPTED = ("lora", "qlora")
_BATCH = 32


def applies(request: Request, context: Context) -> bool:
    """True where nothing of a named model is trained but a head on top of it."""
    slots = request.slots
    is_adapted = any(name in (slots.method or "") for name in _ADAPTED)
    is_full = slots.method == "full" and "method" not in request.inferred
    is_frozen = request.says("fitting.frozen_backbone") and not (is_adapted or is_full)
    return is_frozen and slots.has_model and slots.task != "infer" and request.intent in _INTENTS


def compose(request: Request, context: Context) -> Plan:
    """The forward pass in 16 bit and in fp32, against the card, and what makes it smaller still."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    batch = request.slots.batch or _BATCH
    results = yield (_pass(request.slots, "fp16", batch), _pass(request.slots, "fp32", batch))
    narrow, wide = (result.report for result in results)
    if not (isinstance(narrow, MemoryReport) and isinstance(wide, MemoryReport)) or (
        narrow.kind in _DECODERS
    ):
        from agent.answering.fitting import fit

        return (yield from fit.compose(request, context))
    draft.use(*results)
    if request.slots.batch is None:
        draft.assume([AssumptionOut(name="batch", value=batch, unit="1", why="a usual batch")])
    high = max(wide.high_bytes, narrow.high_bytes)
    memory = MemoryRange(scope="per_gpu", low_bytes=narrow.low_bytes, high_bytes=high,
                         usable_bytes=wide.usable_bytes)  # fmt: skip
    _say_need(draft, narrow, wide, batch)
    draft.say("frozen.why", importance=HEAD)
    draft.say("frozen.ways")
    say_parts(draft, wide)
    say_assumptions(draft, wide)
    if wide.usable_bytes is None:
        return draft.finish("not_applicable", memory=memory, slots=settled(Found(
            "not_applicable", None, wide)))  # fmt: skip
    verdict = likely(wide.process_bytes, high_bytes=high, usable_bytes=wide.usable_bytes)
    if verdict == "does_not_fit" and narrow.process_bytes <= wide.usable_bytes:
        verdict = "tight"
    key = "head_no" if verdict == "does_not_fit" else "head_yes"
    draft.figure("usable", wide.usable_bytes, "B", sources=(f"data:gpus.csv#{wide.gpu}",))
    draft.lead(f"frozen.{key}", gpu=wide.gpu, usable=gib(wide.usable_bytes),
               need=gib(wide.process_bytes),
               outcome=draft.phrase(f"memory.outcome_{verdict}"))  # fmt: skip
    return draft.finish(verdict, memory=memory, slots=settled(Found(verdict, None, wide)))


def _pass(slots: Slots, precision: str, batch: int) -> Call:
    """The forward pass of a batch with weights of this precision."""
    return Call("estimate_memory", memory_arguments(
        slots, task="infer", method=None, precision=precision, precision_mode=None, optimizer=None,
        framework="transformers", batch=batch, concurrency=batch,
        gradient_checkpointing=None))  # fmt: skip


def _say_need(draft: Draft, narrow: MemoryReport, wide: MemoryReport, batch: int) -> None:
    """Both figures, with the weights in them."""
    for name, report in (("16_bit", narrow), ("fp32", wide)):
        draft.figure(f"weights_{name}", report.weights_bytes, "B", formula="parameters * bytes")
        draft.figure(f"need_{name}", report.process_bytes, "B", formula="weights + one pass")
    draft.say("frozen.need", importance=HEAD, model=short_model(wide), batch=batch,
              fp32=gib(wide.process_bytes), weights=gib(wide.weights_bytes),
              fp16=gib(narrow.process_bytes), half=gib(narrow.weights_bytes))  # fmt: skip
