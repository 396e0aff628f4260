"""cards_for_rate: how many cards carry so many requests a second, by size of a replica."""

from __future__ import annotations

from pydantic import Field

from agent.answer import AssumptionOut, FigureOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Tool, description_of
from agent.toolbox.ranges import Range, assumptions_out, figures_out, range_out


class FleetArguments(Arguments):
    """A service and its load."""

    model: str | None = None
    params_b: float | None = Field(None, gt=0)
    quantization: str | None = None
    framework: str | None = None
    gpu: str = Field(description="Card in any spelling / 显卡")
    gpus_per_replica: int = Field(1, ge=1, description="Cards that hold one copy of the model")
    held: int | None = Field(None, ge=1, description="Requests that one replica's memory holds")
    input_len: int | None = Field(None, ge=1)
    output_len: int | None = Field(None, ge=1)
    requests_per_s: float = Field(gt=0, description="Requests a second on average")
    max_ttft_s: float | None = Field(None, gt=0, description="Seconds to the first token allowed")


class FleetReport(Report):
    """Cards that carry the load."""

    gpus_per_replica: int
    replicas: int
    gpus: int
    gpus_low: int
    gpus_high: int
    in_flight: float
    """Requests under way at that rate."""
    requests_per_s_per_replica: Range
    ttft_s: Range
    stream_tokens_per_s: Range
    input_len: int
    output_len: int
    assumptions: tuple[AssumptionOut, ...]

    def summary(self) -> str:
        """Cards with their range."""
        return f"{self.gpus} GPUs ({self.gpus_low}-{self.gpus_high})"


def build(settings: Settings) -> Tool[FleetArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="cards_for_rate",
        description=description_of("cards_for_rate"),
        arguments=FleetArguments,
        report=FleetReport,
        function=cards_for_rate,
    )


def cards_for_rate(arguments: FleetArguments) -> FleetReport:
    """Cards for a request rate, with the share of the computed best that users reach.

    Raises:
        UserInputError: Unknown names, impossible numbers, a first token that cannot be that fast.
    """
    from dataclasses import replace

    from tools.speed import ServingJob, cached_serving_speed, cards_for_request_rate
    from tools.speed.capacity import MOST_AT_ONCE

    job = ServingJob(
        gpu=arguments.gpu,
        model=arguments.model,
        params_b=arguments.params_b,
        engine=arguments.framework,
        weight_format=arguments.quantization,
        num_gpus=arguments.gpus_per_replica,
        prompt_len=arguments.input_len,
        output_len=arguments.output_len,
    )
    need = cards_for_request_rate(
        job,
        requests_per_s=arguments.requests_per_s,
        max_ttft_s=arguments.max_ttft_s,
        held=arguments.held,
    )
    one = cached_serving_speed(job)
    lengths = {a.name: a.value for a in one.assumptions}
    width = max(1, min(arguments.held or MOST_AT_ONCE, round(need.concurrency / need.replicas)))
    busy = cached_serving_speed(replace(job, concurrency=width))
    return FleetReport(
        figures=figures_out(need.figures())
        + _ranges("requests_per_s_per_replica", need.requests_per_s_per_replica, "1/s"),
        gpus_per_replica=arguments.gpus_per_replica,
        replicas=need.replicas,
        gpus=need.gpus,
        gpus_low=need.low_gpus,
        gpus_high=need.high_gpus,
        in_flight=need.concurrency,
        requests_per_s_per_replica=range_out(need.requests_per_s_per_replica),
        ttft_s=range_out(one.ttft_s),
        stream_tokens_per_s=range_out(busy.decode_tokens_per_s),
        input_len=arguments.input_len or int(lengths["prompt_len"]),
        output_len=arguments.output_len or int(lengths["output_len"]),
        assumptions=assumptions_out(one.assumptions),
    )


def _ranges(name: str, interval: object, unit: str) -> tuple[FigureOut, ...]:
    formula = "total tokens/s / output"
    return tuple(
        FigureOut(name=f"{name} {end}", value=getattr(interval, end), unit=unit, formula=formula)
        for end in ("value", "low", "high")
    )
