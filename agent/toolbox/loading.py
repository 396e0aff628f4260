"""check_data_loading: the slowest stage between disk and GPU."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from agent.answer import AssumptionOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Row, Tool, description_of
from agent.toolbox.ranges import Range, assumptions_out, figures_out, range_out


class LoadingArguments(Arguments):
    """A training job that reads images or files."""

    images_per_s_per_gpu: float | None = Field(None, gt=0, description="What one GPU takes")
    model: str | None = Field(None, description="Model, when the rate is not known")
    gpu: str | None = None
    gpus: int = Field(1, ge=1)
    vcpu: int | None = Field(None, ge=1)
    num_workers: int | None = Field(None, ge=1)
    image_kb: float | None = Field(None, gt=0)
    storage: str | None = Field(None, description="nas, cpfs, essd-pl1, nvme, hdd ...")
    storage_mb_s: float | None = Field(None, gt=0)
    packed: bool = False
    provider: str | None = Field(None, description="Cloud whose storage is set beside local disks")
    gpu_util_pct: float | None = Field(None, ge=0, le=100)


class LoadingChange(Row):
    """One thing to raise."""

    what: str
    target: float | None
    unit: str


class StoreOut(Row):
    """What one kind of storage feeds."""

    name: str
    mb_s: float
    images_per_s: float
    origin: str


class LoadingOut(Report):
    """Rates of every stage and the slowest."""

    gpu: str | None
    model: str | None
    """Network whose rate was computed; None where the rate was given."""
    rate: Range
    """Images a second that one GPU takes."""
    needed_per_s: float
    disk_mb_s: float
    """MB/s that the storage must deliver."""
    cores: Range
    """vCPUs that decode what is needed."""
    decode_per_core: Range
    image_kb: float
    stores: tuple[StoreOut, ...]
    capacity_gib: float | None
    """Capacity at which the named storage delivers that; 0 where it does not matter, null where
    none was named or no capacity is enough."""
    delivered_per_s: float
    bottleneck: str
    stages: dict[str, float]
    gpu_utilisation: float
    changes: tuple[LoadingChange, ...]
    assumptions: tuple[AssumptionOut, ...]

    def summary(self) -> str:
        """The slowest stage."""
        return f"slowest: {self.bottleneck}, GPU busy {self.gpu_utilisation:.0%}"


def build(settings: Settings) -> Tool[LoadingArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="check_data_loading",
        description=description_of("check_data_loading"),
        arguments=LoadingArguments,
        report=LoadingOut,
        function=check_data_loading,
    )


_USUAL_MODEL, _USUAL_GPU = "resnet50", "V100"
_STORES = {
    "aws": ("efs", "fsx-lustre"),
    "tencent": ("cfs", "cfs-turbo"),
    "huawei": ("sfs-turbo",),
}
"""Storage of a cloud that is set beside local disks; Alibaba Cloud's where none is named."""
_USUAL_STORES = ("essd-pl0", "essd-pl1", "essd-pl3", "nas", "cpfs")
_LOCAL_STORES = ("nvme", "hdd")


def check_data_loading(arguments: LoadingArguments) -> LoadingOut:
    """The slowest stage between disk and GPU.

    Raises:
        UserInputError: Unknown storage and impossible values.
    """
    from tools.speed import LoadingJob, data_loading
    from tools.speed.results import load_data

    rate, assumptions, figures, model = _rate(arguments)
    found = data_loading(
        LoadingJob(
            images_per_s_per_gpu=rate.value,
            gpus=arguments.gpus,
            vcpu=arguments.vcpu,
            num_workers=arguments.num_workers,
            image_kb=arguments.image_kb,
            storage=arguments.storage,
            storage_mb_s=arguments.storage_mb_s,
            packed=arguments.packed,
        )
    )
    size_kb = found.disk_mb_s * 1000 / found.needed_per_s
    return LoadingOut(
        figures=figures_out(found.figures(), figures),
        gpu=arguments.gpu,
        model=model,
        rate=rate,
        needed_per_s=found.needed_per_s,
        disk_mb_s=found.disk_mb_s,
        cores=range_out(found.cores),
        decode_per_core=Range(
            **{k: load_data("loading")["decode_per_core"][k] for k in ("value", "low", "high")}
        ),
        image_kb=size_kb,
        stores=_stores(arguments.provider or _owner(arguments.storage), size_kb),
        capacity_gib=_capacity(arguments, found.disk_mb_s),
        delivered_per_s=found.delivered_per_s,
        bottleneck=found.bottleneck,
        stages=found.stages,
        gpu_utilisation=found.gpu_utilisation,
        changes=tuple(
            LoadingChange(what=c.what, target=c.target, unit=c.unit) for c in found.changes
        ),
        assumptions=assumptions + assumptions_out(found.assumptions),
    )


def _rate(
    arguments: LoadingArguments,
) -> tuple[Range, tuple[AssumptionOut, ...], tuple[Any, ...], str | None]:
    """Images a second of one GPU: as given, else computed for the network and the card."""
    from tools.errors import UserInputError
    from tools.speed import ImageJob, image_model, image_speed

    given = arguments.images_per_s_per_gpu
    if given is not None:
        return Range(value=given, low=given, high=given), (), (), None
    assumed: list[AssumptionOut] = []
    model = (arguments.model or _USUAL_MODEL).removeprefix("timm/")
    try:
        image_model(model)
    except UserInputError:
        model = _USUAL_MODEL
    if arguments.model is None or model == _USUAL_MODEL != arguments.model.removeprefix("timm/"):
        why = "no network with a known rate was named; the usual yardstick"
        assumed.append(AssumptionOut(name="image_model", value=model, unit="1", why=why))
    speed = image_speed(ImageJob(gpu=arguments.gpu or _USUAL_GPU, model=model, task="train"))
    if arguments.gpu is None:
        why = "no card was named; a common one"
        assumed.append(AssumptionOut(name="gpu", value=_USUAL_GPU, unit="1", why=why))
    told = range_out(speed.samples_per_s)
    assumed.append(
        AssumptionOut(
            name="images_per_s_per_gpu",
            value=round(told.value),
            unit="image/s",
            why=f"{model} in mixed precision on {arguments.gpu or _USUAL_GPU}, computed",
        )
    )
    return told, tuple(assumed), speed.figures(), model


def _owner(storage: str | None) -> str | None:
    """The cloud whose product a storage is."""
    from tools.speed import storage_limit
    from tools.speed.results import load_data

    if storage is None:
        return None
    name = storage_limit(storage).name
    owner = load_data("storage")["products"][name]["provider"]
    return None if owner is None else str(owner)


def _stores(provider: str | None, size_kb: float) -> tuple[StoreOut, ...]:
    """What the storage of a cloud and local disks feed, by their throughput."""
    from tools.speed import storage_limit

    limits = (
        storage_limit(s) for s in (*_STORES.get(provider or "", _USUAL_STORES), *_LOCAL_STORES)
    )
    return tuple(
        StoreOut(name=x.name, mb_s=x.mb_s, images_per_s=x.mb_s * 1000 / size_kb, origin=x.origin)
        for x in limits
    )


def _capacity(arguments: LoadingArguments, mb_s: float) -> float | None:
    from tools.speed import capacity_for

    if arguments.storage is None or arguments.storage_mb_s is not None:
        return None
    return capacity_for(arguments.storage, mb_s)
