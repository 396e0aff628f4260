"""What storage has to deliver for a training's rate of files, and which kinds of store do."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.numbers import duration
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.loading import LoadingOut
from tools.units import format_significant

if TYPE_CHECKING:
    from tools.speed import ObjectStore

_BY_PROVIDER = {"aws": "s3", "gcp": "gcs", "alibaba": "oss"}
_NAMED = {"copies.s3": "s3", "copies.gcs": "gcs", "copies.oss": "oss"}
_FIRST_BYTE_S = 0.05
"""Seconds to the first byte of a small object: tens of milliseconds."""
_SHARD_MB = 256.0
_STORES = ("nvme", "essd-pl1", "nas", "cpfs", "fsx-lustre", "hdd")
_NEAR = 0.5


@cache
def object_stores() -> dict[str, ObjectStore]:
    """Object stores of which a limit of requests is known, by their short names."""
    from tools.speed import object_stores as every

    return {store.key: store for store in every() if store.gets_per_s is not None}


def applies(request: Request, context: Context) -> bool:
    """True where the rate of files and their size are known."""
    if request.intent not in ("io_bottleneck", "recommend_instance", "concept", "fit_check"):
        return False
    if request.slots.gpu_util_pct is not None:
        return False
    return files_per_s(request) is not None and size_kb(request) is not None


def files_per_s(request: Request) -> float | None:
    """Files a second of all GPUs together; a rate of each GPU times the GPUs."""
    rate = request.slots.gpu_img_s or next(iter(request.amounts.get("links.files_per_s", ())), None)
    if rate is None:
        return None
    count = request.slots.gpu_count or 1
    is_each = request.says("links.each_gpu", "links.each_card")
    return rate * count if count > 1 and is_each else rate


def size_kb(request: Request) -> float | None:
    """Mean size of a file in KB (10**3 bytes)."""
    if request.slots.img_kb is not None:
        return request.slots.img_kb
    large = (mb * 1000 for mb in request.amounts.get("links.file_mb", ()))
    return min((*request.amounts.get("links.file_kb", ()), *large), default=None)


def compose(request: Request, context: Context) -> Plan:
    """Bytes and reads a second, the object store asked about, then each kind of store."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    rate, size = files_per_s(request), size_kb(request)
    assert rate is not None
    assert size is not None
    results = yield tuple(
        Call("check_data_loading", {"images_per_s_per_gpu": rate, "gpus": 1, "image_kb": size,
                                    "storage": store})
        for store in _STORES
    )  # fmt: skip
    draft.use(*results)
    need = rate * size / 1000
    _say_need(draft, rate, size, need)
    if request.says("links.object_store"):
        say_object_store(draft, rate)
    _say_stores(draft, results, rate, size, need)
    shards = need / _SHARD_MB
    draft.figure("shards_per_s", shards, "1/s", formula="MB/s / MB of a shard")
    for name, value in (("shard_low", 1e8), ("shard_high", 1e9)):
        draft.figure(name, value, "B", sources=("rule:shards",))
    draft.say("storage_rate.do", shards=format_significant(shards, 2))
    return draft.finish("not_applicable", intent="io_bottleneck")


def _say_need(draft: Draft, rate: float, size: float, need: float) -> None:
    draft.figure("files_per_s", rate, "1/s", sources=("user:rate",))
    draft.figure("file_size", size, "KB", sources=("user:img_kb",))
    draft.figure("throughput", round(need, 3), "MB/s", formula="files/s * KB / 1000")
    draft.figure("throughput_gbit", round(need * 8 / 1000, 4), "Gbit/s", formula="MB/s * 8 / 1000")
    draft.say("storage_rate.need", need=format_significant(need, 3), files=f"{rate:,.0f}",
              gbit=format_significant(need * 8 / 1000, 3), rate=f"{rate:,.0f}", size=f"{size:g}",
              importance=HEAD)  # fmt: skip
    slots = draft.request.slots
    count = slots.gpu_count or 1
    if count > 1:
        draft.figure("gpus", count, "1", sources=("user:gpu_count",))
        draft.say("storage_rate.cards", count=count)
    amount = slots.samples or slots.rows
    if amount is not None and amount > rate:
        total_gb = amount * size / 1e6
        hours = amount / rate / 3600
        draft.figure("data_set", total_gb, "GB", formula="files * KB / 1e6")
        draft.figure("pass", hours, "h", formula="files / files per s")
        draft.say("storage_rate.total", epoch=duration(hours, draft.language),
                  total=f"{total_gb:,.0f} GB")  # fmt: skip


def say_object_store(draft: Draft, rate: float) -> None:
    """Requests a second against the store's limit, and how many must be in flight."""
    named = next((key for mark, key in _NAMED.items() if draft.request.says(mark)), None)
    known = object_stores()
    store = known[named or _BY_PROVIDER.get(draft.request.slots.provider or "", "s3")]
    limit, inflight = int(store.gets_per_s or 0), rate * _FIRST_BYTE_S
    draft.figure("gets_limit", limit, "1/s", sources=(f"vendor:{store.origin}",))
    draft.figure("requests_in_flight", inflight, "1", formula="files/s * seconds to first byte")
    is_near = rate >= _NEAR * limit
    told = draft.phrase(
        "storage_rate.limit_near" if is_near else "storage_rate.limit_under",
        store=store.name, gets=f"{limit:,}", per=draft.phrase(f"storage_rate.per_{store.per}"),
    )  # fmt: skip
    draft.say("storage_rate.object" if is_near else "storage_rate.object_slow", store=store.name,
              files=f"{rate:,.0f}", limit=told, inflight=format_significant(inflight, 2),
              importance=HEAD)  # fmt: skip


def _say_stores(
    draft: Draft, results: tuple[ToolResult, ...], rate: float, size: float, need: float
) -> None:
    lines = []
    for store, result in zip(_STORES, results, strict=True):
        report = result.report
        if not isinstance(report, LoadingOut):
            continue
        by_bytes = report.stages.get("throughput")
        small = report.stages.get("small_files")
        if by_bytes is None:
            continue
        capacity = min(x for x in (by_bytes, small) if x is not None)
        mb = by_bytes * size / 1000
        draft.figure(f"{store} MB/s", mb, "MB/s", sources=("data:storage.json",))
        told = ""
        if small is not None and small < by_bytes:
            draft.figure(f"{store} files/s", small, "1/s", sources=("data:storage.json",))
            told = draft.phrase("storage_rate.files_too", count=f"{small:,.0f}")
        share = capacity / rate
        draft.figure(f"{store} share", round(share, 3), "1", formula="capacity / need")
        key = "enough" if share >= 1 else "short"
        lines.append(
            draft.phrase(f"storage_rate.{key}", name=draft.phrase(f"storage_rate.name_{store}"),
                         mb=format_significant(mb, 3), files=told, share=f"{share * 100:.0f}%")
        )  # fmt: skip
    for name, value in (("open_low", 1), ("open_high", 3)):
        draft.figure(f"NFS {name}", value, "ms", sources=("data:storage.json",))
    title = draft.phrase("storage_rate.stores", need=format_significant(need, 3),
                         files=f"{rate:,.0f}")  # fmt: skip
    draft.bullets(lines, title=title, importance=BODY)
