"""Size of a checkpoint, disk for the copies kept, and time to write one."""

from __future__ import annotations

from agent.answering.money.interruptions import say_interval_of
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import BODY, DETAIL, HEAD, Draft
from agent.answering.telling.numbers import duration
from agent.answering.telling.run_words import joined, memory_arguments
from agent.request import Request
from agent.toolbox.memory import MemoryReport
from tools.units import format_significant

_SAVED_BYTES, _MASTER_BYTES = 2, 4
_SPREAD_LOW, _SPREAD_HIGH = 12 / 14, 16 / 14
"""Trainers keep 12 to 16 bytes a parameter (fp32 weights with or without 16-bit copies)."""
_DISKS = ("essd-pl1", "nvme", "nas")


def applies(request: Request, context: Context) -> bool:
    """True for the size of a training's checkpoints, not for how often to save."""
    slots = request.slots
    is_of_interval = slots.ckpt_interval_minutes is not None or slots.mtbf_hours is not None
    if not slots.has_model or slots.task == "infer" or is_of_interval:
        return False
    if request.says("sizing.gpu_memory"):
        return False
    is_of_copies = slots.copies is not None and request.says("sizing.saved")
    return is_of_copies or request.says("sizing.checkpoint")


def compose(request: Request, context: Context) -> Plan:
    """The parts of one checkpoint, the disk for all that are kept, the write."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    method = (slots.method or "full").split("+")[-1]
    method = "full" if method in ("pretrain", "ppo", "dpo", "grpo") else method
    results = yield (
        Call("estimate_memory", memory_arguments(
            slots, task="train", method=method, gpu=None, gpu_mem_gb=None, gpu_count=None,
            instance=None, zero_stage=None, strategy=None, offload=None, tp=None, pp=None,
            quantization=slots.quantization if method == "lora" else None)),
    )  # fmt: skip
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, MemoryReport):
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("not_applicable")
    is_adapter = method in ("lora", "qlora")
    size = _say_adapter(draft, report) if is_adapter else _say_full(draft, report)
    _say_copies(draft, size)
    _say_write(draft, size)
    if request.says("interruptions.how_often"):
        yield from say_interval_of(draft, size)
    draft.say("saves.advice", importance=DETAIL)
    return draft.finish("not_applicable", intent="spot_checkpoint")


def _gb(size_bytes: float) -> str:
    value = size_bytes / 1e9
    return f"{value:,.0f} GB" if value >= 20 else f"{format_significant(value, 2)} GB"


def _told(draft: Draft, name: str, size: float, formula: str) -> str:
    draft.figure(f"checkpoint: {name}", size, "B", formula=formula)
    return draft.phrase(f"saves.part_{name}", size=_gb(size))


def _say_full(draft: Draft, report: MemoryReport) -> float:
    weights, master = report.params * _SAVED_BYTES, report.params * _MASTER_BYTES
    states = report.part("optimizer_states")
    size = weights + master + states
    parts = [
        _told(draft, "weights", weights, "params * 2"),
        _told(draft, "master", master, "params * 4"),
        _told(draft, "optimizer", states, "params * bytes of the optimizer's states"),
    ]
    low, high = size * _SPREAD_LOW, size * _SPREAD_HIGH
    for name, value in (("checkpoint", size), ("checkpoint_low", low), ("checkpoint_high", high)):
        draft.figure(name, value, "B", formula="weights + master + optimizer states")
    draft.say("saves.full", size=_gb(size), low=_gb(low), high=_gb(high), weights=_gb(weights),
              parts=joined(draft, parts), importance=HEAD)  # fmt: skip
    return size


def _say_adapter(draft: Draft, report: MemoryReport) -> float:
    adapter, states = report.part("adapters"), report.part("optimizer_states")
    size, weights = adapter + states, report.params * _SAVED_BYTES
    parts = [
        _told(draft, "adapter", adapter, "adapter parameters * bytes"),
        _told(draft, "optimizer", states, "adapter parameters * bytes of the states"),
    ]
    draft.figure("checkpoint", size, "B", formula="adapter + optimizer states")
    draft.figure("base_weights", weights, "B", formula="params * 2")
    draft.say("saves.adapter", size=_gb(size), weights=_gb(weights), adapter=_gb(adapter),
              parts=joined(draft, parts), importance=HEAD)  # fmt: skip
    return size


def _say_copies(draft: Draft, size: float) -> None:
    copies = draft.request.slots.copies
    count = copies or 3
    draft.figure("copies", count, "1", sources=("user:copies",) if copies else ("rule:example",))
    draft.figure("copies_while_writing", count + 1, "1", formula="copies + 1")
    draft.figure("kept", size * count, "B", formula="checkpoint * copies")
    draft.figure("reserve", size * (count + 1), "B", formula="checkpoint * (copies + 1)")
    if copies is None:
        draft.say("saves.one_copy", three=_gb(size * 3), four=_gb(size * 4))
        return
    draft.say("saves.copies", copies=copies, kept=_gb(size * copies), more=copies + 1,
              reserve=_gb(size * (copies + 1)), importance=HEAD)  # fmt: skip


def _say_write(draft: Draft, size: float) -> None:
    from tools.speed import checkpoint_seconds, storage_limit

    items = []
    for disk in _DISKS:
        limit = storage_limit(disk)
        seconds = checkpoint_seconds(size, write_mb_s=limit.mb_s)
        draft.figure(f"{disk} write", seconds, "s", formula="checkpoint / MB per s")
        draft.figure(f"{disk} rate", limit.mb_s, "MB/s", sources=("data:storage.json",))
        name = f"{draft.phrase(f'storage_rate.short_{disk}')} ({limit.mb_s:,.0f} MB/s)"
        items.append(draft.phrase("saves.write_item", name=name,
                                  time=duration(seconds / 3600, draft.language)))  # fmt: skip
    draft.say("saves.write", items=joined(draft, items), importance=BODY)
