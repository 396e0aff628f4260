"""probe_local: the asker's own machine, or what was pasted of it."""

from __future__ import annotations

from collections.abc import Generator

from agent.answer import MemoryRange
from agent.answering.failures.symptoms import free_bytes
from agent.answering.fitting import occupied
from agent.answering.hosts.host import compose_host
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.phrases import sentences
from agent.answering.telling.run_words import joined, memory_arguments, memory_range, run_text
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.local import FitOut, ProbeReport
from agent.toolbox.memory import MemoryReport
from tools.units import format_significant


def compose(request: Request, context: Context) -> Plan:
    """A pasted state with a job, a machine without a GPU with a job, or the probe itself."""
    draft = Draft(request)
    slots = request.slots
    has_model = slots.has_model
    if has_model and free_bytes(request) is not None:
        return (yield from occupied.compose(request, context))
    if has_model and slots.has_card:
        from agent.answering.fitting import fit

        return (yield from fit.compose(request, context))
    if has_model and (slots.gpu == "none" or slots.host_ram_gb is not None):
        return (yield from compose_host(draft))
    results = yield (Call("probe_local_gpu", {}),)
    draft.use(*results)
    report = results[0].report
    if isinstance(report, ProbeReport):
        _tell(draft, report)
    else:
        draft.say("local.hosted", importance=HEAD)
    memory = (yield from _need(draft)) if has_model else None
    if request.says("failures.cards_counted"):
        draft.say("local.count_mismatch")
    _say_what_is_asked(draft, report if isinstance(report, ProbeReport) else None)
    return draft.finish("not_applicable", memory=memory)


def _need(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], MemoryRange | None]:
    """What the run needs, to be set against the card that the machine turns out to have."""
    slots = draft.request.slots
    method = (slots.method or "lora") if slots.task == "train" else None
    results = yield (Call("estimate_memory", memory_arguments(
        slots, method=method, gpu_count=1)),)  # fmt: skip
    report = results[0].report
    if not isinstance(report, MemoryReport):
        return None
    draft.use(*results)
    draft.say("local.need", what=run_text(draft, report), need=gib(report.process_bytes),
              low=gib(report.low_bytes), high=gib(report.high_bytes), importance=HEAD)  # fmt: skip
    say_assumptions(draft, report)
    return memory_range(report)


def _tell(draft: Draft, report: ProbeReport) -> None:
    if report.devices:
        items = [
            draft.phrase("local.device", name=d.name, free=gib(d.free_for_a_process_bytes or 0),
                         total=gib(d.total_bytes or 0))
            for d in report.devices
        ]  # fmt: skip
        draft.say("local.found", count=len(items), items=joined(draft, items), importance=HEAD)
    else:
        ram = gib(report.ram_total_bytes) if report.ram_total_bytes else "?"
        draft.figure("cores", report.logical_cores or 0, "1", sources=("probe:local",))
        draft.say("local.none", cores=report.logical_cores or "?", ram=ram, importance=HEAD)
    rows = [_row(draft, row) for row in report.best]
    if rows:
        draft.bullets(rows[:8], title=draft.phrase("local.fits_title"))
    else:
        draft.say("local.nothing")
    texts = [f.text_zh if draft.language == "zh" else f.text_en for f in report.findings
             if f.severity != "hint"]  # fmt: skip
    draft.bullets(texts[:3], title=draft.phrase("local.findings"), importance=DETAIL)


def _row(draft: Draft, row: FitOut) -> str:
    speed = ""
    if row.tokens_per_s_low is not None and row.tokens_per_s_high is not None:
        speed = draft.phrase("local.speed", low=format_significant(row.tokens_per_s_low, 2),
                             high=format_significant(row.tokens_per_s_high, 2))  # fmt: skip
    key = f"workload_{row.workload}"
    workload = draft.phrase(f"local.{key}") if key in sentences("local") else row.workload
    return draft.phrase(
        "local.fits_row",
        workload=workload,
        size=row.size,
        place=row.place,
        need=gib(row.need_bytes),
        outcome=draft.phrase(f"memory.outcome_{row.verdict}"),
        speed=speed,
    )


_FEATURES = {
    "failures.flash": "flash_attention2_supported",
    "failures.bf16": "bf16_supported",
    "failures.fp8": "fp8_supported",
}
"""What may be asked of a card by a mark, and the field of a found card that tells it."""


def _say_what_is_asked(draft: Draft, report: ProbeReport | None) -> None:
    """Features and versions that the question names: of the cards found, or where to see them."""
    request = draft.request
    for mark, field in _FEATURES.items():
        is_set = mark == "failures.flash" and request.slots.attention == "flash"
        if request.says(mark) or is_set:
            key = mark.removeprefix("failures.")
            draft.say(f"local.{key}", items=_cards_with(draft, report, field))
    if not request.says("failures.versions"):
        return
    if report is not None and report.driver_version:
        draft.say("local.versions", driver=report.driver_version, cuda=report.cuda_version or "?")
    else:
        draft.say("local.versions_where")


def _cards_with(draft: Draft, report: ProbeReport | None, field: str) -> str:
    """Which of the cards found can, or how to see it of a card that is not here."""
    if report is None:
        return draft.phrase("local.see")
    items = []
    for device in report.devices:
        has = getattr(device, field)
        key = "local.unknown" if has is None else "local.can" if has else "local.cannot"
        items.append(draft.phrase(key, name=device.name))
    return joined(draft, items) if items else draft.phrase("local.no_card")
