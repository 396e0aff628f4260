"""Collectives that fell back to TCP: what it means, and what the type's own network is."""

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


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("两台p5.48xlarge nccl走的是tcp没走efa 怎么这么慢", ("EFA", "aws-ofi-nccl", "3200")),
        ("nccl fell back to tcp sockets between my two H100 infiniband nodes, how do i fix it",
         ("NCCL_IB_HCA",)),
        ("NCCL log says NET/Socket on two p4de.24xlarge, i see 10 Gbps", ("400", "2.5%")),
        ("2 nodes of 8xA100: No plugin found (libnccl-net.so), using socket. slow training",
         ("plugin",)),
    ],
)  # fmt: skip
def test_the_way_back_to_rdma_is_told(question: str, words: tuple[str, ...]) -> None:
    taker, answer = _ask(question)
    assert taker == "links.over_sockets"
    assert all(word in answer.text for word in words)


def test_a_type_without_rdma_is_right_to_use_sockets() -> None:
    _, answer = _ask("2台 ecs.gn6i-c4g1.xlarge 的NCCL日志里是 NET/Socket,怎么走RDMA")
    assert "没有 RDMA" in answer.text


def test_ethernet_by_choice_is_no_fallback() -> None:
    taker, _ = _ask("is ethernet instead of infiniband ok for 2 node lora training")
    assert taker != "links.over_sockets"
