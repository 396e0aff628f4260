"""check_network: the share of a step that waits for the link between machines."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent.answer import AssumptionOut, FigureOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Row, Tool, description_of
from agent.toolbox.ranges import Range, assumptions_out, figures_out, range_out
from agent.toolbox.timing import TimeArguments, training_speed


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
    model_params: float
    table: tuple[LinkOut, ...]
    assumptions: tuple[AssumptionOut, ...]
    notes: tuple[str, ...]

    def summary(self) -> str:
        """Efficiency and the speed that is enough."""
        return f"efficiency {self.efficiency.value:.0%}, enough: {self.enough_gbps:.3g} Gbit/s"


def build(settings: Settings) -> Tool[NetworkArguments]:
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
    from tools.speed import Exchange, gradient_bytes, network_share

    model = resolve_model(arguments.model, arguments.params_b)
    params = float(model.spec.params_total)
    trained = params * _ADAPTER_SHARE if arguments.method in ("lora", "qlora") else params
    compute_s, assumptions = _compute_seconds(arguments)
    share = network_share(
        Exchange(
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
    )
    return NetworkReport(
        figures=figures_out(share.figures())
        + (FigureOut(name="trained_params", value=trained, unit="param", formula="of the method"),),
        traffic_bytes=share.traffic_bytes,
        communication_s=share.communication_s,
        compute_s=share.compute_s,
        efficiency=range_out(share.efficiency),
        waiting_share=range_out(share.waiting_share),
        speedup=range_out(share.speedup),
        enough_gbps=share.enough_gbps,
        worthwhile=share.worthwhile,
        gbps=arguments.gbps,
        strategy=arguments.strategy,
        trained_params=trained,
        model_params=params,
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
    speed = training_speed(
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
    return speed.step_s * arguments.grad_accum, assumptions_out(speed.assumptions)
