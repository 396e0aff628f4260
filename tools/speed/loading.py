"""Can the CPUs and the disk feed the GPUs, and what to raise when they cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tools.errors import BadQuantityError, UserInputError
from tools.provenance import Assumption, Figure
from tools.speed.results import (
    Interval,
    data_source,
    given,
    load_data,
    require_all_positive,
    require_positive,
)

Stage = Literal["gpu", "decode", "workers", "throughput", "small_files"]


@dataclass(frozen=True, slots=True)
class StorageLimit:
    """What a disk or file system gives."""

    name: str
    mb_s: float
    """MB/s (10**6 bytes)."""
    iops: float | None
    """Reads a second; None when the vendor states none."""
    latency_ms: float | None
    origin: str


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to raise."""

    what: Literal[
        "num_workers", "vcpu", "storage", "pack", "gpu_decode", "smaller_images", "nothing"
    ]
    target: float | None
    unit: str
    why: str


@dataclass(frozen=True, slots=True)
class LoadingReport:
    """Images per second of every stage, the slowest of them, and the way out."""

    needed_per_s: float
    """Images per second that all GPUs together would take."""
    stages: dict[str, float]
    """Capacity of each stage, images/s."""
    bottleneck: Stage
    delivered_per_s: float
    gpu_utilisation: float
    """Share of the time that the GPUs compute, from 0 to 1."""
    changes: tuple[Change, ...]
    assumptions: tuple[Assumption, ...]
    _figures: tuple[Figure, ...]

    def figures(self) -> tuple[Figure, ...]:
        """Need and capacity of each stage (images/s), the disk's MB/s, the utilisation (1)."""
        return self._figures


def storage_limit(name: str, *, size_gib: float | None = None) -> StorageLimit:
    """Throughput and IOPS of a storage product.

    Args:
        name: essd-pl0 .. essd-pl3, nas, cpfs, cfs-turbo, nvme, ...; case and spaces are free.
        size_gib: Capacity; matters where the throughput grows with it.

    Raises:
        UserInputError: If the product is not known; the message lists those that are.

    Source: data/storage.json, vendor documents.

    >>> storage_limit("ESSD PL1", size_gib=200).mb_s
    220.0
    """
    table = load_data("storage")
    key = name.strip().casefold().replace("_", "-")
    key = table["aliases"].get(key, key.replace(" ", "-"))
    key = table["aliases"].get(key, key)
    row = table["products"].get(key)
    if row is None:
        known = ", ".join(table["products"])
        raise UserInputError(f"Unknown storage {name!r}. Known: {known}. Or give its MB/s.")
    require_positive("size_gib", size_gib)
    iops = _grown(row, "iops", size_gib)
    mb_s = _grown(row, "mb_s", size_gib)
    if mb_s is None:  # every row has mb_s
        raise UserInputError(f"Storage {name!r} states no throughput.")
    return StorageLimit(key, mb_s, iops, row.get("latency_ms"), row["origin"])


def _grown(row: dict[str, Any], field: str, size_gib: float | None) -> float | None:
    """The row's cap, or less where the capacity does not buy it."""
    cap = row.get(field)
    if cap is None or size_gib is None:
        return None if cap is None else float(cap)
    tiers = row.get(f"tiers_gib_{field}")
    if tiers:
        reached = [rate for start, rate in tiers if size_gib >= start]
        return float(reached[-1] if reached else tiers[0][1])
    slope = row.get(f"{field}_per_gib")
    if slope is None:
        return float(cap)
    return float(min(row.get(f"{field}_base", 0) + slope * size_gib, cap))


def data_loading(
    *,
    images_per_s_per_gpu: float,
    gpus: int = 1,
    vcpu: int | None = None,
    num_workers: int | None = None,
    image_kb: float | None = None,
    storage: str | None = None,
    storage_gib: float | None = None,
    storage_mb_s: float | None = None,
    packed: bool = False,
    cached: bool = False,
    decode_per_core: float | None = None,
) -> LoadingReport:
    """The slowest stage between the disk and the GPU, and what to raise.

    Args:
        images_per_s_per_gpu: What one GPU would take (from `image_speed` or measured on synthetic
            data).
        gpus: GPUs fed by this machine.
        vcpu: Virtual cores of the machine; None leaves the CPU out.
        num_workers: Loader workers in total; None means one a vCPU.
        image_kb: Mean file size in kB (10**3 bytes); assumed 110, the ImageNet mean.
        storage: A product of data/storage.json.
        storage_gib: Its capacity.
        storage_mb_s: Its throughput, where it was measured; wins over the product's.
        packed: Records of many images (WebDataset, TFRecord, FFCV) instead of single files.
        cached: The data set fits into the page cache: the disk counts in the first epoch only.
        decode_per_core: Images per second that one core decodes and augments; assumed 150.

    Raises:
        BadQuantityError: If a number is not above zero.

    Source: data/loading.json and data/storage.json (published measurements, vendor documents).
    """
    require_all_positive(
        images_per_s_per_gpu=images_per_s_per_gpu,
        gpus=gpus,
        vcpu=vcpu,
        num_workers=num_workers,
        image_kb=image_kb,
        storage_mb_s=storage_mb_s,
        decode_per_core=decode_per_core,
    )
    assumptions: list[Assumption] = []
    rates = load_data("loading")
    size_kb = _or_usual("image_kb", image_kb, "kB", rates["image_kb"]["imagenet"], assumptions)
    per_core = _or_usual(
        "decode_per_core", decode_per_core, "image/s", rates["decode_per_core"], assumptions
    )
    needed = images_per_s_per_gpu * gpus
    limit = storage_limit(storage, size_gib=storage_gib) if storage else None
    mb_s = storage_mb_s if storage_mb_s is not None else (limit.mb_s if limit else None)
    stages: dict[str, float] = {"gpu": needed}
    workers = num_workers if num_workers is not None else vcpu
    if vcpu is not None:
        stages["decode"] = vcpu * per_core
    if workers is not None:
        stages["workers"] = workers * per_core
    if not cached:
        stages.update(_disk_stages(limit, mb_s, size_kb, workers, packed))
    slowest = min(stages, key=lambda stage: stages[stage])
    delivered = stages[slowest]
    utilisation = delivered / needed
    return LoadingReport(
        needed_per_s=needed,
        stages=stages,
        bottleneck=slowest,  # type: ignore[arg-type]  # keys of `stages` are the stages
        delivered_per_s=delivered,
        gpu_utilisation=utilisation,
        changes=_changes(stages, needed, size_kb, per_core, vcpu),
        assumptions=tuple(assumptions),
        _figures=_figures(stages, needed, size_kb, mb_s, utilisation, per_core, limit),
    )


def _disk_stages(
    limit: StorageLimit | None,
    mb_s: float | None,
    size_kb: float,
    workers: int | None,
    packed: bool,
) -> dict[str, float]:
    """Images per second by the disk's bytes and, for single files, by its reads."""
    found: dict[str, float] = {}
    if mb_s is not None:
        found["throughput"] = mb_s * 1000 / size_kb
    files = _small_files(limit, workers) if limit is not None and not packed else None
    if files is not None:
        found["small_files"] = files
    return found


def _or_usual(
    name: str, value: float | None, unit: str, row: dict[str, Any], assumed: list[Assumption]
) -> float:
    """The value, or the row's with a note in `assumed`."""
    if value is not None:
        return value
    usual = float(row["value"])
    assumed.append(Assumption(name, usual, unit, row["origin"]))
    return usual


def _small_files(limit: StorageLimit, workers: int | None) -> float | None:
    """Single files a second: the product's IOPS, or one wait per file and worker."""
    candidates = [] if limit.iops is None else [limit.iops]
    if limit.latency_ms and workers:
        candidates.append(workers * 1000 / limit.latency_ms)
    return min(candidates, default=None)


def _changes(
    stages: dict[str, float], needed: float, size_kb: float, per_core: float, vcpu: int | None
) -> tuple[Change, ...]:
    """What to raise, the slowest stage first."""
    changes: list[Change] = []
    short = sorted((rate, stage) for stage, rate in stages.items() if rate < needed)
    for rate, stage in short:
        if stage == "workers" and (vcpu is None or rate < vcpu * per_core):
            want = needed / per_core
            changes.append(
                Change("num_workers", round(want + 0.5), "worker", "one worker decodes too little")
            )
        elif stage == "decode":
            want = needed / per_core
            changes.append(Change("vcpu", round(want + 0.5), "vCPU", "the cores decode too little"))
            changes.append(
                Change("gpu_decode", None, "", "DALI or nvJPEG decodes on the GPU instead")
            )
        elif stage == "throughput":
            want = needed * size_kb / 1000
            changes.append(Change("storage", want, "MB/s", "the disk delivers too few bytes"))
            changes.append(Change("smaller_images", None, "", "store images at training size"))
        elif stage == "small_files":
            changes.append(
                Change("pack", None, "", "records of many images instead of single files")
            )
    if not changes:
        changes.append(Change("nothing", None, "", "the GPUs are the slowest stage"))
    return tuple(changes)


def _figures(
    stages: dict[str, float],
    needed: float,
    size_kb: float,
    mb_s: float | None,
    utilisation: float,
    per_core: float,
    limit: StorageLimit | None,
) -> tuple[Figure, ...]:
    size = given("image_kb", size_kb, "kB")
    figures = [
        Figure("images_needed", needed, "image/s", formula="images per s per GPU * gpus"),
        Figure(
            "disk_needed",
            needed * size_kb / 1000,
            "MB/s",
            formula="images_needed * image_kb / 1000",
            inputs=(size,),
        ),
        Figure("gpu_utilisation", utilisation, "1", formula="slowest stage / images_needed"),
    ]
    core = Figure(
        "decode_per_core", per_core, "image/s", (data_source("loading", "decode_per_core"),)
    )
    formulas = {
        "decode": "vcpu * decode_per_core",
        "workers": "num_workers * decode_per_core",
        "throughput": "MB/s * 1000 / image_kb",
        "small_files": "min(IOPS, workers * 1000 / latency_ms)",
    }
    for stage, formula in formulas.items():
        if stage in stages:
            figures.append(
                Figure(
                    f"{stage}_capacity", stages[stage], "image/s", formula=formula, inputs=(core,)
                )
            )
    if mb_s is not None:
        origin = data_source("storage", limit.name) if limit else None
        figures.append(
            Figure("storage_throughput", mb_s, "MB/s", (origin,))
            if origin
            else given("storage_throughput", mb_s, "MB/s")
        )
    return tuple(figures)


def utilisation_gap(
    *, gpu_utilisation: float, images_per_s_per_gpu: float, gpus: int = 1
) -> Interval:
    """Images per second that arrive when the GPUs show `gpu_utilisation`.

    Args:
        gpu_utilisation: Share seen in nvidia-smi, 0 to 1; an upper bound of the useful work.
        images_per_s_per_gpu: What one GPU would take.
        gpus: GPUs watched.

    Raises:
        BadQuantityError: If the share is not between 0 and 1.
    """
    if not 0 < gpu_utilisation <= 1:
        raise BadQuantityError(
            field="gpu_utilisation", given=gpu_utilisation, allowed="above 0 and at most 1"
        )
    full = images_per_s_per_gpu * gpus
    return Interval(
        full * gpu_utilisation, full * gpu_utilisation * 0.7, full * gpu_utilisation, "image/s"
    )
