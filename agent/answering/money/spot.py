"""spot_checkpoint: what spot costs and saves, and how often to save checkpoints."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answering.money.interruptions import say_basis, spot_arguments
from agent.answering.money.spans import span_of
from agent.answering.money.spot_prices import carriers, is_quoted, say_prices, say_quotes
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting.renting import default_region
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.machines import (
    provider_name,
)
from agent.answering.telling.numbers import duration, usual_currency
from agent.answering.telling.run_words import memory_arguments
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.spot import USUAL_DISK, ChosenInterval, SpotReport
from tools.units import format_significant

_PRICE_INTENTS = ("cost_estimate", "spot_checkpoint", "catalog_lookup", "recommend_instance")


def applies(request: Request, context: Context) -> bool:
    """True for what spot saves with a card that is named and no job."""
    slots = request.slots
    has_card = slots.has_card and slots.instance is None
    has_job = slots.has_model or slots.budget is not None
    return (
        has_card
        and not has_job
        and request.intent in _PRICE_INTENTS
        and request.says("money.versus")
    )


def compose(request: Request, context: Context) -> Plan:
    """Price first where that was asked, the checkpoint interval first where that was."""
    draft = Draft(request)
    wanted = spot_arguments(request)
    save_minutes = request.slots.ckpt_minutes or (yield from _adapter_minutes(draft))
    if save_minutes and wanted["checkpoint_gb"] is None:
        wanted |= {"checkpoint_minutes": save_minutes, "params_b": None}
    wanted["currency"] = usual_currency(draft.language)
    results = yield from _looked_up(draft, wanted)
    draft.use(*results)
    plan = results[0].report
    about_saving = _is_about_saving(request)
    if isinstance(plan, SpotReport):
        if about_saving:
            _say_wall(draft, plan)
            _say_interval(draft, plan)
        yield from say_quotes(draft, plan, results, wanted)
        say_prices(draft, plan, importance=DETAIL if about_saving else HEAD)
        _say_terms(draft, plan)
        if not about_saving:
            _say_interval(draft, plan)
            _say_wall(draft, plan)
    say_cited(draft, passages_in(results)[:2])
    return draft.finish("depends" if about_saving else "not_applicable")


def _looked_up(
    draft: Draft, wanted: dict[str, Any]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], tuple[ToolResult, ...]]:
    """The plan of saves, guidance, and the types asked about."""
    slots = draft.request.slots
    calls = [Call("spot_plan", wanted), guidance_call(draft.request, k=2, topic="spot")]
    if slots.instance:
        named = {"name": slots.instance, "provider": draft.request.cloud}
        calls.append(Call("find_instances", {**named, "region": default_region(draft)}))
    elif slots.has_card:
        calls.append(carriers(draft))
    results = yield tuple(calls)
    if slots.has_card and slots.provider is None and not is_quoted(results):
        results = (*results, *(yield (carriers(draft, everywhere=True),)))
    return results


def _is_about_saving(request: Request) -> bool:
    """Whether saves and interruptions are asked about, and not the money of some hours."""
    slots = request.slots
    if request.intent == "cost_estimate" and span_of(request) is not None:
        return False
    said = slots.ckpt_minutes is not None or slots.mtbf_hours is not None
    return said or request.says("money.of_saves")


def _adapter_minutes(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], float | None]:
    """Minutes of one save where adapters alone are trained; None of other runs.

    The frozen base does not change and is not saved: a save is the adapters and their states.
    """
    from tools.speed import checkpoint_seconds, storage_limit

    slots = draft.request.slots
    has_model = slots.has_model
    if not has_model or not (slots.method or "").endswith("lora") or slots.task == "infer":
        return None
    nowhere: dict[str, Any] = dict.fromkeys(
        ("gpu", "gpu_mem_gb", "gpu_count", "instance", "zero_stage", "strategy", "tp", "pp")
    )
    call = Call("estimate_memory", memory_arguments(slots, **nowhere, task="train"))
    (result,) = yield (call,)
    report = result.report
    if not isinstance(report, MemoryReport):
        return None
    draft.use(result)
    size = report.part("adapters") + report.part("optimizer_states")
    disk = storage_limit(USUAL_DISK)
    seconds = checkpoint_seconds(size, write_mb_s=disk.mb_s)
    draft.figure("checkpoint", size, "B", formula="adapter + optimizer states")
    draft.figure("write rate", disk.mb_s, "MB/s", sources=(f"data:storage.json#{USUAL_DISK}",))
    draft.figure("save", seconds, "s", formula="checkpoint / MB per s")
    told = f"{format_significant(size / 1e9, 2)} GB"
    draft.say("spot.adapter", size=told, rate=f"{disk.mb_s:,.0f}",
              save=duration(seconds / 3600, draft.language))  # fmt: skip
    return seconds / 60


def _say_interval(draft: Draft, plan: SpotReport) -> None:
    say_basis(draft, plan)
    draft.figure("overhead_pct", round(plan.overhead * 100, 1), "%", formula="overhead * 100")
    if plan.chosen is not None:
        _say_chosen(draft, plan, plan.chosen)
    draft.say(
        "spot.interval",
        interval=duration(plan.interval_minutes / 60, draft.language),
        save=duration(plan.checkpoint_minutes / 60, draft.language),
        mtbf=duration(plan.mtbf_hours, draft.language),
        lost=duration(plan.lost_minutes / 60, draft.language),
        overhead=f"{plan.overhead * 100:.0f}%",
        importance=HEAD,
    )
    draft.say("spot.why")
    draft.say("spot.state")


def _say_chosen(draft: Draft, plan: SpotReport, chosen: ChosenInterval) -> None:
    """What the interval that was given costs, beside which the best one is told."""
    draft.say(
        "spot.chosen",
        interval=duration(chosen.minutes / 60, draft.language),
        mtbf=duration(plan.mtbf_hours, draft.language),
        lost=duration(chosen.lost_minutes / 60, draft.language),
        lost_share=f"{chosen.lost_share * 100:.1f}%",
        save_share=f"{chosen.save_share * 100:.1f}%",
        restart_share=f"{chosen.restart_share * 100:.1f}%",
        restart=duration(chosen.restart_minutes / 60, draft.language),
        overhead=f"{chosen.overhead * 100:.1f}%",
        save=duration(plan.checkpoint_minutes / 60, draft.language),
        importance=HEAD,
    )


def _say_wall(draft: Draft, plan: SpotReport) -> None:
    """Hours that so many hours of work take with saves, lost work and restarts."""
    hours = draft.request.slots.hours
    if hours is None or plan.wall_hours is None:
        return
    draft.figure("hours", hours, "h", sources=("user:hours",))
    draft.figure("wall_hours", plan.wall_hours, "h", formula="hours * (1 + overhead)")
    draft.say("spot.wall", mtbf=duration(plan.mtbf_hours, draft.language),
              overhead=f"{plan.overhead * 100:.0f}%", importance=HEAD,
              wall=format_significant(plan.wall_hours, 3), hours=f"{hours:g}")  # fmt: skip


def _say_terms(draft: Draft, plan: SpotReport) -> None:
    for row in plan.terms:
        if (
            row.notice_minutes is None
            or len(plan.terms) > 1
            and row.provider not in ("alibaba", "aws")
        ):
            continue
        protection = ""
        if row.protection_hours is not None:
            protection = draft.phrase("spot.protection", hours=f"{row.protection_hours:g}")
        provider = provider_name(draft, row.provider)
        if row.notice_minutes < 1:
            draft.figure(f"{row.provider}: notice", row.notice_minutes * 60, "s",
                         sources=(row.source,))  # fmt: skip
            draft.say("spot.notice_short", provider=provider, protection=protection,
                      seconds=f"{row.notice_minutes * 60:g}")  # fmt: skip
            continue
        notice = draft.phrase("spot.notice_minutes", minutes=f"{row.notice_minutes:g}")
        draft.say("spot.notice", provider=provider, notice=notice, protection=protection)
