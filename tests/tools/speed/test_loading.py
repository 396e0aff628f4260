"""Feeding the GPUs: hand-computed stages, vendor limits, measured starvation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.errors import BadQuantityError, UserInputError
from tools.speed import LoadingJob, capacity_for, data_loading, storage_limit, utilisation_gap


@pytest.mark.parametrize(
    ("name", "size_gib", "mb_s", "iops"),
    [
        ("ESSD PL1", 200, 220, 11_800),  # 120 + 0.5 * 200; 1,800 + 50 * 200
        ("essd_pl1", 4_000, 350, 50_000),
        ("PL0", None, 180, 10_000),
        ("PL3", None, 4_000, 1_000_000),
        ("nas", 600, 300, None),
        ("极速型NAS", 3_000, 600, None),
        ("NAS", 20, 150, None),
        ("CPFS", 10_000, 1_000, 150_000),
        ("CFS Turbo", None, 10_737, None),
    ],
)
def test_vendor_limits(name: str, size_gib: float | None, mb_s: float, iops: float | None) -> None:
    limit = storage_limit(name, size_gib=size_gib)
    assert limit.mb_s == pytest.approx(mb_s)
    assert limit.iops == iops
    assert limit.origin


def test_unknown_storage_lists_the_known() -> None:
    with pytest.raises(UserInputError, match="essd-pl1"):
        storage_limit("floppy")


def test_disk_need_by_hand() -> None:
    # 16,621 images/s of 51 kB are 848 MB/s: a PL1 disk (350) feeds 41 % of it
    report = data_loading(
        LoadingJob(images_per_s_per_gpu=16_621 / 8, gpus=8, image_kb=51, storage="PL1", packed=True)
    )
    figures = {figure.name: figure.value for figure in report.figures()}
    assert figures["disk_needed"] == pytest.approx(847.7, abs=0.1)
    assert report.bottleneck == "throughput"
    assert report.gpu_utilisation == pytest.approx(350 / 847.7, abs=1e-3)
    assert report.changes[0].what == "storage"
    assert report.changes[0].target == pytest.approx(847.7, abs=0.1)


def test_few_workers_starve_a_fast_card_and_more_are_advised() -> None:
    report = data_loading(LoadingJob(images_per_s_per_gpu=2_470, vcpu=24, num_workers=4))
    assert report.bottleneck == "workers"
    assert report.delivered_per_s == pytest.approx(600)
    assert report.changes[0].what == "num_workers"
    assert report.changes[0].target == 17  # 2,470 / 150, rounded up


def test_few_cores_ask_for_cores_or_decoding_on_the_gpu() -> None:
    report = data_loading(LoadingJob(images_per_s_per_gpu=2_470, vcpu=8))
    assert report.bottleneck == "decode"
    assert {change.what for change in report.changes} >= {"vcpu", "gpu_decode"}


def test_eighty_cores_feed_eight_v100_no_faster_than_measured() -> None:
    # Tencent: 8xV100, 80 vCPU, packed records reach 2,804 images/s in total; single files 566
    packed = data_loading(
        LoadingJob(images_per_s_per_gpu=1_200, gpus=8, vcpu=80, storage="cfs", packed=True)
    )
    assert 2_000 < packed.delivered_per_s < 12_000
    files = data_loading(
        LoadingJob(
            images_per_s_per_gpu=1_200, gpus=8, vcpu=80, num_workers=8, storage="cfs", packed=False
        )
    )
    assert files.delivered_per_s < packed.delivered_per_s


def test_single_files_on_a_spinning_disk_are_limited_by_seeks() -> None:
    report = data_loading(LoadingJob(images_per_s_per_gpu=1_000, vcpu=16, storage="hdd"))
    assert report.bottleneck == "small_files"
    assert report.delivered_per_s == pytest.approx(150)
    assert report.changes[0].what == "pack"


def test_cached_data_leave_the_disk_out() -> None:
    report = data_loading(
        LoadingJob(images_per_s_per_gpu=1_000, vcpu=16, storage="hdd", cached=True)
    )
    assert "throughput" not in report.stages
    assert report.bottleneck == "gpu"
    assert report.changes[0].what == "nothing"


def test_assumed_sizes_are_reported() -> None:
    report = data_loading(LoadingJob(images_per_s_per_gpu=500, vcpu=8))
    assert {a.name for a in report.assumptions} == {"image_kb", "decode_per_core"}
    given_all = data_loading(
        LoadingJob(images_per_s_per_gpu=500, vcpu=8, image_kb=100, decode_per_core=120)
    )
    assert given_all.assumptions == ()


def test_measured_throughput_wins_over_the_product() -> None:
    report = data_loading(
        LoadingJob(
            images_per_s_per_gpu=5_000, image_kb=100, storage="PL3", storage_mb_s=100, packed=True
        )
    )
    assert report.delivered_per_s == pytest.approx(1_000)


def test_low_utilisation_in_images() -> None:
    seen = utilisation_gap(gpu_utilisation=0.3, images_per_s_per_gpu=1_000, gpus=2)
    assert seen.value == pytest.approx(600)
    with pytest.raises(BadQuantityError):
        utilisation_gap(gpu_utilisation=30, images_per_s_per_gpu=1_000)


@given(
    rate=st.floats(10, 5_000),
    gpus=st.integers(1, 8),
    vcpu=st.integers(1, 256),
    mb_s=st.floats(20, 20_000),
    more=st.floats(1, 8),
)
def test_more_of_anything_never_delivers_less(
    rate: float, gpus: int, vcpu: int, mb_s: float, more: float
) -> None:
    base = data_loading(
        LoadingJob(images_per_s_per_gpu=rate, gpus=gpus, vcpu=vcpu, storage_mb_s=mb_s)
    )
    faster = data_loading(
        LoadingJob(images_per_s_per_gpu=rate, gpus=gpus, vcpu=vcpu, storage_mb_s=mb_s * more)
    )
    wider = data_loading(
        LoadingJob(images_per_s_per_gpu=rate, gpus=gpus, vcpu=round(vcpu * more), storage_mb_s=mb_s)
    )
    assert faster.delivered_per_s >= base.delivered_per_s
    assert wider.delivered_per_s >= base.delivered_per_s
    assert 0 < base.gpu_utilisation <= 1


@given(mb_s=st.floats(1, 40_000), name=st.sampled_from(["essd-pl1", "nas", "cpfs", "nvme"]))
def test_the_capacity_for_a_throughput_gives_it(mb_s: float, name: str) -> None:
    size = capacity_for(name, mb_s)
    if size is None:
        assert storage_limit(name).mb_s < mb_s
    elif size > 0:
        assert storage_limit(name, size_gib=size).mb_s >= mb_s * (1 - 1e-9)
