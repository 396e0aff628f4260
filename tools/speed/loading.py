"""Can the CPUs and the disk feed the GPUs, and what to raise when they cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tools.errors import BadQuantityError
from tools.provenance import Assumption, Figure
from tools.speed.results import (
    Interval,
    data_source,
    given,
    load_data,
    require_all_positive,
)
from tools.speed.storage import StorageLimit, storage_limit

Stage = Literal["gpu", "decode", "workers", "throughput", "small_files"]


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
    disk_mb_s: float
    """MB/s that the storage must deliver for that."""
    cores: Interval
    """vCPUs that decode it."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadingJob:
    """A training that reads images; None = not said.

    Raises:
        BadQuantityError: If a number is not above zero.
    """

    images_per_s_per_gpu: float
    """What one GPU would take (from `image_speed`, or measured on synthetic data)."""
    gpus: int = 1
    """GPUs fed by this machine."""
    vcpu: int | None = None
    """Virtual cores of the machine; None leaves the CPU out."""
    num_workers: int | None = None
    """Loader workers in total; None means one a vCPU."""
    image_kb: float | None = None
    """Mean file size in kB (10**3 bytes); assumed 110, the ImageNet mean."""
    storage: str | None = None
    """A product of data/storage.json."""
    storage_gib: float | None = None
    storage_mb_s: float | None = None
    """Its throughput, where it was measured; wins over the product's."""
    packed: bool = False
    """Records of many images (WebDataset, TFRecord, FFCV) instead of single files."""
    cached: bool = False
    """The data set fits into the page cache: the disk counts in the first epoch only."""
    decode_per_core: float | None = None
    """Images per second that one core decodes and augments; assumed 150."""

    def __post_init__(self) -> None:
        require_all_positive(
            images_per_s_per_gpu=self.images_per_s_per_gpu,
            gpus=self.gpus,
            vcpu=self.vcpu,
            num_workers=self.num_workers,
            image_kb=self.image_kb,
            storage_mb_s=self.storage_mb_s,
            decode_per_core=self.decode_per_core,
        )

    @property
    def workers(self) -> int | None:
        """Loader workers; one a vCPU where none were said."""
        return self.num_workers if self.num_workers is not None else self.vcpu


def data_loading(job: LoadingJob) -> LoadingReport:
    """The slowest stage between the disk and the GPU, and what to raise.

    Raises:
        UserInputError: If the storage product is not known.

    Source: data/loading.json and data/storage.json (published measurements, vendor documents).
    """
    assumptions: list[Assumption] = []
    rates = load_data("loading")
    size_kb = _or_usual("image_kb", job.image_kb, "kB", rates["image_kb"]["imagenet"], assumptions)
    per_core = _or_usual(
        "decode_per_core", job.decode_per_core, "image/s", rates["decode_per_core"], assumptions
    )
    needed = job.images_per_s_per_gpu * job.gpus
    limit = storage_limit(job.storage, size_gib=job.storage_gib) if job.storage else None
    mb_s = job.storage_mb_s if job.storage_mb_s is not None else (limit.mb_s if limit else None)
    stages: dict[str, float] = {"gpu": needed}
    if job.vcpu is not None:
        stages["decode"] = job.vcpu * per_core
    if job.workers is not None:
        stages["workers"] = job.workers * per_core
    if not job.cached:
        stages.update(_disk_stages(limit, mb_s, size_kb, job.workers, job.packed))
    slowest = min(stages, key=lambda stage: stages[stage])
    cores = _cores(needed, job.decode_per_core)
    return LoadingReport(
        needed_per_s=needed,
        disk_mb_s=needed * size_kb / 1000,
        cores=cores,
        stages=stages,
        bottleneck=slowest,  # type: ignore[arg-type]  # keys of `stages` are the stages
        delivered_per_s=stages[slowest],
        gpu_utilisation=stages[slowest] / needed,
        changes=_changes(stages, needed, size_kb, per_core, job.vcpu),
        assumptions=tuple(assumptions),
        _figures=(
            *_need_figures(needed, size_kb, stages[slowest] / needed, per_core, cores),
            *_stage_figures(stages, per_core, mb_s, limit),
        ),
    )


def _cores(needed: float, per_core: float | None) -> Interval:
    """Cores that decode what is needed; with the range of published rates where none was given."""
    row = load_data("loading")["decode_per_core"]
    if per_core is not None:
        row = dict.fromkeys(("value", "low", "high"), per_core)
    return Interval(needed / row["value"], needed / row["high"], needed / row["low"], "vCPU")


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


def _need_figures(
    needed: float, size_kb: float, utilisation: float, per_core: float, cores: Interval
) -> tuple[Figure, ...]:
    """What the GPUs ask for: images, bytes and cores."""
    size = given("image_kb", size_kb, "kB")
    images = Figure("images_needed", needed, "image/s", formula="images per s per GPU * gpus")
    core = _core_figure(per_core)
    return (
        images,
        Figure(
            "disk_needed",
            needed * size_kb / 1000,
            "MB/s",
            formula="images_needed * image_kb / 1000",
            inputs=(images, size),
        ),
        Figure("gpu_utilisation", utilisation, "1", formula="slowest stage / images_needed"),
        core,
        *cores.figures(
            "cores_needed", formula="images_needed / decode_per_core", inputs=(images, core)
        ),
    )


def _core_figure(per_core: float) -> Figure:
    return Figure(
        "decode_per_core", per_core, "image/s", (data_source("loading", "decode_per_core"),)
    )


def _stage_figures(
    stages: dict[str, float], per_core: float, mb_s: float | None, limit: StorageLimit | None
) -> tuple[Figure, ...]:
    """Capacity of each stage, and the disk's rate."""
    core = _core_figure(per_core)
    formulas = {
        "decode": "vcpu * decode_per_core",
        "workers": "num_workers * decode_per_core",
        "throughput": "MB/s * 1000 / image_kb",
        "small_files": "min(IOPS, workers * 1000 / latency_ms)",
    }
    figures = [
        Figure(f"{stage}_capacity", stages[stage], "image/s", formula=formula, inputs=(core,))
        for stage, formula in formulas.items()
        if stage in stages
    ]
    if mb_s is not None and limit is not None:
        source = data_source("storage", limit.name)
        figures.append(Figure("storage_throughput", mb_s, "MB/s", (source,)))
    elif mb_s is not None:
        figures.append(given("storage_throughput", mb_s, "MB/s"))
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
