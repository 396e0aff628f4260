"""Loads of services, tables of ids, sums of money against a job, sizes that cards can train."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from tests.agent.answers import answered


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


def test_a_daily_count_decides_between_cpu_and_gpu() -> None:
    """20 million a day over 86,400 s are 231.48 a second."""
    question = "BERT-base classifying 20 million documents a day, CPU or GPU?"
    answer, _ = answered(question)
    assert _figure(answer, "requests_per_s") == pytest.approx(231.48, rel=1e-3)
    assert "231" in answer.text
    assert answer.verdict == "depends"
    assert not ungrounded(answer, question=question)


def test_pairs_of_a_reranker_are_requests_times_candidates() -> None:
    question = "bge-reranker-base at 5 qps, 30 candidates each: CPU or GPU?"
    answer, _ = answered(question)
    assert _figure(answer, "requests_per_s") == 150
    assert "150 pairs" in answer.text
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    ("question", "size_gb"),
    [
        ("1亿个用户ID × 64维 embedding table fp32,训练用什么机器", 25.6),  # 1e8 x 64 x 4 B
        ("recsys: 500M ids x 128 dims of embedding tables in fp16, what to train on", 128.0),
        ("双塔模型 embedding表80GB,训练看显存还是内存", 80.0),
    ],
)
def test_tables_of_ids_are_rows_times_width(question: str, size_gb: float) -> None:
    answer, _ = answered(question)
    assert _figure(answer, "tables") == pytest.approx(size_gb * 1e9)
    assert _figure(answer, "tables_with_states") == pytest.approx(3 * size_gb * 1e9)
    assert not ungrounded(answer, question=question)


def test_a_sum_is_set_against_the_cost_of_the_job() -> None:
    question = "$400 enough to lora Qwen2.5-14B on 20k samples of 1k tokens, 3 epochs?"
    answer, _ = answered(question)
    assert answer.request["budget"] is not None
    assert answer.intent == "cost_estimate"
    assert _figure(answer, "budget") == 400
    assert 0 < _figure(answer, "cost") < 400
    assert "is enough" in answer.text
    assert not ungrounded(answer, question=question)


def test_host_memory_limits_the_largest_model_that_is_offloaded() -> None:
    little = "8xV100 16GB: largest model for full finetuning with zero3 cpu offload, 128GB RAM?"
    much = little.replace("128GB", "1024GB")
    needs = [_figure(answered(question)[0], "host_need") for question in (little, much)]
    assert needs[0] <= 0.9 * 128e9 * 1.08  # GB as it is sold, GiB as it is counted
    assert needs[0] < needs[1]


def test_several_cards_share_a_run_that_no_single_one_holds() -> None:
    question = "qwen2.5-72b bf16 在 4 张 4090 上推理,放得下吗"
    answer, _ = answered(question)
    assert answer.verdict == "does_not_fit"
    assert all(offer.gpu_count == 4 for offer in answer.offers)
    assert not ungrounded(answer, question=question)


def test_one_card_too_small_is_told_how_many_would_do() -> None:
    question = "70B AWQ inference on a single T4, possible?"
    answer, _ = answered(question)
    assert answer.verdict == "does_not_fit"
    assert "TP=4" in answer.text
    assert not ungrounded(answer, question=question)


def test_an_objective_is_set_against_plain_fine_tuning() -> None:
    question = "7b做dpo 用lora的话 比普通sft多吃多少显存"
    answer, _ = answered(question)
    assert _figure(answer, "more_than_plain") > 0
    assert "chosen" in answer.text
    assert not ungrounded(answer, question=question)
