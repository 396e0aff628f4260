"""What the ZeRO stages split of a run whose model was not said, and of an adapter's base."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from agent.answering import compose
from agent.answering.plan import Context, advance
from agent.settings import Settings
from agent.toolbox import ToolResult, build_toolbox
from agent.understanding import parse


def _ask(question: str) -> str:
    tools = {tool.name: tool for tool in build_toolbox(Settings())}
    results: list[ToolResult] = []
    request = parse(question)
    while not isinstance(step := advance(compose(request, Context()), results), Answer):
        results += [tools[call.name].call(call.arguments) for call in step]
    assert not ungrounded(step, question=question)
    return step.text


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("with stage 2 and qlora on 2 gpus is the quantized base sharded?",
         ("Only ZeRO-3", "frozen base", "optimizer states")),
        ("zero-2 下lora的底座权重会切到8张卡上吗,还是每张卡一整份", ("ZeRO-3", "冻结底座", "梯度")),
        ("does zero 1 shard weights when full finetuning on 8 gpus",
         ("optimizer states", "gradients", "ZeRO-3")),
    ],
)  # fmt: skip
def test_what_a_stage_splits_is_told(question: str, words: tuple[str, ...]) -> None:
    text = _ask(question)
    assert all(word in text for word in words)


def test_a_full_run_has_no_frozen_base() -> None:
    assert "frozen base" not in _ask("does zero 1 shard weights when full finetuning on 8 gpus")
