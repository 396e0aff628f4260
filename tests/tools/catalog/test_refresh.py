"""Refresh against moto (AWS) and against clients that answer in the recorded shapes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace as Shape
from typing import Any

import pytest

from tools.catalog.loader import DATA, fronts, load, read_prices, read_sources
from tools.catalog.refresh import RefreshReport, alibaba, aws, run_refresh, tencent
from tools.catalog.refresh.feed import Feed, FetchedPrice, FetchedType, card_row
from tools.errors import (
    DataError,
    MissingCredentialsError,
    MissingExtraError,
    UnsupportedError,
    VendorError,
)

TODAY = date(2026, 11, 30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "data"
    shutil.copytree(DATA, copy)
    return copy


@pytest.fixture(scope="module")
def moto_feed() -> Feed:
    """One answer of moto's EC2; its price list is not implemented."""
    moto = pytest.importorskip("moto")
    with pytest.MonkeyPatch.context() as patch, moto.mock_aws():
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        return aws.fetch("us-east-1")


def known(provider: str, folder: Path = DATA) -> list[FetchedType]:
    """The rows of a provider as its API would state them."""
    return [
        FetchedType(
            instance_type=o.instance_type, family=o.family, category=o.category,
            gpu_model=o.gpu_model, gpu_count=o.gpu_count, gpu_fraction=o.gpu_fraction,
            vcpu_count=o.vcpu_count, memory_gib=o.memory_gib, network_gbps=o.network_gbps,
        )
        for o in load(folder).offers
        if o.provider == provider and o.is_gpu
    ]  # fmt: skip


def refreshed(folder: Path, feed: Feed, **options: Any) -> RefreshReport:
    return run_refresh(feed.provider, fetch=lambda _: feed, folder=folder, today=TODAY, **options)


def test_moto_answers_what_the_aws_rows_say(moto_feed: Feed, folder: Path) -> None:
    report = refreshed(folder, moto_feed, dry_run=True)
    # The rows were made from the same release: every field that the API states is equal.
    assert report.merged.changed == ()
    assert len(moto_feed.types) >= 70
    g6f = next(t for t in moto_feed.types if t.instance_type == "g6f.large")
    assert (g6f.category, g6f.gpu_fraction, g6f.gpu_count) == ("vgpu-slice", Fraction(1, 8), 1)
    trn1 = next(t for t in moto_feed.types if t.instance_type == "trn1.2xlarge")
    assert (trn1.category, trn1.gpu_model) == ("accelerator", "AWS Trainium")


def test_a_price_list_that_cannot_be_asked_leaves_a_note(moto_feed: Feed) -> None:
    assert moto_feed.prices == ()
    assert "Prices were not asked" in moto_feed.notes[0]


def test_rows_lost_and_wrong_come_back_from_moto(moto_feed: Feed, folder: Path) -> None:
    path = folder / "aws.csv"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    lines = [line.replace(",48,192,", ",47,192,") if line.startswith("g6.12xlarge,") else line
             for line in lines if not line.startswith(("g6e.xlarge,", "g6f.large,"))]  # fmt: skip
    path.write_text("".join(lines), encoding="utf-8")
    report = refreshed(folder, moto_feed)
    assert {"g6e.xlarge", "g6f.large"} <= set(report.merged.added)
    assert [c for c in report.merged.changed if c.instance_type == "g6.12xlarge"] == [
        ("g6.12xlarge", "vcpu_count", 47, 48)
    ]
    assert set(report.written) == {"aws.csv", "sources.csv"}
    names = fronts(folder)["aws.csv"][1].names
    assert names is not None
    assert names == fronts(DATA)["aws.csv"][1].names
    offers = {o.instance_type: o for o in load(folder).offers if o.provider == "aws"}
    assert (offers["g6e.xlarge"].gpu_name, offers["g6e.xlarge"].card_memory_gb) == (
        "NVIDIA L40S", 48,
    )  # fmt: skip
    assert (offers["g6f.large"].slice_memory_gb, offers["g6f.large"].nvlink) == (3, None)
    assert offers["g6.12xlarge"].vcpu_count == 48
    source = read_sources(folder)["aws-api-2026-11-30"]
    assert source.published_on == TODAY
    assert "aws-api-2026-11-30" in offers["g6.12xlarge"].source_ids


class PriceList:
    """Answers get_products in the shape that the service documents."""

    def get_paginator(self, operation: str) -> PriceList:
        assert operation == "get_products"
        return self

    def paginate(self, **arguments: Any) -> Iterator[dict[str, Any]]:
        region = next(f["Value"] for f in arguments["Filters"] if f["Field"] == "regionCode")
        assert region == "us-east-1"
        yield {"PriceList": [self.product("g6.xlarge", "0.9000000000"),
                             self.product("m5.large", "0.0960000000"),
                             self.product("g6.2xlarge", "0.0000000000")]}  # fmt: skip

    def product(self, name: str, amount: str) -> str:
        dimension = {"unit": "Hrs", "pricePerUnit": {"USD": amount}}
        terms = {"OnDemand": {"A.B": {"priceDimensions": {"A.B.C": dimension}}}}
        return json.dumps({"product": {"attributes": {"instanceType": name}}, "terms": terms})


def test_a_new_aws_price_replaces_the_old_and_is_dated(moto_feed: Feed, folder: Path) -> None:
    wanted = {t.instance_type for t in moto_feed.types}
    feed = replace(moto_feed, prices=aws.list_prices(PriceList(), "us-east-1", wanted))
    assert feed.prices == (
        FetchedPrice("g6.xlarge", "us-east-1", "on_demand", Decimal("0.9"), "USD"),
    )
    report = refreshed(folder, feed)
    (change,) = report.merged.price_changes
    assert change.old is not None
    assert (change.old.amount, change.new.amount) == (Decimal("0.8048"), Decimal("0.9"))
    written = [p for p in read_prices("aws", folder=folder)["g6.xlarge"]
               if (p.region, p.billing) == ("us-east-1", "on_demand")]  # fmt: skip
    assert [(p.amount, p.priced_on) for p in written] == [(Decimal("0.9"), TODAY)]
    assert "0.8048 -> 0.9 USD/h" in report.text()
    others = {name: found for name, found in read_prices("aws").items() if name != "g6.xlarge"}
    kept = read_prices("aws", folder=folder)
    assert {name: set(kept[name]) for name in others} == {n: set(f) for n, f in others.items()}


def test_aws_without_credentials_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    pytest.importorskip("boto3")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(MissingCredentialsError) as error:
        run_refresh("aws", folder=folder)
    assert str(error.value).count(".") == 1
    assert "AWS_ACCESS_KEY_ID" in str(error.value)


class EcsClient:
    """Answers in the shape of the ECS SDK: `body`, snake_case fields, pages by token."""

    def __init__(self, pages: list[list[Shape]]) -> None:
        self.pages = pages
        self.asked: list[str] = []

    def describe_instance_types(self, request: Shape) -> Shape:
        number = int(request.next_token or 0)
        token = str(number + 1) if number + 1 < len(self.pages) else None
        types = Shape(instance_type=self.pages[number])
        return Shape(body=Shape(instance_types=types, next_token=token))

    def describe_price(self, request: Shape) -> Shape:
        self.asked.append(request.instance_type)
        if request.instance_type == "ecs.gn7i-c8g1.2xlarge":
            raise OSError("NoStock")
        parts = [
            Shape(resource="instanceType", original_price=12.5),
            Shape(resource="systemDisk", original_price=0.3),
        ]
        price = Shape(currency="CNY", detail_infos=Shape(detail_info=parts))
        return Shape(body=Shape(price_info=Shape(price=price)))


MODELS = Shape(DescribeInstanceTypesRequest=Shape, DescribePriceRequest=Shape)


def ecs_row(name: str, spec: str | None, **fields: Any) -> Shape:
    family = "ecs." + name.removeprefix("ecs.").split("-")[0].split(".")[0]
    values = {
        "instance_type_id": name, "instance_type_family": family, "gpuspec": spec,
        "gpuamount": 1 if spec else 0, "gpumemory_size": 24.0 if spec else 0.0,
        "cpu_core_count": 8, "memory_size": 30.0, "physical_processor_model": "Intel 8369B",
        "instance_bandwidth_rx": 16_384_000, "eri_quantity": 0, "local_storage_capacity": None,
        "local_storage_amount": None, **fields,
    }  # fmt: skip
    return Shape(**values)


def test_alibaba_types_and_prices_are_read_over_all_pages() -> None:
    client = EcsClient([
        [ecs_row("ecs.gn7i-c8g1.2xlarge", "NVIDIA A10"), ecs_row("ecs.g7.large", None)],
        [ecs_row("ecs.sgn7x-m4.xlarge", "NVIDIA A10*1/6", gpumemory_size=4.0),
         ecs_row("ecs.gn10x.4xlarge", "NVIDIA A10", gpuamount=4, eri_quantity=1)],
    ])  # fmt: skip
    feed = alibaba.fetch("cn-beijing", client=client, models=MODELS)
    assert [t.instance_type for t in feed.types] == client.asked == [
        "ecs.gn7i-c8g1.2xlarge", "ecs.sgn7x-m4.xlarge", "ecs.gn10x.4xlarge",
    ]  # fmt: skip
    whole, part, four = feed.types
    assert (whole.gpu_count, whole.gpu_fraction, whole.network_gbps, whole.rdma) == (1, 1, 16, None)
    assert (part.category, part.gpu_fraction, part.gpu_count) == ("vgpu-slice", Fraction(1, 6), 1)
    assert (four.gpu_count, four.rdma) == (4, True)
    assert {p.instance_type: p.amount for p in feed.prices} == {
        "ecs.sgn7x-m4.xlarge": Decimal("12.5"), "ecs.gn10x.4xlarge": Decimal("12.5"),
    }  # fmt: skip
    (note,) = feed.notes
    assert note.startswith("1 types have no price in cn-beijing: not sold there, or not priced.")
    assert note.endswith("NoStock")


def test_a_new_alibaba_slice_goes_to_the_free_file_with_its_own_memory(folder: Path) -> None:
    types = (*known("alibaba"), FetchedType(
        instance_type="ecs.sgn7x-m4.xlarge", family="sgn7x", category="vgpu-slice",
        gpu_model="NVIDIA A10", gpu_count=1, gpu_fraction=Fraction(1, 6), gpu_memory_gib=4.0,
        vcpu_count=4, memory_gib=15.5,
    ))  # fmt: skip
    report = refreshed(folder, Feed("alibaba", "cn-beijing", "ECS", types))
    assert report.merged.added == ("ecs.sgn7x-m4.xlarge",)
    assert report.merged.changed == ()
    (row,) = [o for o in load(folder).offers if o.instance_type == "ecs.sgn7x-m4.xlarge"]
    assert (row.file, row.gpu_name, row.card_memory_gb, row.slice_memory_gb) == (
        "alibaba.csv", "NVIDIA A10", 24, 4,
    )  # fmt: skip
    assert (row.nvlink, row.rdma) == (None, None)


class CvmClient:
    """Answers in the shape of the CVM SDK."""

    def __init__(self, rows: list[Shape], error: Exception | None = None) -> None:
        self.rows, self.error = rows, error

    def DescribeZoneInstanceConfigInfos(self, request: Shape) -> Shape:
        assert request.Filters[0].Values == ["POSTPAID_BY_HOUR"]
        if self.error:
            raise self.error
        return Shape(InstanceTypeQuotaSet=self.rows)


CVM_MODELS = Shape(DescribeZoneInstanceConfigInfosRequest=Shape, Filter=Shape)


def cvm_row(name: str, cards: float, price: float | None) -> Shape:
    unit = None if price is None else Shape(UnitPrice=price, ChargeUnit="HOUR")
    return Shape(
        InstanceType=name, InstanceFamily=name.split(".")[0], Gpu=int(cards >= 1), GpuCount=cards,
        Cpu=4, Memory=20, CpuType="Intel", InstanceBandwidth=5.0, Price=unit,
    )  # fmt: skip


def test_tencent_slices_and_prices_are_read() -> None:
    rows = [cvm_row("GN7.LARGE20", 0.25, 3.5), cvm_row("S5.MEDIUM4", 0, 0.2),
            cvm_row("PNV4.7XLARGE116", 1, 12.88)]  # fmt: skip
    rows[1].Gpu = 0
    feed = tencent.fetch(client=CvmClient(rows), models=CVM_MODELS)
    part, whole = feed.types
    assert (part.category, part.gpu_fraction, part.gpu_count) == ("vgpu-slice", Fraction(1, 4), 1)
    assert (whole.category, whole.gpu_count, whole.network_gbps) == ("gpu", 1, 5)
    assert [(p.instance_type, p.amount, p.currency) for p in feed.prices] == [
        ("GN7.LARGE20", Decimal("3.5"), "CNY"), ("PNV4.7XLARGE116", Decimal("12.88"), "CNY"),
    ]  # fmt: skip


def test_a_dated_tencent_price_makes_the_type_rankable(folder: Path) -> None:
    price = FetchedPrice("PNV4.7XLARGE116", "ap-guangzhou", "on_demand", Decimal("12.88"), "CNY")
    feed = Feed("tencent", "ap-guangzhou", "CVM", tuple(known("tencent")), (price,))
    refreshed(folder, feed)
    (written,) = read_prices("tencent", folder=folder)["PNV4.7XLARGE116"]
    assert (written.amount, written.priced_on, written.is_rankable) == (
        Decimal("12.88"), TODAY, True,
    )  # fmt: skip


def test_a_vendor_that_fails_is_reported_and_changes_nothing(folder: Path) -> None:
    before = {p: p.read_bytes() for p in folder.rglob("*.csv")}
    client = CvmClient([], error=TimeoutError("timed out"))
    with pytest.raises(VendorError, match="timed out"):
        run_refresh(
            "tencent", folder=folder,
            fetch=lambda region: tencent.fetch(region, client=client, models=CVM_MODELS),
        )  # fmt: skip
    assert {p: p.read_bytes() for p in folder.rglob("*.csv")} == before


@pytest.mark.parametrize("types", [(), 3])
def test_an_answer_of_too_few_types_is_taken_for_incomplete(
    folder: Path, types: tuple[()] | int
) -> None:
    rows = tuple(known("aws"))[:3] if types else ()
    with pytest.raises(VendorError, match="incomplete"):
        refreshed(folder, Feed("aws", "us-east-1", "EC2", rows))


@pytest.mark.parametrize(
    "wrong",
    [
        {"vcpu_count": 0},
        {"gpu_fraction": Fraction(1, 2)},
        {"memory_gib": -4.0},
        {"family": ""},
    ],
    ids=lambda w: next(iter(w)),
)
def test_a_row_that_does_not_validate_keeps_every_old_file(
    folder: Path, wrong: dict[str, Any]
) -> None:
    before = {p: p.read_bytes() for p in folder.rglob("*.csv")}
    values = {"instance_type": "g99.xlarge", "family": "g99", "category": "gpu", "gpu_count": 1,
              "gpu_fraction": Fraction(1), "vcpu_count": 4, **wrong}  # fmt: skip
    feed = Feed("aws", "us-east-1", "EC2", (*known("aws"), FetchedType(**values)))
    with pytest.raises(DataError):
        refreshed(folder, feed)
    assert {p: p.read_bytes() for p in folder.rglob("*.csv")} == before
    assert [p.name for p in folder.parent.iterdir()] == ["data"]


def test_a_dry_run_shows_the_difference_and_writes_nothing(folder: Path) -> None:
    before = {p: p.read_bytes() for p in folder.rglob("*.csv")}
    price = FetchedPrice("g6.xlarge", "us-east-1", "on_demand", Decimal("0.7"), "USD")
    feed = Feed("aws", "us-east-1", "EC2", tuple(known("aws")), (price,))
    report = refreshed(folder, feed, dry_run=True)
    assert len(report.merged.price_changes) == 1
    assert report.written == ()
    assert json.loads(json.dumps(report.view()))["prices"][0]["old"] == "0.8048"
    assert {p: p.read_bytes() for p in folder.rglob("*.csv")} == before


def test_an_unchanged_answer_writes_nothing(folder: Path) -> None:
    report = refreshed(folder, Feed("aws", "us-east-1", "EC2", tuple(known("aws"))))
    assert (report.merged.added, report.merged.changed, report.written) == ((), (), ())


@pytest.mark.parametrize(
    ("module", "extra"), [(alibaba, "alibaba"), (tencent, "tencent")], ids=["alibaba", "tencent"]
)
def test_a_missing_sdk_names_the_extra(module: Any, extra: str) -> None:
    packages = {"alibaba": "alibabacloud_ecs20140526", "tencent": "tencentcloud"}
    try:
        __import__(packages[extra])
    except ImportError:
        with pytest.raises(MissingExtraError, match=extra):
            module.fetch()
    else:
        pytest.skip("the SDK is installed")


def test_only_three_clouds_can_be_refreshed() -> None:
    with pytest.raises(UnsupportedError, match="alibaba, aws, tencent"):
        run_refresh("谷歌云", folder=DATA / "nowhere")


@pytest.mark.parametrize(
    ("model", "memory_gib", "row"),
    [
        ("NVIDIA A10G", 22.35, "NVIDIA A10G"),
        ("NVIDIA A100", 40.0, "NVIDIA A100 SXM4 40GB"),
        ("NVIDIA L40S", 44.7, "NVIDIA L40S"),
        ("NVIDIA A10", 80.0, None),
        ("Frobnicator 9000", 24.0, None),
        (None, 24.0, None),
    ],
)
def test_a_card_is_named_only_when_name_and_memory_agree(
    model: str | None, memory_gib: float, row: str | None
) -> None:
    assert card_row(model, memory_gib=memory_gib) == row
