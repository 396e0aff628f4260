"""Models on a processor: host memory against the need, and a speed that bandwidth allows."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from agent.answering.hosts.processors import memory_bandwidth
from agent.understanding import parse
from tests.agent.answers import answered


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("text", "cores", "ram_gb"),
    [
        ("64核256G服务器跑 7B", 64, 256),
        ("CPU 服务器 64 核 256G 跑 7B", 64, 256),
        ("run a 7b on a 64c256g box", 64, 256),
        ("64 vCPU 256 GB, llama 8b?", 64, 256),
        ("16 cores, 64GB RAM, 7b q4", 16, 64),
        ("512G内存 96核 跑 70b", 96, 512),
        ("1TB 128核 跑 deepseek v3", 128, 1000),
    ],
)
def test_cores_and_main_memory_stand_together(text: str, cores: int, ram_gb: float) -> None:
    slots = parse(text).slots
    assert (slots.vcpu, slots.host_ram_gb, slots.gpu_mem_gb) == (cores, ram_gb, None)


@pytest.mark.parametrize("text", ["8卡 80G 显存 跑 70b", "gn7i-c8g1.2xlarge 跑 7B", "24c 7b"])
def test_what_is_of_a_card_is_not_the_hosts(text: str) -> None:
    assert parse(text).slots.host_ram_gb is None


def test_two_sockets_are_no_two_cards() -> None:
    assert parse("dual EPYC 7742 512GB RAM deepseek v3 q4").slots.gpu_count is None


@pytest.mark.parametrize(
    ("text", "gb_s"),
    [
        # channels * transfers a second * 8 bytes
        ("8通道 DDR4-3200 256G 内存跑 7B q4", 204.8),
        ("7b on 12 channels DDR5-4800", 460.8),
        ("7b q4 on ddr5-5600 2 channels 64GB RAM", 89.6),
        ("7B CPU 内存带宽 300 GB/s", 300),
    ],
)
def test_a_bandwidth_follows_from_channels(text: str, gb_s: float) -> None:
    assert memory_bandwidth(parse(text)).value == pytest.approx(gb_s)


@pytest.mark.parametrize(
    "question",
    [
        "CPU 服务器 64 核 256G 能跑 qwen2.5 72b q4 吗 速度多少",
        "can a 64c256g cpu server run qwen2.5 72b q4? tokens/s?",
    ],
)
def test_a_processor_gets_need_and_speed(question: str) -> None:
    """72.7e9 weights of about 4.85 bits are 44 GB; 204 GB/s over 44 GB bound 4.6 token/s."""
    answer, _ = answered(question)
    assert answer.verdict == "fits"
    assert answer.memory is not None
    assert answer.memory.scope == "host_ram"
    assert answer.memory.low_bytes < 46e9 < answer.memory.high_bytes
    low, value, high = (_figure(answer, f"speed_{n}") for n in ("low", "value", "high"))
    assert low < value < high
    assert value < 204 / 44
    assert "token" in answer.text
    assert not answer.offers
    assert not ungrounded(answer, question=question)


def test_a_mixture_reads_its_active_experts() -> None:
    """37.6e9 of 671e9 parameters are read for a token: speed of a 37B, memory of a 671B."""
    answer, _ = answered("dual EPYC 9654 768GB RAM, deepseek v3 q4, how many tokens/s?")
    assert answer.memory is not None
    assert answer.memory.low_bytes > 330e9
    assert 15 < _figure(answer, "read_per_token_gb") < 30


def test_asking_for_a_rate_is_no_complaint() -> None:
    answer, _ = answered("4090 + 64核256G 主机 跑 qwen2.5 7b 多少 token/s")
    assert answer.verdict == "fits"
