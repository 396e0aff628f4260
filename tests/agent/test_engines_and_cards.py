"""What an engine makes of a card: kernels that it lacks, requests that wait in its queue."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from tests.agent.answers import answered


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("question", "verdict"),
    [
        # AWQ on vLLM from 7.5 (Turing); a V100 is 7.0, a T4 is 7.5
        ("qwen2.5-14b-instruct-awq vllm on V100 32GB ok?", "does_not_fit"),
        ("V100 32G 用 vllm 跑 qwen2.5 7b fp16 行吗", "depends"),
        ("qwen2.5-7b-instruct-awq vllm on T4 ok?", "fits"),
        ("V100 32G 用 llama.cpp 跑 qwen2.5 14b q4_k_m 行吗", "fits"),
    ],
)
def test_kernels_decide_beside_memory(question: str, verdict: str) -> None:
    answer, _ = answered(question)
    assert answer.verdict == verdict
    assert ("7.5" in answer.text.split("\n\n")[0]) == (verdict != "fits")
    assert not ungrounded(answer, question=question)


def test_cards_without_kernels_are_not_offered_and_that_is_said() -> None:
    question = "qwen2.5 32b awq vllm 便宜的卡租哪个"
    answer, _ = answered(question)
    assert answer.offers
    assert not any("V100" in (o.gpu_name or "") or "P100" in (o.gpu_name or "")
                   for o in answer.offers)  # fmt: skip
    assert "V100" in answer.text
    assert "7.5" in answer.text
    assert not ungrounded(answer, question=question)


def test_requests_that_find_no_cache_wait() -> None:
    """Qwen3-8B: 36 layers * 2 * 8 * 128 * 2 B = 144 KiB a token, 0.56 GiB a 4,096-token request;
    a pool of 0.9 * 23.5 GiB less 16.7 GiB of weights and work holds eight of them."""
    question = "serve qwen3 8b on a 4090 with vllm, 16 concurrent requests of 4k, tokens/s?"
    answer, _ = answered(question)
    assert answer.verdict == "depends"
    assert _figure(answer, "requests_held") in (7, 8, 9)
    assert "tokens/s" in answer.text
    assert not ungrounded(answer, question=question)


def test_a_cheaper_near_miss_shows_its_price_and_what_it_holds() -> None:
    question = "cheapest AWS box that serves llama3 8b to 28 users at 8k"
    answer, _ = answered(question)
    line = next(line for line in answer.text.splitlines() if "g6e.xlarge" in line)
    assert "USD/h" in line
    assert "of 28" in line
    assert not ungrounded(answer, question=question)


def test_the_engines_pool_makes_a_serving_machine_fit() -> None:
    """16 GiB of weights and 20 GiB of cache in the 40 GiB that vLLM takes of an L40S."""
    answer, _ = answered("cheapest AWS box that serves llama3 8b to 20 users at 8k")
    assert answer.offers[0].instance_type == "g6e.xlarge"


def test_an_engine_without_a_pool_is_told_no_share() -> None:
    question = "ollama run qwen2.5:32b 3090 24g 上下文开到16k会不会爆显存 速度多少"
    answer, _ = answered(question)
    assert "gpu_memory_utilization" not in answer.text
    assert "token/s" in answer.text
    assert not ungrounded(answer, question=question)


def test_lmdeploy_takes_a_share_of_what_the_weights_leave() -> None:
    question = "lmdeploy serve api_server internlm2_5-20b-chat --tp 2 两张A10 够吗"
    answer, _ = answered(question)
    assert "cache_max_entry_count=0.8" in answer.text
    assert not ungrounded(answer, question=question)


def test_the_number_of_requests_that_is_asked_for_comes_early() -> None:
    question = (
        "vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 4 --max-model-len 16384"
        " --kv-cache-dtype fp8 on 4x A100 80G how many concurrent full length requests"
    )
    answer, _ = answered(question)
    assert "full-length requests" in answer.text.split("\n\n")[1]
    assert not answer.corrections  # the cache is stored in FP8, nothing is computed in it
    # 80 layers * 2 * 8 * 128 * 1 B / 4 cards = 40 KiB a token; 71.2 - 35.4 GiB of room / 0.625 GiB
    assert 50 <= _figure(answer, "requests") <= 65


def test_cards_and_speed_asked_together() -> None:
    question = "h100 80g qwen3-235b-a22b fp8 要几张 tokens/s 多少"
    answer, _ = answered(question)
    head = answer.text.split("\n\n")
    assert "4 张" in head[0]
    assert "token/s" in head[1]
    assert not ungrounded(answer, question=question)
