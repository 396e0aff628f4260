"""Every row of every data file, checked; how many files were seen is checked too."""

from __future__ import annotations

from collections import Counter

import pytest

from tools.catalog import catalog, offer_source, usable_memory
from tools.catalog.loader import (
    DATA,
    FREE,
    INSTANCE_COLUMNS,
    PRICE_COLUMNS,
    instance_files,
    read_offers,
    read_prices,
    read_sources,
    read_spot,
)
from tools.catalog.names import index, squash
from tools.catalog.table import read_text, write_rows
from tools.gpus import get_gpu

FILES = instance_files()
OFFERS = catalog().offers
PROVIDERS = ("alibaba", "aws", "azure", "gcp", "huawei", "tencent")


def test_every_provider_file_is_seen() -> None:
    assert [f.path.name for f in FILES] == [
        "alibaba.cc-by-sa-4.0.csv", "alibaba.csv", "aws.csv", "azure.cc-by-sa-4.0.csv",
        "azure.csv", "gcp.cc-by-sa-4.0.csv", "huawei.csv", "tencent.csv",
    ]  # fmt: skip
    assert catalog().providers == PROVIDERS
    assert len(OFFERS) == 781


def test_share_alike_rows_stand_apart_with_a_notice() -> None:
    dump_only = [o for o in OFFERS if o.source_ids == ("sparecores",)]
    assert len(dump_only) >= 400
    assert {o.file for o in dump_only} == {f.path.name for f in FILES if f.licence != FREE}
    for file in FILES:
        if file.licence != FREE:
            assert (DATA / f"{file.licence}.NOTICE.md").is_file()
            assert read_sources()["sparecores"].licence == "CC-BY-SA-4.0"


@pytest.mark.parametrize("offer", OFFERS, ids=lambda o: f"{o.provider}:{o.instance_type}")
def test_row_is_whole(offer: object) -> None:
    from tools.catalog import InstanceOffer

    assert isinstance(offer, InstanceOffer)
    assert offer_source(offer).locator
    if offer.gpu_name is not None:
        card = get_gpu(offer.gpu_name)
        assert card.memory_label_gb == offer.card_memory_gb
    if offer.category == "vgpu-slice" and offer.gpu_fraction and offer.card_memory_gb:
        assert offer.slice_memory_gb == pytest.approx(
            float(offer.gpu_fraction) * offer.card_memory_gb
        )
    if offer.category == "cpu":
        assert offer.gpu_count is None
        assert offer.vcpu_count
        assert offer.memory_gib
    memory = usable_memory(offer)
    if memory is not None and offer.gpu_memory_gb is not None:
        assert memory.bytes <= offer.gpu_memory_gb * 1024**3


def test_two_types_never_share_a_spelling_on_one_cloud() -> None:
    for key, offers in index().types.items():
        clouds = Counter(o.provider for o in offers)
        assert max(clouds.values()) == 1, key


def test_every_type_is_found_by_its_own_name() -> None:
    for offer in OFFERS:
        assert offer in index().types[squash(offer.instance_type)]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.path.name)
def test_instance_file_survives_a_round_trip(file: object) -> None:
    from tools.catalog.loader import CatalogFile, offer_cells

    assert isinstance(file, CatalogFile)
    offers = read_offers(file, sources=read_sources())
    text = write_rows([offer_cells(o) for o in offers], columns=INSTANCE_COLUMNS)
    assert text == read_text(file.path)


@pytest.mark.parametrize("provider", [p for p in PROVIDERS if p != "huawei"])
def test_price_file_survives_a_round_trip(provider: str) -> None:
    from tools.catalog.loader import price_cells

    prices = [p for found in read_prices(provider).values() for p in found]
    text = write_rows([price_cells(p) for p in prices], columns=PRICE_COLUMNS)
    assert text == read_text(DATA / "prices" / f"{provider}.csv")


def test_prices_are_all_seen_and_traced() -> None:
    counts = {p: sum(len(v) for v in read_prices(p).values()) for p in PROVIDERS}
    assert counts == {
        "alibaba": 3123, "aws": 142, "azure": 1312, "gcp": 768, "huawei": 0, "tencent": 24,
    }  # fmt: skip
    for provider in PROVIDERS:
        for found in read_prices(provider).values():
            for price in found:
                assert price.currency in ("CNY", "USD")
                assert price.source.locator
                assert price.amount > 0


def test_spot_records_of_aws_are_all_seen() -> None:
    records = [r for found in read_spot("aws").values() for r in found]
    assert len(records) == 248
    assert all(r.saving_pct is not None for r in records)


def test_tencent_list_prices_have_no_date() -> None:
    assert not any(p.is_rankable for found in read_prices("tencent").values() for p in found)
