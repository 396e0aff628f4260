"""check_data_loading: the slowest stage between disk and GPU."""

from __future__ import annotations

from pydantic import Field

from agent.answer import AssumptionOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Row, Tool, description_of
from agent.toolbox.ranges import assumptions_out, figures_out


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
    gpu_util_pct: float | None = Field(None, ge=0, le=100)


class LoadingChange(Row):
    """One thing to raise."""

    what: str
    target: float | None
    unit: str


class LoadingOut(Report):
    """Rates of every stage and the slowest."""

    needed_per_s: float
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


_ASSUMED_IMAGES_PER_S = 800.0


def check_data_loading(arguments: LoadingArguments) -> LoadingOut:
    """The slowest stage between disk and GPU.

    Raises:
        UserInputError: Unknown storage and impossible values.
    """
    from tools.speed import LoadingJob, data_loading

    rate = arguments.images_per_s_per_gpu
    assumptions: tuple[AssumptionOut, ...] = ()
    if rate is None:
        rate = _ASSUMED_IMAGES_PER_S
        why = "a ResNet-50 in mixed precision on a V100-class card"
        assumptions = (
            AssumptionOut(name="images_per_s_per_gpu", value=rate, unit="image/s", why=why),
        )
    found = data_loading(
        LoadingJob(
            images_per_s_per_gpu=rate,
            gpus=arguments.gpus,
            vcpu=arguments.vcpu,
            num_workers=arguments.num_workers,
            image_kb=arguments.image_kb,
            storage=arguments.storage,
            storage_mb_s=arguments.storage_mb_s,
            packed=arguments.packed,
        )
    )
    return LoadingOut(
        figures=figures_out(found.figures()),
        needed_per_s=found.needed_per_s,
        delivered_per_s=found.delivered_per_s,
        bottleneck=found.bottleneck,
        stages=found.stages,
        gpu_utilisation=found.gpu_utilisation,
        changes=tuple(
            LoadingChange(what=c.what, target=c.target, unit=c.unit) for c in found.changes
        ),
        assumptions=assumptions + assumptions_out(found.assumptions),
    )
