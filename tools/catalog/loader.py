"""Loads the catalog from `data/`: instance types, prices, spot records, sources.

One file a provider, `data/<provider>.csv`: names and own sources above (`front.py`), rows below.
`data/prices/<provider>.csv` and `data/spot/<provider>.csv` may stand beside it. Rows whose only
source is under a share-alike licence stand in `data/<provider>.<licence>.csv`. Nothing else names
the providers: the folder is the list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tools.catalog import table
from tools.catalog.front import Front, SourceRow, read_front, split_front
from tools.catalog.offer import (
    BILLINGS,
    CATEGORIES,
    INTERRUPTION_BANDS,
    PERS,
    STATUSES,
    InstanceOffer,
    Price,
    SpotRecord,
)
from tools.catalog.table import Column
from tools.errors import CatalogRowError
from tools.provenance import Source

DATA = Path(__file__).with_name("data")
PRICE_FOLDER = "prices"
SPOT_FOLDER = "spot"
SOURCES_FILE = "sources.csv"
RATES_FILE = "exchange_rates.csv"
FAMILIES_FILE = "families.csv"
_NOT_PROVIDERS = {
    SOURCES_FILE,
    RATES_FILE,
    FAMILIES_FILE,
    "providers.csv",
    "regions.csv",
    "spot_policy.csv",
    "spot_observed.csv",
    "traffic.csv",
}
FREE = "free"

INSTANCE_COLUMNS = (
    Column("instance_type", table.text, required=True),
    Column("family", table.text, required=True),
    Column("category", table.one_of(CATEGORIES), required=True),
    Column("gpu_model", table.text),
    Column("gpu_row", table.text),
    Column("gpu_count", table.count),
    Column("gpu_fraction", table.share),
    Column("card_memory_gb", table.positive),
    Column("slice_memory_gb", table.positive),
    Column("vcpus", table.count),
    Column("memory_gib", table.positive),
    Column("cpu_model", table.text),
    Column("network_gbps", table.positive),
    Column("rdma", table.boolean),
    Column("rdma_gbps", table.positive),
    Column("nvlink", table.boolean),
    Column("nvlink_gbs", table.positive),
    Column("local_storage_gb", table.positive),
    Column("storage_note", table.text),
    Column("status", table.one_of(STATUSES), required=True),
    Column("sources", table.words, required=True),
    Column("note", table.text),
)
PRICE_COLUMNS = (
    Column("instance_type", table.text, required=True),
    Column("region", table.text),
    Column("billing", table.one_of(BILLINGS), required=True),
    Column("amount", table.money, required=True),
    Column("currency", table.text, required=True),
    Column("per", table.one_of(PERS), required=True),
    Column("priced_on", date.fromisoformat),
    Column("source", table.text, required=True),
    Column("note", table.text),
)
SPOT_COLUMNS = (
    Column("instance_type", table.text, required=True),
    Column("region", table.text, required=True),
    Column("saving_pct", table.percent),
    Column("interruption_band", table.one_of(INTERRUPTION_BANDS)),
    Column("as_of", date.fromisoformat, required=True),
    Column("source", table.text, required=True),
)
SOURCE_COLUMNS = (
    Column("source_id", table.text, required=True),
    Column("licence", table.text, required=True),
    Column("published_on", date.fromisoformat),
    Column("locator", table.text, required=True),
    Column("note", table.text),
)


class CatalogFile(NamedTuple):
    """One instance file: the provider and the licence stand in its name."""

    path: Path
    provider: str
    licence: str


@dataclass(frozen=True)
class Catalog:
    """All instance types, in the order of the files."""

    offers: tuple[InstanceOffer, ...]
    sources: Mapping[str, SourceRow]
    providers: tuple[str, ...]


def instance_files(folder: Path = DATA) -> tuple[CatalogFile, ...]:
    """Instance files of the data folder, sorted by name."""
    found = []
    for path in sorted(folder.glob("*.csv")):
        if path.name not in _NOT_PROVIDERS:
            provider, _, licence = path.stem.partition(".")
            found.append(CatalogFile(path, provider, licence or FREE))
    return tuple(found)


def read_offers(file: CatalogFile, *, sources: Mapping[str, SourceRow]) -> list[InstanceOffer]:
    """Instance types of one file, each checked.

    Raises:
        CatalogRowError: If a row is wrong; names file, row and field.
    """
    name = file.path.name
    offers = []
    seen: set[str] = set()
    front, lines = split_front(table.read_text(file.path))
    above = front.count("\n")
    for number, cells in table.read_rows(lines, columns=INSTANCE_COLUMNS, file=name, above=above):
        offer = InstanceOffer(*[file.provider, *cells, name])
        problem = _offer_problem(offer, sources)
        if offer.instance_type in seen:
            problem = ("instance_type", f"{offer.instance_type!r} stands twice")
        if problem:
            raise CatalogRowError(name, number, *problem)
        seen.add(offer.instance_type)
        offers.append(offer)
    return offers


def _offer_problem(
    offer: InstanceOffer, sources: Mapping[str, SourceRow]
) -> tuple[str, str] | None:
    """Field and reason of what contradicts itself within a row."""
    unknown = [s for s in offer.source_ids if s not in sources]
    if unknown:
        return "sources", (
            f"names {unknown[0]!r}, which neither the lines above the rows ('# [sources.<id>]') "
            f"nor data/{SOURCES_FILE} list"
        )
    if offer.category == "cpu" and (offer.gpu_count or offer.gpu_name or offer.gpu_model):
        return "category", "is cpu, yet the row names a GPU"
    if offer.gpu_fraction is not None and offer.gpu_fraction < 1 and offer.category == "gpu":
        return "gpu_fraction", "is below 1, yet the category says whole cards"
    if offer.slice_memory_gb is not None and offer.card_memory_gb is not None:
        if offer.slice_memory_gb > offer.card_memory_gb:
            return "slice_memory_gb", "is larger than the card"
    if offer.rdma is not True and offer.rdma_gbps is not None:
        return "rdma_gbps", "is set, yet rdma is not true"
    if offer.nvlink is not True and offer.nvlink_gbs is not None:
        return "nvlink_gbs", "is set, yet nvlink is not true"
    return None


def fronts(folder: Path = DATA) -> dict[str, tuple[CatalogFile, Front]]:
    """What each instance file says above its rows, by file name.

    Raises:
        CatalogRowError: If the lines of a file are wrong.
    """
    found = {}
    for file in instance_files(folder):
        block, _ = split_front(table.read_text(file.path))
        found[file.path.name] = (file, read_front(block, file=file.path.name))
    return found


def read_shared_sources(folder: Path = DATA) -> dict[str, SourceRow]:
    """Rows of data/sources.csv by id: sources that no provider's own file lists."""
    lines = table.read_text(folder / SOURCES_FILE)
    rows = table.read_rows(lines, columns=SOURCE_COLUMNS, file=SOURCES_FILE)
    return {cells[0]: SourceRow(*cells) for _, cells in rows}


def read_sources(folder: Path = DATA) -> dict[str, SourceRow]:
    """Every source by id: those of data/sources.csv and those above the rows of a file.

    Raises:
        CatalogRowError: If an id stands in two places.
    """
    sources = read_shared_sources(folder)
    for name, (_, front) in fronts(folder).items():
        for row in front.sources:
            if row.source_id in sources:
                raise CatalogRowError(
                    name, 1, f"sources.{row.source_id}", "is the id of another source already"
                )
            sources[row.source_id] = row
    return sources


def load(folder: Path = DATA) -> Catalog:
    """Reads and checks every instance file of a folder.

    Raises:
        CatalogRowError: If a row is wrong, or a type stands in two files of one provider.
    """
    sources = read_sources(folder)
    offers: list[InstanceOffer] = []
    seen: set[tuple[str, str]] = set()
    for file in instance_files(folder):
        for offer in read_offers(file, sources=sources):
            key = (offer.provider, offer.instance_type)
            if key in seen:
                raise CatalogRowError(
                    file.path.name, 0, "instance_type", f"{key[1]!r} stands in another file too"
                )
            seen.add(key)
            offers.append(offer)
    return Catalog(tuple(offers), sources, tuple(sorted({o.provider for o in offers})))


@cache
def catalog() -> Catalog:
    """The catalog that ships with the project, loaded once."""
    return load()


class PriceBook:
    """Prices of one provider; a type's rows are read and checked when they are first asked for.

    A provider has thousands of prices and a question needs a few: reading all of them would be
    most of a cold start.
    """

    def __init__(self, provider: str, *, folder: Path = DATA) -> None:
        self.provider = provider
        self._folder = folder
        self._path = folder / PRICE_FOLDER / f"{provider}.csv"
        self._lines: dict[str, list[tuple[int, str]]] = defaultdict(list)
        self._read: dict[str, tuple[Price, ...]] = {}
        self._sources: dict[str, SourceRow] | None = None
        self._header = ""
        if self._path.exists():
            self._header, *lines = table.read_text(self._path).splitlines()
            for number, line in enumerate(lines, start=2):
                self._lines[line.partition(",")[0]].append((number, line))

    def __contains__(self, instance_type: str) -> bool:
        return instance_type in self._lines

    def types(self) -> tuple[str, ...]:
        """Types that have a price."""
        return tuple(self._lines)

    def of(self, instance_type: str) -> tuple[Price, ...]:
        """Prices of a type, in the order of the file.

        Raises:
            CatalogRowError: If a row is wrong.
        """
        if instance_type not in self._read:
            self._read[instance_type] = self._rows(self._lines.get(instance_type, []))
        return self._read[instance_type]

    def _rows(self, numbered: Sequence[tuple[int, str]]) -> tuple[Price, ...]:
        if not numbered:
            return ()
        if self._sources is None:
            self._sources = read_sources(self._folder)
        name, sources = _relative(self._path, self._folder), self._sources
        found = []
        text = "\n".join([self._header, *(line for _, line in numbered)])
        rows = table.read_rows(
            text, columns=PRICE_COLUMNS, file=name, numbers=[number for number, _ in numbered]
        )
        for number, cells in rows:
            if cells[7] not in sources:
                raise CatalogRowError(name, number, "source", f"{cells[7]!r} is not listed")
            source = _row_source(self._path, self._folder, cells, sources[cells[7]])
            found.append(Price(*[self.provider, *cells, source]))
        return tuple(found)


def read_prices(provider: str, *, folder: Path = DATA) -> dict[str, tuple[Price, ...]]:
    """All prices of one provider by instance type; empty where it has no file.

    Raises:
        CatalogRowError: If a row is wrong.
    """
    book = PriceBook(provider, folder=folder)
    return {name: book.of(name) for name in book.types()}


def read_spot(provider: str, *, folder: Path = DATA) -> dict[str, tuple[SpotRecord, ...]]:
    """Spot records of one provider by instance type; empty where it has no file."""
    sources = read_sources(folder)
    path = folder / SPOT_FOLDER / f"{provider}.csv"
    found: dict[str, list[SpotRecord]] = defaultdict(list)
    for number, cells in _rows_of(path, SPOT_COLUMNS, folder):
        if cells[5] not in sources:
            name = _relative(path, folder)
            raise CatalogRowError(name, number, "source", f"{cells[5]!r} is not listed")
        source = _row_source(path, folder, cells, sources[cells[5]])
        found[cells[0]].append(SpotRecord(*[provider, *cells[:5], source]))
    return {name: tuple(records) for name, records in found.items()}


def _rows_of(
    path: Path, columns: Sequence[Column], folder: Path
) -> Iterator[tuple[int, list[Any]]]:
    if path.exists():
        yield from table.read_rows(
            table.read_text(path), columns=columns, file=_relative(path, folder)
        )


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _row_source(path: Path, folder: Path, cells: Sequence[Any], row: SourceRow) -> Source:
    where = f"{cells[0]}@{cells[1]}" if cells[1] else cells[0]
    return Source(
        id=f"data:{_relative(path, folder)}#{where}",
        kind="vendor",
        locator=row.locator if row.note is None else f"{row.locator}; {row.note}",
        retrieved_on=row.published_on,
    )


def offer_source(offer: InstanceOffer) -> Source:
    """Origin of an instance row: the file and type, and the vendor pages it was read from."""
    rows = [catalog().sources[source_id] for source_id in offer.source_ids]
    dates = [row.published_on for row in rows if row.published_on]
    return Source(
        id=f"data:{offer.file}#{offer.instance_type}",
        kind="vendor",
        locator="; ".join(row.locator for row in rows),
        retrieved_on=max(dates, default=None),
    )


def offer_cells(offer: InstanceOffer) -> dict[str, object]:
    """An offer under the column names of its file, to write it back."""
    renamed = {"gpu_row": "gpu_name", "vcpus": "vcpu_count", "sources": "source_ids"}
    return {
        column.name: getattr(offer, renamed.get(column.name, column.name))
        for column in INSTANCE_COLUMNS
    }


def price_cells(price: Price) -> dict[str, object]:
    """A price under the column names of its file, to write it back."""
    cells = {
        column.name: getattr(price, column.name)
        for column in PRICE_COLUMNS
        if column.name != "source"
    }
    return {**cells, "source": price.source_id}
