"""Every way in which an endpoint fails ends in a right answer or one clear reason, in time."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from agent import Advisor, Answer, Answered, Settings, TextDelta, Withdrawn
from agent.backends.breaker import breaker_for
from agent.events import Event
from tests.agent.scripted_endpoint import Script, Step, scripted_endpoint

pytestmark = pytest.mark.sockets

QUESTION = "Qwen2.5-7B QLoRA 在 A10 上行吗"
TRUE = "**放得下**:Qwen2.5-7B QLoRA 在 A10 上没有问题,可用显存约 21.95 GiB,标称 24 GB。"
LIE = TRUE + "需要 99.3 GiB。"
CALL = (("find_gpu", '{"name": "A10"}'),)
BUDGET_S = 3.0

FAULTS: dict[str, tuple[Step, ...]] = {
    "401": (Step(status=401, error="bad key"),),
    "403": (Step(status=403, error="not allowed"),),
    "404": (Step(status=404, error="no such model"),),
    "429 for good": (Step(status=429, error="slow down"),),
    "500": (Step(status=500, error="boom"),),
    "503": (Step(status=503, error="loading"),),
    "html": (Step(body=b"<html>sign in</html>", content_type="text/html"),),
    "not json": (Step(body=b"{oops", content_type="application/json"),),
    "empty choices": (Step(choices=False),),
    "empty text": (Step(text=""),),
    "cut": (Step(text=TRUE * 3, cut_after=3),),
    "length": (Step(text=TRUE, finish_reason="length"),),
    "filtered": (Step(text=TRUE, finish_reason="content_filter"),),
    "silence": (Step(text=TRUE, delay_s=1.4),),
    "tool loop": (Step(tool_calls=CALL),),
    "context overflow": (Step(status=400, error="This model's maximum context length is 4096"),),
    "lies twice": (Step(text=LIE),),
    "wrong language": (Step(text="It fits well on the A10, with 21.95 GiB usable." * 3),),
    "far too long": (Step(text=TRUE * 60),),
}
STREAM_ONLY: dict[str, tuple[Step, ...]] = {
    "no finish reason": (Step(text=TRUE, finish_reason=None),),
    "trickle": (Step(text=TRUE * 10, trickle_s=0.3),),
}
MENDED: dict[str, tuple[Step, ...]] = {
    "good": (Step(text=TRUE),),
    "lies once": (Step(text=LIE), Step(text=TRUE)),
    "429 once": (Step(status=429, error="slow down"), Step(text=TRUE)),
    "500 once": (Step(status=500, error="boom"), Step(text=TRUE)),
    "tool call": (Step(tool_calls=CALL), Step(text=TRUE)),
    "unknown tool": (Step(tool_calls=(("run_shell", "{}"),)), Step(text=TRUE)),
    "bad arguments": (Step(tool_calls=(("find_gpu", '{"nome": 3}'),)), Step(text=TRUE)),
    "broken arguments": (Step(tool_calls=(("find_gpu", "{not json"),)), Step(text=TRUE)),
    "no tool support": (
        Step(status=400, error="this model does not support tools"),
        Step(text=TRUE),
    ),
}


def settings_for(url: str, tmp_path: Path) -> Settings:
    return Settings(
        base_url=url,
        model="scripted",
        api_key="secret-key",  # type: ignore[arg-type]  # pydantic makes it a SecretStr
        state_dir=tmp_path,
        read_timeout_s=1.0,
        answer_budget_s=BUDGET_S,
        breaker_failures=50,
    )


def run(
    mode: str, url: str, tmp_path: Path, *, patient: bool = False
) -> tuple[Answer, list[Event], float]:
    settings = settings_for(url, tmp_path)
    if patient:
        settings = settings.model_copy(update={"read_timeout_s": 20.0, "answer_budget_s": 60.0})
    with Advisor(settings) as advisor:
        return run_with(advisor, mode)


def run_with(advisor: Advisor, mode: str) -> tuple[Answer, list[Event], float]:
    started = time.monotonic()
    events: list[Event] = []
    if mode == "ask":
        answer = advisor.ask(QUESTION)
    elif mode == "aask":
        answer = asyncio.run(advisor.aask(QUESTION))
    else:
        if mode == "stream":
            events = list(advisor.stream(QUESTION))
        else:

            async def collect() -> list[Event]:
                return [event async for event in advisor.astream(QUESTION)]

            events = asyncio.run(collect())
        assert isinstance(events[-1], Answered)
        answer = events[-1].answer
    return answer, events, time.monotonic() - started


def visible_text(events: list[Event]) -> str:
    """What a page shows that follows the events."""
    shown = ""
    for event in events:
        if isinstance(event, TextDelta):
            shown += event.delta
        elif isinstance(event, Withdrawn):
            shown = ""
    return shown


@pytest.fixture(scope="module", autouse=True)
def _warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    Advisor(Settings(state_dir=tmp_path_factory.mktemp("warm"))).ask(QUESTION)


@pytest.mark.parametrize("mode", ["ask", "stream", "aask", "astream"])
@pytest.mark.parametrize("name", FAULTS)
def test_fault_ends_in_the_embedded_answer(name: str, mode: str, tmp_path: Path) -> None:
    with scripted_endpoint(*FAULTS[name]) as (url, _):
        answer, events, _ = run(mode, url, tmp_path)
    check_fallen(answer, events)


@pytest.mark.parametrize("mode", ["stream", "astream"])
@pytest.mark.parametrize("name", STREAM_ONLY)
def test_broken_stream_ends_in_the_embedded_answer(name: str, mode: str, tmp_path: Path) -> None:
    with scripted_endpoint(*STREAM_ONLY[name]) as (url, _):
        answer, events, elapsed_s = run(mode, url, tmp_path)
    check_fallen(answer, events)
    assert elapsed_s < BUDGET_S + 3


def check_fallen(answer: Answer, events: list[Event]) -> None:
    assert answer.backend == "embedded"
    assert answer.degraded
    assert answer.verdict == "fits"
    assert answer.memory is not None
    assert "QLoRA" in answer.text
    assert "99.3" not in answer.text
    if events:
        assert visible_text(events) == answer.text


@pytest.mark.parametrize("mode", ["ask", "stream", "aask", "astream"])
@pytest.mark.parametrize("name", MENDED)
def test_mended_fault_gives_the_models_words(name: str, mode: str, tmp_path: Path) -> None:
    with scripted_endpoint(*MENDED[name]) as (url, _):
        answer, events, _ = run(mode, url, tmp_path, patient=True)
    assert answer.degraded is None
    assert answer.backend == "openai_compatible"
    assert answer.text == TRUE
    assert answer.verdict == "fits"
    assert answer.usage is not None
    assert answer.usage.output_tokens > 0
    if events:
        assert visible_text(events) == TRUE


def test_verdict_is_the_tools_whatever_the_model_says(tmp_path: Path) -> None:
    with scripted_endpoint(Step(text="**放不下**:QLoRA 在 A10 上放不下。")) as (url, _):
        answer, _, _ = run("ask", url, tmp_path)
    assert answer.verdict == "fits"
    assert answer.backend == "embedded"


def test_circuit_opens_and_the_endpoint_is_left_alone(tmp_path: Path) -> None:
    with scripted_endpoint(Step(status=500, error="boom")) as (url, script):
        settings = settings_for(url, tmp_path).model_copy(
            update={"breaker_failures": 2, "max_retries": 0}
        )
        with Advisor(settings) as advisor:
            reasons = [advisor.ask(QUESTION).degraded or "" for _ in range(4)]
        assert len(script.requests) == 2
        assert "暂停" in reasons[-1]
        breaker = breaker_for(f"{url} scripted", failures=2, rest_s=settings.breaker_rest_s)
        assert breaker.is_open


def asked_text(script: Script) -> str:
    return "\n".join(str(message["content"]) for message in script.requests[-1]["messages"])


def test_findings_are_fenced_and_the_key_is_not_in_the_prompt(tmp_path: Path) -> None:
    with scripted_endpoint(Step(text=TRUE)) as (url, script):
        run("ask", url, tmp_path, patient=True)
    text = asked_text(script)
    assert "secret-key" not in text
    assert text.count("==") >= 8
    assert "verdict" in text


def test_no_tool_of_the_model_writes_executes_or_fetches(tmp_path: Path) -> None:
    with scripted_endpoint(Step(text=TRUE)) as (url, script):
        run("ask", url, tmp_path)
    names = {tool["function"]["name"] for tool in script.requests[0]["tools"]}
    assert names <= {
        "estimate_memory", "simulate_memory", "find_limit", "find_model", "find_gpu",
        "find_instances", "recommend", "estimate_time_and_cost", "item_speed", "check_network",
        "check_data_loading", "spot_plan", "placement", "compare_billing", "plan_copy",
        "cards_for_rate", "probe_local_gpu", "search_guidance",
    }  # fmt: skip


def test_earlier_turns_reach_the_model(tmp_path: Path) -> None:
    with scripted_endpoint(Step(text=TRUE)) as (url, script):
        settings = settings_for(url, tmp_path).model_copy(update={"read_timeout_s": 20.0})
        with Advisor(settings) as advisor:
            advisor.ask(QUESTION, thread="t")
            advisor.ask("那全参呢", thread="t")
    contents = [m["content"] for m in script.requests[-1]["messages"]]
    assert any(content == TRUE for content in contents)
