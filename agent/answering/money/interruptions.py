"""How often machines are taken back and how long a save takes, by what a question says."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from agent.answer import AssumptionOut
from agent.answering.plan import Call
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.numbers import duration
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.offers import InstanceOut
from agent.toolbox.spot import SpotReport
from tools.errors import UserInputError
from tools.units import format_significant

_PERCENT = re.compile(r"\d+")
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], None]


def spot_arguments(request: Request) -> dict[str, Any]:
    """What is known of interruptions and of a save, for `spot_plan`; None = not said."""
    slots = request.slots
    save_gb = _first(request, "interruptions.save_gb")
    size = save_gb is None and slots.ckpt_minutes is None
    return {
        "mtbf_hours": slots.mtbf_hours,
        "hourly_interruption_pct": _first(request, "interruptions.hourly_pct"),
        "monthly_interruption_pct": _first(request, "interruptions.monthly_pct"),
        "instances": slots.instance_count or slots.nodes or 1,
        "checkpoint_minutes": slots.ckpt_minutes,
        "checkpoint_gb": save_gb if slots.ckpt_minutes is None else None,
        "params_b": slots.params_b if size else None,
        "storage": _disk(request),
        "interval_minutes": slots.ckpt_interval_minutes,
        "job_hours": slots.hours,
        "provider": slots.provider,
    }


def _first(request: Request, name: str) -> float | None:
    return next(iter(request.amounts.get(name, ())), None)


def _disk(request: Request) -> str | None:
    """The disk or file system named; an object store has no rate of its own."""
    from tools.speed import object_store

    storage = request.slots.storage
    if storage is None or object_store(storage) is not None:
        return None
    try:
        from tools.speed import storage_limit

        storage_limit(storage)
    except UserInputError:
        return None
    return storage


def say_basis(draft: Draft, plan: SpotReport) -> None:
    """Where the time between interruptions comes from, and how long a save was reckoned."""
    if plan.mtbf_basis == "assumed":
        why = "interruption rates differ by type and region; a few hours is a cautious guess"
        draft.assume([AssumptionOut(name="mtbf_hours", value=plan.mtbf_hours, unit="h", why=why)])
    elif plan.mtbf_basis != "given":
        draft.say(f"interruptions.{plan.mtbf_basis}", importance=BODY,
                  hours=duration(plan.mtbf_hours, draft.language))  # fmt: skip
    if plan.write_mb_s is not None:
        draft.figure("write rate", plan.write_mb_s, "MB/s", sources=("data:storage.json",))
        draft.say("interruptions.write", rate=f"{plan.write_mb_s:,.0f}",
                  save=duration(plan.checkpoint_minutes / 60, draft.language))  # fmt: skip


def say_band(draft: Draft, plan: SpotReport, row: InstanceOut, wanted: dict[str, Any]) -> Steps:
    """What the published band of the type would allow, beside the cautious guess."""
    band = None if row.spot is None else row.spot.interruption_band
    if band is None or plan.mtbf_basis != "assumed":
        return
    (result,) = yield (Call("spot_plan", wanted | {"interruption_band": band}),)
    calm = result.report
    if not isinstance(calm, SpotReport):
        return
    draft.use(result)
    shares = [float(share) for share in _PERCENT.findall(band)]
    for share in shares:
        draft.figure("band", share, "%", sources=("data:spot",))
    draft.figure("overhead_pct", round(calm.overhead * 100, 1), "%", formula="overhead * 100")
    draft.say(
        "interruptions.band",
        band=band,
        hours=duration(calm.mtbf_hours, draft.language),
        interval=duration(calm.interval_minutes / 60, draft.language),
        overhead=f"{calm.overhead * 100:.1f}%",
        cautious=duration(plan.mtbf_hours, draft.language),
    )


def say_interval_of(draft: Draft, size_bytes: float) -> Steps:
    """The best interval for saves of a size, on the disk named or on a cloud disk."""
    wanted = spot_arguments(draft.request) | {"params_b": None}
    if wanted["checkpoint_minutes"] is None:
        wanted["checkpoint_gb"] = size_bytes / 1e9
    (result,) = yield (Call("spot_plan", wanted),)
    plan = result.report
    if not isinstance(plan, SpotReport):
        draft.add(result.hint or "", importance=BODY)
        return
    draft.use(result)
    say_basis(draft, plan)
    draft.figure("overhead_pct", round(plan.overhead * 100, 1), "%", formula="overhead * 100")
    draft.say(
        "interruptions.interval",
        interval=duration(plan.interval_minutes / 60, draft.language),
        save=duration(plan.checkpoint_minutes / 60, draft.language),
        mtbf=duration(plan.mtbf_hours, draft.language),
        lost=duration(plan.lost_minutes / 60, draft.language),
        overhead=f"{format_significant(plan.overhead * 100, 2)}%",
        importance=HEAD,
    )
    if plan.overhead > _MUCH:
        draft.say("interruptions.too_long", importance=HEAD)


_MUCH = 0.3
"""Share of time lost from which the save itself is what to change."""
