"""Texts of one request through an encoder or reranker on a processor, in seconds."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from agent.answering import compose, composer_of
from agent.answering.plan import Context, advance
from agent.settings import Settings
from agent.toolbox import ToolResult, build_toolbox
from agent.understanding import parse


def _ask(question: str) -> tuple[str, Answer]:
    tools = {tool.name: tool for tool in build_toolbox(Settings())}
    results: list[ToolResult] = []
    request = parse(question)
    while not isinstance(step := advance(compose(request, Context()), results), Answer):
        results += [tools[call.name].call(call.arguments) for call in step]
    assert not ungrounded(step, question=question)
    return composer_of(request, Context()), step


def _seconds(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("question", "pairs", "tokens"),
    [
        ("bge-reranker-v2-m3 直接跑CPU(4核8线程) 每次重排20条 每条300字 能接受吗", 20, 300),
        ("reranker bge-reranker-v2-m3 on cpu 8 cores, 50 docs of 512 tokens per query, slow?",
         50, 512),
    ],
)  # fmt: skip
def test_a_request_is_timed_by_its_texts(question: str, pairs: int, tokens: int) -> None:
    taker, answer = _ask(question)
    assert taker == "hosts.encoder_on_cpu"
    # 24 layers of 1024: 0.303e9 parameters a token goes through; 15 GFLOP/s on each of 8 vCPUs
    by_hand = pairs * tokens * 2 * 0.303e9 / (8 * 15e9)
    assert _seconds(answer, "seconds of a request: value") == pytest.approx(by_hand, rel=0.1)
    assert _seconds(answer, "seconds on a card") < 2
    assert answer.verdict == "depends"


def test_a_few_short_texts_are_quick() -> None:
    _, answer = _ask("bge-small-zh-v1.5 纯CPU推理 32核 每次重排4条 每条64token 能接受吗")
    assert answer.verdict == "fits"


@pytest.mark.parametrize(
    "question",
    [
        "bge-reranker-base 4090 每次重排50段 每段512token 要多久",
        "cpu 上跑 bge-m3 给 200万篇文档做embedding要几天",
        "bge-reranker-base on cpu at 3 requests per second, 20 candidates each, enough?",
    ],
)
def test_cards_piles_and_loads_are_another_question(question: str) -> None:
    assert _ask(question)[0] != "hosts.encoder_on_cpu"
