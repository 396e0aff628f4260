"""estimate_time_and_cost: speed of a run, its hours and its cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

from pydantic import Field

from agent.answer import AssumptionOut, FigureOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Tool, description_of
from agent.toolbox.decode import DecodeBound, decode_bound
from agent.toolbox.ranges import Range, assumptions_out, figures_out, range_out
from tools.errors import BadQuantityError


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
    gbps: float | None = Field(None, gt=0, description="Gbit/s of a machine's link to the others")
    rdma: bool = Field(False, description="That link is RDMA: InfiniBand, RoCE, eRDMA, EFA")
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
    bound: DecodeBound | None = None
    """Serving: what memory bandwidth allows one stream."""

    def summary(self) -> str:
        """Hours, else speed."""
        if self.hours is not None:
            return f"{self.hours.value:.3g} h"
        if self.stream_tokens_per_s is not None:
            return f"{self.stream_tokens_per_s.value:.3g} token/s for one stream"
        return f"{self.tokens_per_s.value:.3g} token/s" if self.tokens_per_s else ""


def build(settings: Settings) -> Tool[TimeArguments]:
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
        speed = training_speed(arguments)
    return _training_time(arguments, speed)


def training_speed(arguments: TimeArguments) -> Any:
    """Speed of a training run on the card named; computed once for each job.

    Raises:
        BadQuantityError: If no card is named.
    """
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
            objective=words[0] if len(words) > 1 else None,
            precision=arguments.precision,
            quantization=arguments.quantization,
            num_gpus=arguments.gpu_count,
            nodes=arguments.nodes,
            link=_link(arguments),
            micro_batch=arguments.batch,
            seq_len=arguments.seq_len,
        )
    )


def _link(arguments: TimeArguments) -> str | None:
    """The link between machines as `tools.speed` reads it; None where it was not said."""
    if arguments.gbps is None:
        return None
    return f"{arguments.gbps:g} Gbps {'RDMA' if arguments.rdma else 'Ethernet'}"


def _training_time(arguments: TimeArguments, speed: Any) -> TimeReport:
    all_gpus = None
    if speed is not None:
        all_gpus = speed.tokens_per_s_per_gpu.scaled(arguments.gpu_count, "token/s")
    time = _hours(arguments, all_gpus)
    cost = _cost(arguments, time)
    made = [part.figures() for part in (speed, time, cost) if part is not None]
    return TimeReport(
        figures=figures_out(*made) + _all_gpus_figures(all_gpus),
        gpu=arguments.gpu,
        gpu_count=arguments.gpu_count,
        tokens_per_s_per_gpu=range_out(speed.tokens_per_s_per_gpu) if speed is not None else None,
        tokens_per_s=range_out(all_gpus) if all_gpus is not None else None,
        stream_tokens_per_s=None,
        ttft_s=None,
        mfu=speed.mfu if speed is not None else None,
        hours=range_out(time.hours) if time is not None else None,
        steps=time.steps if time is not None else None,
        tokens=time.tokens if time is not None else None,
        samples=time.samples if time is not None else None,
        cost=None
        if cost is None
        else Range(value=float(cost.cost), low=float(cost.low), high=float(cost.high)),
        currency=arguments.currency if cost is not None else None,
        assumptions=assumptions_out(speed.assumptions) if speed is not None else (),
        notes=(),
    )


def _hours(arguments: TimeArguments, all_gpus: Any) -> Any:
    """Time of the work; None where none was said."""
    from tools.speed import JobWork, job_hours

    has_samples = arguments.samples is not None and arguments.tokens_per_sample is not None
    if arguments.step_s is None and arguments.tokens is None and not has_samples:
        return None
    return job_hours(
        JobWork(
            tokens=arguments.tokens,
            samples=arguments.samples,
            tokens_per_sample=arguments.tokens_per_sample,
            epochs=arguments.epochs,
            steps=arguments.steps,
            global_batch=arguments.batch,
        ),
        step_s=arguments.step_s,
        tokens_per_s=all_gpus,
    )


def _cost(arguments: TimeArguments, time: Any) -> Any:
    """Cost of the time at the price that was given; None without either."""
    from tools.speed import job_cost

    if time is None or arguments.price_per_hour is None:
        return None
    return job_cost(
        time.hours,
        price_per_hour=Decimal(str(arguments.price_per_hour)),
        currency=arguments.currency,
        instances=arguments.instances,
    )


def _all_gpus_figures(all_gpus: Any) -> tuple[FigureOut, ...]:
    if all_gpus is None:
        return ()
    return tuple(
        FigureOut(name=f"tokens_per_s {name}", value=getattr(all_gpus, name), unit="token/s",
                  formula="tokens per s per GPU * GPUs")
        for name in ("value", "low", "high")
    )  # fmt: skip


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
    bound = decode_bound(
        gpu=arguments.gpu,
        model=arguments.model,
        params_b=arguments.params_b,
        form=arguments.quantization or arguments.precision,
        cards=arguments.gpu_count,
        assumptions=speed.assumptions,
    )
    return TimeReport(
        figures=figures_out(speed.figures()),
        bound=bound,
        gpu=arguments.gpu,
        gpu_count=arguments.gpu_count,
        tokens_per_s_per_gpu=None,
        tokens_per_s=range_out(speed.total_tokens_per_s),
        stream_tokens_per_s=range_out(speed.decode_tokens_per_s),
        ttft_s=range_out(speed.ttft_s),
        mfu=None,
        hours=None,
        steps=None,
        tokens=None,
        samples=None,
        cost=None,
        currency=None,
        assumptions=assumptions_out(speed.assumptions),
        notes=speed.notes,
    )
