"""Inverse questions: recognised in either language, and answered with a number that is the last."""

from __future__ import annotations

import pytest

from agent.answering.plan import Context
from agent.answering.sizing.inverse import applies
from agent.settings import Settings
from agent.toolbox import build_toolbox
from agent.toolbox.limits import LimitReport
from agent.toolbox.memory import MemoryReport
from agent.understanding import parse
from tests.agent.answers import answered

ASKED = [
    ("max batch size for qwen2.5 7b lora seq 4096 on a 24GB 3090?", "largest_batch"),
    ("A10 上 7B LoRA 序列 2048 batch 最大能开多少", "largest_batch"),
    ("how large a batch can I use to train resnet50 on a T4?", "largest_batch"),
    ("longest context I can serve with llama 3.1 8b fp16 on a single A10G", "longest_context"),
    ("Qwen2.5-14B AWQ 在 4090 上最长能开多长上下文?", "longest_context"),
    ("how many concurrent users can 1x L40S handle for qwen2.5-14b awq at 4k", "most_concurrent"),
    ("一张 L20 跑 qwen2.5-32b int4 8k 上下文最多支持多少人同时用", "most_concurrent"),
    ("最少几张 A100 才能推理 405B fp8", "fewest_cards"),
    ("how many H100s do I need to serve deepseek-r1 fp8", "fewest_cards"),
    ("smallest GPU for full finetune of qwen2.5-1.5b", "smallest_card"),
    ("14B QLoRA 最低要什么显卡", "smallest_card"),
]
PLAIN = [
    "qwen2.5 7b lora seq 4096 batch 4 on a 3090?",
    "how many GPUs does p4d.24xlarge have",
    "7B 32k 上下文在 A100 上够吗",
    "llama 3 8b, 20 concurrent users at 8k on an A10?",
    "how many tokens per second for llama 3 8b on an A10",
]


@pytest.mark.parametrize(("question", "goal"), ASKED)
def test_the_number_that_is_looked_for(question: str, goal: str) -> None:
    request = parse(question)
    assert request.goal == goal
    assert applies(request, Context())


@pytest.mark.parametrize("question", PLAIN)
def test_a_question_that_gives_the_number_is_no_inverse_one(question: str) -> None:
    assert parse(question).goal is None


def test_a_follow_up_asks_for_the_same_number() -> None:
    first = parse("qwen2.5 7b 部署在 A10 上并发最大多少")
    assert parse("换成 L20 呢", [first]).goal == "most_concurrent"


def test_a_batch_of_an_encoder_is_asked_for_to_train_it_in_the_size_given() -> None:
    slots = parse("bert-large seq512 batch 要多小才能放进 12G").slots
    assert (slots.task, slots.gpu_mem_gb, slots.need_gb) == ("train", 12, None)


@pytest.mark.parametrize(
    ("goal", "field", "run"),
    [
        ("largest_batch", "batch", {"model": "bert-large", "task": "train", "method": "full",
                                    "seq_len": 512, "gpu": "T4"}),
        ("most_concurrent", "concurrency", {"model": "Qwen2.5-14B", "task": "infer",
                                            "quantization": "awq", "seq_len": 4096,
                                            "gpu": "L40S"}),
        ("longest_context", "seq_len", {"model": "Qwen2.5-7B", "task": "train", "method": "lora",
                                        "batch": 1, "gpu": "A100 80GB"}),
    ],
)  # fmt: skip
def test_the_value_found_fits_and_the_next_does_not(
    goal: str, field: str, run: dict[str, object]
) -> None:
    tools = {tool.name: tool for tool in build_toolbox(Settings())}
    found = tools["find_limit"].call({**run, "goal": goal}).report
    assert isinstance(found, LimitReport)
    value = found.value
    assert value
    assert found.cautious is not None
    assert found.cautious <= value
    if found.cap is not None:
        return

    def need(number: int) -> tuple[int, int]:
        report = tools["estimate_memory"].call({**run, field: number}).report
        assert isinstance(report, MemoryReport)
        return report.process_bytes, report.pool_bytes or report.usable_bytes or 0

    at, usable = need(value)
    beyond, _ = need(value + 1 if field != "seq_len" else int(value * 1.02))
    assert at <= usable < beyond


def test_405b_in_fp8_takes_eight_a100() -> None:
    """405 GB of weights: over 640 GB of eight 80 GB cards, not over the 320 GB of four."""
    answer, _ = answered("最少几张 A100 才能推理 405B fp8")
    assert answer.text.startswith("**至少 8 张 NVIDIA A100 SXM4 80GB**")


def test_what_does_not_fit_is_told_with_what_would_make_it_fit() -> None:
    answer, _ = answered("max batch size for qwen2.5 7b lora seq 4096 on a 24GB 3090?")
    assert answer.verdict == "depends"
    assert "fused cross entropy" in answer.text


def test_fewer_cards_with_a_lighter_method_are_told_beside() -> None:
    answer, _ = answered("全是 16G 的卡,glm4-9b lora 几张卡能训")
    assert "QLoRA" in answer.text
    assert "ZeRO-3/FSDP" in answer.text


def test_full_fine_tuning_over_cards_is_searched_sharded() -> None:
    """16 bytes a parameter of 7B are 112 GB: over 80 a card whole, 14 over eight."""
    answer, _ = answered("8 张 A100 80G 全参 7B 最长能训多长的序列")
    assert answer.verdict == "fits"
    assert "ZeRO-3/FSDP" in answer.text
