"""Sentences: both languages, the same places; tools: both languages, schemas, errors."""

from __future__ import annotations

import string
from typing import Any

import pytest

from agent import Settings, Tool, build_toolbox
from agent.answering.telling.phrases import families, full_width, sentences
from agent.backends.breaker import CircuitBreaker

SENTENCES = [
    (family, name, entry) for family in families() for name, entry in sentences(family).items()
]
TOOLS = {tool.name: tool for tool in build_toolbox(Settings())}


def places(text: str) -> set[str]:
    return {field for _, field, _, _ in string.Formatter().parse(text) if field}


def test_sentences_were_found() -> None:
    assert len(families()) >= 20
    assert len(SENTENCES) >= 250


@pytest.mark.parametrize(
    ("family", "name", "entry"), SENTENCES, ids=[f"{f}.{n}" for f, n, _ in SENTENCES]
)
def test_both_languages_say_it(family: str, name: str, entry: dict[str, str]) -> None:
    assert entry["zh"]
    assert entry["en"]
    assert not any("\u4e00" <= c <= "\u9fff" for c in entry["en"])


def test_full_width_leaves_numbers_and_ranges_alone() -> None:
    assert full_width("约 22,476 MiB,可用") == "约 22,476 MiB，可用"


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_tool_is_described_in_both_languages_with_schemas(tool: Tool[Any]) -> None:
    assert tool.description["zh"]
    assert tool.description["en"]
    assert tool.input_schema["type"] == "object"
    assert "properties" in tool.output_schema
    assert tool.langchain.name == tool.name


def test_the_tools_of_the_brief_are_there() -> None:
    assert set(TOOLS) >= {
        "estimate_memory", "simulate_memory", "find_model", "find_gpu", "find_instances",
        "recommend", "estimate_time_and_cost", "check_network", "check_data_loading", "placement",
        "probe_local_gpu", "search_guidance",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "word"),
    [
        ("find_gpu", {"name": "A10O"}, "A10"),
        ("find_gpu", {}, "name"),
        ("find_gpu", {"name": "A10", "shell": "rm -rf /"}, "shell"),
        ("find_model", {"name": "Qwen9-1234B"}, "Unknown"),
        ("estimate_memory", {"params_b": 7, "batch": 0}, "batch"),
        ("estimate_memory", {"task": "train"}, "model"),
        ("find_instances", {"gpu": "A10", "provider": "nowhere-cloud"}, "nowhere"),
        ("recommend", {"params_b": 7, "region": "atlantis"}, "atlantis"),
        ("estimate_time_and_cost", {"params_b": 7}, "gpu"),
        ("check_data_loading", {"storage": "floppy"}, "floppy"),
        ("spot_plan", {"checkpoint_minutes": -1}, "checkpoint_minutes"),
        ("placement", {"action": "train", "model": "no such thing"}, "no such thing"),
        ("probe_local_gpu", {}, "nvidia-smi"),
        ("probe_local_gpu", {"pasted": "hello"}, "nvidia-smi"),
    ],
)
def test_bad_input_becomes_a_hint(name: str, arguments: dict[str, Any], word: str) -> None:
    result = TOOLS[name].call(arguments)
    assert result.ok is False
    assert result.report is None
    assert word in (result.hint or "")
    assert result.to_json()["ok"] is False


def test_bug_in_a_tool_is_raised_and_not_advised() -> None:
    def broken(_: Any) -> Any:
        raise ZeroDivisionError

    tool = TOOLS["find_gpu"]
    faulty: Tool[Any] = Tool(
        tool.name, tool.description, tool.arguments, tool.report, broken, tool.needs_own_machine
    )
    with pytest.raises(ZeroDivisionError):
        faulty.call({"name": "A10"})


def test_figures_of_an_estimate_sum_to_the_process() -> None:
    report: Any = (
        TOOLS["estimate_memory"]
        .call({"model": "Qwen2.5-7B", "task": "train", "method": "qlora", "gpu": "A10"})
        .report
    )
    assert sum(part.bytes for part in report.parts) == report.process_bytes
    assert report.low_bytes <= report.process_bytes <= report.high_bytes


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_breaker_opens_rests_tries_once_and_closes() -> None:
    clock = Clock()
    breaker = CircuitBreaker(failures=2, rest_s=60, clock=clock)
    breaker.failed()
    assert breaker.allows()
    breaker.failed()
    assert not breaker.allows()
    clock.now = 61
    assert breaker.allows()
    assert not breaker.allows()
    breaker.failed()
    assert not breaker.allows()
    clock.now = 130
    assert breaker.allows()
    breaker.succeeded()
    assert breaker.allows()
