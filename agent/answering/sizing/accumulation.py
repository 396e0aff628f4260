"""A large batch against a small one with gradient accumulation: memory, result and pace."""

from __future__ import annotations

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import memory_arguments, run_text
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox.memory import MemoryReport

_INTENTS = ("concept", "fit_check", "oom_diagnosis", "gpu_compare", "time_estimate")


def applies(request: Request, context: Context) -> bool:
    """True where a batch is set against a smaller one with accumulation, or it is feared."""
    if _is_feared(request):
        return True
    is_asked = request.says("sizing.accumulates") and request.says("sizing.same_or_less")
    return (
        is_asked
        and request.intent in _INTENTS
        and not request.pasted
        and _pair(request) is not None
    )


def _is_feared(request: Request) -> bool:
    """Whether accumulation is thought to take memory, and no run is named to size."""
    is_put_right = any(correction.kind == "accumulation" for correction in request.corrections)
    return is_put_right and request.intent in _INTENTS and not request.slots.has_model


def _pair(request: Request) -> tuple[int, int, int] | None:
    """(large batch, small batch, steps that are accumulated)."""
    batches = [int(batch) for batch in request.amounts.get("sizing.batches", ())]
    steps = request.slots.grad_accum
    if not batches or max(batches) < 2:
        large = batches[0] * steps if batches and steps else 0
        return (large, batches[0], steps) if large > 1 and steps else None
    large = max(batches)
    small = min(batches) if min(batches) < large else max(1, large // steps) if steps else 0
    if small < 1 or small >= large:
        return None
    return large, small, steps or -(-large // small)


def compose(request: Request, context: Context) -> Plan:
    """What falls, what stays, and what the update is; with figures where the run is known."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    pair, slots = _pair(request), request.slots
    if pair is None or _is_feared(request):
        results = yield (guidance_call(request, k=2),)
        draft.use(*results)
        draft.say("accumulation.feared", importance=HEAD)
        draft.say("accumulation.small_card", importance=HEAD)
        return draft.finish("not_applicable", intent="concept")
    large, small, steps = pair
    for name, value in (("batch", large), ("micro_batch", small), ("accumulated", steps),
                        ("effective_batch", small * steps)):  # fmt: skip
        draft.figure(name, value, "1", sources=("user:batch",))
    has_model = slots.has_model
    calls = [guidance_call(request, k=2)]
    if has_model:
        method = slots.method or "lora"
        calls += [
            Call(
                "estimate_memory", memory_arguments(slots, task="train", method=method, batch=size)
            )
            for size in (large, small)
        ]
    results = yield tuple(calls)
    draft.use(*results)
    same = small * steps == large
    draft.say("accumulation.same" if same else "accumulation.other", large=large, small=small,
              steps=steps, product=small * steps, importance=HEAD)  # fmt: skip
    draft.say("accumulation.memory", large=large, small=small, importance=HEAD)
    reports = [r.report for r in results if isinstance(r.report, MemoryReport)]
    if len(reports) == 2:
        _say_figures(draft, reports, large, small)
    draft.say("accumulation.mind", importance=BODY)
    say_cited(draft, passages_in(results)[:1])
    return draft.finish("not_applicable", intent="concept")


def _say_figures(draft: Draft, reports: list[MemoryReport], large: int, small: int) -> None:
    more, less = reports
    saved = more.process_bytes - less.process_bytes
    draft.figure("saved", saved, "B", formula="difference of the two needs")
    draft.say("accumulation.figures", what=run_text(draft, less), large=large, small=small,
              more=gib(more.process_bytes), less=gib(less.process_bytes), saved=gib(saved),
              importance=HEAD)  # fmt: skip
    say_assumptions(draft, less)
