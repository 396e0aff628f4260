"""Different cards on one job: the slower sets the pace, the smaller the share, layers add up."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from agent.answering import composer_of
from agent.answering.links.mixed_cards import counted
from agent.answering.plan import Context
from agent.understanding import parse
from tests.agent.answers import answer, answered
from tools.units import GIB


def _figures(answer: Answer) -> dict[str, float]:
    return {f.name: float(f.value) for f in answer.figures}


def test_even_shares_of_unlike_cards_go_at_the_pace_of_the_slower() -> None:
    """RTX 3090 71, RTX 4090 165.2 dense bf16 TFLOPS: 2 * 71 = 142 in step, 236.2 by speed."""
    told = answer("3090 和 4090 插一起 DDP 训 7B LoRA 行吗")
    figures = _figures(told)
    assert figures["even shares"] == 142
    assert figures["shares by speed"] == pytest.approx(236.2)
    assert told.verdict == "fits"
    assert "还不如只用 1×GeForce RTX 4090" in told.text
    assert told.memory is not None
    assert told.memory.scope == "per_gpu"


def test_three_cards_of_two_kinds_are_counted() -> None:
    """3 * 71 = 213 against one RTX 4090: 1.29 times."""
    told = answer("two 3090s plus one 4090 in one box: fine-tune a 3B with LoRA over all of them?")
    assert _figures(told)["even against alone"] == pytest.approx(213 / 165.2, abs=0.01)
    assert "1.29 times" in told.text


def test_a_copy_too_large_for_the_smallest_card_is_sharded_evenly() -> None:
    told = answer("8x A800 plus 8x H800 in the same cluster, LoRA of a 70B: possible?")
    assert "FSDP or ZeRO-3" in told.text.split("\n")[0]
    assert told.verdict == "fits"
    assert _figures(told)["cards"] == 16


def test_what_no_even_share_holds_does_not_fit_however_large_the_other_card_is() -> None:
    told = answer("T4 和 A100 80G 混着用,FSDP 全参训 7B 可以吗")
    assert told.verdict == "does_not_fit"
    assert "Tesla T4" in told.text.split("\n")[0]


def test_layers_are_dealt_out_by_memory() -> None:
    """24 GB at 936 GB/s and 16 GB at 448: 40 / (24/936 + 16/448) = 652 GB/s on the way."""
    told = answer("llama.cpp with a 3090 and a 5060 Ti 16GB together, Qwen2.5-32B Q4, ok?")
    figures = _figures(told)
    assert "--tensor-split 24,16" in told.text
    assert figures["bandwidth on the way"] == pytest.approx(652, rel=0.01)
    assert figures["usable together"] > 38 * GIB
    assert told.verdict == "fits"
    assert told.memory is not None
    assert told.memory.scope == "total"


def test_tensor_parallel_counts_the_smallest_card_only() -> None:
    """14 B in 16 bit is 28 GB: more than twice a 12 GB card, less than 24 and 12 GB together."""
    told = answer("tensor parallel 2 with vllm on a 3090 and a 3060 12GB, 14B fp16")
    assert told.verdict == "does_not_fit"


def test_one_precision_for_all_leaves_bf16_to_no_old_card() -> None:
    told = answer("V100 和 A100 混插做数据并行行不行")
    assert "fp16" in told.text
    assert "NVIDIA A100 SXM4 80GB 没有 bf16" not in told.text


def test_equal_chips_do_not_wait() -> None:
    told = answer("A100 40G 和 A100 80G 混在一个集群里训练行吗,混用有啥影响")
    assert "算力一样" in told.text


@pytest.mark.parametrize(
    "question",
    [
        "3090 和 4090 哪个更适合推理",
        "把 T4 换成 A10 之后 7B 还用量化吗",
        "A10 vs L20 for serving a 14B",
        "两张 4090 一起训 7B LoRA",
        "4090 或者 3090 能跑 14B 吗",
    ],
)
def test_cards_that_are_compared_or_alike_are_not_mixed(question: str) -> None:
    assert composer_of(parse(question), Context()) != "links.mixed_cards"


def test_counts_in_front_of_both_cards_are_each_ones_own() -> None:
    """24 + 24 + 24 GB."""
    told = answer("我有两张3090一张4090,llama.cpp 跑 70B q4 会自动分吗")
    assert _figures(told)["cards"] == 3
    assert "--tensor-split 24,24,24" in told.text


def test_names_carry_their_count() -> None:
    assert counted("12xTesla T4") == (12, "Tesla T4")
    assert counted("NVIDIA H20 141GB") == (1, "NVIDIA H20 141GB")


def test_a_mixture_is_told_without_a_model() -> None:
    told, _ = answered("can a 3090 and a 2080 Ti work together for llm inference")
    assert "add" in told.text
    assert told.verdict == "depends"
