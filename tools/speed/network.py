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


def _traffic(
    strategy: Strategy,
    trained_bytes: float,
    weight_bytes: float | None,
    gpus: int,
    grad_accum: int,
) -> tuple[float, str]:
    """(bytes through one machine's link per optimizer step, formula)."""
    ring = (gpus - 1) / gpus
    if strategy in ("zero3", "fsdp"):
        if weight_bytes is None:
            raise BadQuantityError(
                field="weight_bytes", given=None, allowed="the weights' bytes for zero3 or fsdp"
            )
        total = (2 * weight_bytes + trained_bytes) * ring * grad_accum
        return total, "(2 * weight_bytes + gradient_bytes) * (n - 1) / n * grad_accum"
    return 2 * trained_bytes * ring, "2 * gradient_bytes * (n - 1) / n"


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


def network_share(
    *,
    compute_s: float,
    gradient_bytes: float,
    nodes: int,
    gpus_per_node: int,
    gbps: float,
    transport: Transport = "tcp",
    strategy: Strategy = "ddp",
    weight_bytes: float | None = None,
    grad_accum: int = 1,
) -> NetworkShare:
    """Share of a step spent waiting for the link between machines, and the scaling to expect.

    Args:
        compute_s: Seconds of one optimizer step on a single machine (all its micro-steps).
        gradient_bytes: Bytes of gradients that are exchanged (LoRA: the adapter's alone).
        nodes: Machines.
        gpus_per_node: GPUs in each.
        gbps: Nominal Gbit/s of one machine's link.
        transport: tcp (kernel sockets), tcp-one-flow (a single connection), rdma.
        strategy: ddp, zero1, zero2 exchange gradients; zero3 and fsdp gather the weights twice and
            scatter the gradients in every micro-step.
        weight_bytes: Bytes of all weights; needed by zero3 and fsdp.
        grad_accum: Micro-steps per optimizer step.

    Returns:
        NetworkShare with a table over the usual link speeds.

    Raises:
        BadQuantityError: If a number is not above zero, or the weights are missing for zero3.

    Source: ring all-reduce moves 2 (n - 1) / n times the gradients (NCCL); full sharding moves
    1.5 times as much per micro-step (ZeRO); calibration on Alibaba, Tencent and DLPerf rows.
    Assumes: a flat ring over all GPUs, one link per machine, gradients in one piece.
    """
    require_all_positive(
        compute_s=compute_s,
        gradient_bytes=gradient_bytes,
        nodes=nodes,
        gpus_per_node=gpus_per_node,
        gbps=gbps,
        grad_accum=grad_accum,
    )
    gpus = nodes * gpus_per_node
    traffic, formula = _traffic(strategy, gradient_bytes, weight_bytes, gpus, grad_accum)
    traffic = traffic if nodes > 1 else 0.0

    def seconds(speed: float) -> float:
        return traffic * 8 / (usable_gbps(speed, transport) * 1e9)

    wait = seconds(gbps)
    efficiency = _efficiency(compute_s, wait, nodes, transport)
    waiting = Interval(1 - efficiency.value, 1 - efficiency.high, 1 - efficiency.low, "1")
    speedup = efficiency.scaled(nodes, "1")
    target_s = compute_s * (1 / ACCEPTABLE_EFFICIENCY - 1)
    row = load_data("links")["transport"][transport]
    enough = traffic * 8 / target_s / 1e9 / row["share"]
    table = tuple(
        LinkPoint(float(g), seconds(g), _efficiency(compute_s, seconds(g), nodes, transport))
        for g in load_data("links")["table_gbps"]
    )
    return NetworkShare(
        traffic_bytes=traffic,
        communication_s=wait,
        compute_s=compute_s,
        efficiency=efficiency,
        waiting_share=waiting,
        speedup=speedup,
        enough_gbps=enough,
        table=table,
        worthwhile=speedup.value >= 1.3,
        notes=_notes(transport, strategy, enough, row["ceiling_gbps"], grad_accum),
        _figures=_figures(
            traffic, formula, wait, compute_s, gbps, efficiency, waiting, speedup, enough
        ),
    )


def _notes(
    transport: Transport,
    strategy: Strategy,
    enough_gbps: float,
    ceiling: float | None,
    grad_accum: int,
) -> tuple[str, ...]:
    notes = []
    if ceiling is not None and enough_gbps > ceiling:
        notes.append(
            f"Kernel TCP reaches about {ceiling} Gbit/s whatever the link: this needs RDMA."
        )
    if strategy in ("zero3", "fsdp"):
        notes.append(
            "Full sharding repeats its traffic in every micro-step; accumulation does not help."
        )
    elif grad_accum == 1:
        notes.append("Gradient accumulation divides this traffic per sample.")
    return tuple(notes)


def _figures(
    traffic: float,
    formula: str,
    wait: float,
    compute_s: float,
    gbps: float,
    efficiency: Interval,
    waiting: Interval,
    speedup: Interval,
    enough: float,
) -> tuple[Figure, ...]:
    moved = Figure("traffic_per_step", traffic, "B", (RING,), formula)
    link = given("link", gbps, "Gbit/s")
    share = data_source("links", "transport")
    spent = Figure(
        "communication", wait, "s", (share,), "traffic * 8 / usable_gbps / 1e9", (moved, link)
    )
    inputs = (spent, given("compute", compute_s, "s"))
    bounds = "compute / (compute + communication) .. compute / max(compute, communication)"
    return (
        moved,
        spent,
        *efficiency.figures("scaling_efficiency", formula=bounds, inputs=inputs, sources=(share,)),
        *waiting.figures("waiting_share", formula="1 - scaling_efficiency", inputs=inputs),
        *speedup.figures("speedup", formula="nodes * scaling_efficiency", inputs=inputs),
        Figure(
            "enough_bandwidth",
            enough,
            "Gbit/s",
            formula=f"traffic * 8 / (compute * (1 / {ACCEPTABLE_EFFICIENCY} - 1)) / 1e9 / share",
            inputs=(moved,),
        ),
    )
