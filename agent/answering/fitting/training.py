"""Memory of fine-tuning or pre-training, with the methods compared where none was said."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from agent.answer import AssumptionOut
from agent.answering.concepts.concept import methods_compared
from agent.answering.fitting.batches import say_global_batch
from agent.answering.fitting.card_facts import is_metal, say_card
from agent.answering.fitting.changes import change_name
from agent.answering.fitting.doubtful import is_doubtful, say_doubtful
from agent.answering.fitting.frozen_base import base_is_open, say_cached
from agent.answering.fitting.leaner_program import with_leaner_program
from agent.answering.fitting.positions import say_positions
from agent.answering.fitting.rollout import say_group, say_rollout
from agent.answering.fitting.simulated import simulated
from agent.answering.fitting.ways_out import ways_out
from agent.answering.hosts.host_states import say_host_states
from agent.answering.plan import Call
from agent.answering.renting.after_fit import rent_after
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.found import Found, Steps, failed
from agent.answering.telling.numbers import gib
from agent.answering.telling.parts import (
    say_images,
    say_methods,
    say_parts,
    say_reference,
    say_total,
    say_why,
)
from agent.answering.telling.phrases import sentences
from agent.answering.telling.run_words import (
    is_language,
    joined,
    memory_arguments,
    memory_range,
    method_name,
    outcome,
    said_method,
)
from agent.answering.telling.sources import guidance_call, say_guidance
from agent.answering.telling.verdicts import say_verdict, verdict_of
from agent.request import Request, Slots
from agent.toolbox import ToolResult
from agent.toolbox.memory import ChangeOut, MemoryReport
from agent.toolbox.registries import GpuReport
from agent.toolbox.simulate import SimulationState
from tools.models import DENOISER_KINDS, LANGUAGE_KINDS, try_find_model

METHODS = ("full", "lora", "qlora")
_SHORT_SEQUENCE = 512
_SHORT_SAMPLED = 256
"""Prompt and answer of a short sampled sequence: reinforcement learning on a small card."""


def training(draft: Draft, *, simulation: SimulationState = "off") -> Steps:
    """Memory of fine-tuning or pre-training, with the methods compared where none was said."""
    slots = draft.request.slots
    methods = _methods(draft)
    is_method_open = methods == METHODS
    calls = [
        Call(
            "estimate_memory",
            memory_arguments(
                slots, method=method, with_changes=method == "lora" or len(methods) == 1
            ),
        )
        for method in methods
    ]
    if slots.gpu is not None and slots.gpu != "none":
        calls.append(Call("find_gpu", {"name": slots.gpu, "memory_gb": slots.gpu_mem_gb}))
    if is_method_open:
        calls.append(guidance_call(draft.request, topic="fit"))
    results = yield tuple(calls)
    draft.use(*results)
    reports = [r.report for r in results if isinstance(r.report, MemoryReport)]
    if len(reports) < len(methods):
        return failed(draft, results[0])
    card = next((r.report for r in results if isinstance(r.report, GpuReport)), None)
    chosen = reports[methods.index("lora")] if is_method_open else reports[0]
    chosen = yield from simulated(draft, chosen, simulation)
    found = yield from _asked(draft, chosen, card)
    report = found.report or chosen
    say_positions(draft)
    say_global_batch(draft, report)
    say_card(draft, report, card)
    if is_method_open:
        say_methods(draft, reports)
        say_why(draft, reports[methods.index("full")])
    say_images(draft, report)
    say_cached(draft, report)
    found = replace(found, verdict=say_rollout(draft, report, found.verdict))
    has_levers = not is_method_open and found.verdict == "fits" and not is_metal(report.gpu)
    _say_training_reasons(draft, report, has_levers=has_levers)
    say_group(draft, report)
    if is_metal(report.gpu) and is_language(report):
        is_off = draft.request.slots.gradient_checkpointing == "none"
        draft.say(f"memory.metal_training{'_whole' if is_off else ''}")
    if found.verdict != "fits":
        found = yield from _with_ways(draft, report, found, is_method_open=is_method_open)
    found = say_host_states(draft, report, found)
    if not is_method_open:
        say_parts(draft, report)
    say_assumptions(draft, report)
    say_reference(draft, report)
    yield from rent_after(draft, report, found.verdict)
    say_guidance(draft, results)
    draft.follow_ups += _training_follow_ups(draft, report)
    return found


def _with_ways(draft: Draft, report: MemoryReport, found: Found, *, is_method_open: bool) -> Steps:
    """What makes it fit; the verdict is open where it takes only what was not said."""
    is_saved = yield from ways_out(draft, report, is_method_open=is_method_open)
    reaches_below = report.low_bytes <= (report.usable_bytes or 0)
    is_short = found.verdict == "does_not_fit" and not _compares_schemes(draft)
    is_eased = any(change.fits for change in report.changes)
    if is_eased and is_short and "batch" in draft.request.inferred:
        draft.lead("batches.settings_decide")
        return replace(found, verdict="depends")
    if is_saved and not draft.request.slots.offload and reaches_below and is_short:
        draft.lead("fit.settings_decide")
        return replace(found, verdict="depends")
    return (yield from with_leaner_program(draft, report, found))


def _methods(draft: Draft) -> tuple[str, ...]:
    """The method asked for; all three where it was left open, the usual one of other kinds."""
    slots = draft.request.slots
    if len(methods_compared(draft.request)) > 1 and is_language_model(slots.model):
        return METHODS
    if not method_is_open(draft.request) and slots.method is not None:
        return (slots.method,)
    if slots.method is not None and _is_denoiser(slots.model):
        why = "no method was said; models of this kind are usually trained by LoRA"
        draft.assume([AssumptionOut(name="method", value=slots.method, unit="1", why=why)])
        return (slots.method,)
    if not is_language_model(slots.model):
        why = "models of this kind are usually trained whole"
        draft.assume([AssumptionOut(name="method", value="full", unit="1", why=why)])
        return ("full",)
    why = "no method was said; LoRA is the usual one"
    if draft.language == "zh":
        why = draft.phrase("memory.method_assumed")
    draft.assume([AssumptionOut(name="method", value="lora", unit="1", why=why)])
    return METHODS


def _asked(
    draft: Draft, chosen: MemoryReport, card: GpuReport | None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Found]:
    """The verdict on what was asked: sharded, at its leanest, or as it stands."""
    if is_doubtful(draft, chosen):
        verdict = yield from say_doubtful(draft, chosen, card)
        return Found(verdict, memory_range(chosen), chosen)
    found = yield from _sharded(draft, chosen)
    if found is None and chosen.verdict == "does_not_fit":
        found = base_is_open(draft, chosen)
    if found is None and chosen.verdict == "does_not_fit":
        found = yield from _leanest(draft, chosen)
    if found is None:
        say_verdict(draft, chosen)
        found = Found(verdict_of(chosen), memory_range(chosen), chosen)
    return found


def _is_denoiser(name: str | None) -> bool:
    match = try_find_model(name) if name is not None else None
    return match is not None and match.spec.kind in DENOISER_KINDS


def is_language_model(name: str | None) -> bool:
    """True for a language model, and for a model of which only the size is known."""
    match = try_find_model(name) if name is not None else None
    return match is None or match.spec.kind in LANGUAGE_KINDS


def scheme_is_open(slots: Slots) -> bool:
    """True when it was not said how a run is shared out to cards."""
    return slots.zero_stage is None and slots.strategy is None and slots.tp is None


def method_is_open(request: Request) -> bool:
    """True when fine-tuning was asked for and no method was said."""
    method = request.slots.method
    is_assumed = "method" in request.inferred and "method" not in request.inherited
    return method is None or (method == "lora" and is_assumed)


def _sharded(
    draft: Draft, replica: MemoryReport
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Found | None]:
    """Several cards without a scheme: sharding is tried where a full replica does not fit."""
    slots = draft.request.slots
    count = replica.gpu_count
    if count < 2:
        return None
    if not scheme_is_open(slots):
        _say_given_scheme(draft, replica)
        return None
    if replica.verdict in ("fits", None):
        draft.say("memory.replicated", importance=DETAIL)
        return None
    results = yield (
        Call(
            "estimate_memory",
            memory_arguments(slots, method=said_method(replica), zero_stage=3, with_changes=True),
        ),
    )
    draft.use(*results)
    shard = results[0].report
    if not isinstance(shard, MemoryReport) or shard.verdict is None:
        return None
    if replica.method == "full" or shard.verdict == "does_not_fit":
        say_verdict(draft, shard)
        draft.say("memory.sharded", count=count)
        draft.say("memory.replicated")
        say_total(draft, shard)
        return Found(shard.verdict, memory_range(shard), shard)
    keeps_layout = _is_other_method(draft.request) and replica.verdict == "does_not_fit"
    say_verdict(draft, shard if keeps_layout else replica)
    draft.say(
        "memory.sharded_roomier" if replica.verdict == "tight" else "memory.sharded_fits",
        replica=gib(replica.process_bytes),
        count=count,
        need=gib(shard.process_bytes),
        outcome=outcome(draft, shard),
        importance=HEAD,
    )
    if keeps_layout:
        return Found(shard.verdict, memory_range(shard), shard)
    return Found("depends", memory_range(replica), replica)


def _is_other_method(request: Request) -> bool:
    """Whether a turn only changes the method of a run on the cards spoken of ("and LoRA?")."""
    return "method" in request.changed and {"gpu", "gpu_count"} <= set(request.inherited)


def _leanest(
    draft: Draft, report: MemoryReport
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Found | None]:
    """The same run with everything that was left open set to what needs least.

    The verdict is that of the leanest run only where no length was said and no other scheme, told
    with the usual settings a turn before, is what it is set against.
    """
    slots = draft.request.slots
    length = memory_arguments(slots).get("seq_len")
    lean: dict[str, Any] = {
        "batch": slots.batch or 1,
        "seq_len": length or (_SHORT_SAMPLED if report.objective == "grpo" else _SHORT_SEQUENCE),
        "gradient_checkpointing": slots.gradient_checkpointing or "full",
        "optimizer": slots.optimizer or "adamw-8bit",
        "fused_ce": True,
    }
    if is_metal(report.gpu):  # neither has kernels there
        lean |= {"optimizer": slots.optimizer or "adamw", "fused_ce": False}
    results = yield (
        Call("estimate_memory", memory_arguments(slots, method=said_method(report), **lean)),
    )
    draft.use(*results)
    least = results[0].report
    if not isinstance(least, MemoryReport) or least.verdict in (None, "does_not_fit"):
        return None
    if length is None and is_language(report) and not _compares_schemes(draft):
        say_verdict(draft, least.model_copy(update={"verdict": "tight"}))
        draft.say("fit.leanest_only", need=gib(report.process_bytes), importance=HEAD,
                  settings=_lean_words(draft, lean, report))  # fmt: skip
        return Found("tight", memory_range(least), least)
    say_verdict(draft, report)
    _say_leanest(draft, report, least, lean)
    is_unsaid = not is_language(report) and slots.gradient_checkpointing is None
    is_usual = report.objective == "contrastive" and slots.precision is None
    is_shared = slots.batch is None or "batch" in draft.request.inferred
    is_open = is_unsaid and (is_shared or report.kind in DENOISER_KINDS or is_usual)
    if is_open and slots.batch is not None:
        draft.lead("fit.checkpointing_decides", need=gib(least.process_bytes))
    return Found("depends" if is_open else "does_not_fit", memory_range(report), report)


_LEAN = ("fused_ce", "gradient_checkpointing", "optimizer")
"""Changes of which the leanest run is made."""
_SAME = 0.03
"""Share of a need below which two are one number."""


def _say_leanest(
    draft: Draft, report: MemoryReport, least: MemoryReport, lean: dict[str, Any]
) -> None:
    """What the run comes to at its leanest; by the name of one change where that is all of it."""
    alone = next((c for c in report.changes if c.fits and _is_same(c, least)), None)
    if alone is None:
        draft.say("fit.leanest", need=gib(least.process_bytes), outcome=outcome(draft, least),
                  settings=_lean_words(draft, lean, report), importance=HEAD)  # fmt: skip
        return
    draft.figure(f"after {alone.name}", alone.after_bytes, "B", formula="estimate again")
    draft.say("fit.one_setting", name=change_name(draft, alone.name, report),
              need=gib(alone.after_bytes), outcome=outcome(draft, least),
              importance=HEAD)  # fmt: skip


def _is_same(change: ChangeOut, least: MemoryReport) -> bool:
    is_lean = change.name.partition("=")[0] in _LEAN
    return is_lean and abs(change.after_bytes - least.process_bytes) <= _SAME * least.process_bytes


def _lean_words(draft: Draft, lean: dict[str, Any], report: MemoryReport) -> str:
    """The settings of the leanest run, as they are told."""
    is_text = is_language(report)
    told = {
        "batch": lean["batch"],
        "length": lean["seq_len"] if is_text else None,
        "checkpointing": lean["gradient_checkpointing"] == "full" or None,
        "optimizer": "8bit" in str(lean["optimizer"]).replace("-", "") or None,
        "fused": (is_text and lean["fused_ce"]) or None,
    }
    return joined(draft, (draft.phrase(f"fit.lean_{name}", value=value)
                          for name, value in told.items() if value is not None))  # fmt: skip


def _compares_schemes(draft: Draft) -> bool:
    """True where a turn only shares out the run of the turn before in another way."""
    changed = set(draft.request.changed)
    return bool(changed) and changed <= {"zero_stage", "strategy"}


def _say_given_scheme(draft: Draft, report: MemoryReport) -> None:
    slots = draft.request.slots
    if slots.zero_stage == 3 or slots.strategy == "fsdp":
        draft.say("memory.sharded", count=report.gpu_count)
        say_total(draft, report)
    elif slots.zero_stage in (1, 2):
        draft.say(f"memory.weights_replicated_{slots.zero_stage}", count=report.gpu_count,
                  weights=gib(report.weights_bytes))  # fmt: skip
    elif slots.tp is None:
        draft.say("memory.replicated")


def _say_training_reasons(draft: Draft, report: MemoryReport, *, has_levers: bool) -> None:
    if report.objective in sentences("objective"):
        draft.say(f"objective.{report.objective}")
    say_why(draft, report)
    if has_levers:
        key = "memory.levers_train" if is_language(report) else "memory.levers_other"
        draft.say(key, importance=DETAIL)


def _training_follow_ups(draft: Draft, report: MemoryReport) -> list[str]:
    other = "qlora" if report.method != "qlora" else "full"
    return [
        draft.phrase("fit.follow_method", method=method_name(draft, other)),
        draft.phrase("fit.follow_longer"),
        draft.phrase("fit.follow_rent"),
    ]
