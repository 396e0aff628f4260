"""A reader's own documents: taken in, found, replaced, removed, refused, and never half there."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from knowledge import KnowledgeSettings, Library, Retriever
from knowledge.cli import main
from knowledge.manifest import FileResult
from knowledge.parsers import MAX_FILE_BYTES, UnreadableDocumentError, parse_document
from knowledge.reading import Limits, Reader
from tests.helpers import ROOT
from tools.errors import UserInputError

settings_for_fuzzing = hypothesis_settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
RULE = "# Booking the lab cluster\n\nThe zeppelin node is booked with Ms Okafor, one day ahead.\n"


@pytest.fixture(params=["memory", "chroma"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> KnowledgeSettings:
    base = KnowledgeSettings.from_env()
    return KnowledgeSettings(
        state_dir=tmp_path / "state",
        cache_dir=base.cache_dir,
        store=request.param,
        embedder="none",
    )


def a_file(folder: Path, name: str = "rules.md", text: str | bytes = RULE) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def found(settings: KnowledgeSettings, query: str) -> list[str]:
    return [p.text for p in Retriever.open(settings).search(query) if p.trust == "user"]


def statuses(results: list[FileResult]) -> list[str]:
    return [r.status for r in results]


def test_an_added_document_is_found_and_marked_as_the_reader_s(
    settings: KnowledgeSettings, tmp_path: Path
) -> None:
    path = a_file(tmp_path / "docs")
    assert statuses(Library(settings).ingest([path])) == ["added"]
    everything = Retriever.open(settings).search("who books the zeppelin node")
    (passage,) = (p for p in everything if p.trust == "user")
    assert passage.trust == "user"
    assert passage.collection == "documents"
    assert "Okafor" in passage.text
    assert str(path) in passage.locator
    assert passage.claims == ()
    assert passage.errata == ()


def test_an_unchanged_file_is_left_and_a_changed_one_replaces_its_old_text(
    settings: KnowledgeSettings, tmp_path: Path
) -> None:
    path = a_file(tmp_path / "docs")
    library = Library(settings)
    library.ingest([path])
    assert statuses(library.ingest([path])) == ["unchanged"]
    path.write_text(RULE.replace("Okafor", "Lindqvist"), encoding="utf-8")
    assert statuses(library.ingest([path])) == ["updated"]
    (text,) = found(settings, "who books the zeppelin node")
    assert "Lindqvist" in text


def test_a_removed_document_is_gone(settings: KnowledgeSettings, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    a_file(folder)
    library = Library(settings)
    library.ingest([folder])
    assert statuses(library.remove([folder])) == ["removed"]
    assert found(settings, "who books the zeppelin node") == []
    assert library.entries() == []


def test_pruning_removes_only_what_is_gone_from_the_folder(
    settings: KnowledgeSettings, tmp_path: Path
) -> None:
    folder = tmp_path / "docs"
    gone, stays = a_file(folder, "a.md"), a_file(folder, "b.md")
    elsewhere = a_file(tmp_path / "other", "c.md")
    library = Library(settings)
    library.ingest([folder, elsewhere])
    gone.unlink()
    library.ingest([folder], prune=True)
    assert [e.path for e in library.entries()] == [str(stays), str(elsewhere)]


def test_collections_are_kept_apart(settings: KnowledgeSettings, tmp_path: Path) -> None:
    path = a_file(tmp_path / "docs")
    library = Library(settings)
    library.ingest([path], collection="lab")
    library.ingest([path], collection="home")
    library.remove([path], collection="home")
    assert [e.collection for e in library.entries()] == ["lab"]


def test_an_open_retriever_sees_what_is_added_later(
    settings: KnowledgeSettings, tmp_path: Path
) -> None:
    retriever = Retriever.open(settings)
    before = retriever.search("who books the zeppelin node")
    assert all(p.trust == "checked" for p in before)
    Library(settings).ingest([a_file(tmp_path / "docs")])
    after = retriever.search("who books the zeppelin node")
    assert sum(p.trust == "user" for p in after) == 1


def test_guidance_keeps_its_places_beside_documents(
    settings: KnowledgeSettings, tmp_path: Path
) -> None:
    folder = tmp_path / "docs"
    for n in range(8):
        a_file(
            folder, f"{n}.md", f"# 抢占式实例\n\n抢占式实例能便宜多少:我们组第 {n} 条笔记,几折。\n"
        )
    before = Retriever.open(settings).search("抢占式实例能便宜多少")
    Library(settings).ingest([folder])
    after = Retriever.open(settings).search("抢占式实例能便宜多少")
    assert sum(p.trust == "user" for p in after) in (1, 2)
    assert before[0].passage_id in [p.passage_id for p in after[:2]]


# -- what is refused -----------------------------------------------------------------------------


def a_pdf(*, password: str = "", text: str = "The zeppelin node") -> bytes:
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    page = writer.add_blank_page(width=300, height=200)
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    fonts = DictionaryObject({NameObject("/F1"): font})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    stream = DecodedStreamObject()
    stream.set_data(f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode())
    page[NameObject("/Contents")] = stream
    if password:
        writer.encrypt(password)
    held = io.BytesIO()
    writer.write(held)
    return held.getvalue()


def a_docx(*paragraphs: str) -> bytes:
    import docx

    document = docx.Document()
    document.add_heading("Booking", level=1)
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "node", "zeppelin"
    held = io.BytesIO()
    document.save(held)
    return held.getvalue()


REFUSED: list[tuple[str, bytes | Callable[[], bytes], str]] = [
    ("empty.txt", b"", "empty"),
    ("blank.md", b" \n\t\n", "empty"),
    ("binary.txt", bytes(range(256)) * 20, "binary"),
    ("broken.pdf", b"%PDF-1.7\nnot really", "broken pdf"),
    ("scan.pdf", lambda: a_pdf(text=" "), "no text"),
    ("secret.pdf", lambda: a_pdf(password="x"), "encrypted"),
    ("broken.docx", b"PK\x03\x04 no", "broken docx"),
    ("locked.docx", b"\xd0\xcf\x11\xe0" + b"x" * 600, "encrypted"),
    ("cut.docx", lambda: a_docx("x")[:-300], "broken docx"),
    ("sheet.xlsx", b"anything", "unknown kind"),
    ("tags.html", b"<html><script>x()</script></html>", "no text"),
]


@pytest.mark.parametrize(("name", "data", "reason"), REFUSED, ids=[r[0] for r in REFUSED])
def test_a_file_that_cannot_be_read_is_named_with_its_reason_and_changes_nothing(
    name: str, data: bytes | Callable[[], bytes], reason: str, tmp_path: Path
) -> None:
    settings = KnowledgeSettings(
        state_dir=tmp_path / "s", cache_dir=tmp_path / "c", store="memory", embedder="none"
    )
    folder = tmp_path / "docs"
    library = Library(settings)
    good = a_file(folder)
    library.ingest([good])
    before = library.entries()
    bad = a_file(folder, name, data if isinstance(data, bytes) else data())
    (result,) = library.ingest([bad])
    assert result.status == "rejected"
    assert reason in result.reason
    assert library.entries() == before


def a_busy_pdf(operators: int = 1_500_000) -> bytes:
    """A small file whose one page keeps a parser at work for a long time."""
    import zlib

    content = zlib.compress(b"BT /F1 1 Tf (x) Tj ET " * operators)
    pages = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /Font "
        b"<< /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
    )
    stream = b"<< /Length %d /Filter /FlateDecode >> stream\n%b\nendstream" % (
        len(content), content,
    )  # fmt: skip
    parts = [b"<< /Type /Catalog /Pages 2 0 R >>", pages, page, stream]
    body, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 5\n0000000000 65535 f \n" + table
    return body + head + b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(body)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(seconds=4), "not read within 4 s"),
        (Limits(memory_bytes=180_000_000), "more memory"),
    ],
)
def test_a_file_that_takes_too_much_is_given_up_and_the_others_are_read(
    limits: Limits, reason: str, settings: KnowledgeSettings, tmp_path: Path
) -> None:
    folder = tmp_path / "docs"
    a_file(folder, "a-busy.pdf", a_busy_pdf())
    a_file(folder, "b-good.pdf", a_pdf())
    a_file(folder, "c-rules.md")
    library = Library(settings, limits=limits)
    busy, good, rules = library.ingest([folder])
    assert busy.status == "rejected"
    assert reason in busy.reason
    assert (good.status, rules.status) == ("added", "added")
    assert [Path(e.path).name for e in library.entries()] == ["b-good.pdf", "c-rules.md"]


def test_a_worker_ends_with_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    with Reader() as reader:
        assert reader.read(b"# A\n\nfirst", path)[0].text == "first"
        assert reader.read("# B\n\n第二".encode(), path)[0].text == "第二"
        worker = reader._worker
        assert worker is not None
        assert worker.poll() is None
    assert worker.poll() is not None


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.html", "a.md", "a.txt"])
@settings_for_fuzzing
@given(data=st.data())
def test_any_bytes_are_read_or_refused_and_nothing_else(name: str, data: st.DataObject) -> None:
    whole = {"a.pdf": a_pdf, "a.docx": lambda: a_docx("x")}.get(name, lambda: RULE.encode())()
    changed = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 30))):
        place = data.draw(st.integers(0, len(changed) - 1))
        changed[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(changed)))
    blocks = []
    with contextlib.suppress(UnreadableDocumentError):
        blocks = parse_document(bytes(changed[:cut]), Path(name))
    assert all(b.text for b in blocks)


def test_a_document_that_becomes_unreadable_keeps_its_last_good_text(
    settings: KnowledgeSettings, tmp_path: Path
) -> None:
    path = a_file(tmp_path / "docs")
    library = Library(settings)
    library.ingest([path])
    path.write_bytes(b"\x00" * 100)
    assert statuses(library.ingest([path])) == ["rejected"]
    assert len(found(settings, "who books the zeppelin node")) == 1


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.txt"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    settings = KnowledgeSettings(tmp_path / "s", tmp_path / "c", store="memory", embedder="none")
    (result,) = Library(settings).ingest([path])
    assert result.status == "rejected"
    assert "split" in result.reason


def test_a_path_that_does_not_exist_is_said_at_once(settings: KnowledgeSettings) -> None:
    with pytest.raises(UserInputError, match="does not exist"):
        Library(settings).ingest([Path("/no/such/folder")])


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.pdf", a_pdf),
        ("a.docx", lambda: a_docx("The zeppelin node is booked with Ms Okafor.")),
        ("a.html", lambda: b"<h1>Booking</h1><p>The <b>zeppelin</b> node</p><script>evil</script>"),
        ("a.txt", lambda: "the zeppelin node 显存".encode("gb18030")),
        ("b.txt", lambda: "the zeppelin node".encode("utf-16")),
        ("a.md", lambda: b"| node | who |\n|---|---|\n| zeppelin | Okafor |\n"),
    ],
)
def test_each_kind_of_document_is_read(
    name: str, data: Callable[[], bytes], tmp_path: Path
) -> None:
    settings = KnowledgeSettings(
        tmp_path / "s", KnowledgeSettings.from_env().cache_dir, store="memory", embedder="none"
    )
    library = Library(settings)
    assert statuses(library.ingest([a_file(tmp_path / "docs", name, data())])) == ["added"]
    texts = found(settings, "zeppelin node")
    assert any("zeppelin" in t for t in texts)
    assert not any("evil" in t for t in texts)


def test_hidden_files_and_other_kinds_in_a_folder_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    a_file(folder, ".secret.md")
    a_file(folder, "photo.png", b"\x89PNG")
    kept = a_file(folder, "kept.md")
    settings = KnowledgeSettings(tmp_path / "s", tmp_path / "c", store="memory", embedder="none")
    assert [r.path for r in Library(settings).ingest([folder])] == [str(kept)]


# -- killed, and side by side --------------------------------------------------------------------


def ingest_process(folder: Path, state: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "XUANKA_STATE_DIR": str(state), "XUANKA_EMBEDDER": "none"}
    return subprocess.Popen(
        [sys.executable, "-m", "knowledge", "ingest", "--json", str(folder)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def check_everything_reported_is_there(
    settings: KnowledgeSettings, reported: dict[str, int]
) -> None:
    library = Library(settings)
    snapshot = library.snapshot()
    held = {e.path: e.piece_count for e in library.entries()}
    for path, pieces in reported.items():
        assert held.get(path) == pieces, f"{path} was reported and is not there"
    texts = [] if snapshot is None else [s.locator for s in snapshot.passages]
    for path, pieces in held.items():
        assert sum(locator.startswith(path) for locator in texts) == pieces, f"{path} is half there"


def kill_during_ingest(times: int, tmp_path: Path) -> None:
    base = KnowledgeSettings.from_env()
    state, folder = tmp_path / "state", tmp_path / "docs"
    settings = KnowledgeSettings(state_dir=state, cache_dir=base.cache_dir, embedder="none")
    random.seed(7)
    reported: dict[str, int] = {}
    for turn in range(times):
        for n in range(40):  # half of them new, half of them changed
            body = "\n\n".join(f"Rule {turn}.{n}.{i} of the zeppelin node. " * 9 for i in range(4))
            a_file(folder, f"{turn if n % 2 else 'same'}-{n}.md", f"# Rule {n}\n\n{body}\n")
        process = ingest_process(folder, state)
        assert process.stdout is not None
        limit = random.randint(0, 40)
        for line in process.stdout:
            result = FileResult(**json.loads(line))
            reported[result.path] = result.piece_count
            limit -= 1
            if limit <= 0:
                break
        time.sleep(random.random() * 0.02)
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
        for line in rest.splitlines():
            if line.endswith("}"):
                result = FileResult(**json.loads(line))
                reported[result.path] = result.piece_count
        # an unfinished update may have replaced a reported version: the file's pieces are counted
        check_everything_reported_is_there(settings, reported)


def test_a_killed_ingest_loses_nothing_that_was_reported(tmp_path: Path) -> None:
    kill_during_ingest(2, tmp_path)


@pytest.mark.chaos
def test_fifty_killed_ingests_lose_nothing_that_was_reported(tmp_path: Path) -> None:
    kill_during_ingest(50, tmp_path)


def test_two_ingests_at_once_both_arrive(tmp_path: Path) -> None:
    base = KnowledgeSettings.from_env()
    state = tmp_path / "state"
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        for n in range(5):
            a_file(folder, f"{n}.md", f"# Rule\n\nZeppelin rule {n} of {folder.name}.\n")
    processes = [ingest_process(folder, state) for folder in folders]
    assert [p.wait(timeout=120) for p in processes] == [0, 0]
    for process in processes:
        process.communicate()
    settings = KnowledgeSettings(state_dir=state, cache_dir=base.cache_dir, embedder="none")
    assert len(Library(settings).entries()) == 10
    snapshot = Library(settings).snapshot()
    assert snapshot is not None
    assert len(snapshot.passages) == 10


def test_what_is_no_regular_file_is_refused_unread(
    settings: KnowledgeSettings, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    results = Library(settings).ingest([Path("/dev/zero"), pipe])
    assert statuses(results) == ["rejected", "rejected"]
    assert {r.reason for r in results} == {"not a regular file"}


def test_links_that_lead_out_of_the_folder_are_reported_and_not_followed(
    settings: KnowledgeSettings, tmp_path: Path
) -> None:
    folder = tmp_path / "docs"
    inside = a_file(folder)
    outside = a_file(tmp_path / "elsewhere", "secret.txt", "The zeppelin code is 4711.")
    (folder / "link.txt").symlink_to(outside)
    (folder / "linked-folder").symlink_to(outside.parent)
    (folder / "same.md").symlink_to(inside)
    results = {Path(r.path).name: r for r in Library(settings).ingest([folder])}
    assert {name: r.status for name, r in results.items()} == {
        "rules.md": "added", "same.md": "added", "link.txt": "rejected",
        "linked-folder": "rejected",
    }  # fmt: skip
    assert "leads out" in results["link.txt"].reason
    assert "4711" not in " ".join(found(settings, "zeppelin code"))
    assert statuses(Library(settings).ingest([folder / "link.txt"])) == ["added"]


@pytest.mark.parametrize("words", [["ingest", ""], ["ingest", " "], ["remove", ""]])
def test_an_empty_path_is_not_the_working_directory(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "the path is empty" in capsys.readouterr().err


def test_no_documents_are_said_to_be_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XUANKA_STATE_DIR", str(tmp_path))
    assert main(["documents"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "No documents yet" in said.err


@pytest.mark.parametrize(
    ("words", "content", "said"),
    [
        (["search", "--out", "x", "--batch"], None, "cannot be read"),
        (["search", "--out", "x", "--batch"], '{"id": 1}\n', "row 1 needs"),
        (["evaluate", "--cases"], None, "cannot be read"),
        (["evaluate", "--cases"], '{"id": "a"}\n', "row 1 is no labelled query"),
    ],
)
def test_rows_that_cannot_be_used_are_said_in_a_line(
    words: list[str],
    content: str | None,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "rows.jsonl"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert main([*words, str(path)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
