"""One way to split a training run against another: DDP, ZeRO-1, 2, 3 or FSDP, by what fits."""

from __future__ import annotations

from typing import Any

from agent.answering.fitting import fit
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.joining import in_front
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import memory_arguments, outcome
from agent.request import Request
from agent.toolbox.memory import MemoryReport
from agent.understanding.readers.stages import DDP, FULL

_INTENTS = ("fit_check", "multi_gpu_plan", "concept", "gpu_compare", "recommend_instance")


def applies(request: Request, context: Context) -> bool:
    """True for a sized run on several cards with two ways to split it."""
    slots = request.slots
    is_sized = slots.has_model
    is_on_cards = slots.has_card and (slots.gpu_count or 1) > 1
    is_run = slots.task == "train" and is_sized and is_on_cards and not request.corrections
    return is_run and request.intent in _INTENTS and len(request.stages) > 1


def compose(request: Request, context: Context) -> Plan:
    """What every way takes on a card, the one to take, then the run split that way."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    stages = request.stages
    results = yield tuple(
        Call("estimate_memory", memory_arguments(slots, task="train", **_split(stage)))
        for stage in stages
    )
    draft.use(*results)
    reports = {
        stage: result.report for stage, result in zip(stages, results, strict=True)
        if isinstance(result.report, MemoryReport) and result.report.usable_bytes is not None
    }  # fmt: skip
    roomy = [stage for stage, report in reports.items() if report.verdict == "fits"]
    fitting = roomy or [stage for stage, report in reports.items() if report.verdict == "tight"]
    best = min(fitting) if fitting else max(stages)
    if len(reports) == len(stages):
        _say(draft, reports, best if fitting else None)
    chosen = request.model_copy(update={"slots": slots.model_copy(update=_split(best))})
    answer = yield from fit.compose(chosen, context)
    if not draft.has_text:
        return answer
    return in_front(draft.finish("depends"), answer)


def _split(stage: int) -> dict[str, Any]:
    if stage == DDP:
        return {"zero_stage": None, "strategy": "ddp"}
    return {"zero_stage": stage, "strategy": None}


def _say(draft: Draft, reports: dict[int, MemoryReport], best: int | None) -> None:
    """The choice first, then each way with what it keeps whole."""
    least = reports[min(reports)]
    if best is None:
        name = "none"
    elif best == min(reports):
        name = "least" if max(reports) == FULL else "least_same"
    else:
        name = "more_tight" if least.verdict == "tight" else "more"
        name = name if best == FULL else f"{name}_same"
    values = {"best": draft.phrase(f"zero_stages.name_{best or 0}"),
              "other": draft.phrase(f"zero_stages.name_{max(reports)}"),
              "short": draft.phrase(f"zero_stages.name_{min(reports)}")}  # fmt: skip
    draft.say(f"zero_stages.{name}", importance=HEAD, **values)
    lines = []
    for stage, report in reports.items():
        draft.figure(f"usable beside stage {stage}", report.usable_bytes or 0, "B",
                     sources=("data:gpus.csv",))  # fmt: skip
        lines.append(draft.phrase(
            f"zero_stages.line_{stage}", weights=gib(report.weights_bytes),
            need=gib(report.process_bytes), usable=gib(report.usable_bytes or 0),
            outcome=outcome(draft, report),
        ))  # fmt: skip
    draft.bullets(lines, title=draft.phrase("zero_stages.title"), importance=HEAD)
