"""Waiting for the network: the calibration table, published pairs, properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.errors import BadQuantityError
from tools.speed import Exchange, gradient_bytes, network_share, usable_gbps

RESNET50, VGG16, BERT_BASE = 25.6e6, 138.4e6, 110e6


def test_ring_traffic_by_hand() -> None:
    # 2 * 102.4 MB * 15/16 = 192 MB; at 10 Gbit/s * 0.94 = 163.4 ms
    share = network_share(
        Exchange(
            compute_s=0.063,
            gradient_bytes=gradient_bytes(RESNET50),
            nodes=2,
            gpus_per_node=8,
            gbps=10,
        )
    )
    assert share.traffic_bytes == pytest.approx(192e6)
    assert share.communication_s == pytest.approx(0.1634, abs=1e-4)
    assert share.efficiency.value == pytest.approx(0.278, abs=0.002)
    assert share.efficiency.high == pytest.approx(0.385, abs=0.002)
    assert share.waiting_share.value == pytest.approx(1 - share.efficiency.value)


@pytest.mark.parametrize(
    ("params", "step_s", "measured"),
    [
        pytest.param(RESNET50, 0.063, 0.59, id="ResNet-50 bs 64"),
        pytest.param(RESNET50, 0.184, 0.79, id="ResNet-50 bs 256"),
        pytest.param(VGG16, 0.120, 0.35, id="VGG16 bs 64"),
    ],
)
def test_two_machines_on_30_gbps_as_measured(params: float, step_s: float, measured: float) -> None:
    # Alibaba ebmgn6v.24xlarge, 8xV100 each, Horovod; the notes predict within 0.05
    share = network_share(
        Exchange(
            compute_s=step_s,
            gradient_bytes=gradient_bytes(params),
            nodes=2,
            gpus_per_node=8,
            gbps=30,
        )
    )
    assert share.efficiency.value == pytest.approx(measured, abs=0.07)
    assert share.efficiency.low <= measured <= share.efficiency.high


def test_bert_over_infiniband_as_measured() -> None:
    # DLPerf: BERT-base bs 96, 2 machines of 8xV100, 100 Gbit/s: 0.83
    share = network_share(
        Exchange(
            compute_s=0.234,
            gradient_bytes=gradient_bytes(BERT_BASE),
            nodes=2,
            gpus_per_node=8,
            gbps=100,
            transport="rdma",
        )
    )
    assert share.efficiency.low <= 0.83 <= share.efficiency.high
    assert share.efficiency.value == pytest.approx(0.83, abs=0.08)


def test_full_sharding_repeats_its_traffic_in_every_micro_step() -> None:
    # 7.6 B parameters: 3 * 15.2 GB = 45.6 GB, 36.5 s at 10 Gbit/s (speed notes)
    kwargs = {"compute_s": 2.0, "gradient_bytes": 15.2e9, "nodes": 100, "gpus_per_node": 8}
    one = network_share(Exchange(**kwargs, gbps=10, strategy="zero3", weight_bytes=15.2e9))  # type: ignore[arg-type]
    assert one.traffic_bytes == pytest.approx(45.6e9, rel=0.01)
    four = network_share(
        Exchange(
            **kwargs,  # type: ignore[arg-type]
            gbps=10,
            strategy="zero3",
            weight_bytes=15.2e9,
            grad_accum=4,
        )
    )
    assert four.traffic_bytes == pytest.approx(4 * one.traffic_bytes)


def test_full_fine_tuning_over_eight_machines_on_10_gbps_is_not_worth_it() -> None:
    share = network_share(
        Exchange(compute_s=2.0, gradient_bytes=15.2e9, nodes=8, gpus_per_node=1, gbps=10)
    )
    assert not share.worthwhile
    assert share.speedup.value < 1
    assert share.enough_gbps > 400
    assert any("RDMA" in note for note in share.notes)


def test_adapter_gradients_hardly_matter() -> None:
    share = network_share(
        Exchange(
            compute_s=2.0, gradient_bytes=gradient_bytes(2e7), nodes=2, gpus_per_node=1, gbps=10
        )
    )
    assert share.efficiency.value > 0.9
    assert share.worthwhile


def test_one_machine_waits_for_nothing() -> None:
    share = network_share(
        Exchange(compute_s=1.0, gradient_bytes=1e9, nodes=1, gpus_per_node=8, gbps=1)
    )
    assert share.communication_s == 0
    assert share.efficiency.value == 1


def test_kernel_sockets_stop_at_forty_gigabits() -> None:
    assert usable_gbps(400, "tcp") == 40
    assert usable_gbps(100, "tcp-one-flow") == 11
    assert usable_gbps(400, "rdma") == pytest.approx(376)


def test_sharding_without_weights_is_refused() -> None:
    with pytest.raises(BadQuantityError, match="weight_bytes"):
        network_share(
            Exchange(
                compute_s=1, gradient_bytes=1e9, nodes=2, gpus_per_node=8, gbps=10, strategy="fsdp"
            )
        )


@pytest.mark.parametrize("field", ["compute_s", "gbps", "nodes"])
def test_zero_is_refused(field: str) -> None:
    values = {"compute_s": 1.0, "gradient_bytes": 1e9, "nodes": 2, "gpus_per_node": 8, "gbps": 10.0}
    with pytest.raises(BadQuantityError, match=field):
        network_share(Exchange(**{**values, field: 0}))  # type: ignore[arg-type]


@given(
    step=st.floats(0.01, 10),
    size=st.floats(1e6, 1e11),
    gbps=st.floats(1, 1000),
    more=st.floats(1, 10),
    transport=st.sampled_from(["tcp", "rdma"]),
)
def test_a_faster_link_never_scales_worse(
    step: float, size: float, gbps: float, more: float, transport: str
) -> None:
    def efficiency(speed: float) -> float:
        return network_share(
            Exchange(
                compute_s=step,
                gradient_bytes=size,
                nodes=2,
                gpus_per_node=8,
                gbps=speed,
                transport=transport,  # type: ignore[arg-type]
            )
        ).efficiency.value

    assert efficiency(gbps * more) >= efficiency(gbps) - 1e-12


@given(step=st.floats(0.01, 10), size=st.floats(1e6, 1e11), nodes=st.integers(2, 64))
def test_efficiency_stays_between_its_bounds(step: float, size: float, nodes: int) -> None:
    share = network_share(
        Exchange(compute_s=step, gradient_bytes=size, nodes=nodes, gpus_per_node=8, gbps=25)
    )
    assert 0 < share.efficiency.low <= share.efficiency.value <= share.efficiency.high <= 1
    assert share.waiting_share.low <= share.waiting_share.value <= share.waiting_share.high
    assert len(share.table) == 8


@given(
    step=st.floats(0.01, 10),
    size=st.floats(1e6, 1e11),
    gbps=st.floats(1, 1000),
    nodes=st.integers(2, 64),
)
def test_rdma_is_never_slower_than_kernel_sockets_on_the_same_link(
    step: float, size: float, gbps: float, nodes: int
) -> None:
    tcp, rdma = (
        network_share(
            Exchange(
                compute_s=step,
                gradient_bytes=size,
                nodes=nodes,
                gpus_per_node=8,
                gbps=gbps,
                transport=transport,
            )
        )
        for transport in ("tcp", "rdma")
    )
    assert rdma.communication_s <= tcp.communication_s
    assert rdma.efficiency.value >= tcp.efficiency.value - 1e-12
