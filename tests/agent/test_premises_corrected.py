"""A premise that does not hold is among the answer's corrections and told in its text."""

from __future__ import annotations

import pytest

from agent.understanding.data import load
from tests.agent.answers import answered

_ASKED = {
    "card_size": ("7B 微调在 A10 40G 上够吗", "Can I LoRA a 7B on an A10 with 48GB?"),
    "nvlink": ("两张 A10 用 NVLink 连起来跑 13B", "Two A10 with NVLink, can I serve a 14B model?"),
    "pooled_memory": (
        "8×A10=192 GB,70B 全参肯定能放下吧",
        "8x A10 = 192 GB, so 70B full fine-tuning fits, right?",
    ),
    "pooled_phrase": (
        "两张 3090 显存会自动合并吗,想跑 34B",
        "do two 3090s combine VRAM into one for a 34B model?",
    ),
    "bf16": ("V100 开 bf16 训练 llama3-8b LoRA", "fine-tune 7B in bf16 on a T4?"),
    "fp8": ("A100 跑 fp8 的 Qwen2.5-32B", "run Qwen2.5-32B fp8 on an A100 80GB"),
    "flash_attention": (
        "T4 用 flash attention 2 微调 7B",
        "flash-attention-2 on a V100 for 7B LoRA?",
    ),
    "mig": ("A10 切 MIG 给两个人用", "can I split an A10 by MIG for two people?"),
    "cpu_family": (
        "阿里云 g7 能训练 7B 吗",
        "use an Alibaba ecs.g6.8xlarge GPU instance for training a 7B",
    ),
    "same_name": ("阿里云 g6 和 AWS g6 是一样的吗", "is g6 on Alibaba the same as g6 on AWS?"),
    "unknown_instance": ("gn7i-gpu8 能跑 70B 吗", "does ecs.gn7i-gpu8 run a 70B?"),
    "active_params": (
        "DeepSeek-V3 只激活 37B,一张 80G A100 够吧",
        "Mixtral 8x7B only activates 13B so 24GB in fp16 is enough?",
    ),
    "spot_safe": (
        "抢占式实例不会被释放吧,训练三天",
        "spot is safe and never interrupted, training for 3 days on A10",
    ),
    "too_little_claimed": (
        "70B fp16 推理 40GB 显存就够了吧",
        "70B in fp16 with 40GB is enough, right?",
    ),
    "no_nvidia": ("没有N卡就跑不了大模型吗", "I have no NVIDIA GPU, can I run an LLM at all?"),
    "kv_heads": (
        "Qwen2.5-7B 28 个头能被 7 整除,tp=7 可以吗",
        "Qwen2.5-7B has 28 heads divisible by 7, so tp=7 works?",
    ),
    "host_ram": (
        "训练被 Killed 了 exit code -9,是显存不够吧",
        "training got Killed, exit code -9, is the GPU memory too small?",
    ),
    "label_gib": (
        "A10 标 24G 为什么只有 22G",
        "why does my A10 only show 22.5 GiB instead of 24?",
    ),
    "full_on_quantized": (
        "int4 量化的 7B 全参微调要多少显存",
        "full fine-tuning of a 4-bit quantized 7B, how much memory?",
    ),
    "accumulation": (
        "梯度累积 8 步显存会翻 8 倍吗,7B LoRA",
        "gradient accumulation uses more memory, right? 7B LoRA accumulation 8",
    ),
    "linear_scaling": (
        "8 张 A100 就是 8倍速度吧,训练 7B",
        "8 GPUs give linear speedup for 7B training, right?",
    ),
    "low_rank_free": (
        "LoRA不需要加载整个底座吧,7B LoRA 4G 显存够吗",
        "LoRA only loads the adapter, so 7B LoRA fits 4GB?",
    ),
    "slice_is_card": (
        "ecs.vgn6i-m4-vws.xlarge 是一整张 T4 吗",
        "is ecs.vgn6i-m4-vws.xlarge a whole T4?",
    ),
    "cpu_cannot_train": ("CPU不能训练神经网络对吧", "CPU can't train neural networks, right?"),
    "unified_all": (
        "M2 16G 统一内存都能当显存用吧,跑 13B",
        "M2 16GB: all of the unified memory for the GPU, can I run 13B?",
    ),
}


@pytest.mark.parametrize(
    ("row", "question"), [(row, text) for row, texts in _ASKED.items() for text in texts]
)
def test_a_false_premise_is_corrected_in_field_and_text(row: str, question: str) -> None:
    answer, _ = answered(question)
    assert row in load("premises")
    assert answer.corrections
    assert all(c.fact and c.premise and c.source for c in answer.corrections)
    told = [c for c in answer.corrections if c.fact.rstrip("。.")[:30] in answer.text]
    assert told, [c.fact for c in answer.corrections]


def test_a_property_that_is_denied_is_no_premise() -> None:
    answer, _ = answered("A10 没有 NVLink,两张跑 14B 推理慢吗")
    assert not any("NVLink" in c.premise for c in answer.corrections)


def test_what_the_card_lacks_is_said_once() -> None:
    answer, _ = answered("T4 用 bf16 微调 7B 可以吗")
    assert answer.text.count("计算能力 7.5") == 1
