"""New rows from a vendor's API: fetched, validated, shown, and written only when whole."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

from tools.catalog import table
from tools.catalog.front import split_front
from tools.catalog.loader import (
    DATA,
    INSTANCE_COLUMNS,
    PRICE_COLUMNS,
    PRICE_FOLDER,
    SOURCE_COLUMNS,
    SOURCES_FILE,
    load,
    offer_cells,
    price_cells,
    read_prices,
    read_shared_sources,
)
from tools.catalog.prices import today as current_day
from tools.catalog.providers import provider_id
from tools.catalog.refresh.feed import Feed
from tools.catalog.refresh.merge import Merged, merge
from tools.errors import DataError, UnsupportedError, VendorError

PROVIDERS = ("alibaba", "aws", "tencent")
_SHOWN = 20
_LEAST_SHARE = 0.2
"""An answer with fewer types than this share of the known ones is taken for incomplete."""

Fetch = Callable[[str | None], Feed]


@dataclass(frozen=True)
class RefreshReport:
    """What a refresh found and did."""

    feed: Feed
    merged: Merged
    written: tuple[str, ...]
    """Data files that were replaced; empty for a dry run or when nothing changed."""

    def view(self) -> dict[str, Any]:
        """The report for JSON."""
        merged = self.merged
        return {
            "provider": self.feed.provider,
            "region": self.feed.region,
            "types": len(self.feed.types),
            "added": list(merged.added),
            "changed": [
                {"instance_type": c.instance_type, "field": c.field,
                 "old": str(c.old), "new": str(c.new)}
                for c in merged.changed
            ],
            "prices": [
                {"instance_type": c.new.instance_type, "region": c.new.region,
                 "old": None if c.old is None else str(c.old.amount),
                 "new": str(c.new.amount), "currency": c.new.currency}
                for c in merged.price_changes
            ],
            "not_returned": list(merged.not_returned),
            "notes": list(self.feed.notes),
            "written": list(self.written),
        }  # fmt: skip

    def text(self) -> str:
        """The report for a terminal: the difference, at most twenty lines of each kind."""
        merged = self.merged
        lines = [f"{self.feed.locator}: {len(self.feed.types)} types, "
                 f"{len(self.feed.prices)} prices"]  # fmt: skip
        lines += _some("new type", list(merged.added))
        lines += _some(
            "changed",
            [f"{c.instance_type} {c.field}: {c.old} -> {c.new}" for c in merged.changed],
        )
        lines += _some(
            "price",
            [
                f"{c.new.instance_type} {c.new.region}: "
                f"{'none' if c.old is None else c.old.amount} -> {c.new.amount} {c.new.currency}/h"
                for c in merged.price_changes
            ],
        )
        lines.append(f"{len(merged.not_returned)} types with a row were not returned; they stay")
        lines += self.feed.notes
        done = ", ".join(self.written) if self.written else "nothing"
        lines.append(f"written: {done}")
        return "\n".join(lines)


def _some(kind: str, items: list[str]) -> list[str]:
    shown = [f"  {kind}: {item}" for item in items[:_SHOWN]]
    if len(items) > _SHOWN:
        shown.append(f"  ... and {len(items) - _SHOWN} more ({kind})")
    return shown


def run_refresh(
    provider: str,
    *,
    region: str | None = None,
    dry_run: bool = False,
    fetch: Fetch | None = None,
    folder: Path = DATA,
    today: date | None = None,
) -> RefreshReport:
    """Asks a vendor's API and replaces the provider's files when the new ones are whole.

    Args:
        provider: alibaba, aws or tencent, in any spelling.
        region: Region to ask; the vendor's default without it.
        dry_run: True shows the difference and writes nothing.
        fetch: Source of rows in place of the vendor's SDK.
        folder: Data folder.
        today: Date of the new rows.

    Raises:
        UnsupportedError: If there is no refresh for the provider.
        MissingExtraError: If the vendor's SDK is not installed.
        MissingCredentialsError: If the SDK finds no credentials.
        VendorError: If the API fails or its answer is incomplete; nothing is replaced.
        DataError: If the new rows do not validate or cannot be written; nothing is replaced.
    """
    name = provider_id(provider)
    if name not in PROVIDERS:
        raise UnsupportedError(
            f"refresh of {provider}", reason=f"only {', '.join(PROVIDERS)} can be refreshed"
        )
    feed = (fetch or _fetcher(name))(region)
    old = [o for o in load(folder).offers if o.provider == name]
    _require_whole(feed, {o.instance_type for o in old if o.is_gpu})
    prices = [p for found in read_prices(name, folder=folder).values() for p in found]
    merged = merge(feed, offers=old, prices=prices, today=today or current_day())
    files = _files(name, merged, folder)
    changed = {path: text for path, text in files.items() if _differs(folder / path, text)}
    has_news = bool(merged.added or merged.changed or feed.prices)
    if dry_run or not has_news:
        changed = {}
    if changed:
        _replace(changed, folder)
    return RefreshReport(feed, merged, tuple(sorted(changed)))


def _fetcher(provider: str) -> Fetch:
    found: Fetch = import_module(f"tools.catalog.refresh.{provider}").fetch
    return found


def _require_whole(feed: Feed, known: set[str]) -> None:
    if len(feed.types) < _LEAST_SHARE * len(known):
        raise VendorError(
            f"{feed.locator} returned {len(feed.types)} types where {len(known)} are known; "
            "the answer is taken for incomplete and nothing was replaced"
        )


def _files(provider: str, merged: Merged, folder: Path) -> dict[str, str]:
    """Texts of the files after the refresh, by path in the data folder."""
    texts: dict[str, str] = {}
    for name in sorted({o.file for o in merged.offers}):
        rows = [o for o in merged.offers if o.file == name]
        rows.sort(key=lambda o: (o.family, o.instance_type))
        path = folder / name
        front = split_front(table.read_text(path))[0] if path.exists() else ""
        cells = [offer_cells(o) for o in rows]
        texts[name] = front + table.write_rows(cells, columns=INSTANCE_COLUMNS)
    priced = [price_cells(p) for p in merged.prices]
    priced.sort(key=lambda cells: ["" if v is None else str(v) for v in cells.values()])
    texts[f"{PRICE_FOLDER}/{provider}.csv"] = table.write_rows(priced, columns=PRICE_COLUMNS)
    sources = {**read_shared_sources(folder), merged.source.source_id: merged.source}
    texts[SOURCES_FILE] = table.write_rows(
        [row._asdict() for _, row in sorted(sources.items())], columns=SOURCE_COLUMNS
    )
    return texts


def _differs(path: Path, text: str) -> bool:
    return not path.exists() or table.read_text(path) != text


def _replace(files: dict[str, str], folder: Path) -> None:
    """Writes files beside the old ones, loads them all, and only then puts them in their place.

    Sources come first, so that no row ever names a source that is not listed.
    """
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            copy = Path(scratch) / "data"
            shutil.copytree(folder, copy)
            for name, text in files.items():
                (copy / name).parent.mkdir(exist_ok=True)
                (copy / name).write_text(text, encoding="utf-8")
            for provider in load(copy).providers:
                read_prices(provider, folder=copy)
            for name in sorted(files, key=lambda n: (n != SOURCES_FILE, n)):
                (folder / name).parent.mkdir(exist_ok=True)
                os.replace(copy / name, folder / name)
    except OSError as error:
        raise DataError(
            f"The catalog's data folder {folder} cannot be written: {error}."
        ) from error
