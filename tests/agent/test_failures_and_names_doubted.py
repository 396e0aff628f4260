"""Failures told by when they come, cards that do not exist, and what only the program decides."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.understanding import parse
from tests.agent.answers import answered

LOG = (
    "CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 79.15 GiB of "
    "which 0.80 GiB is free. Of the allocated memory 60.10 GiB is allocated by PyTorch, and "
    "16.90 GiB is reserved by PyTorch but unallocated. "
)
OLD_LOG = (
    "CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 15.78 GiB total capacity; 10.20 GiB "
    "already allocated; 200.00 MiB free; 14.60 GiB reserved in total by PyTorch) "
)


@pytest.mark.parametrize(
    ("question", "held"),
    [(LOG + "but it's only using 60 of 80!", "16.9"), (OLD_LOG + "怎么只用了10G就爆了", "4.4")],
)
def test_what_is_reserved_is_in_use(question: str, held: str) -> None:
    """16.90 GiB are in the text; 14.60 - 10.20 = 4.40 GiB."""
    answer, _ = answered(question)
    assert any(held in c.fact for c in answer.corrections)
    assert not ungrounded(answer, question=question)


def test_a_log_without_a_doubt_is_not_corrected() -> None:
    answer, _ = answered(LOG)
    assert not answer.corrections


@pytest.mark.parametrize(
    "question",
    [
        "训练好好的占了一半显存,一到eval就OOM,transformers Trainer",
        "Training uses 60 GB of my A100, then CUDA OOM as soon as the validation loop begins",
    ],
)
def test_evaluation_after_training_that_runs_is_its_logits(question: str) -> None:
    answer, _ = answered(question)
    assert answer.intent == "oom_diagnosis"
    assert "eval_accumulation_steps" in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "从checkpoint恢复训练的时候就CUDA OOM,第一次跑没问题,4卡A100",
        "resume_from_checkpoint runs out of CUDA memory, a fresh start trains fine, DDP on 4 4090s",
    ],
)
def test_a_resume_holds_another_copy(question: str) -> None:
    answer, _ = answered(question)
    assert "map_location" in answer.text
    assert "GPU 0" in answer.text


def test_no_room_for_blocks_is_the_verdict_of_the_estimate() -> None:
    """14.77 billion parameters of two bytes are 27.5 GiB, and an A10 has 22."""
    answer, _ = answered(
        "vllm serve Qwen/Qwen2.5-14B-Instruct --max-model-len 4096\nValueError: No available "
        "memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing "
        "the engine. 单张A10"
    )
    assert answer.verdict == "does_not_fit"
    assert "low_cpu_mem_usage" not in answer.text


@pytest.mark.parametrize(
    ("question", "sizes"),
    [
        ("A100有24G和48G两种版本吧 跑32B int4选哪个", "40/80"),
        ("H20 comes in 48GB and 64GB versions right? which one for a 32B fp8", "96/141"),
    ],
)
def test_versions_that_a_card_does_not_have(question: str, sizes: str) -> None:
    answer, _ = answered(question)
    assert any(sizes in c.fact for c in answer.corrections)
    assert not ungrounded(answer, question=question)


def test_versions_that_a_card_has_stand() -> None:
    answer, _ = answered("A100 有 40G 和 80G 两个版本 跑 70B int4 选哪个")
    assert not answer.corrections


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("4090ti 能跑 14B int4 吗", "RTX 4090 Ti"),
        ("my RTX 3090 Super, will QLoRA of 13B run?", "RTX 3090 SUPER"),
    ],
)
def test_a_variant_that_does_not_exist(question: str, name: str) -> None:
    answer, _ = answered(question)
    assert any(name in c.fact for c in answer.corrections)
    assert answer.verdict == "fits"  # of the card without the suffix
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize("question", ["RTX 4080 Super 能跑 14B int4 吗", "3060ti 能跑 7B int4 吗"])
def test_a_variant_that_exists_stands(question: str) -> None:
    answer, _ = answered(question)
    assert not answer.corrections


def test_an_adapter_left_empty_trains_all_weights() -> None:
    for line in ("adapter:", "adapter: null"):
        answer, _ = answered(
            f"base_model: Qwen/Qwen2.5-1.5B\n{line}\nsequence_len: 2048\n"
            "micro_batch_size: 1\n\nA100 ok?"
        )
        assert answer.request["method"] == "full"


def test_a_job_for_both_cards_takes_the_cards_spoken_of() -> None:
    first = parse("Can two 3090s with NVLink become one 48GB card?")
    assert first.corrections
    second = parse("fine, can they still run a 32B Q4 together?", (first,))
    assert second.slots.gpu_count == 2
    assert second.slots.gpu == "GeForce RTX 3090"


def test_the_program_decides_only_near_the_border() -> None:
    """The head of 131,072 x 5,120 weights takes 2.7 GB in fp32, twice that with the embedding."""
    near = "4060Ti 16G qlora微调mistral-nemo 12b seq 2048 bs 1"
    answer, _ = answered(near)
    assert answer.verdict == "depends"
    assert "Unsloth" in answer.text
    assert not ungrounded(answer, question=near)
    answer, _ = answered(near + " 用llamafactory")
    assert answer.verdict == "does_not_fit"
    answer, _ = answered("4060Ti 16G qlora微调qwen2.5-32b seq 2048 bs 1")
    assert answer.verdict == "does_not_fit"


@pytest.mark.parametrize(
    ("question", "length"),
    [
        ("bge-large-zh 微调 对比学习 batch 32 截512 单张3090", 512),
        ("fine-tune e5-large contrastive, batch 64, docs truncated to 256 tokens, one A10", 256),
    ],
)
def test_a_truncation_is_a_length(question: str, length: int) -> None:
    answer, _ = answered(question)
    assert answer.request["seq_len"] == length
    assert answer.verdict == "depends"
