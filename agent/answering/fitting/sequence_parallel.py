"""Training with the sequence itself shared out (Ulysses, ring attention): what each card holds."""

from __future__ import annotations

from typing import Any

from agent.answer import Verdict
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.found import Found, settled
from agent.answering.telling.numbers import gib
from agent.answering.telling.parts import say_parts
from agent.answering.telling.run_words import memory_arguments, memory_range, run_text
from agent.request import Request
from agent.toolbox.memory import MemoryReport
from tools.models import try_find_model

_NODE = 8
"""Cards of one machine, over which a sequence is shared where no number was said."""
_INTENTS = ("fit_check", "oom_diagnosis", "multi_gpu_plan", "concept")


def applies(request: Request, context: Context) -> bool:
    """True for a training over several cards whose sequence is to be shared out."""
    slots = request.slots
    is_sized = slots.has_model and slots.task == "train" and bool(slots.seq_len)
    is_asked = request.says("fitting.sequence_parallel") and request.intent in _INTENTS
    return is_sized and is_asked and (slots.gpu_count or 1) > 1


def _ranks(request: Request) -> int:
    """Cards that share one sequence."""
    said = request.amounts.get("fitting.sequence_ranks", ())
    cards = request.slots.gpu_count or 1
    return int(said[0]) if said and said[0] <= cards else min(cards, _NODE)


def compose(request: Request, context: Context) -> Plan:
    """The run with whole sequences on every card, and with a share of one on each."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots, ranks = request.slots, _ranks(request)
    length = slots.seq_len or 1
    each = -(-length // ranks)
    stage: dict[str, Any] = {"zero_stage": slots.zero_stage or 3, "method": slots.method or "lora"}
    results = yield (
        Call("estimate_memory", memory_arguments(slots, **stage)),
        Call("estimate_memory", memory_arguments(slots, **stage, seq_len=each)),
    )
    draft.use(*results)
    whole, shared = (result.report for result in results)
    if not isinstance(whole, MemoryReport) or not isinstance(shared, MemoryReport):
        draft.add(results[0].hint or results[1].hint or "", importance=HEAD)
        return draft.finish("depends")
    verdict: Verdict = shared.verdict or "depends"
    draft.figure("sequence_ranks", ranks, "1", sources=("user:gpu_count",))
    draft.figure("tokens_of_a_card", each, "token", formula="length / cards that share it")
    usable = gib(shared.usable_bytes) if shared.usable_bytes else ""
    draft.say(f"sequence_parallel.{verdict}" if usable else "sequence_parallel.depends",
              what=run_text(draft, shared), ranks=ranks, length=length, each=each,
              need=gib(shared.process_bytes), before=gib(whole.process_bytes), usable=usable,
              importance=HEAD)  # fmt: skip
    draft.say("sequence_parallel.how", ranks=ranks, groups=(slots.gpu_count or 1) // ranks,
              importance=BODY)  # fmt: skip
    _say_heads(draft, shared, ranks)
    say_parts(draft, shared)
    say_assumptions(draft, shared)
    found = Found(verdict, memory_range(shared), shared)
    return draft.finish(verdict, memory=found.memory, slots=settled(found))


def _say_heads(draft: Draft, report: MemoryReport, ranks: int) -> None:
    """Ulysses deals whole heads of attention out: their number bounds the cards."""
    match = try_find_model(report.model)
    heads = match.spec.num_attention_heads if match is not None else None
    if not heads:
        return
    draft.figure("attention_heads", heads, "1", formula="model registry")
    key = "heads_even" if heads % ranks == 0 else "heads_odd"
    draft.say(f"sequence_parallel.{key}", heads=heads, ranks=ranks, importance=BODY)
