"""Time, cost, network, data loading and checkpoints, from `tools.speed`."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

from pydantic import Field

from agent.answer import AssumptionOut, FigureOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Row, Tool, description_of, figure_out
from tools.errors import BadQuantityError


class Range(Row):
    """A value with its interval."""

    value: float
    low: float
    high: float


def _range(interval: Any) -> Range:
    return Range(value=interval.value, low=interval.low, high=interval.high)


def _assumed(items: Any) -> tuple[AssumptionOut, ...]:
    return tuple(AssumptionOut(name=a.name, value=a.value, unit=a.unit, why=a.why) for a in items)


def _figures(*groups: Any) -> tuple[FigureOut, ...]:
    return tuple(figure_out(figure) for group in groups for figure in group)


# ---- time and cost


class TimeArguments(Arguments):
    """A training or serving job, or a measured step."""

    task: Literal["train", "infer"] = "train"
    model: str | None = None
    params_b: float | None = Field(None, gt=0)
    method: str | None = Field(None, description="full, lora, qlora")
    precision: str | None = None
    quantization: str | None = None
    framework: str | None = None
    gpu: str | None = Field(None, description="Card in any spelling / 显卡")
    gpu_count: int = Field(1, ge=1)
    nodes: int | None = Field(None, ge=1)
    batch: int | None = Field(None, ge=1, description="Sequences per GPU and step")
    seq_len: int | None = Field(None, ge=1)
    input_len: int | None = Field(None, ge=1)
    output_len: int | None = Field(None, ge=1)
    concurrency: int = Field(1, ge=1)
    samples: float | None = Field(None, gt=0, description="Samples of one epoch / 样本数")
    tokens_per_sample: float | None = Field(None, gt=0)
    tokens: float | None = Field(None, gt=0, description="Tokens of one epoch")
    epochs: float = Field(1, gt=0)
    steps: int | None = Field(None, ge=1)
    step_s: float | None = Field(None, gt=0, description="Measured seconds per step / 每步秒数")
    price_per_hour: float | None = Field(None, gt=0, description="Price of the machine")
    currency: str = "CNY"
    instances: int = Field(1, ge=1)


class TimeReport(Report):
    """Speed, hours and cost; null where not asked for or not computable."""

    gpu: str | None
    gpu_count: int
    tokens_per_s_per_gpu: Range | None
    tokens_per_s: Range | None
    """Training: all GPUs together; serving: all streams together."""
    stream_tokens_per_s: Range | None
    """Serving: one stream."""
    ttft_s: Range | None
    mfu: float | None
    hours: Range | None
    steps: int | None
    tokens: float | None
    samples: float | None
    cost: Range | None
    currency: str | None
    assumptions: tuple[AssumptionOut, ...]
    notes: tuple[str, ...]

    def summary(self) -> str:
        """Hours, else speed."""
        if self.hours is not None:
            return f"{self.hours.value:.3g} h"
        if self.stream_tokens_per_s is not None:
            return f"{self.stream_tokens_per_s.value:.3g} token/s for one stream"
        return f"{self.tokens_per_s.value:.3g} token/s" if self.tokens_per_s else ""


def build_time(settings: Settings) -> Tool[TimeArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="estimate_time_and_cost",
        description=description_of("estimate_time_and_cost"),
        arguments=TimeArguments,
        report=TimeReport,
        function=estimate_time_and_cost,
    )


def estimate_time_and_cost(arguments: TimeArguments) -> TimeReport:
    """Speed of a run, and hours and cost where the work is known.

    Raises:
        UserInputError: Unknown names and missing numbers, with what is needed.
    """
    if arguments.task == "infer":
        return _serving_time(arguments)
    speed = None
    if arguments.step_s is None:
        speed = _training_speed(arguments)
    return _training_time(arguments, speed)


def _training_speed(arguments: TimeArguments) -> Any:
    from tools.speed.training import cached_training_speed
    from tools.speed.workload import TrainingJob

    if arguments.gpu is None:
        raise BadQuantityError(field="gpu", given=None, allowed="a card, or a measured step_s")
    words = (arguments.method or "full").split("+")
    method = next((w for w in words if w in ("full", "lora", "qlora")), "full")
    stage = "pretrain" if "pretrain" in words else "finetune"
    return cached_training_speed(
        TrainingJob(
            gpu=arguments.gpu,
            model=arguments.model,
            params_b=arguments.params_b,
            stage=stage,  # type: ignore[arg-type]  # one of the two words above
            method=method,  # type: ignore[arg-type]  # one of the three words above
            precision=arguments.precision,
            quantization=arguments.quantization,
            num_gpus=arguments.gpu_count,
            nodes=arguments.nodes,
            micro_batch=arguments.batch,
            seq_len=arguments.seq_len,
        )
    )


def _training_time(arguments: TimeArguments, speed: Any) -> TimeReport:
    from tools.speed import job_cost, job_hours

    all_gpus = None
    if speed is not None:
        all_gpus = speed.tokens_per_s_per_gpu.scaled(arguments.gpu_count, "token/s")
    has_work = arguments.step_s is not None or (
        arguments.tokens is not None
        or (arguments.samples is not None and arguments.tokens_per_sample is not None)
    )
    time = None
    if has_work:
        time = job_hours(
            tokens=arguments.tokens,
            samples=arguments.samples,
            tokens_per_sample=arguments.tokens_per_sample,
            epochs=arguments.epochs,
            steps=arguments.steps,
            global_batch=arguments.batch,
            step_s=arguments.step_s,
            tokens_per_s=all_gpus,
        )
    cost = None
    if time is not None and arguments.price_per_hour is not None:
        cost = job_cost(
            time.hours,
            price_per_hour=Decimal(str(arguments.price_per_hour)),
            currency=arguments.currency,
            instances=arguments.instances,
        )
    figures = _figures(
        speed.figures() if speed is not None else (),
        time.figures() if time is not None else (),
        cost.figures() if cost is not None else (),
    )
    if all_gpus is not None:
        figures += tuple(
            FigureOut(name=f"tokens_per_s {name}", value=getattr(all_gpus, name), unit="token/s",
                      formula="tokens per s per GPU * GPUs")
            for name in ("value", "low", "high")
        )  # fmt: skip
    return TimeReport(
        figures=figures,
        gpu=arguments.gpu,
        gpu_count=arguments.gpu_count,
        tokens_per_s_per_gpu=_range(speed.tokens_per_s_per_gpu) if speed is not None else None,
        tokens_per_s=_range(all_gpus) if all_gpus is not None else None,
        stream_tokens_per_s=None,
        ttft_s=None,
        mfu=speed.mfu if speed is not None else None,
        hours=_range(time.hours) if time is not None else None,
        steps=time.steps if time is not None else None,
        tokens=time.tokens if time is not None else None,
        samples=time.samples if time is not None else None,
        cost=None
        if cost is None
        else Range(value=float(cost.cost), low=float(cost.low), high=float(cost.high)),
        currency=arguments.currency if cost is not None else None,
        assumptions=_assumed(speed.assumptions) if speed is not None else (),
        notes=(),
    )


def _serving_time(arguments: TimeArguments) -> TimeReport:
    from tools.speed import serving_speed
    from tools.speed.workload import ServingJob

    if arguments.gpu is None:
        raise BadQuantityError(field="gpu", given=None, allowed="a card in any spelling")
    speed = serving_speed(
        ServingJob(
            gpu=arguments.gpu,
            model=arguments.model,
            params_b=arguments.params_b,
            engine=arguments.framework,
            weight_format=arguments.quantization or arguments.precision,
            num_gpus=arguments.gpu_count,
            concurrency=arguments.concurrency,
            prompt_len=arguments.input_len or arguments.seq_len,
            output_len=arguments.output_len,
        )
    )
    return TimeReport(
        figures=_figures(speed.figures()),
        gpu=arguments.gpu,
        gpu_count=arguments.gpu_count,
        tokens_per_s_per_gpu=None,
        tokens_per_s=_range(speed.total_tokens_per_s),
        stream_tokens_per_s=_range(speed.decode_tokens_per_s),
        ttft_s=_range(speed.ttft_s),
        mfu=None,
        hours=None,
        steps=None,
        tokens=None,
        samples=None,
        cost=None,
        currency=None,
        assumptions=_assumed(speed.assumptions),
        notes=speed.notes,
    )


# ---- network


class NetworkArguments(Arguments):
    """A run over several machines."""

    model: str | None = None
    params_b: float | None = Field(None, gt=0)
    method: str | None = Field(None, description="full, lora, qlora")
    nodes: int = Field(2, ge=1)
    gpus_per_node: int = Field(1, ge=1)
    gpu: str | None = None
    gbps: float = Field(gt=0, description="Nominal Gbit/s of one machine's link")
    rdma: bool = False
    strategy: Literal["ddp", "zero1", "zero2", "zero3", "fsdp"] = "ddp"
    grad_accum: int = Field(1, ge=1)
    step_s: float | None = Field(None, gt=0, description="Seconds of a step on one machine")
    batch: int | None = Field(None, ge=1)
    seq_len: int | None = Field(None, ge=1)


class LinkOut(Row):
    """Efficiency at one link speed."""

    gbps: float
    efficiency: float


class NetworkReport(Report):
    """How much of a step waits for the link."""

    traffic_bytes: float
    communication_s: float
    compute_s: float
    efficiency: Range
    waiting_share: Range
    speedup: Range
    enough_gbps: float
    worthwhile: bool
    gbps: float
    strategy: str
    trained_params: float
    table: tuple[LinkOut, ...]
    assumptions: tuple[AssumptionOut, ...]
    notes: tuple[str, ...]

    def summary(self) -> str:
        """Efficiency and the speed that is enough."""
        return f"efficiency {self.efficiency.value:.0%}, enough: {self.enough_gbps:.3g} Gbit/s"


def build_network(settings: Settings) -> Tool[NetworkArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="check_network",
        description=description_of("check_network"),
        arguments=NetworkArguments,
        report=NetworkReport,
        function=check_network,
    )


def check_network(arguments: NetworkArguments) -> NetworkReport:
    """The share of a step that waits for the link between machines.

    Raises:
        UserInputError: Unknown names and impossible values.
    """
    from agent.toolbox.resolve import resolve_model
    from tools.speed import gradient_bytes, network_share

    model = resolve_model(arguments.model, arguments.params_b)
    params = float(model.spec.params_total)
    trained = params * _ADAPTER_SHARE if arguments.method in ("lora", "qlora") else params
    compute_s, assumptions = _compute_seconds(arguments)
    share = network_share(
        compute_s=compute_s,
        gradient_bytes=gradient_bytes(trained, dtype_bytes=2),
        nodes=arguments.nodes,
        gpus_per_node=arguments.gpus_per_node,
        gbps=arguments.gbps,
        transport="rdma" if arguments.rdma else "tcp",
        strategy=arguments.strategy,
        weight_bytes=params * 2,
        grad_accum=arguments.grad_accum,
    )
    return NetworkReport(
        figures=_figures(share.figures())
        + (FigureOut(name="trained_params", value=trained, unit="param", formula="of the method"),),
        traffic_bytes=share.traffic_bytes,
        communication_s=share.communication_s,
        compute_s=share.compute_s,
        efficiency=_range(share.efficiency),
        waiting_share=_range(share.waiting_share),
        speedup=_range(share.speedup),
        enough_gbps=share.enough_gbps,
        worthwhile=share.worthwhile,
        gbps=arguments.gbps,
        strategy=arguments.strategy,
        trained_params=trained,
        table=tuple(LinkOut(gbps=p.gbps, efficiency=p.efficiency.value) for p in share.table),
        assumptions=assumptions,
        notes=share.notes,
    )


_ADAPTER_SHARE = 0.006
"""Trained share of a LoRA over all linear layers at rank 16 of a 7B model."""


def _compute_seconds(arguments: NetworkArguments) -> tuple[float, tuple[AssumptionOut, ...]]:
    """Seconds of one optimizer step on one machine: measured, or computed from the card."""
    if arguments.step_s is not None:
        return arguments.step_s, ()
    speed = _training_speed(
        TimeArguments(
            model=arguments.model,
            params_b=arguments.params_b,
            method=arguments.method,
            gpu=arguments.gpu or "A10",
            gpu_count=arguments.gpus_per_node,
            batch=arguments.batch,
            seq_len=arguments.seq_len,
        )
    )
    return speed.step_s * arguments.grad_accum, _assumed(speed.assumptions)


# ---- data loading


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


def build_loading(settings: Settings) -> Tool[LoadingArguments]:
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
    from tools.speed import data_loading

    rate = arguments.images_per_s_per_gpu
    assumptions: tuple[AssumptionOut, ...] = ()
    if rate is None:
        rate = _ASSUMED_IMAGES_PER_S
        why = "a ResNet-50 in mixed precision on a V100-class card"
        assumptions = (
            AssumptionOut(name="images_per_s_per_gpu", value=rate, unit="image/s", why=why),
        )
    found = data_loading(
        images_per_s_per_gpu=rate,
        gpus=arguments.gpus,
        vcpu=arguments.vcpu,
        num_workers=arguments.num_workers,
        image_kb=arguments.image_kb,
        storage=arguments.storage,
        storage_mb_s=arguments.storage_mb_s,
        packed=arguments.packed,
    )
    return LoadingOut(
        figures=_figures(found.figures()),
        needed_per_s=found.needed_per_s,
        delivered_per_s=found.delivered_per_s,
        bottleneck=found.bottleneck,
        stages=found.stages,
        gpu_utilisation=found.gpu_utilisation,
        changes=tuple(
            LoadingChange(what=c.what, target=c.target, unit=c.unit) for c in found.changes
        ),
        assumptions=assumptions + _assumed(found.assumptions),
    )


# ---- spot


class SpotArguments(Arguments):
    """A job on machines that may be taken away."""

    checkpoint_minutes: float | None = Field(None, gt=0, description="How long one save takes")
    params_b: float | None = Field(None, gt=0, description="To estimate the save's length")
    interval_minutes: float | None = Field(
        None, gt=0, description="Minutes between saves that were chosen; its cost is told"
    )
    mtbf_hours: float = Field(6.0, gt=0, description="Mean hours between interruptions")
    restart_minutes: float | None = Field(None, ge=0)
    job_hours: float | None = Field(None, gt=0)
    spot_price: float | None = Field(None, gt=0, description="Per hour")
    on_demand_price: float | None = Field(None, gt=0, description="Per hour")
    currency: str = "CNY"
    instances: int = Field(1, ge=1)
    provider: str | None = Field(None, description="Cloud whose spot terms are meant")


class ChosenInterval(Row):
    """What saving at the given interval costs."""

    minutes: float
    lost_minutes: float
    lost_share: float
    save_share: float
    restart_share: float
    overhead: float


class SpotTerms(Row):
    """What a vendor says of its spot instances."""

    provider: str
    least_share: float | None
    """Lowest share of the on-demand price that the vendor names."""
    notice_minutes: float | None
    protection_hours: float | None
    source: str


class SpotSeen(Row):
    """Spot over on-demand price, as seen over many GPU types and regions of a cloud."""

    provider: str
    median: float
    low: float
    high: float
    pairs: int
    source: str


class SpotReport(Report):
    """When to save, and what that costs."""

    terms: tuple[SpotTerms, ...]
    seen: tuple[SpotSeen, ...]

    chosen: ChosenInterval | None
    """Cost of the interval that was given."""
    interval_minutes: float
    """The best one."""
    checkpoint_minutes: float
    mtbf_hours: float
    lost_minutes: float
    overhead: float
    wall_hours: float | None
    cost: Decimal | None
    on_demand_cost: Decimal | None
    saving: float | None
    currency: str | None

    def summary(self) -> str:
        """The interval."""
        return f"save every {self.interval_minutes:.0f} min"


def build_spot(settings: Settings) -> Tool[SpotArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="spot_plan",
        description=description_of("spot_plan"),
        arguments=SpotArguments,
        report=SpotReport,
        function=plan_spot,
    )


_WRITE_MB_S = 350.0
_ASSUMED_SAVE_S = 60.0


def plan_spot(arguments: SpotArguments) -> SpotReport:
    """The best interval between checkpoints and the cost of interruptions.

    Raises:
        UserInputError: Impossible values.
    """
    from tools.speed import checkpoint_bytes, checkpoint_seconds, spot_plan

    save_s = _ASSUMED_SAVE_S
    if arguments.checkpoint_minutes is not None:
        save_s = arguments.checkpoint_minutes * 60
    elif arguments.params_b is not None:
        size = checkpoint_bytes(arguments.params_b * 1e9)
        save_s = checkpoint_seconds(size, write_mb_s=_WRITE_MB_S)
    plan = spot_plan(
        mtbf_hours=arguments.mtbf_hours,
        checkpoint_s=save_s,
        restart_s=None if arguments.restart_minutes is None else arguments.restart_minutes * 60,
        job_hours=arguments.job_hours,
        spot_price_per_hour=_decimal(arguments.spot_price),
        on_demand_price_per_hour=_decimal(arguments.on_demand_price),
        instances=arguments.instances,
        currency=arguments.currency,
    )
    terms, seen = _spot_terms(arguments.provider), _spot_seen()
    chosen = _chosen_interval(arguments, save_s)
    return SpotReport(
        figures=_figures(plan.figures())
        + _spot_figures(terms, seen, save_s, arguments.mtbf_hours)
        + _chosen_figures(chosen),
        chosen=chosen,
        terms=terms,
        seen=seen,
        interval_minutes=plan.interval_s / 60,
        checkpoint_minutes=save_s / 60,
        mtbf_hours=arguments.mtbf_hours,
        lost_minutes=plan.lost_work_s / 60,
        overhead=plan.overhead,
        wall_hours=plan.wall_hours,
        cost=plan.cost,
        on_demand_cost=plan.on_demand_cost,
        saving=plan.saving,
        currency=plan.currency,
    )


def _chosen_interval(arguments: SpotArguments, save_s: float) -> ChosenInterval | None:
    from tools.speed.spot import saving_cost

    if arguments.interval_minutes is None:
        return None
    restart = arguments.restart_minutes
    cost = saving_cost(
        interval_s=arguments.interval_minutes * 60,
        mtbf_hours=arguments.mtbf_hours,
        checkpoint_s=save_s,
        restart_s=None if restart is None else restart * 60,
    )
    return ChosenInterval(
        minutes=arguments.interval_minutes,
        lost_minutes=cost.lost_work_s / 60,
        lost_share=cost.lost_share,
        save_share=cost.save_share,
        restart_share=cost.restart_share,
        overhead=cost.overhead,
    )


def _chosen_figures(chosen: ChosenInterval | None) -> tuple[FigureOut, ...]:
    if chosen is None:
        return ()
    formulas = {
        "lost_share": "interval / 2 / mtbf",
        "save_share": "checkpoint / interval",
        "restart_share": "restart / mtbf",
        "overhead": "lost + save + restart",
    }
    shares = tuple(
        FigureOut(name=f"chosen interval: {name}", value=round(getattr(chosen, name) * 100, 1),
                  unit="%", formula=formula)
        for name, formula in formulas.items()
    )  # fmt: skip
    minutes = (("chosen interval", chosen.minutes), ("lost work", chosen.lost_minutes))
    return shares + tuple(
        FigureOut(name=name, value=value, unit="min", formula="given; half of it is lost")
        for name, value in minutes
    )


def _spot_terms(provider: str | None) -> tuple[SpotTerms, ...]:
    from tools.catalog import provider_id
    from tools.catalog.prices import policy_source, spot_policies

    wanted = provider_id(provider) if provider is not None else None
    return tuple(
        SpotTerms(
            provider=policy.provider,
            least_share=None if policy.least_share is None else float(policy.least_share),
            notice_minutes=None if policy.notice_seconds is None else policy.notice_seconds / 60,
            protection_hours=policy.protection_hours,
            source=policy_source(policy).id,
        )
        for policy in spot_policies().values()
        if wanted in (None, policy.provider)
    )


def _spot_seen() -> tuple[SpotSeen, ...]:
    from tools.catalog.prices import observed_spot_shares

    return tuple(
        SpotSeen(
            provider=o.provider,
            median=o.median_share,
            low=o.low_share,
            high=o.high_share,
            pairs=o.pairs,
            source=o.source.id,
        )
        for o in observed_spot_shares()
    )


def _spot_figures(
    terms: tuple[SpotTerms, ...], seen: tuple[SpotSeen, ...], save_s: float, mtbf_hours: float
) -> tuple[FigureOut, ...]:
    figures = [
        FigureOut(name="checkpoint", value=save_s, unit="s", formula="given or assumed"),
        FigureOut(name="mtbf", value=mtbf_hours, unit="h", formula="given or assumed"),
    ]
    for row in terms:
        rows = (
            ("notice", row.notice_minutes, "min"),
            ("least share", row.least_share, "1"),
            ("protection", row.protection_hours, "h"),
        )
        figures += [
            FigureOut(name=f"{row.provider}: spot {name}", value=value, unit=unit,
                      sources=(row.source,))
            for name, value, unit in rows if value is not None
        ]  # fmt: skip
    for o in seen:
        for name, value in (("median", o.median), ("low", o.low), ("high", o.high)):
            for kind, share in (("share", value), ("saving", 1 - value)):
                figures.append(
                    FigureOut(name=f"{o.provider}: spot {kind} {name}", value=round(share, 3),
                              unit="1", sources=(o.source,))
                )  # fmt: skip
    return tuple(figures)


def _decimal(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(str(value))
