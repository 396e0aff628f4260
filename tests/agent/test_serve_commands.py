"""Settings given in a serving command are the ones that are computed with."""

from __future__ import annotations

import pytest

from tests.agent.answers import answered
from tools.units import GIB

_BIG = (
    "vllm serve Qwen/Qwen2.5-32B-Instruct --tensor-parallel-size 2 --max-model-len 32768 "
    "--gpu-memory-utilization 0.92 --max-num-seqs 16 on 2x A100 40G, will it OOM?"
)


def test_utilization_of_the_command_is_used() -> None:
    """0.92 of 39.38 GiB are 36.2 GiB: less than the 30.5 GiB of weights, 4 GiB of cache and the
    engine's own need, so it does not start at this setting."""
    answer, _ = answered(_BIG)
    assert "gpu_memory_utilization=0.92" in answer.text
    assert "36.2 GiB" in answer.text
    assert "0.9 " not in answer.text
    assert answer.verdict == "tight"


def test_max_num_seqs_is_a_cap_and_no_demand() -> None:
    """One request of 32768 tokens takes 64 layers * 8 heads * 128 * 2 * 2 B = 8 GiB, 4 per card."""
    answer, _ = answered(_BIG)
    cache = next(f.value for f in answer.figures if f.name == "kv_per_request")
    assert cache == pytest.approx(4 * GIB, rel=0.01)
    assert "max_num_seqs=16" in answer.text
    assert answer.request["concurrency"] == 16


@pytest.mark.parametrize(
    ("question", "slot", "value"),
    [
        ("llama-server -m qwen2.5-32b-q4_k_m.gguf -ngl 40 -c 8192 3060 12G", "gpu_layers", 40),
        ("llama-cli -m qwen2.5-32b-q4_k_m.gguf --n-gpu-layers 20 on a 3060", "gpu_layers", 20),
        ("sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --mem-fraction-static 0.8 A10",
         "gpu_memory_utilization", 0.8),
        ("vLLM 跑 Qwen2.5-7B,显存利用率 0.95,A10 够吗", "gpu_memory_utilization", 0.95),
        ("vllm serve Qwen/Qwen2.5-7B-Instruct --kv-cache-dtype fp8 on L4", "kv_cache_dtype", "fp8"),
    ],
)  # fmt: skip
def test_flags_reach_the_calculator(question: str, slot: str, value: object) -> None:
    answer, results = answered(question)
    assert answer.request[slot] == value
    assert any(r.arguments.get(slot) == value for r in results if r.name == "estimate_memory")
