"""What is known of a document, and how its records become what is searched."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from knowledge.parsers import SUFFIXES
from knowledge.store import Record
from knowledge.text import language_of
from knowledge.types import Section
from tools.errors import UserInputError

Status = Literal["added", "updated", "unchanged", "removed", "rejected"]


class FileResult(NamedTuple):
    """What became of one file."""

    path: str
    status: Status
    reason: str = ""
    piece_count: int = 0


class Entry(NamedTuple):
    """One document of the manifest."""

    key: str
    collection: str
    path: str
    version: str
    pieces_in: str
    """The store's collection that holds its pieces; tells the embedder."""
    piece_count: int
    added_on: str


def entry_key(collection: str, path: str) -> str:
    """Name of a document's manifest record."""
    return hashlib.sha256(f"{collection}\n{path}".encode()).hexdigest()[:24]


def owner_of(record: Record) -> tuple[str, str]:
    """Document and version that a piece belongs to."""
    return str(record.metadata["document"]), str(record.metadata["version"])


def section_of(record: Record, entry: Entry) -> Section:
    """A piece as it is searched and quoted."""
    place = str(record.metadata["locator"])
    heading = str(record.metadata["heading"])
    name = Path(entry.path).name
    return Section(
        passage_id=f"document:{entry.collection}/{record.id}",
        unit_id=record.id,
        note_id=f"document:{entry.collection}/{entry.key}",
        title=name if heading == Path(entry.path).stem else f"{name} · {heading}",
        language=language_of(record.text),
        text=record.text,
        locator=f"{entry.path}{' ' if place.startswith('p.') else ''}{place}",
        trust="user",
        collection=entry.collection,
    )


LEADS_OUT = "a link that leads out of the folder given; name its target to add it"


def leads_out(path: Path, folders: Sequence[Path]) -> bool:
    """Whether a file was met below a folder given and lies, its links followed, in none of them.

    Args:
        path: As `files_below` gives it; one that is itself among the paths given is taken as meant.
        folders: The paths given.
    """
    if path in folders:
        return False
    real = path.resolve()
    return not any(real.is_relative_to(folder.resolve()) for folder in folders)


def _is_met(path: Path, folders: Sequence[Path]) -> bool:
    if path.is_file():
        return path.suffix.lower() in SUFFIXES
    return path.is_symlink() and path.is_dir() and leads_out(path, folders)


def files_below(paths: Sequence[Path]) -> Iterable[Path]:
    """Files given, and those of a known kind inside folders given, hidden ones left out.

    Folders that are links are not entered. Links that lead out are given too, so that `leads_out`
    can report them.
    """
    for path in paths:
        if path.is_dir():
            yield from sorted(
                f
                for f in path.rglob("*")
                if _is_met(f, paths)
                and not any(p.startswith(".") for p in f.relative_to(path).parts)
            )
        elif path.exists():
            yield path
        else:
            raise UserInputError(f"{path} does not exist; name a file or a folder that does.")
