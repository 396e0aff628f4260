"""What the numbers of a pasted memory error say: who held the card, what was short, and why."""

from __future__ import annotations

from typing import Any

from agent.answering.failures.symptoms import pasted
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.request import Pasted
from agent.toolbox.memory import MemoryReport
from tools.units import GIB, MIB

_CONTEXT_BYTES = 2 * GIB
"""More than a CUDA context and its libraries hold outside PyTorch's pool."""
_CLOSE = 1.15
"""Times the usable memory up to which room lost in fragments may be all that is missing."""


def other_processes(log: Pasted) -> int:
    """Memory that other processes hold by a CUDA out-of-memory text, in bytes.

    The text names this process by its number where it cannot tell that it is its own: a process
    that holds what PyTorch says it allocated is this one.
    """
    fields = log.fields
    held = sum(size for size in fields.get("other_process_bytes") or [] if size)
    pool = (fields.get("allocated_bytes") or 0) + (fields.get("reserved_unallocated_bytes") or 0)
    is_this = pool and fields.get("this_process_bytes") is None and pool <= held
    return 0 if is_this and held - pool < _CONTEXT_BYTES else held


def say_cuda_error(draft: Draft, log: Pasted, report: MemoryReport | None) -> bool:
    """What the numbers of a CUDA out-of-memory text say, with the verdict in front.

    Args:
        draft: The answer, with the estimate told where there is one.
        log: The text read.
        report: The estimate of the run; None where the run was not said.

    Returns:
        True when another process is to blame.
    """
    _record_log(draft, log)
    others = other_processes(log)
    fits = report is not None and report.verdict in ("fits", "tight")
    is_short = report is not None and report.verdict == "does_not_fit"
    if others:
        _say_others(draft, log, others, is_short=is_short)
    else:
        draft.withdraw_corrections("user:pasted_log")
    on_one = report is not None and not others and _is_on_one_card(log, report)
    if on_one and report is not None:
        _say_on_one_card(draft, log, report)
    elif not others and fits:
        draft.lead("symptoms.should_fit")
    _say_request(draft, log.fields, report, is_blocked=bool(others))
    return bool(others)


_MOST_OF = 0.8
"""Share of a card from which a whole model fills it."""


def _is_on_one_card(log: Pasted, report: MemoryReport) -> bool:
    """Whether a model meant for several cards was loaded onto the one that is full."""
    held = log.fields.get("this_process_bytes") or log.fields.get("allocated_bytes") or 0
    whole = report.weights_bytes * report.gpu_count
    card = report.usable_bytes or log.fields.get("total_bytes") or 0
    is_split = report.gpu_count > 1 and report.task != "train" and report.verdict != "does_not_fit"
    return is_split and held > report.high_bytes and whole > _MOST_OF * card


def _say_on_one_card(draft: Draft, log: Pasted, report: MemoryReport) -> None:
    whole = report.weights_bytes * report.gpu_count
    draft.figure("weights_of_the_model", whole, "B", formula="weights per card * cards")
    draft.figure("cards", report.gpu_count, "1", sources=("user:gpu_count",))
    index = log.fields.get("gpu_index") or 0
    draft.figure("gpu_index", index, "1", sources=("user:log",))
    draft.lead("symptoms.on_one_card", index=index, weights=gib(whole), count=report.gpu_count,
               share=gib(report.process_bytes))  # fmt: skip


def _record_log(draft: Draft, log: Pasted) -> None:
    for name, value in log.fields.items():
        for size in value if isinstance(value, list) else [value]:
            if name.endswith("_bytes") and isinstance(size, int):
                draft.figure(f"log: {name}", size, "B", sources=("user:log",))


def _say_others(draft: Draft, log: Pasted, held: int, *, is_short: bool) -> None:
    """That other processes hold the card: the verdict, unless the run is too large besides."""
    fields = log.fields
    ids = fields.get("other_process_ids") or []
    draft.figure("other_processes", held, "B", formula="sum of the log's processes")
    this = fields.get("this_process_bytes")
    values = {
        "ids": " (" + ", ".join(str(i) for i in ids) + ")" if ids else "",
        "other": gib(held),
        "own": draft.phrase("symptoms.this_process", this=_size(this)) if this else "",
        "total": gib(fields.get("total_bytes") or 0),
    }
    for correction in draft.corrections:
        if correction.source == "user:pasted_log":
            draft.tell_correction(correction)
    if is_short:
        draft.say("symptoms.other_process_too", importance=HEAD, **values)
    else:
        draft.lead("symptoms.other_process", **values)


def _size(size_bytes: int) -> str:
    """A size of a log: MiB where GiB would be a fraction."""
    return gib(size_bytes) if size_bytes >= GIB // 4 else f"{size_bytes / MIB:.3g} MiB"


def _say_request(
    draft: Draft, fields: dict[str, Any], report: MemoryReport | None, *, is_blocked: bool
) -> None:
    """What was asked for against what was free, and where the rest of the card went."""
    tried, free = fields.get("tried_bytes"), fields.get("free_bytes")
    if not tried:
        return
    allocated, unallocated = fields.get("allocated_bytes"), _unallocated(draft, fields)
    key = _kind_of_failure(tried, free, allocated, unallocated)
    if report is not None and report.verdict == "does_not_fit" and key == "fragments":
        is_close = report.process_bytes <= _CLOSE * (report.usable_bytes or 0)
        key = key if is_close else "peak"
    if free is not None and free < tried:
        draft.figure("short_by", tried - free, "B", formula="tried - free")
    values = {
        "tried": _size(tried), "left": _size(free or 0),
        "short": _size(max(tried - (free or 0), 0)),
        "allocated": _size(allocated or 0), "unallocated": _size(unallocated),
        "of": _of_card(draft, fields), "holder": _holder(draft),
    }  # fmt: skip
    if report is None and not is_blocked:
        draft.lead(f"symptoms.{key}", **values)
    else:
        draft.say(f"symptoms.{key}_log", importance=HEAD, **values)
    if key != "fragments" and unallocated >= 0.5 * GIB:
        draft.say("symptoms.fragmented", reserved=gib(unallocated))
    total, reserved = fields.get("total_bytes"), fields.get("reserved_bytes")
    outside = total - (reserved or (allocated or 0) + unallocated) - (free or 0) if total else 0
    if free is not None and allocated and not is_blocked and outside >= _OUTSIDE * GIB:
        draft.figure("outside_pytorch", outside, "B", formula="total - reserved - free")
        draft.say("symptoms.outside", outside=gib(outside))


def _holder(draft: Draft) -> str:
    """Who allocated: PyTorch, or the library of another text."""
    log = pasted(draft.request, "cuda_oom")
    is_other = log is not None and log.fields.get("program") is not None
    return draft.phrase("symptoms.holder") if is_other else "PyTorch"


def _unallocated(draft: Draft, fields: dict[str, Any]) -> int:
    """Memory that PyTorch holds and does not use, in bytes."""
    given: int = fields.get("reserved_unallocated_bytes") or 0
    allocated, reserved = fields.get("allocated_bytes"), fields.get("reserved_bytes")
    if given or not allocated or not reserved or reserved <= allocated:
        return given
    found: int = reserved - allocated
    draft.figure("reserved_unallocated", found, "B", formula="reserved - allocated")
    return found


def _kind_of_failure(tried: int, free: int | None, allocated: int | None, unallocated: int) -> str:
    """Key of the sentence: the card was full, the peak too high, or room lay in fragments."""
    if free is None or not allocated:
        return "full"
    is_fragmented = free < tried <= free + unallocated and unallocated >= 0.5 * GIB
    return "fragments" if is_fragmented else "peak"


def _of_card(draft: Draft, fields: dict[str, Any]) -> str:
    total = fields.get("total_bytes")
    return draft.phrase("symptoms.of_card", total=gib(total)) if total else ""


_OUTSIDE = 1.5
"""GiB outside PyTorch's pool beyond which it is more than a CUDA context."""


def say_refused(draft: Draft) -> bool:
    """What a program says that measured the host's memory and did not start; False without it."""
    log = pasted(draft.request, "host_kill")
    fields = log.fields if log is not None else {}
    need, have = fields.get("needed_bytes"), fields.get("available_bytes")
    if log is None or not need or have is None:
        return False
    _record_log(draft, log)
    draft.figure("short_by", need - have, "B", formula="needed - available")
    draft.say("symptoms.refused", need=gib(need), have=gib(have), short=gib(need - have),
              importance=HEAD)  # fmt: skip
    draft.say("symptoms.refused_ways", importance=HEAD)
    return True
