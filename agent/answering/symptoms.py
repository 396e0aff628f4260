"""What a description of a failure points to: words that tell when it fails, and the advice."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from agent.answering.draft import BODY, Draft
from agent.answering.numbers import gib
from agent.request import Pasted, Request
from tools.units import GIB, MIB

_COLAB_RAM_GB = 12.7
"""Host memory that a free Colab session reports, GB."""


@cache
def _symptoms() -> list[dict[str, Any]]:
    text = files("agent.answering").joinpath("data/symptoms.toml").read_text("utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["symptom"]
    return rows


def symptoms_of(request: Request) -> list[str]:
    """Advice keys that the words of the question point to."""
    text = request.search_query.casefold()
    task = "train" if request.slots.task == "train" else "infer"
    return [
        row["advice"]
        for row in _symptoms()
        if row["task"] in ("any", task) and any(word in text for word in row["words"])
    ]


def pasted(request: Request, kind: str) -> Pasted | None:
    """The first pasted piece of a kind."""
    return next((p for p in request.pasted if p.kind == kind), None)


def say_checks(draft: Draft, *, importance: int) -> None:
    """The order in which to look when a run that should fit does not."""
    slots = draft.request.slots
    found = symptoms_of(draft.request)
    if slots.task == "train":
        usual = ["processes", "settings", "longest"]
        if (slots.gpu_count or 1) > 1:
            usual.insert(2, "replica")
    else:
        usual = ["processes", "serving"]
    if pasted(draft.request, "host_kill") is not None and pasted(draft.request, "cuda_oom") is None:
        usual = []
    keys = [*found, *(key for key in usual if key not in found)]
    record_symptom_figures(draft, keys)
    draft.bullets(
        [draft.phrase(f"symptoms.{key}") for key in keys[:4]],
        title=draft.phrase("symptoms.title"),
        importance=importance,
    )


def record_symptom_figures(draft: Draft, keys: list[str]) -> None:
    """Numbers that an advice states."""
    if "host_load" in keys:
        draft.figure("colab_ram", _COLAB_RAM_GB, "GB", sources=("measured:colab-free-tier",))


def say_cuda_error(draft: Draft, log: Pasted, *, importance: int) -> bool:
    """What the numbers of a CUDA out-of-memory text say; True when another process is to blame."""
    fields = log.fields
    for name, value in fields.items():
        for size in value if isinstance(value, list) else [value]:
            if name.endswith("_bytes") and isinstance(size, int):
                draft.figure(f"log: {name}", size, "B", sources=("user:log",))
    others = [size for size in fields.get("other_process_bytes") or [] if size]
    if others:
        ids = fields.get("other_process_ids") or []
        names = " (" + ", ".join(str(i) for i in ids) + ")" if ids else ""
        total = sum(others)
        draft.figure("other_processes", total, "B", formula="sum of the log's processes")
        this = fields.get("this_process_bytes")
        own = draft.phrase("symptoms.this_process", this=_size(this)) if this else ""
        draft.say("symptoms.other_process", ids=names, other=gib(total), own=own,
                  total=gib(fields.get("total_bytes") or 0), importance=importance)  # fmt: skip
    _say_request(draft, fields, importance=BODY if others else importance)
    return bool(others)


def _size(size_bytes: int) -> str:
    """A size of a log: MiB where GiB would be a fraction."""
    return gib(size_bytes) if size_bytes >= GIB // 4 else f"{size_bytes / MIB:.3g} MiB"


def _say_request(draft: Draft, fields: dict[str, Any], *, importance: int) -> None:
    """What was asked for against what was free, and where the rest of the card went."""
    tried, free = fields.get("tried_bytes"), fields.get("free_bytes")
    if not tried:
        return
    rest = draft.phrase("symptoms.free", free=_size(free)) if free else ""
    allocated, reserved = fields.get("allocated_bytes"), fields.get("reserved_bytes")
    unallocated = fields.get("reserved_unallocated_bytes") or 0
    if not unallocated and allocated and reserved and reserved > allocated:
        unallocated = reserved - allocated
        draft.figure("reserved_unallocated", unallocated, "B", formula="reserved - allocated")
    is_fragmented = (
        free is not None and free < tried <= free + unallocated and unallocated >= 0.5 * GIB
    )
    key = "tried" if free is None or not allocated else "fragments" if is_fragmented else "peak"
    if free is not None and free < tried:
        draft.figure("short_by", tried - free, "B", formula="tried - free")
    draft.say(f"symptoms.{key}", tried=_size(tried), free=rest, left=_size(free or 0),
              short=_size(max(tried - (free or 0), 0)), allocated=_size(allocated or 0),
              unallocated=_size(unallocated), importance=importance)  # fmt: skip
    if key != "fragments" and unallocated >= 0.5 * GIB:
        draft.say("symptoms.fragmented", reserved=gib(unallocated))
    total = fields.get("total_bytes")
    outside = total - (reserved or (allocated or 0) + unallocated) - (free or 0) if total else 0
    if free is not None and allocated and outside >= _OUTSIDE * GIB:
        draft.figure("outside_pytorch", outside, "B", formula="total - reserved - free")
        draft.say("symptoms.outside", outside=gib(outside))


_OUTSIDE = 1.5
"""GiB outside PyTorch's pool beyond which it is more than a CUDA context."""


def free_bytes(request: Request) -> tuple[int, int, int] | None:
    """(used, total, free) of one card, in bytes, where a pasted line shows them."""
    slots = request.slots
    if slots.gpu_mem_total_mib is None:
        return None
    if slots.gpu_mem_used_mib is None:
        return 0, slots.gpu_mem_total_mib * MIB, slots.gpu_mem_total_mib * MIB
    used, total = slots.gpu_mem_used_mib * MIB, slots.gpu_mem_total_mib * MIB
    return used, total, max(total - used, 0)
