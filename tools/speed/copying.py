"""How long data takes to move between a store and a machine, and what holds it back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tools.errors import BadQuantityError
from tools.provenance import Assumption, Figure, Source
from tools.speed.results import (
    Interval,
    assumed,
    data_source,
    given,
    load_data,
    require_all_positive,
)
from tools.speed.storage import storage_limit
from tools.units import GB, MB

_BITS = 8


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """What an object store gives, by its vendor's documents; None = not stated."""

    key: str
    name: str
    provider: str
    gets_per_s: float | None
    """Requests a second before throttling."""
    per: str
    """What that limit is of: prefix, account or bucket."""
    mb_s: float | None
    """MB/s (10**6 bytes) of one account."""
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyJob:
    """Data to move; None = not said.

    Raises:
        BadQuantityError: If a number is not above zero.
    """

    size_bytes: float
    source: str | None = None
    """An object store (s3, oss, gcs, cos, obs, blob), or a name that `storage_limit` knows."""
    target: str | None = None
    """The same, for the other end."""
    link_gbps: float | None = None
    """Nominal Gbit/s of one machine's network, or of the line to it."""
    machines: int = 1
    """Machines that copy at the same time, each its share."""
    files: float | None = None
    """How many files; None = large ones, whose number does not matter."""
    streams: int | None = None
    """Files or parts under way at once on one machine."""
    is_abroad: bool = False
    """Outside mainland China, where some limits are lower."""

    def __post_init__(self) -> None:
        require_all_positive(
            size_bytes=self.size_bytes,
            link_gbps=self.link_gbps,
            machines=self.machines,
            files=self.files,
            streams=self.streams,
        )


@dataclass(frozen=True, slots=True)
class CopyTime:
    """How long a copy takes."""

    seconds: Interval
    stages: dict[str, float]
    """MB/s by what limits them: link, source, target; only those known."""
    slowest: str
    """The stage that sets the time: link, source, target, or files."""
    mb_s: float
    """MB/s that the copy reaches."""
    file_seconds: float | None
    """Seconds that opening the files takes by itself; None where their number was not said."""
    files_per_s: float | None
    streams_needed: int
    """Connections that carry that rate, at what one request of an object store gives."""
    machines_useful: int | None
    """Machines beyond which the store and not their links is the limit; None where unknown."""
    assumptions: tuple[Assumption, ...]
    _figures: tuple[Figure, ...]

    def figures(self) -> tuple[Figure, ...]:
        """Time (s), rate (MB/s) and its limits."""
        return self._figures


def object_store(name: str, *, is_abroad: bool = False) -> ObjectStore | None:
    """An object store by any spelling; None where the name is no object store.

    >>> object_store("OSS").mb_s, object_store("S3").mb_s, object_store("nas")
    (1250.0, None, None)
    """
    table = load_data("object_stores")
    key = name.strip().casefold()
    key = table["aliases"].get(key, key)
    row = table["stores"].get(key)
    if row is None:
        return None
    gbit_s = row["gbit_s_abroad" if is_abroad else "gbit_s"]
    return ObjectStore(
        key=key,
        name=row["name"],
        provider=row["provider"],
        gets_per_s=row["gets_per_s"],
        per=row["per"],
        mb_s=None if gbit_s is None else _mb_s(gbit_s),
        origin=row["origin"],
    )


def object_stores() -> tuple[ObjectStore, ...]:
    """Every object store that is known, with its limits in mainland China where they differ."""
    found = (object_store(key) for key in load_data("object_stores")["stores"])
    return tuple(store for store in found if store is not None)


def copy_time(job: CopyJob) -> CopyTime:
    """How long a copy takes: bytes over the slowest stage, or files over the rate of opening them.

    Args:
        job: What is moved, from where to where, over which link.

    Raises:
        BadQuantityError: If no stage has a known rate.
        UserInputError: If a store is not known.

    Source: time = bytes / min(share of the links, source, target); small files take
    files * seconds to open one / files under way, beside it. Shares and limits:
    data/object_stores.json, data/storage.json.

    >>> found = copy_time(CopyJob(size_bytes=1e12, source="oss", link_gbps=10))
    >>> round(found.seconds.value), found.slowest, found.streams_needed
    (870, 'link', 14)
    """
    wire = load_data("object_stores")["wire"]
    stages = _stages(job, wire["value"])
    if not stages:
        raise BadQuantityError(
            field="link_gbps",
            given=None,
            allowed="the Gbit/s of the machine's network, or a store with a known rate",
        )
    slowest = min(stages, key=lambda name: stages[name])
    mb_s = stages[slowest]
    opened = _files_per_s(job)
    by_bytes = job.size_bytes / (mb_s * MB)
    by_files = None if opened is None or job.files is None else job.files / opened
    seconds = max(by_bytes, by_files or 0.0)
    is_files = by_files is not None and by_files > by_bytes
    spread = _spread("files" if is_files else slowest, wire)
    interval = Interval(seconds, seconds * spread[0], seconds * spread[1], "s")
    reached = job.size_bytes / seconds / MB
    return CopyTime(
        seconds=interval,
        stages=stages,
        slowest="files" if is_files else slowest,
        mb_s=reached,
        file_seconds=by_files,
        files_per_s=opened,
        streams_needed=math.ceil(reached / load_data("object_stores")["connection_mb_s"]["value"]),
        machines_useful=_machines_useful(job, stages),
        assumptions=_assumptions(job),
        _figures=_figures(job, interval, stages, reached, by_files),
    )


def _mb_s(gbit_s: float) -> float:
    return gbit_s * GB / _BITS / MB


def _stages(job: CopyJob, share: float) -> dict[str, float]:
    """MB/s of every stage whose rate is known, all machines together."""
    found: dict[str, float] = {}
    if job.link_gbps is not None:
        ceiling = load_data("object_stores")["wire"]["ceiling_gbps"]
        found["link"] = _mb_s(min(job.link_gbps * share, ceiling)) * job.machines
    for end, name in (("source", job.source), ("target", job.target)):
        rate = None if name is None else _store_mb_s(name, job)
        if rate is not None:
            found[end] = rate
    return found


def _store_mb_s(name: str, job: CopyJob) -> float | None:
    """MB/s of one end: an account's of an object store, a disk's times the machines with one."""
    store = object_store(name, is_abroad=job.is_abroad)
    if store is not None:
        return store.mb_s
    limit = storage_limit(name)
    return limit.mb_s if is_shared(name) else limit.mb_s * job.machines


def is_shared(name: str) -> bool:
    """Whether machines share a store, as they do a file system; each has a disk of its own.

    Raises:
        UserInputError: If the store is not known.
    """
    if object_store(name) is not None:
        return True
    return bool(load_data("storage")["products"][storage_limit(name).name].get("shared", False))


def _files_per_s(job: CopyJob) -> float | None:
    """Files a second that can be opened at the slower end; None where their number was not said."""
    if job.files is None:
        return None
    table = load_data("object_stores")
    streams = (job.streams or table["streams"]["value"]) * job.machines
    rates = []
    for name in (job.source, job.target):
        store = None if name is None else object_store(name, is_abroad=job.is_abroad)
        if store is not None:
            rates.append(streams / table["first_byte_s"]["value"])
            rates.append(store.gets_per_s or math.inf)
        elif name is not None:
            limit = storage_limit(name)
            rates.append(limit.iops or math.inf)
            if limit.latency_ms is not None:
                rates.append(streams * 1000 / limit.latency_ms)
    slowest = min(rates, default=math.inf)
    return None if math.isinf(slowest) else slowest


def _machines_useful(job: CopyJob, stages: dict[str, float]) -> int | None:
    """How many such machines the shared ends can feed; None where no such end is known."""
    if "link" not in stages:
        return None
    one = stages["link"] / job.machines
    shared = [
        stages[end]
        for end, name in (("source", job.source), ("target", job.target))
        if end in stages and name is not None and is_shared(name)
    ]
    return max(1, math.ceil(min(shared) / one)) if shared else None


def _spread(slowest: str, wire: dict[str, Any]) -> tuple[float, float]:
    """(least, most) of the time over the likely one: a cap is reached at best."""
    if slowest == "link":
        return wire["value"] / wire["high"], wire["value"] / wire["low"]
    if slowest == "files":
        first = load_data("object_stores")["first_byte_s"]
        return first["low"] / first["value"], first["high"] / first["value"]
    return 1.0, 1.0 / wire["low"]


def _assumptions(job: CopyJob) -> tuple[Assumption, ...]:
    if job.files is None or job.streams is not None:
        return ()
    row = load_data("object_stores")["streams"]
    return (Assumption("streams", row["value"], "1", row["origin"]),)


def _figures(
    job: CopyJob,
    seconds: Interval,
    stages: dict[str, float],
    reached: float,
    by_files: float | None,
) -> tuple[Figure, ...]:
    size = given("size", job.size_bytes, "B")
    inputs = [size]
    for name, rate in stages.items():
        inputs.append(Figure(f"{name}_rate", rate, "MB/s", (_stage_source(name, job),)))
    if job.link_gbps is not None:
        inputs.append(given("link", job.link_gbps, "Gbit/s"))
    if by_files is not None:
        first = load_data("object_stores")["first_byte_s"]
        inputs.append(assumed("first_byte", first["value"], "s", first["origin"]))
    formula = "size / min(rates); files * seconds to open one / streams where that is longer"
    return (
        *seconds.figures("copy", formula=formula, inputs=inputs),
        Figure("copy_rate", reached, "MB/s", formula="size / time", inputs=(size,)),
        *inputs,
    )


def _stage_source(name: str, job: CopyJob) -> Source:
    if name == "link":
        return data_source("object_stores", "wire")
    end = job.source if name == "source" else job.target
    store = None if end is None else object_store(end)
    if store is not None:
        return data_source("object_stores", store.key)
    return data_source("storage", str(end))
