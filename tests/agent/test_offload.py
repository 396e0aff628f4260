"""llama.cpp with layers left in host memory."""

from __future__ import annotations

import pytest

from agent import ungrounded
from tests.agent.answers import answered
from tools.units import GIB


@pytest.mark.parametrize(
    "question",
    [
        "llama.cpp 70B Q4_K_M 在 24G 显存 + 64G 内存 能跑多快",
        "can a 24 GB 3090 plus 64GB RAM run llama 3.3 70B q4_k_m in llama.cpp?",
    ],
)
def test_a_70b_runs_half_on_the_card(question: str) -> None:
    """70.6e9 * 4.89 / 8 = 43 GB in 80 layers, 0.5 GiB each: about 40 on 22-24 GiB."""
    answer, _ = answered(question)
    figures = {f.name: float(f.value) for f in answer.figures}
    assert 34 <= figures["layers_on_card"] <= 46
    assert 15 * GIB < figures["host_need"] < 24 * GIB
    assert answer.verdict == "fits"
    assert answer.memory is not None
    assert answer.memory.usable_bytes is not None
    assert answer.memory.low_bytes < answer.memory.usable_bytes
    assert "token" in answer.text


def test_too_little_host_memory_is_said() -> None:
    """About 20 GiB stay in host memory, of 16 GB not even 15 GiB can be used."""
    answer, _ = answered("llama.cpp 70B Q4_K_M, RTX 4090 加 16G 内存能跑吗")
    assert answer.verdict == "does_not_fit"


def test_given_layers_are_counted() -> None:
    """40 of 64 layers of 20 GB of weights are 11.4 GiB, and a 12 GB card has 11.5."""
    answer, _ = answered("llama-server -m qwen2.5-32b-q4_k_m.gguf -ngl 40 -c 8192 3060 12G")
    assert answer.verdict == "does_not_fit"
    assert "40 of 64" in answer.text
    answer, _ = answered("llama-server -m qwen2.5-32b-q4_k_m.gguf -ngl 20 -c 8192 3060 12G")
    assert answer.verdict != "does_not_fit"


def test_a_size_behind_a_mac_is_its_memory() -> None:
    """64 GB hold the 42 GiB of a 70B in 4 bit, of which 0.72 * 64 GB = 43 GiB are for the GPU."""
    answer, _ = answered("ollama run llama3.3:70b on a Mac Studio 64GB")
    assert answer.request["host_ram_gb"] == 64
    assert answer.verdict in ("fits", "tight")


def test_layers_that_the_cache_pushes_out_slow_the_run() -> None:
    """phi-4 q4 on 8 GB: a fifth of 9 GB is read over DDR4; far below the card's own speed."""
    question = "phi-4 14b q4 on rtx 4060 8gb laptop speed"
    answer, _ = answered(question)
    speeds = [float(f.value) for f in answer.figures if f.name == "split speed value"]
    assert speeds
    assert speeds[0] < 18
    assert answer.text.count("tokens/s**") == 1
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    "question",
    [
        "qwen3-30b-a3b 放 12G 的 3060,专家层挪到内存,内存 64G,行不行",
        "gpt-oss-120b, RTX 5090 and 128GB RAM, keep the experts in system ram?",
    ],
)
def test_a_part_that_is_to_lie_in_host_memory_is_reckoned_so(question: str) -> None:
    answer, _ = answered(question)
    figures = {f.name: float(f.value) for f in answer.figures}
    assert 0 < figures["layers_on_card"] < figures["layers"]
    assert answer.verdict == "fits"
    assert "n-cpu-moe" in answer.text
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    ("question", "gb_s"),
    [
        # two channels * 5600e6 transfers * 8 bytes = 89.6 GB/s
        ("llama.cpp 70B Q4_K_M, 3090, 64G 双通道 DDR5-5600 内存, 速度?", 89.6),
        ("llama.cpp 70B Q4_K_M on a 3090, 8 channel DDR4-3200, 256GB RAM: tokens/s?", 204.8),
    ],
)
def test_the_hosts_bandwidth_that_was_said_sets_the_speed(question: str, gb_s: float) -> None:
    answer, _ = answered(question)
    figures = {f.name: float(f.value) for f in answer.figures}
    assert figures["host_bandwidth"] == pytest.approx(gb_s, abs=0.5)
    host_gb = figures["host_need"] / 1e9
    assert figures["split speed value"] < gb_s / host_gb
    assert figures["split speed low"] < figures["split speed value"] < figures["split speed high"]
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    "question",
    [
        "8G的4060能把qwen3-30b-a3b q4_k_m全部装进显存吗?反正激活才3B 内存32G",
        "does Qwen2.5-32B Q4_K_M fit entirely in VRAM on a 3060 12GB? I have 64GB RAM",
    ],
)
def test_asked_for_all_of_it_the_verdict_is_of_all_of_it(question: str) -> None:
    """30.5e9 and 32.8e9 parameters at about 4.9 bits are 17 to 19 GiB; 8 and 12 GB are there."""
    answer, _ = answered(question)
    assert answer.verdict == "does_not_fit"
    assert answer.memory is not None
    assert answer.memory.low_bytes > 15 * GIB
    assert "-ngl" in answer.text


def test_all_of_it_is_not_asked_for_where_it_need_not_be_there() -> None:
    answer, _ = answered("qwen3-14b q8_0在3060 12G上 不用全部放显存,内存32G 能跑吗")
    assert answer.verdict == "fits"
