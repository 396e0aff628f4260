"""What is stated is what is counted: the loss, the answers sampled, the method, whole numbers."""

from __future__ import annotations

import pytest

from agent import Advisor
from agent.answering.telling.run_words import memory_arguments
from agent.toolbox.memory import MemoryReport
from agent.understanding import parse
from agent.understanding.lexicon.numerals import parse_number
from tests.agent.answers import answered

_RUN = "Llama-3-8B LoRA batch 2 seq 4096 4090"


def _need(question: str) -> int:
    _, results = answered(question)
    return next(r.report.process_bytes for r in results if isinstance(r.report, MemoryReport))


@pytest.mark.parametrize(
    "said",
    ["with Liger?", "use_liger_kernel: true", "enable_liger_kernel: true",
     "fused cross entropy on", "用了融合交叉熵"],
)  # fmt: skip
def test_a_stated_fused_loss_holds_no_logits(said: str) -> None:
    """2 * 4096 tokens * 128,256 words * 4 B = 4,202,692,608 B of fp32 logits at the least."""
    assert _need(_RUN) - _need(f"{_RUN} {said}") >= 2 * 4096 * 128_256 * 4


def test_a_fused_loss_that_is_off_saves_nothing() -> None:
    assert parse(f"{_RUN} without Liger").slots.fused_ce is False
    assert _need(f"{_RUN} without Liger") == _need(_RUN)


def test_sampled_answers_make_the_sequence_and_a_group_makes_steps() -> None:
    """512 of the prompt + 4096 = 4608; 8 answers over 4 cards, one each at a time: 2 steps."""
    question = "GRPO Qwen2.5-7B 4×A100 80GB 8 rollouts 4096 completion tokens"
    slots = parse(question).slots
    assert (slots.num_generations, slots.output_len) == (8, 4096)
    assert memory_arguments(slots)["seq_len"] == 4608
    answer, _ = answered(question)
    figures = {figure.name: figure.value for figure in answer.figures}
    assert figures["group_steps"] == 2
    assert _need(question) < _need(question.replace("4096", "16384"))


def test_answers_sampled_for_a_prompt_are_no_data() -> None:
    slots = parse("我要用 GRPO 训 7B,每个 prompt 采样 16 条,最长 8192 token,8 张 A100 80G").slots
    assert (slots.num_generations, slots.seq_len, slots.samples) == (16, 8192, None)


@pytest.mark.parametrize(
    "question",
    ["train 7B full AdamW A100 80GB", "7B full-parameter A100 80GB",
     "Adafactor 7B full pure bf16 A100 40GB seq 2048?",
     "is zero-2 better than zero-3 for 7B full on 8×A100 40GB, batch 1"],
)  # fmt: skip
def test_full_beside_a_size_and_a_setting_of_training_is_full_training(question: str) -> None:
    slots = parse(question).slots
    assert (slots.task, slots.method) == ("train", "full")


@pytest.mark.parametrize("question", ["7B full bf16 on A100", "serve full 7B on A100 with vllm"])
def test_full_weights_that_are_served_are_no_training(question: str) -> None:
    assert parse(question).slots.task == "infer"


@pytest.mark.parametrize(
    ("written", "value"), [("1e6", 1e6), ("2e2", 200), ("1.5e3", 1500), ("1e308", 1e18)]
)
def test_powers_of_ten_are_numbers(written: str, value: float) -> None:
    assert parse_number(written) == value


def test_a_length_in_powers_of_ten_is_counted() -> None:
    assert parse("7B LoRA on A10 seq 1e6").slots.seq_len == 1_000_000
    assert parse("7B LoRA on A10 batch 2e2").slots.batch == 200


@pytest.mark.parametrize(
    ("question", "field"),
    [("7B LoRA on A10 batch 0.5", "batch"), ("7B LoRA on A10 batch=1e308", "batch"),
     ("7B LoRA on A10 seq 1e12", "seq_len"), ("7B LoRA on 0 A10", "gpu_count"),
     ("7B LoRA on -3 A10", "gpu_count"), ("7B LoRA on 1.5 A10", "gpu_count"),
     ("LoRA 7B on A10 $-50 budget", "budget"), ("预算 -50 元 7B LoRA A10", "budget"),
     ("NaNB model LoRA on A100", "params_b"), ("99999999B LoRA", "params_b")],
)  # fmt: skip
def test_amounts_that_cannot_be_are_refused(question: str, field: str) -> None:
    request = parse(question)
    assert request.intent == "invalid_input"
    assert [value.field for value in request.invalid] == [field]
    assert "params_b" not in request.invalid[0].message_en


@pytest.mark.parametrize(
    "question",
    ["7B LoRA, budget $40-50, on A10", "ZeRO-3 A10 7B 全参", "Llama 3.1 8B LoRA on 2 A10",
     "7B LoRA on A10, batch 1.5 hours", "7B inference on 1/2 A10", "GPU 0 A10 7B LoRA loss is nan"],
)  # fmt: skip
def test_dashes_versions_and_hours_are_no_impossible_amounts(question: str) -> None:
    assert parse(question).invalid == ()


def test_bytes_that_are_no_text_do_not_stop_an_answer() -> None:
    answer = Advisor().ask("7B LoRA on A10 \udcff\udcfe")
    assert answer.verdict == "fits"
    answer.model_dump_json().encode()


@pytest.mark.parametrize(
    ("question", "pixels"),
    [("YOLOv8x training batch 4 with 4K images on A10", 3840), ("SDXL 4k image on 4090", 3840),
     ("Qwen2.5-VL-7B 推理一张 4K 图片 显存多少", 3840), ("YOLOv8x 推理 8K 视频 A10", 7680)],
)  # fmt: skip
def test_a_picture_named_by_its_screen_has_its_width(question: str, pixels: int) -> None:
    """UHD is 3840x2160, UHD-2 7680x4320."""
    assert parse(question).slots.img_size == pixels


@pytest.mark.parametrize("name", ["on H300", "on an H400 200GB", "8×B400", "H300 200GB"])
def test_a_card_that_no_maker_has_is_not_passed_over(name: str) -> None:
    request = parse(f"7B LoRA {name}")
    assert [value.field for value in request.invalid] == ["gpu"]


@pytest.mark.parametrize(
    ("question", "method"),
    [
        ("DPO on Mistral-7B with load_in_4bit=True, batch 1, seq 1024 on a 3090", "dpo+qlora"),
        ("ORPO, Qwen2.5-3B as a 4-bit base, T4 15GB enough?", "dpo+qlora"),
        ("4090 上 GRPO Qwen2.5-7B,4bit 加载", "grpo+qlora"),
        ("KTO of Llama-3.1-8B loaded in 8bit on a 4090", "dpo+lora"),
        ("DPO of Qwen2.5-1.5B on A100 80GB", "dpo"),
        ("GRPO with unsloth, Llama-3.2-3B on a T4", "grpo+lora"),
    ],
)
def test_a_base_in_few_bits_is_trained_by_adapters_whatever_the_aim(
    question: str, method: str
) -> None:
    slots = parse(question).slots
    assert (slots.task, slots.method) == ("train", method)


def test_bytes_of_a_parameter_are_told_as_they_are_recorded() -> None:
    answer, _ = answered("full fine-tuning Qwen2.5-1.5B adafactor pure bf16 on A100 80GB")
    told = next(f.value for f in answer.figures if f.name == "bytes_per_parameter")
    assert f"{told:g} bytes per parameter" in answer.text
