"""Failures whose text says the cause: prefill, container limits, FlashAttention, fragments."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from agent.understanding import parse
from tests.agent.answers import answer as grounded
from tests.agent.answers import answered

PREFILL = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.42 GiB (GPU 0; 23.69 GiB "
    "total capacity; 14.37 GiB already allocated; 6.81 GiB free; 14.52 GiB reserved)"
)


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


def test_one_block_of_a_long_input_is_named_with_the_length_behind_it() -> None:
    """7.42 GiB / (152,064 * 4 B) = 13,098 logits; sqrt(7.42 GiB / (28 * 2 B)) = 11,928."""
    answer, _ = answered(PREFILL + "\nwhile generating from a long prompt, qwen2-7b, transformers")
    assert answer.intent == "oom_diagnosis"
    assert answer.verdict == "depends"
    assert _figure(answer, "logits_positions") == pytest.approx(13_098, abs=2)
    assert _figure(answer, "attention_positions") == pytest.approx(11_928, abs=2)
    assert "sdpa" in answer.text
    assert not ungrounded(answer, question=PREFILL)


def test_training_with_the_same_numbers_is_no_prefill() -> None:
    answer, _ = answered(PREFILL + "\nqlora training of qwen2-7b, length 2048")
    assert not any(f.name == "logits_positions" for f in answer.figures)


def test_a_container_limit_must_exceed_what_is_read() -> None:
    """70.55 billion parameters of two bytes are 131.4 GiB; four ranks read 525.7."""
    answer, _ = answered(
        "oom-kill:constraint=CONSTRAINT_MEMCG 容器 limit 32Gi 加载 llama3-70b 分到 4 张 A10 挂了"
    )
    assert _figure(answer, "weights_on_disk") / 2**30 == pytest.approx(131.4, abs=0.2)
    assert _figure(answer, "weights_of_all_ranks") / 2**30 == pytest.approx(525.7, abs=0.7)
    assert "cgroup" in answer.text
    assert answer.verdict == "does_not_fit"
    assert not ungrounded(answer)


def test_a_bare_size_beside_a_container_is_its_limit() -> None:
    answer, _ = answered("pod OOMKilled 加载 qwen2.5-14b，limit 24Gi")
    assert "24 GiB" in answer.text.split("\n")[0]
    assert _figure(answer, "limit") == 24


@pytest.mark.parametrize("place", ["on a gn6i", "on my RTX 2080 Ti", "on a V100"])
def test_an_old_card_is_no_matter_of_memory(place: str) -> None:
    answer, _ = answered(
        f'RuntimeError: "FlashAttention only supports Ampere GPUs or newer." {place}'
    )
    assert answer.intent == "oom_diagnosis"
    assert "sdpa" in answer.text
    assert _figure(answer, "compute_capability") < 8
    assert not ungrounded(answer)


def test_the_allocators_switch_only_fights_fragments() -> None:
    answer, _ = answered(
        "what does PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True do, will it fix a 30B LoRA on "
        "48GB in bf16?"
    )
    assert any("fragmentation" in c.fact for c in answer.corrections)
    assert answer.verdict == "does_not_fit"


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("LoRA 7B on a 3090, checkpointing is off I guess", "none"),
        ("LoRA 7B on a 3090 with grad ckpt", "full"),
        ("LoRA 7B on a 3090 without grad checkpointing", "none"),
        ("3090 LoRA 7B,梯度检查点没开", "none"),
    ],
)
def test_checkpointing_in_other_words(said: str, value: str) -> None:
    assert parse(said).slots.gradient_checkpointing == value


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("HunyuanVideo LoRA on an A100 80GB runs out of memory in the backward pass", "frames"),
        ("SDXL LoRA 3090 batch 16 爆显存", "分辨率"),
        ("vit-large fine-tuning, batch 256, T4, CUDA out of memory", "resolution"),
        ("Qwen2.5-7B LoRA on a 3090 OOM", "truncate"),
    ],
)
def test_the_input_that_sets_the_peak_is_of_the_kind_of_the_model(question: str, told: str) -> None:
    assert told in grounded(question).text


def test_a_picture_model_is_trained_by_lora_where_no_method_was_said() -> None:
    """12e9 parameters at 16 bytes are 190 GB: nobody means that on a card for games."""
    found = grounded("4090 训练 FLUX 够吗")
    assert found.memory is not None
    assert found.memory.low_bytes < 60e9
