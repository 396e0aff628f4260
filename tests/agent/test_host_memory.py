"""Host memory as the answer: CPU types, bare machines, and weights that a load reads."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from tests.agent.answers import answered


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("question", "low_gb", "high_gb"),
    [
        # 8.03e9 weights of about 4.85 bits are 4.87 GB, with cache and buffers below 10 GB
        ("does Llama-3.1-8B Q4_K_M fit on an m6i.4xlarge with ollama, no GPU", 4.8, 10.0),
        # 14.77e9 weights of about 4.85 bits are 8.95 GB
        ("只有 CPU 机器,32G 内存,qwen2.5-14b q4_k_m 能跑吗", 8.4, 15.0),
    ],
)
def test_without_a_card_the_ram_is_the_answer(question: str, low_gb: float, high_gb: float) -> None:
    answer, _ = answered(question)
    assert answer.verdict == "fits"
    assert answer.memory is not None
    assert answer.memory.scope == "host_ram"
    assert low_gb <= answer.memory.low_bytes / 1e9 <= answer.memory.high_bytes / 1e9 <= high_gb
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    "question",
    [
        "from_pretrained of llama-3-70b was killed, the host has 128GB RAM, 4x A100 80GB",
        "加载 llama3-70b 时被系统杀掉,主机内存128G,4张A100 80G",
    ],
)
def test_a_killed_load_is_reckoned_in_host_memory(question: str) -> None:
    """70.55e9 parameters of two bytes are 141.1 GB, which 128 GB do not hold; fp32 is 282.2."""
    answer, _ = answered(question)
    assert answer.verdict == "does_not_fit"
    assert answer.memory is not None
    assert answer.memory.scope == "host_ram"
    assert _figure(answer, "load_16_bit") / 1e9 == pytest.approx(141.1, abs=0.1)
    assert answer.memory.high_bytes / 1e9 == pytest.approx(282.2, abs=0.2)
    assert not ungrounded(answer, question=question)


def test_offloaded_states_are_the_figure_where_the_ram_was_said() -> None:
    """7e9 parameters of 18 bytes are 126 GB, against 64 of them."""
    answer, _ = answered("内存 64G 单张 4090,ZeRO-3 offload 全参 7B 行吗")
    assert answer.verdict == "does_not_fit"
    assert answer.memory is not None
    assert answer.memory.scope == "host_ram"
    assert _figure(answer, "host_need") / 1e9 == pytest.approx(126, abs=1)
