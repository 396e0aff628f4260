"""placement: does a task need a GPU, or will a CPU server do."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field

from agent.answer import AssumptionOut, FigureOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Row, Tool, description_of, figure_out
from agent.toolbox.offers import InstanceOut, instance_out
from tools.errors import UserInputError
from tools.units import MB, bytes_from_gb


class PlacementArguments(Arguments):
    """A task in words and numbers; what is left out is assumed and reported."""

    action: Literal["train", "infer", "preprocess", "notebook"] = "train"
    work: str | None = Field(None, description="Library, algorithm or small net: XGBoost, MNIST")
    model: str | None = None
    params_b: float | None = Field(None, gt=0)
    model_mb: float | None = Field(None, gt=0, description="Size of the model file, MB")
    method: Literal["full", "lora", "qlora"] | None = None
    rows: int | None = Field(None, ge=1)
    columns: int | None = Field(None, ge=1)
    rounds: int | None = Field(None, ge=1)
    data_gb: float | None = Field(None, gt=0, description="Size of the data, GB")
    samples: float | None = Field(None, gt=0)
    epochs: float | None = Field(None, gt=0)
    requests_per_s: float | None = Field(None, gt=0)
    concurrency: int | None = Field(None, ge=1)
    latency_s: float | None = Field(None, gt=0)
    tokens: int | None = Field(None, ge=1, description="Tokens of one text")
    vcpu: int | None = Field(None, ge=1)
    host_ram_gb: float | None = Field(None, gt=0)
    provider: str | None = None
    region: str | None = None


class ReasonOut(Row):
    """A point for the place."""

    code: str
    values: dict[str, float]
    detail: str | None


class OptionOut(Row):
    """A machine that was weighed."""

    instance: InstanceOut | None
    cost_per_hour: Decimal | None
    hours: float | None
    rate: float | None
    vcpu: int | None


class ManagedOut(Row):
    """A managed platform."""

    provider: str
    name: str
    what_en: str
    what_zh: str


class PlacementReport(Report):
    """The place and why."""

    kind: Literal["cpu", "vgpu_slice", "one_gpu", "several_gpus", "managed"]
    needs_gpu: bool
    reasons: tuple[ReasonOut, ...]
    cpu: OptionOut | None
    gpu: OptionOut | None
    managed: tuple[ManagedOut, ...]
    assumptions: tuple[AssumptionOut, ...]

    def summary(self) -> str:
        """The place."""
        return f"{self.kind}: {', '.join(reason.code for reason in self.reasons)}"

    def reason(self, code: str) -> ReasonOut | None:
        """The reason of a code, where it was given."""
        return next((r for r in self.reasons if r.code == code), None)


def build(settings: Settings) -> Tool[PlacementArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="placement",
        description=description_of("placement"),
        arguments=PlacementArguments,
        report=PlacementReport,
        function=place_task,
    )


@lru_cache(maxsize=512)
def place_task(arguments: PlacementArguments) -> PlacementReport:
    """Computes where a task belongs.

    Raises:
        UserInputError: If nothing says what is run, or a provider is not known.
    """
    from tools.placement import place

    found = place(_task(arguments))
    options = {"cpu": found.cpu, "gpu": found.gpu}
    figures = [figure_out(figure) for figure in found.figures()]
    for name, option in options.items():
        figures += _option_figures(name, option)
    return PlacementReport(
        figures=tuple(figures),
        kind=found.kind,
        needs_gpu=found.needs_gpu,
        reasons=tuple(
            ReasonOut(
                code=r.code,
                values={f.name: float(f.value) for f in r.figures},
                detail=r.detail,
            )
            for r in found.reasons
        ),
        cpu=_option(found.cpu, arguments.region),
        gpu=_option(found.gpu, arguments.region),
        managed=tuple(
            ManagedOut(provider=m.provider, name=m.name, what_en=m.what_en, what_zh=m.what_zh)
            for m in found.managed
        ),
        assumptions=tuple(
            AssumptionOut(name=a.name, value=a.value, unit=a.unit, why=a.why)
            for a in found.assumptions
        ),
    )


def _task(arguments: PlacementArguments) -> Any:
    from tools.placement import Task, find_work

    model = None
    written = arguments.work or arguments.model
    if arguments.model is not None and find_work(written) is None:
        model = _model(arguments)
    return Task(
        action=arguments.action,
        work=written,
        model=model,
        params=arguments.params_b * 1e9 if arguments.params_b else None,
        model_bytes=int(arguments.model_mb * MB) if arguments.model_mb else None,
        method=arguments.method,
        rows=arguments.rows,
        columns=arguments.columns,
        rounds=arguments.rounds,
        data_bytes=bytes_from_gb(arguments.data_gb) if arguments.data_gb else None,
        samples=arguments.samples,
        epochs=arguments.epochs,
        requests_per_s=arguments.requests_per_s,
        concurrency=arguments.concurrency,
        latency_s=arguments.latency_s,
        seq_len=arguments.tokens,
        vcpu_count=arguments.vcpu,
        host_ram_bytes=bytes_from_gb(arguments.host_ram_gb) if arguments.host_ram_gb else None,
        provider=arguments.provider,
        region=arguments.region,
    )


def _model(arguments: PlacementArguments) -> Any:
    from tools.models import find_model

    try:
        return find_model(arguments.model or "").spec
    except UserInputError:
        if arguments.params_b is None and arguments.model_mb is None:
            raise
        return None


def _option(option: Any, region: str | None) -> OptionOut | None:
    if option is None:
        return None
    return OptionOut(
        instance=instance_out(option.offer, region) if option.offer is not None else None,
        cost_per_hour=option.per_hour,
        hours=option.hours,
        rate=option.rate,
        vcpu=option.vcpu_count,
    )


def _option_figures(name: str, option: Any) -> list[FigureOut]:
    if option is None:
        return []
    rows = ((f"{name}: hours", option.hours, "h"), (f"{name}: rate", option.rate, "1/s"))
    figures = [
        FigureOut(name=label, value=value, unit=unit, formula="placement")
        for label, value, unit in rows
        if value is not None
    ]
    if option.offer is not None and option.offer.memory_gib is not None:
        figures.append(FigureOut(name=f"{name}: RAM", value=option.offer.memory_gib, unit="GiB",
                                 sources=("data:catalog",)))  # fmt: skip
    return figures
