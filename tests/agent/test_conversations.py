"""What is kept of a conversation, on SQLite and on a real Postgres."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from agent import Advisor, Settings
from agent.backends.graph import build_graph
from agent.backends.messages import answer_in, answer_message, packed, request_in
from agent.conversations import open_checkpointer
from agent.conversations.ages import first_id_since
from agent.understanding import parse
from tests.ui.postgres import PostgresServer

pytestmark = pytest.mark.sockets
Open = Callable[..., Any]
QUESTION = "Qwen2.5-7B LoRA on an A10, batch 1, sequence 2048"
FOLLOW_UPS = (
    "QLoRA instead?", "batch 4?", "sequence 4096?", "on a 4090?", "full fine-tuning?",
    "LoRA again?", "two cards?", "batch 2?", "on an A10?", "QLoRA?",
)  # fmt: skip


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Settings]:
    """Settings of one store; each call leads to the same."""
    url = None
    if request.param == "postgres":
        url = _fresh_database(request.getfixturevalue("database"))

    def made(**values: Any) -> Settings:
        return Settings(state_dir=tmp_path, checkpoint_url=url, **values)

    return made


def _fresh_database(server: PostgresServer) -> str:
    import psycopg

    name = f"t{time.monotonic_ns()}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return server.url.removesuffix("postgres") + name


@pytest.fixture
def store(settings: Callable[..., Settings]) -> Iterator[Open]:
    """Opens the store, as each process does for itself."""
    opened: list[Any] = []

    def open_it(**values: Any) -> Any:
        opened.append(open_checkpointer(settings(**values)))
        return opened[-1]

    yield open_it
    for one in opened:
        one.conn.close()


def checkpoints_of(store: Any, thread: str | None = None) -> list[str]:
    config = None if thread is None else {"configurable": {"thread_id": thread}}
    return [found.checkpoint["id"] for found in store.list(config)]


class Talk(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    approved: str


def a_graph(store: Any) -> Any:
    """A conversation whose answer waits for a word in between."""

    def answer(state: Talk) -> dict[str, Any]:
        said = interrupt("go on?") if state["messages"][-1].text == "wait" else "yes"
        return {"messages": [AIMessage(f"answer {len(state['messages'])}")], "approved": said}

    graph = StateGraph(Talk)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile(checkpointer=store)


def say(store: Any, text: object, thread: str = "t", **options: Any) -> Any:
    config = {"configurable": {"thread_id": thread}}
    given = text if isinstance(text, Command) else {"messages": [("user", text)]}
    return a_graph(store).invoke(given, config, **{"durability": "exit", **options})


def texts(store: Any, thread: str = "t") -> list[str]:
    state = a_graph(store).get_state({"configurable": {"thread_id": thread}})
    return [message.text for message in state.values.get("messages", [])]


# ---- follow-ups


def test_ten_turns_deep_over_two_processes_and_a_restart(
    settings: Callable[..., Settings],
) -> None:
    with Advisor(settings()) as one, Advisor(settings()) as two:
        one.ask(QUESTION, thread="t")
        for turn, text in enumerate(FOLLOW_UPS[:-1]):
            (two, one)[turn % 2].ask(text, thread="t")
    with Advisor(settings()) as after:
        last = after.ask(FOLLOW_UPS[-1], thread="t")
        kept = after.export("t")
    assert "Qwen2.5-7B" in str(last.request["model"])
    assert (last.request["method"], last.request["batch"]) == ("qlora", 2)
    assert last.request["seq_len"] == 4096
    assert "A10" in str(last.request["gpu"])
    assert [turn["question"] for turn in kept] == [QUESTION, *FOLLOW_UPS]
    assert kept[-1]["answer"] == last.model_dump(mode="json") | {"elapsed_ms": 0.0, "version": ""}


def test_kept_answer_is_whole_and_a_quarter_of_the_size(tmp_path: Path) -> None:
    with Advisor(Settings(state_dir=tmp_path)) as advisor:
        answer = advisor.ask(QUESTION)
    message = answer_message(answer, request=parse(QUESTION))
    small = packed(message)
    assert answer_in(small) == answer_in(message)
    assert request_in(small) == request_in(message)
    assert len(str(small.additional_kwargs)) * 2 < len(str(message.additional_kwargs))


# ---- pruning


def test_newest_checkpoint_alone_is_kept(store: Open) -> None:
    one = store()
    for turn in range(4):
        say(one, f"q{turn}")
    assert len(checkpoints_of(one, "t")) == 1
    assert texts(store()) == [t for n in range(4) for t in (f"q{n}", f"answer {2 * n + 1}")]


def test_interrupted_turn_is_resumed_by_another_process(store: Open) -> None:
    one = store()
    say(one, "first")
    assert "__interrupt__" in say(one, "wait")
    one.prune(["t"])
    two = store()
    two.tidy()
    assert say(two, Command(resume="go"))["approved"] == "go"
    assert texts(one)[-1] == "answer 3"
    assert len(checkpoints_of(one, "t")) == 1


def test_turns_with_a_checkpoint_a_step_end_as_one(store: Open) -> None:
    one = store()
    for turn in range(3):
        say(one, f"q{turn}", durability="sync")
    assert len(checkpoints_of(one, "t")) == 1
    assert len(texts(one)) == 6


def test_processes_that_prune_at_once_lose_nothing(store: Open) -> None:
    stores = [store() for _ in range(4)]

    def work(number: int) -> None:
        mine = stores[number % 4]
        for turn in range(6):
            say(mine, f"q{turn}", f"own{number}")
            mine.prune([f"own{n}" for n in range(8)])
            mine.tidy()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    for number in range(8):
        assert len(texts(stores[0], f"own{number}")) == 12
        stores[0].prune([f"own{number}"])
    assert len(checkpoints_of(stores[0])) == 8


def test_one_conversation_written_by_two_at_once_stays_readable(store: Open) -> None:
    one, two = store(), store()

    def work(mine: Any) -> None:
        for turn in range(15):
            say(mine, f"q{turn}")
            assert texts(mine), "the newest checkpoint was without its messages"

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (one, two)))
    one.prune(["t"])
    assert len(checkpoints_of(one, "t")) == 1
    assert texts(two)[-1].startswith("answer")


# ---- expiry


def aged(store: Any, thread: str, days: int) -> None:
    """Makes a conversation look as if its last turn was so many days ago."""
    say(store, "hello", thread)
    config = {"configurable": {"thread_id": thread}}
    found = store.get_tuple(config)
    old = first_id_since(days).replace("0000-000000000000", "8000-000000000001")
    store.delete_thread(thread)
    values, checkpoint = found.config["configurable"], {**found.checkpoint, "id": old}
    place = {"thread_id": thread, "checkpoint_ns": values["checkpoint_ns"]}
    versions = found.checkpoint["channel_versions"]
    store.put({"configurable": place}, checkpoint, found.metadata, versions)
    assert checkpoints_of(store, thread) == [old]


def test_idle_conversations_are_removed_after_the_days_that_are_set(store: Open) -> None:
    one = store(conversation_days=0)
    for days in (3, 29, 31, 400):
        aged(one, f"d{days}", days)
    aged(one, "continued", 40)
    say(one, "and now?", "continued")
    store(conversation_days=0)
    assert len(checkpoints_of(one)) == 5
    store()  # thirty by default; a process that starts tidies
    assert [d for d in (3, 29, 31, 400) if texts(one, f"d{d}")] == [3, 29]
    assert len(texts(one, "continued")) == 4
    store(conversation_days=7)
    assert [d for d in (3, 29) if texts(one, f"d{d}")] == [3]


def test_nothing_is_left_of_a_removed_conversation(
    store: Open, settings: Callable[..., Settings]
) -> None:
    one = store()
    aged(one, "old", 31)
    one.tidy()
    url = settings().checkpoint_url
    if url is None:
        found = [
            one.conn.execute(f"SELECT * FROM {t}").fetchone() for t in ("checkpoints", "writes")
        ]
    else:
        import psycopg

        with psycopg.connect(url.get_secret_value()) as connection:
            tables = ("checkpoints", "checkpoint_writes", "checkpoint_blobs")
            found = [connection.execute(f"SELECT 1 FROM {t}".encode()).fetchone() for t in tables]
    assert set(found) == {None}


# ---- files of before


def test_file_of_an_earlier_version_shrinks_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as old:
        for turn in range(30):
            say(old, f"q{turn} " + "x" * 20_000)
        assert len(checkpoints_of(old)) == 30
    before = path.stat().st_size
    one: Any = open_checkpointer(Settings(state_dir=tmp_path))
    assert len(texts(one)) == 60
    assert path.stat().st_size < before / 8
    say(one, "more")
    assert len(texts(one)) == 62
    one.delete_thread("t")
    one.tidy()
    one.conn.close()
    assert path.stat().st_size < 100_000


def test_new_file_gives_pages_back(tmp_path: Path) -> None:
    one = open_checkpointer(Settings(state_dir=tmp_path))
    one.conn.close()  # type: ignore[attr-defined]
    with sqlite3.connect(tmp_path / "conversations.sqlite") as connection:
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_graph_has_no_channel_that_needs_older_checkpoints(tmp_path: Path) -> None:
    channels = build_graph(Settings(state_dir=tmp_path)).channels
    assert "messages" in channels
    assert not [name for name, one in channels.items() if isinstance(one, DeltaChannel)]
