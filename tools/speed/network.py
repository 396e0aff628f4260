"""What the link between machines costs a training step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tools.errors import BadQuantityError
from tools.provenance import Figure, Source
from tools.speed.results import (
    Interval,
    data_source,
    given,
    load_data,
    require_all_positive,
    require_positive,
)

Strategy = Literal["ddp", "zero1", "zero2", "zero3", "fsdp"]
Transport = Literal["tcp", "tcp-one-flow", "rdma"]
ACCEPTABLE_EFFICIENCY = 0.9
"""A link no longer matters when the step keeps this share of its speed without any overlap."""
WORTHWHILE_SPEEDUP = 1.3
"""More machines are worth their trouble from this many times the speed of one."""
RING = Source(
    "rule:ring-all-reduce",
    "paper",
    "NCCL bus bandwidth: 2 (n - 1) / n times the buffer; nccl-tests PERFORMANCE.md",
)


@dataclass(frozen=True, slots=True)
class LinkPoint:
    """Efficiency at one nominal link speed."""

    gbps: float
    communication_s: float
    efficiency: Interval


@dataclass(frozen=True, slots=True)
class NetworkShare:
    """How much of a step is spent waiting for the network."""

    traffic_bytes: float
    """Bytes that pass one machine's link in each direction per optimizer step."""
    communication_s: float
    compute_s: float
    efficiency: Interval
    """Share of one machine's speed per GPU that remains; low without, high with full overlap."""
    waiting_share: Interval
    """Share of the step spent waiting."""
    speedup: Interval
    """Throughput of all machines against one of them."""
    enough_gbps: float
    """Nominal speed from which the link costs less than a tenth even without overlap."""
    table: tuple[LinkPoint, ...]
    worthwhile: bool
    """More machines give at least 1.3 times one machine's throughput."""
    notes: tuple[str, ...]
    _figures: tuple[Figure, ...]

    def figures(self) -> tuple[Figure, ...]:
        """Traffic (B), communication (s), efficiency, waiting share, speed-up, link (Gbit/s)."""
        return self._figures


def gradient_bytes(params: float, *, dtype_bytes: int = 4) -> float:
    """Bytes of one set of gradients: 4 B a parameter under AMP or plain DDP, 2 B in pure bf16.

    >>> gradient_bytes(25.6e6)
    102400000.0
    """
    require_positive("params", params)
    return float(params * dtype_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What machines exchange in a step, and over which link.

    Raises:
        BadQuantityError: If a number is not above zero, or the weights are missing for zero3.
    """

    compute_s: float
    """Seconds of one optimizer step on a single machine (all its micro-steps)."""
    gradient_bytes: float
    """Bytes of gradients that are exchanged (LoRA: the adapter's alone)."""
    nodes: int
    gpus_per_node: int
    gbps: float
    """Nominal Gbit/s of one machine's link."""
    transport: Transport = "tcp"
    """tcp (kernel sockets), tcp-one-flow (a single connection), rdma."""
    strategy: Strategy = "ddp"
    """ddp, zero1, zero2 exchange gradients; zero3 and fsdp gather the weights twice and scatter
    the gradients in every micro-step."""
    weight_bytes: float | None = None
    """Bytes of all weights; needed by zero3 and fsdp."""
    grad_accum: int = 1
    """Micro-steps per optimizer step."""

    def __post_init__(self) -> None:
        require_all_positive(
            compute_s=self.compute_s,
            gradient_bytes=self.gradient_bytes,
            nodes=self.nodes,
            gpus_per_node=self.gpus_per_node,
            gbps=self.gbps,
            grad_accum=self.grad_accum,
        )
        if self.is_sharded and self.weight_bytes is None:
            raise BadQuantityError(
                field="weight_bytes", given=None, allowed="the weights' bytes for zero3 or fsdp"
            )

    @property
    def is_sharded(self) -> bool:
        """Whether the weights travel too."""
        return self.strategy in ("zero3", "fsdp")

    @property
    def formula(self) -> str:
        """How the traffic is counted; n = all GPUs."""
        if self.is_sharded:
            return "(2 * weight_bytes + gradient_bytes) * (n - 1) / n * grad_accum"
        return "2 * gradient_bytes * (n - 1) / n"

    @property
    def traffic_bytes(self) -> float:
        """Bytes through one machine's link in each direction per optimizer step."""
        if self.nodes == 1:
            return 0.0
        gpus = self.nodes * self.gpus_per_node
        ring = (gpus - 1) / gpus
        if self.is_sharded:
            weights = self.weight_bytes or 0.0
            return (2 * weights + self.gradient_bytes) * ring * self.grad_accum
        return 2 * self.gradient_bytes * ring

    def at(self, gbps: float) -> LinkPoint:
        """Waiting and efficiency at a nominal link speed."""
        seconds = self.traffic_bytes * 8 / (usable_gbps(gbps, self.transport) * 1e9)
        efficiency = _efficiency(self.compute_s, seconds, self.nodes, self.transport)
        return LinkPoint(float(gbps), seconds, efficiency)

    @property
    def enough_gbps(self) -> float:
        """Nominal speed from which the link costs less than a tenth even without overlap."""
        target_s = self.compute_s * (1 / ACCEPTABLE_EFFICIENCY - 1)
        share = load_data("links")["transport"][self.transport]["share"]
        return float(self.traffic_bytes * 8 / target_s / 1e9 / share)


def usable_gbps(gbps: float, transport: Transport) -> float:
    """Gbit/s that collectives get out of a nominal link.

    Source: data/links.json (10 GbE iperf, cloud calibration rows, EFA and InfiniBand tables).

    >>> usable_gbps(100, "tcp")
    40.0
    """
    row = load_data("links")["transport"][transport]
    usable = gbps * row["share"]
    return float(min(usable, row["ceiling_gbps"] or usable))


def _efficiency(
    compute_s: float, communication_s: float, nodes: int, transport: Transport
) -> Interval:
    """No overlap .. full overlap; TCP sits at the low end, RDMA half-way.

    More than two machines on TCP exchange more slowly than the line: the loss is in the waiting,
    so that a job with little traffic hardly feels it.
    """
    plain = compute_s / (compute_s + communication_s)
    overlapped = compute_s / max(compute_s, communication_s)
    if transport == "rdma":
        return Interval((plain + overlapped) / 2, plain, overlapped, "1")
    if nodes <= 2:
        return Interval(plain, plain * 0.9, overlapped, "1")
    slower = load_data("links")["multi_node_slowdown"]
    point, low = (
        compute_s / (compute_s + communication_s * slower[key]) for key in ("value", "high")
    )
    return Interval(point, low * 0.9, overlapped, "1")


def network_share(exchange: Exchange) -> NetworkShare:
    """Share of a step spent waiting for the link between machines, and the scaling to expect.

    Returns:
        NetworkShare with a table over the usual link speeds.

    Source: ring all-reduce moves 2 (n - 1) / n times the gradients (NCCL); full sharding moves
    1.5 times as much per micro-step (ZeRO); calibration on Alibaba, Tencent and DLPerf rows.
    Assumes: a flat ring over all GPUs, one link per machine, gradients in one piece.
    """
    here = exchange.at(exchange.gbps)
    efficiency = here.efficiency
    waiting = Interval(1 - efficiency.value, 1 - efficiency.high, 1 - efficiency.low, "1")
    speedup = efficiency.scaled(exchange.nodes, "1")
    return NetworkShare(
        traffic_bytes=exchange.traffic_bytes,
        communication_s=here.communication_s,
        compute_s=exchange.compute_s,
        efficiency=efficiency,
        waiting_share=waiting,
        speedup=speedup,
        enough_gbps=exchange.enough_gbps,
        table=tuple(exchange.at(gbps) for gbps in load_data("links")["table_gbps"]),
        worthwhile=speedup.value >= WORTHWHILE_SPEEDUP,
        notes=_notes(exchange),
        _figures=_figures(exchange, here, waiting, speedup),
    )


def _notes(exchange: Exchange) -> tuple[str, ...]:
    ceiling = load_data("links")["transport"][exchange.transport]["ceiling_gbps"]
    notes = []
    if ceiling is not None and exchange.enough_gbps > ceiling:
        notes.append(
            f"Kernel TCP reaches about {ceiling} Gbit/s whatever the link: this needs RDMA."
        )
    if exchange.is_sharded:
        notes.append(
            "Full sharding repeats its traffic in every micro-step; accumulation does not help."
        )
    elif exchange.grad_accum == 1:
        notes.append("Gradient accumulation divides this traffic per sample.")
    return tuple(notes)


def _figures(
    exchange: Exchange, here: LinkPoint, waiting: Interval, speedup: Interval
) -> tuple[Figure, ...]:
    moved = Figure("traffic_per_step", exchange.traffic_bytes, "B", (RING,), exchange.formula)
    link = given("link", exchange.gbps, "Gbit/s")
    share = data_source("links", "transport")
    spent = Figure(
        "communication",
        here.communication_s,
        "s",
        (share,),
        "traffic * 8 / usable_gbps / 1e9",
        (moved, link),
    )
    inputs = (spent, given("compute", exchange.compute_s, "s"))
    bounds = "compute / (compute + communication) .. compute / max(compute, communication)"
    efficiency = here.efficiency
    return (
        moved,
        spent,
        *efficiency.figures("scaling_efficiency", formula=bounds, inputs=inputs, sources=(share,)),
        *waiting.figures("waiting_share", formula="1 - scaling_efficiency", inputs=inputs),
        *speedup.figures("speedup", formula="nodes * scaling_efficiency", inputs=inputs),
        Figure(
            "enough_bandwidth",
            exchange.enough_gbps,
            "Gbit/s",
            formula=f"traffic * 8 / (compute * (1 / {ACCEPTABLE_EFFICIENCY} - 1)) / 1e9 / share",
            inputs=(moved,),
        ),
    )
