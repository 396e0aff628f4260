"""Every row of every data file, checked; how many files were seen is checked too."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tools.catalog import all_providers, catalog, offer_source, provider_id, usable_memory
from tools.catalog.front import split_front
from tools.catalog.loader import (
    DATA,
    FREE,
    INSTANCE_COLUMNS,
    PRICE_COLUMNS,
    CatalogFile,
    fronts,
    instance_files,
    offer_cells,
    read_offers,
    read_prices,
    read_sources,
    read_spot,
)
from tools.catalog.money import exchange_rates
from tools.catalog.names import index, squash
from tools.catalog.regions import GROUPS
from tools.catalog.table import read_text, write_rows
from tools.gpus import get_gpu

FILES = instance_files()
OFFERS = catalog().offers
PROVIDERS = catalog().providers
FIRST_PROVIDERS = {"alibaba", "aws", "azure", "gcp", "huawei", "tencent"}
PRICED = [p for p in PROVIDERS if (DATA / "prices" / f"{p}.csv").exists()]


def _cells(path: Path) -> list[list[str]]:
    """Header and rows of a file, read without the loader."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return list(csv.reader(line for line in lines if not line.startswith("#")))


def test_every_provider_file_is_seen() -> None:
    instance_lists = {p.name for p in DATA.glob("*.csv") if _cells(p)[0][0] == "instance_type"}
    assert [f.path.name for f in FILES] == sorted(instance_lists)
    assert set(PROVIDERS) == {name.partition(".")[0] for name in instance_lists}
    assert set(PROVIDERS) >= FIRST_PROVIDERS


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.path.name)
def test_every_row_of_a_file_is_an_offer(file: CatalogFile) -> None:
    written = [cells[0] for cells in _cells(file.path)[1:]]
    assert [o.instance_type for o in OFFERS if o.file == file.path.name] == written
    assert written


def test_every_provider_with_rows_says_its_names_in_its_own_file() -> None:
    named = [file.provider for file, front in fronts().values() if front.names]
    assert sorted(named) == list(PROVIDERS)


def test_a_spelling_stands_for_one_provider_and_is_understood() -> None:
    owners: dict[str, set[str]] = defaultdict(set)
    for row in all_providers():
        assert row.home is None or row.home in GROUPS, row.provider
        for written in (row.provider, row.name_en, row.name_zh, *row.aliases):
            owners[written.casefold()].add(row.provider)
            assert provider_id(written) == row.provider
    assert {k for k, rows in owners.items() if len(rows) > 1} == set()


def test_share_alike_rows_stand_apart_with_a_notice() -> None:
    dump_only = [o for o in OFFERS if o.source_ids == ("sparecores",)]
    assert dump_only
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
def test_instance_file_survives_a_round_trip(file: CatalogFile) -> None:
    offers = read_offers(file, sources=read_sources())
    text = write_rows([offer_cells(o) for o in offers], columns=INSTANCE_COLUMNS)
    assert text == split_front(read_text(file.path))[1]


@pytest.mark.parametrize("provider", PRICED)
def test_price_file_survives_a_round_trip(provider: str) -> None:
    from tools.catalog.loader import price_cells

    prices = [p for found in read_prices(provider).values() for p in found]
    text = write_rows([price_cells(p) for p in prices], columns=PRICE_COLUMNS)
    assert text == read_text(DATA / "prices" / f"{provider}.csv")


def test_prices_are_all_seen_and_traced() -> None:
    files = {path.stem: len(_cells(path)) - 1 for path in (DATA / "prices").glob("*.csv")}
    assert set(files) >= FIRST_PROVIDERS - {"huawei"}
    assert set(files) <= set(PROVIDERS)
    rates = exchange_rates()
    for provider in PROVIDERS:
        prices = read_prices(provider)
        assert sum(len(found) for found in prices.values()) == files.get(provider, 0)
        for found in prices.values():
            for price in found:
                assert rates.convert(price.amount, given=price.currency, wanted="USD") > 0
                assert price.source.locator
                assert price.amount > 0


def test_spot_records_of_aws_are_all_seen() -> None:
    records = [r for found in read_spot("aws").values() for r in found]
    assert len(records) == len(_cells(DATA / "spot" / "aws.csv")) - 1 > 0
    assert all(r.saving_pct is not None for r in records)


def test_tencent_list_prices_have_no_date() -> None:
    assert not any(p.is_rankable for found in read_prices("tencent").values() for p in found)
