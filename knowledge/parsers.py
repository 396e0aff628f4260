"""Reading a reader's own documents: Markdown, text, HTML, PDF and docx, to plain blocks.

A file is refused with a reason rather than read halfway: too large, empty, binary, encrypted,
broken. Nothing in a document is followed or run: no links, scripts, macros or images.
"""

from __future__ import annotations

import io
import logging
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tools.errors import MissingExtraError, UserInputError

MAX_FILE_BYTES = 50_000_000
MAX_TEXT_CHARS = 10_000_000
MAX_PAGES = 5_000
MAX_UNPACKED_BYTES = 200_000_000
"""What a docx may unpack to; a small file that unpacks to gigabytes is refused."""


class Block(NamedTuple):
    """A stretch of a document under one heading or on one page."""

    heading: str
    text: str
    locator: str
    """Where in the document: ``#heading``, ``p.3``, or empty."""


class UnreadableDocumentError(UserInputError):
    """A document that is not taken in; the message says why."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}.")


def _decoded(data: bytes, path: Path) -> str:
    if b"\x00" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableDocumentError(path, "binary data, not text")
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            text = data.decode(encoding)
            break
        except UnicodeDecodeError:
            continue
    else:
        try:
            text = data.decode("utf-16")
        except UnicodeDecodeError as error:
            raise UnreadableDocumentError(path, "neither UTF-8, GB18030 nor UTF-16 text") from error
    odd = sum(ord(c) < 32 and c not in "\t\n\r\f" for c in text[:8192])
    if odd > len(text[:8192]) / 50:
        raise UnreadableDocumentError(path, "binary data, not text")
    return text


def _text(data: bytes, path: Path) -> Iterator[Block]:
    yield Block(path.stem, _decoded(data, path), "")


def _markdown(data: bytes, path: Path) -> Iterator[Block]:
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise MissingExtraError("Reading Markdown", extra="documents") from error
    heading, is_heading = path.stem, False
    lines: list[str] = []
    for token in (
        MarkdownIt("commonmark", {"html": False}).enable("table").parse(_decoded(data, path))
    ):
        if token.type == "heading_open":
            if lines:
                yield Block(heading, "\n".join(lines), f"#{heading}")
            lines, is_heading = [], True
        elif token.type == "heading_close":
            is_heading = False
        elif token.type == "inline" and is_heading:
            heading = token.content
        elif token.type in ("inline", "fence", "code_block"):
            lines.append(token.content.strip())
    if lines:
        yield Block(heading, "\n".join(lines), f"#{heading}")


def _html(data: bytes, path: Path) -> Iterator[Block]:
    try:
        from bs4 import BeautifulSoup
    except ImportError as error:
        raise MissingExtraError("Reading HTML", extra="documents") from error
    soup = BeautifulSoup(_decoded(data, path), "html.parser")
    for hidden in soup(["script", "style", "template", "noscript", "svg", "head"]):
        hidden.decompose()
    heading = path.stem
    lines: list[str] = []
    for element in soup.find_all(["h1", "h2", "h3", "h4", "p", "li", "pre", "td", "th", "dd"]):
        words = element.get_text(" ", strip=True)
        if element.name in ("h1", "h2", "h3", "h4"):
            if lines:
                yield Block(heading, "\n".join(lines), f"#{heading}")
            heading, lines = words, []
        elif words and not element.find_parent(["p", "li", "td", "th", "dd"]):
            lines.append(words)
    if not lines and not soup.find("h1"):
        lines = [soup.get_text(" ", strip=True)]
    if any(lines):
        yield Block(heading, "\n".join(lines), f"#{heading}")


def _pdf(data: bytes, path: Path) -> Iterator[Block]:
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise MissingExtraError("Reading PDF", extra="documents") from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it says is in the reason given
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadableDocumentError(path, "encrypted PDF; save it without a password")
    if len(reader.pages) > MAX_PAGES:
        raise UnreadableDocumentError(path, f"more than {MAX_PAGES} pages")
    for number, page in enumerate(reader.pages, start=1):
        if words := page.extract_text().strip():
            yield Block(path.stem, words, f"p.{number}")


def _docx(data: bytes, path: Path) -> Iterator[Block]:
    try:
        import docx
    except ImportError as error:
        raise MissingExtraError("Reading docx", extra="documents") from error
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise UnreadableDocumentError(path, "encrypted or old-format Word file; save it as docx")
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        if sum(entry.file_size for entry in package.infolist()) > MAX_UNPACKED_BYTES:
            raise UnreadableDocumentError(path, "unpacks to more than 200 MB")
    document = docx.Document(io.BytesIO(data))
    heading = path.stem
    lines: list[str] = []
    for paragraph in document.paragraphs:
        style = str(paragraph.style.name) if paragraph.style else ""
        if style.startswith(("Heading", "Title")) and paragraph.text:
            if lines:
                yield Block(heading, "\n".join(lines), f"#{heading}")
            heading, lines = paragraph.text, []
        elif paragraph.text.strip():
            lines.append(paragraph.text)
    for table in document.tables:
        lines.extend(" | ".join(cell.text for cell in row.cells) for row in table.rows)
    if lines:
        yield Block(heading, "\n".join(lines), f"#{heading}")


_READERS: dict[str, Callable[[bytes, Path], Iterator[Block]]] = {
    ".md": _markdown,
    ".markdown": _markdown,
    ".txt": _text,
    ".text": _text,
    ".html": _html,
    ".htm": _html,
    ".pdf": _pdf,
    ".docx": _docx,
}
SUFFIXES = tuple(_READERS)


def read_bytes(path: Path) -> bytes:
    """A file's bytes.

    Raises:
        UnreadableDocumentError: If it is no regular file, cannot be opened, is empty or too large.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise UnreadableDocumentError(path, "not a regular file")
        if found.st_size > MAX_FILE_BYTES:
            raise _too_large(path, found.st_size)
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)  # files of /proc say 0 bytes and give more
        if len(data) > MAX_FILE_BYTES:
            raise _too_large(path, len(data))
    except OSError as error:
        raise UnreadableDocumentError(path, f"cannot be read ({error.strerror})") from error
    if not data.strip():
        raise UnreadableDocumentError(path, "empty file")
    return data


def _too_large(path: Path, size: int) -> UnreadableDocumentError:
    limit = f"{MAX_FILE_BYTES:,} at most, so split it"
    return UnreadableDocumentError(path, f"{size:,} bytes; {limit}")


def parse_document(data: bytes, path: Path) -> list[Block]:
    """Blocks of a document's text.

    Args:
        data: The file's bytes.
        path: Its name; the ending decides how it is read.

    Raises:
        UnreadableDocumentError: If it is of an unknown kind, broken, encrypted or without text.
        MissingExtraError: If the parser for its kind is not installed.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UnreadableDocumentError(
            path, f"unknown kind {path.suffix or '(no ending)'}; known: {', '.join(SUFFIXES)}"
        )
    try:
        blocks = _bounded(reader(data, path), path)
    except (UnreadableDocumentError, MissingExtraError):
        raise
    except MemoryError as error:
        raise UnreadableDocumentError(path, "needs more memory than a file may take") from error
    except Exception as error:  # parsers meet any bytes and raise what they like on broken ones
        kind = path.suffix.lower().lstrip(".")
        raise UnreadableDocumentError(
            path, f"broken {kind} file ({str(error)[:80] or type(error).__name__})"
        ) from error
    if not blocks:
        raise UnreadableDocumentError(path, "no text in it (a scan needs OCR first)")
    return blocks


def _bounded(found: Iterator[Block], path: Path) -> list[Block]:
    """Blocks with their blanks tidied, as long as they are not too much."""
    blocks: list[Block] = []
    length = 0
    for block in found:
        text = re.sub(r"[ \t\u00a0]+", " ", block.text).strip()
        length += len(text)
        if length > MAX_TEXT_CHARS:
            raise UnreadableDocumentError(path, f"more than {MAX_TEXT_CHARS:,} characters of text")
        if text:
            blocks.append(block._replace(text=text))
    return blocks
