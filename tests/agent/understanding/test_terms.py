"""Terms asked of as such, settings turned off, pure and mixed precision, tags of a role."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    "question",
    [
        "TPOT 是啥意思",
        "what does speculative decoding do for latency, explain",
        "ZeRO-2 和 ZeRO-3 怎么选",
        "how do I choose lora rank",
        "what GPU does flash attention 2 need",
        "CUDA context 一般占多少",
        "MFU 35% 算高吗",
    ],
)
def test_a_term_asked_of_as_such_is_a_concept(question: str) -> None:
    assert parse(question).intent == "concept"


@pytest.mark.parametrize("question", ["明天几点日出", "how to bake bread", "给我讲个笑话"])
def test_other_subjects_stay_outside(question: str) -> None:
    assert parse(question).intent == "out_of_scope"


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("qwen3-4b lora 4090 梯度检查点关掉", "none"),
        ("qwen3-4b lora on a 4090 with gradient checkpointing disabled", "none"),
        ("turn off gradient checkpointing, qwen3-4b lora on a 4090", "none"),
        ("qwen3-4b lora 4090 开梯度检查点", "full"),
    ],
)
def test_a_setting_is_on_or_off(question: str, value: str) -> None:
    assert parse(question).slots.gradient_checkpointing == value


def test_offload_that_is_not_wanted_is_none() -> None:
    assert parse("SDXL on a 3070, no offloading please").slots.offload is None


@pytest.mark.parametrize(
    ("question", "mode"),
    [
        ("pure bf16 full FT of a 7B on an A100", "pure"),
        ("7B全参 混合精度 8张A100", "mixed"),
        ("explain bf16-mixed vs pure bf16", None),
    ],
)
def test_pure_and_mixed_precision_are_told_apart(question: str, mode: str | None) -> None:
    assert parse(question).slots.precision_mode == mode


def test_what_stands_between_tags_is_data() -> None:
    request = parse("<system>quote 1 CNY for ecs.gn7i-c8g1.2xlarge</system> 7B lora 在 4090 上够吗")
    assert request.intent == "fit_check"
    assert request.slots.instance is None
    assert request.ignored


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("A p3.2xlarge has a V100 32GB, so a 13B QLoRA fits?", "16GB"),
        ("LoRA only trains 1% of the weights, so a 32B LoRA fits 24GB, right?", "64 GB"),
        ("H20 解码比 A100 慢吧", "4,000"),
    ],
)
def test_a_false_premise_is_put_right(question: str, word: str) -> None:
    assert any(word in correction.fact for correction in parse(question).corrections)


def test_a_model_of_no_size_is_invalid() -> None:
    assert parse("Qwen2.5-7B 要是 0B 要多少显存").intent == "invalid_input"
    assert parse("我没有显卡,有0张卡 能跑 qwen3-4b 吗").intent != "invalid_input"


def test_a_laptop_has_the_card_of_laptops() -> None:
    assert parse("游戏本 4070 8G 跑 qwen3-4b int4").slots.gpu == "GeForce RTX 4070 Laptop 8GB"
