"""Models larger than any: counted, told to be out of proportion; a size that is none is refused."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from agent.answering import compose
from agent.answering.plan import Context, advance
from agent.settings import Settings
from agent.toolbox import ToolResult, build_toolbox
from agent.understanding import parse
from tools.models import reference_model


def _ask(question: str) -> Answer:
    tools = {tool.name: tool for tool in build_toolbox(Settings())}
    results: list[ToolResult] = []
    request = parse(question)
    while not isinstance(step := advance(compose(request, Context()), results), Answer):
        results += [tools[call.name].call(call.arguments) for call in step]
    assert not ungrounded(step, question=question)
    return step


@pytest.mark.parametrize(
    ("question", "least_bytes"),
    [
        ("一张4090全参训个200万亿参数的模型够吗", 200e12 * 12),
        ("can I serve a 500 trillion parameter model on one T4", 500e12 * 1.6),
        ("full finetune a 400T model on a 3060, how many hours?", 400e12 * 10),
    ],
)
def test_no_size_is_too_large_to_be_told_that_it_does_not_fit(
    question: str, least_bytes: float
) -> None:
    answer = _ask(question)
    assert answer.verdict == "does_not_fit"
    assert answer.memory is not None
    assert answer.memory.high_bytes > least_bytes


def test_beyond_that_it_is_no_size() -> None:
    assert _ask("LoRA 一个 50000000B 的模型").intent == "invalid_input"


def test_a_size_is_written_without_an_exponent() -> None:
    assert reference_model(1_000_000).name == "1000000B reference architecture"
