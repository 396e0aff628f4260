"""Cloud providers by any spelling, and where a text names them."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools.catalog import table
from tools.catalog.loader import DATA, catalog, fronts
from tools.catalog.table import Column
from tools.errors import BadQuantityError, CatalogRowError

_FILE = "providers.csv"
_COLUMNS = (
    Column("provider", table.text, required=True),
    Column("name_en", table.text, required=True),
    Column("name_zh", table.text, required=True),
    Column("home", table.text),
    Column("aliases", table.words, required=True),
)


class Provider(NamedTuple):
    """One cloud: its id here, how it is printed and how it is written."""

    provider: str
    name_en: str
    name_zh: str
    home: str | None
    """Group of regions that a price is meant for when no region is named; None = any."""
    aliases: tuple[str, ...]
    bare_metal: tuple[str, ...] | None = None
    """What the names of its bare-metal types contain; empty = it has none, None = not known."""


class ProviderMention(NamedTuple):
    """A provider named in a text."""

    provider: str
    start: int
    end: int


def read_providers(folder: Path = DATA) -> tuple[Provider, ...]:
    """Providers of a data folder: first those whose own file says its names, then providers.csv.

    A provider that gets a file of its own leaves its line in providers.csv without effect. One
    that has rows and a name nowhere goes by its id.

    Raises:
        CatalogRowError: If two files of one provider say its names.
    """
    own: dict[str, Provider] = {}
    files = fronts(folder)
    for name, (file, front) in files.items():
        if front.names is not None:
            if file.provider in own:
                raise CatalogRowError(
                    name, 1, "name_en", f"is said by another file of {file.provider} already"
                )
            own[file.provider] = Provider(file.provider, *front.names)
    rows = table.read_rows(table.read_text(folder / _FILE), columns=_COLUMNS, file=_FILE)
    listed = {cells[0]: Provider(*cells) for _, cells in rows}
    nameless = {
        file.provider: Provider(file.provider, file.provider, file.provider, None, ())
        for file, _ in files.values()
    }
    return tuple({**own, **{k: v for k, v in (nameless | listed).items() if k not in own}}.values())


@cache
def all_providers() -> tuple[Provider, ...]:
    """Providers that are recognised; `covered_providers` says which have rows.

    Raises:
        CatalogRowError: If two files of one provider say its names.
    """
    return read_providers()


def covered_providers() -> tuple[str, ...]:
    """Providers with rows in the catalog."""
    return catalog().providers


@cache
def _by_alias() -> dict[str, str]:
    return {
        alias.casefold(): row.provider
        for row in all_providers()
        for alias in (row.provider, row.name_en, row.name_zh, *row.aliases)
    }


@cache
def _pattern() -> re.Pattern[str]:
    aliases = sorted(_by_alias(), key=len, reverse=True)
    parts = [
        rf"(?<![a-z0-9]){re.escape(alias)}(?![a-z0-9])" if alias.isascii() else re.escape(alias)
        for alias in aliases
    ]
    return re.compile("|".join(parts), re.IGNORECASE)


def provider_id(name: str) -> str:
    """Id of a provider written in any spelling.

    Raises:
        BadQuantityError: If the name is not a provider that is recognised.

    >>> provider_id("阿里云"), provider_id("Amazon EC2")
    ('alibaba', 'aws')
    """
    found = _by_alias().get(unicodedata.normalize("NFKC", name).strip().casefold())
    if found is None:
        raise BadQuantityError(
            field="provider", given=name, allowed=", ".join(row.provider for row in all_providers())
        )
    return found


@cache
def bare_metal_marks(provider: str) -> tuple[str, ...] | None:
    """What the names of a provider's bare-metal types contain; None where nobody says."""
    return next((row.bare_metal for row in all_providers() if row.provider == provider), None)


@cache
def home_region(provider: str) -> str | None:
    """Group of regions that a price of this provider is meant for when no region is named."""
    return next((row.home for row in all_providers() if row.provider == provider), None)


def scan_providers(text: str) -> list[ProviderMention]:
    """Providers named in free text, in order."""
    aliases = _by_alias()
    return [
        ProviderMention(aliases[found[0].casefold()], found.start(), found.end())
        for found in _pattern().finditer(text)
    ]
