"""A run that was shared out to its cards stays so when only the method is changed."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from agent.answering import compose
from agent.answering.plan import Context, advance
from agent.request import Request
from agent.settings import Settings
from agent.toolbox import ToolResult, build_toolbox
from agent.understanding import parse


def _talk(*turns: str) -> list[Answer]:
    tools = {tool.name: tool for tool in build_toolbox(Settings())}
    earlier: list[Request] = []
    answers: list[Answer] = []
    for turn in turns:
        request, context = parse(turn, earlier), Context(earlier=tuple(earlier))
        results: list[ToolResult] = []
        while not isinstance(step := advance(compose(request, context), results), Answer):
            results += [tools[call.name].call(call.arguments) for call in step]
        assert not ungrounded(step, question=" ".join(turns))
        answers.append(step)
        earlier.append(request)
    return answers


@pytest.mark.parametrize(
    "turns",
    [
        ("full finetune Llama-3.3-70B on 8x A100 80GB?", "and lora?"),
        ("Qwen2.5-72B 全参 8张H100 80G 放得下吗", "换lora呢"),
    ],
)
def test_lora_behind_a_sharded_full_run_is_sharded(turns: tuple[str, str]) -> None:
    answer = _talk(*turns)[-1]
    assert answer.verdict == "fits"
    assert answer.memory is not None
    assert answer.memory.high_bytes < 80e9
    assert "ZeRO-3" in answer.text


def test_lora_asked_by_itself_is_told_both_ways() -> None:
    (answer,) = _talk("70B lora on 4x A100 80GB")
    assert answer.verdict == "depends"
