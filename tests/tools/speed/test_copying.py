"""How long a copy takes, by hand: bytes over the slowest stage, files over opening them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.errors import BadQuantityError, UserInputError
from tools.speed import CopyJob, copy_time, object_store, object_stores

TB = 1e12


def test_a_link_of_ten_gbit_is_slower_than_the_account_of_ten() -> None:
    # 10 Gbit/s * 0.92 = 1,150 MB/s; OSS gives an account 1,250 MB/s: the link decides
    found = copy_time(CopyJob(size_bytes=20 * TB, source="oss", link_gbps=10))
    assert found.slowest == "link"
    assert found.stages == pytest.approx({"link": 1150, "source": 1250})
    assert found.seconds.value == pytest.approx(20e12 / 1.15e9)  # 4.83 h
    assert found.seconds.high == pytest.approx(20e12 / 0.75e9)  # 60 % of the wire
    assert found.streams_needed == 14  # 1,150 / 85


def test_outside_mainland_china_an_account_of_oss_gives_half() -> None:
    job = CopyJob(size_bytes=TB, source="OSS", link_gbps=100, is_abroad=True)
    found = copy_time(job)
    assert found.slowest == "source"
    assert found.mb_s == pytest.approx(625)


def test_more_machines_share_the_work_until_the_store_is_the_limit() -> None:
    # a machine of 4 Gbit/s takes 460 MB/s; 1,250 / 460 = 2.7
    one = copy_time(CopyJob(size_bytes=TB, source="oss", link_gbps=4))
    three = copy_time(CopyJob(size_bytes=TB, source="oss", link_gbps=4, machines=3))
    assert one.machines_useful == three.machines_useful == 3
    assert one.seconds.value / three.seconds.value == pytest.approx(1250 / 460)
    assert three.slowest == "source"


def test_a_disk_is_each_machines_own_and_a_file_system_is_shared() -> None:
    disk = copy_time(CopyJob(size_bytes=TB, target="essd-pl1", link_gbps=10, machines=2))
    shared = copy_time(CopyJob(size_bytes=TB, target="nas", link_gbps=10, machines=2))
    assert disk.stages["target"] == 700
    assert shared.stages["target"] == 1200
    assert disk.machines_useful is None
    assert shared.machines_useful == 2  # 1,200 / 1,150


def test_small_files_take_as_long_as_opening_them() -> None:
    # 64 under way, 50 ms each: 1,280 a second; 10 M files take 7,812 s, their 1 TB 870 s
    found = copy_time(CopyJob(size_bytes=TB, source="s3", link_gbps=10, files=1e7))
    assert found.slowest == "files"
    assert found.seconds.value == pytest.approx(1e7 / 1280)
    assert [a.name for a in found.assumptions] == ["streams"]
    # with many in flight the prefix's 5,500 a second hold it back
    fast = copy_time(CopyJob(size_bytes=TB, source="s3", link_gbps=10, files=1e7, streams=1000))
    assert fast.seconds.value == pytest.approx(1e7 / 5500)


def test_a_fast_link_reaches_what_was_measured_on_one_machine() -> None:
    found = copy_time(CopyJob(size_bytes=TB, source="s3", link_gbps=400))
    assert found.mb_s == pytest.approx(8000)  # 64 Gbit/s


def test_a_copy_without_any_known_rate_is_refused() -> None:
    with pytest.raises(BadQuantityError, match="link_gbps"):
        copy_time(CopyJob(size_bytes=TB, source="s3"))
    with pytest.raises(UserInputError, match="Unknown storage"):
        copy_time(CopyJob(size_bytes=TB, source="floppy", link_gbps=10))
    with pytest.raises(BadQuantityError):
        CopyJob(size_bytes=0, link_gbps=10)


def test_limits_that_nobody_states_are_unknown() -> None:
    store = object_store("cos")
    assert store is not None
    assert store.mb_s is store.gets_per_s is None
    assert {s.provider for s in object_stores()} >= {"aws", "alibaba", "gcp", "tencent"}


@given(
    size=st.floats(1e6, 1e16), gbps=st.floats(0.1, 800), more=st.floats(1, 10),
    files=st.none() | st.floats(1, 1e9),
)  # fmt: skip
def test_a_faster_link_never_takes_longer_and_more_data_never_less(
    size: float, gbps: float, more: float, files: float | None
) -> None:
    def seconds(size: float, gbps: float) -> float:
        job = CopyJob(size_bytes=size, source="oss", target="cpfs", link_gbps=gbps, files=files)
        found = copy_time(job).seconds
        assert found.low <= found.value <= found.high
        return found.value

    assert seconds(size, gbps * more) <= seconds(size, gbps) * (1 + 1e-9)
    assert seconds(size * more, gbps) >= seconds(size, gbps) * (1 - 1e-9)
