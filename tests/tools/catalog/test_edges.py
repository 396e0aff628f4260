"""Corners: what the calculators refuse, what a constraint fixes, what a file contradicts."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace as Shape

import pytest

from tools.__main__ import main
from tools.catalog import (
    Constraints,
    GpuNeed,
    Miss,
    PlainNeed,
    Work,
    family,
    get_instance,
    recommend,
    region_group,
    spot_quote,
)
from tools.catalog.fitting import Fitter
from tools.catalog.front import split_front
from tools.catalog.jobs import Clock
from tools.catalog.loader import DATA, load, read_prices, read_spot
from tools.catalog.refresh import alibaba
from tools.errors import BadQuantityError, CatalogRowError, UnknownInstanceError, UnsupportedError
from tools.gpus import get_gpu
from tools.memory import InferenceWorkload, MemoryEstimate, TrainingWorkload, estimate
from tools.models import find_model
from tools.units import GIB

QWEN = find_model("Qwen2.5-7B").spec
A10 = get_gpu("NVIDIA A10")


def need_of(
    workload: TrainingWorkload | InferenceWorkload, count: int, **options: object
) -> GpuNeed:
    assert A10.usable_bytes is not None
    fitter = Fitter(workload, **options)  # type: ignore[arg-type]
    return fitter.need(A10, usable_bytes=A10.usable_bytes, gpu_count=count)


def test_a_family_is_no_type_and_names_its_types() -> None:
    with pytest.raises(UnknownInstanceError) as error:
        get_instance("gn7i")
    assert "ecs.gn7i-c8g1.2xlarge" in error.value.candidates
    with pytest.raises(UnknownInstanceError):
        family("gn7i-gpu8")


def test_parallelism_that_was_given_is_kept() -> None:
    found = need_of(TrainingWorkload(QWEN, method="full", parallelism="zero3"), 4)
    assert (found.parallelism, found.gpus_used) == ("zero3", 4)


def test_sharding_is_tried_until_it_fits() -> None:
    found = need_of(TrainingWorkload(QWEN, method="full"), 8)
    assert found.parallelism in ("zero2", "zero3")
    assert need_of(TrainingWorkload(QWEN, method="qlora"), 8).parallelism == "ddp"


def test_tensor_parallelism_that_was_given_is_kept() -> None:
    found = need_of(InferenceWorkload(QWEN, tensor_parallel_size=2, context_len=2048), 4)
    assert (found.parallelism, found.gpus_used) == ("tp2", 2)


def test_what_the_calculator_refuses_is_a_reason_and_no_offer() -> None:
    def refuse(workload: object) -> MemoryEstimate:
        raise UnsupportedError("this", reason="cannot be split")

    found = recommend(
        TrainingWorkload(QWEN), Constraints(providers=("aws",), gpu_count=1), measure=refuse
    )
    assert found.offers == ()
    reasons = {(m.code, m.detail) for miss in found.near_misses for m in miss.misses}
    assert ("unsupported", "cannot be split") in reasons


def test_a_bad_value_for_one_layout_leaves_the_others() -> None:
    def only_pairs(workload: TrainingWorkload | InferenceWorkload) -> MemoryEstimate:
        if workload.gpu_count == 1:
            raise BadQuantityError(field="tensor_parallel_size", given=1, allowed="2")
        return estimate(workload)

    found = need_of(InferenceWorkload(QWEN, context_len=1024), 2, measure=only_pairs)
    assert (found.gpus_used, found.unsupported) == (2, None)


def test_a_plain_need_asks_for_host_memory_too() -> None:
    need = PlainNeed(10 * GIB, 10 * GIB, host_bytes=100 * GIB)
    found = recommend(need, Constraints(providers=("alibaba",), region="cn"))
    assert found.offers
    assert all((o.offer.memory_gib or 0) >= 100 for o in found.offers)


def test_hours_are_unknown_where_the_work_is() -> None:
    offer = get_instance("gn7i-c8g1.2xlarge")
    found = need_of(TrainingWorkload(QWEN, method="qlora"), 1)
    clock = Clock(TrainingWorkload(QWEN, method="qlora"), Work(samples=1000))
    assert clock.hours(offer, found) is None
    assert clock.setup_hours > 0
    assert Clock(PlainNeed(1, 1), None).rate(offer, found) is None
    assert clock.rate(get_instance("gn8v.4xlarge"), found) is None


def test_a_slice_is_sure_of_its_share_of_the_speed() -> None:
    workload = InferenceWorkload(find_model("Qwen2.5-0.5B").spec, context_len=1024)
    clock = Clock(workload, None)
    found = need_of(workload, 1)
    whole = clock.rate(get_instance("gn7i-c8g1.2xlarge"), found)
    third = clock.rate(get_instance("sgn7i-vws-m8.4xlarge"), found)
    assert whole is not None
    assert third is not None
    assert third.value == pytest.approx(whole.value / 3)
    assert third.high == whole.high


@pytest.mark.parametrize("field", ["hours", "tokens", "samples", "epochs"])
def test_impossible_work_is_refused(field: str) -> None:
    with pytest.raises(BadQuantityError, match=field):
        Work(**{field: 0})


def test_work_counts_tokens_over_all_epochs() -> None:
    assert Work(tokens=100, epochs=3).total_tokens == 300
    assert Work(samples=10, tokens_per_sample=7, epochs=2).total_tokens == 140
    assert Work(samples=10).total_tokens is None


def test_a_miss_knows_how_far_off_it_is() -> None:
    assert Miss("memory", 20, 10, "B").shortfall == 2
    assert Miss("price", Decimal(10), Decimal(30), "CNY/h").shortfall == 3
    assert Miss("no_cuda").shortfall > Miss("no_dated_price", None, Decimal(3)).shortfall


def test_an_unknown_region_has_no_group() -> None:
    assert region_group("alibaba", "cn-atlantis") is None


def test_spot_of_a_type_without_any_price_is_unknown() -> None:
    assert spot_quote(get_instance("gn8is.2xlarge")) is None


@pytest.mark.parametrize(
    ("kbps", "gbps"),
    [(16_384_000, 16.0), (10_240_000, 10.0), (1_000_000, 1.0), (5_242_880, 5.0), (0, None),
     (None, None), (1_234_567, 1.23)],
)  # fmt: skip
def test_bandwidth_is_read_whichever_thousand_it_counts_with(
    kbps: int | None, gbps: float | None
) -> None:
    row = Shape(
        instance_type_id="ecs.x.large", instance_type_family="ecs.x", gpuspec="NVIDIA A10",
        gpuamount=1, gpumemory_size=24.0, cpu_core_count=8, memory_size=30.0,
        physical_processor_model="", instance_bandwidth_rx=kbps, eri_quantity=0,
        local_storage_capacity=None, local_storage_amount=None,
    )  # fmt: skip
    body = Shape(instance_types=Shape(instance_type=[row]), next_token="")
    price = Shape(price=Shape(currency="CNY", detail_infos=None))
    client = Shape(
        describe_instance_types=lambda _: Shape(body=body),
        describe_price=lambda _: Shape(body=Shape(price_info=price)),
    )
    models = Shape(DescribeInstanceTypesRequest=Shape, DescribePriceRequest=Shape)
    feed = alibaba.fetch(client=client, models=models)
    assert feed.types[0].network_gbps == gbps
    assert feed.prices == ()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "data"
    shutil.copytree(DATA, copy)
    return copy


@pytest.mark.parametrize(
    ("column", "value"), [("rdma_gbps", "100"), ("nvlink_gbs", "600")], ids=["rdma", "nvlink"]
)
def test_a_link_speed_without_the_link_is_refused(folder: Path, column: str, value: str) -> None:
    path = folder / "aws.csv"
    front, rows = split_front(path.read_text(encoding="utf-8"))
    header, *lines = rows.splitlines()
    position = header.split(",").index(column)
    number = next(n for n, line in enumerate(lines) if line.startswith("g4dn.xlarge,"))
    cells = lines[number].split(",")
    cells[position - 1], cells[position] = "", value
    lines[number] = ",".join(cells)
    path.write_text(front + "\n".join([header, *lines]) + "\n", encoding="utf-8")
    with pytest.raises(CatalogRowError) as error:
        load(folder)
    assert error.value.field == column


@pytest.mark.parametrize(
    ("name", "source", "read"),
    [
        ("prices/aws.csv", "karpenter-aws,", read_prices),
        ("spot/aws.csv", "spot-advisor", read_spot),
    ],
)
def test_a_source_that_is_not_listed_is_refused(
    folder: Path, name: str, source: str, read: Callable[..., object]
) -> None:
    path = folder / name
    content = path.read_text(encoding="utf-8")
    path.write_text(content.replace(source, source.replace("-a", "-x"), 1), encoding="utf-8")
    with pytest.raises(CatalogRowError, match="not listed"):
        read("aws", folder=folder)


def test_commands_say_what_they_cannot_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "refresh", "--provider", "gcp"]) == 2
    assert "only alibaba, aws, tencent" in capsys.readouterr().err
    assert main(["catalog", "lookup", "qwen-7b"]) == 1
    assert "No instance type or family" in capsys.readouterr().out
    assert main(["catalog", "card", "A10O"]) == 2
    assert "A10" in capsys.readouterr().err
    assert main(["catalog"]) == 0
    assert "alibaba" in capsys.readouterr().out


def test_command_lookup_of_one_type_prints_every_unknown_as_such(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["catalog", "lookup", "g6e.12xlarge", "--provider", "aws", "--time"]) == 0
    out = capsys.readouterr().out
    assert "NVLink: no" in out or "NVLink: unknown" in out
    assert "lookup_us" in out
    assert main(["catalog", "lookup", "g6.xlarge", "--provider", "阿里云"]) == 0
    out = capsys.readouterr().out
    assert "The same name means something else at: aws" in out


def test_command_recommend_for_a_model_with_time_and_job(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = [
        "recommend", "--model", "qwen2.5-7b", "--task", "train", "--method", "qlora",
        "--samples", "10000", "--tokens-per-sample", "400", "--provider", "aws", "--time",
    ]  # fmt: skip
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "; job " in out
    assert "recommend_ms" in out
    assert main(["recommend", "--params-b", "7", "--context", "2048", "--json"]) == 0
    assert '"offers"' in capsys.readouterr().out
    assert main(["recommend", "--need-gib", "30", "--provider", "tencent"]) == 1
    out = capsys.readouterr().out
    assert "No offer with a dated price fits" in out
    assert "no dated price (18.02 CNY/h)" in out
