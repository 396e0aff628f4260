"""What questions about sizes say beyond their slots, in wordings of many kinds."""

from __future__ import annotations

import pytest

from agent.understanding import parse

_SAID = {
    "largest_model": [
        "3090 单卡最大能微调到多少参数的模型", "两张 L20 上到哪个规模还行",
        "how big of a model can a 3080 Ti take", "the largest llm I can train on 4 V100s",
        "what size model does a 16 GB card run", "max model size for a single L4?",
    ],
    "kv_size": [
        "Yi-34B 的 KV 缓存在 16k 下要占多少", "帮我算一下 Mistral-7B 32k 的 kv cache",
        "how large is the KV cache of Gemma-2-9B at 8k", "Yi-6B key-value cache size please",
    ],
    "each_token": ["Yi-34B kv cache 单个 token 多少字节", "KV bytes for every token of Phi-3-mini"],
    "accumulates": [
        "batch 64 换成 batch 8 累积 8 步一样吗", "梯度累加会不会省显存",
        "accumulating gradients over 4 steps instead of batch 32", "grad_acc=16 vs bigger batch",
    ],
    "classifier": ["训个花卉图片分类", "a sentiment classifier for hotel reviews"],
    "of_texts": ["给短信做分类器", "classify support tickets"],
    "of_rows": ["表格数据的分类器", "a classifier over CSV rows"],
    "data_parallel": ["DDP 开了四卡", "with nn.DataParallel on two cards"],
    "wonders": ["为啥还是爆", "how come it stays the same"],
    "of_memory": ["装不下更大的", "the vram of one card"],
    "saved": ["每个 ckpt 都留着", "keep five checkpoints"],
    "checkpoint": [
        "Yi-34B 全参存一个断点要留多大盘", "disk needed for checkpoints of a Mistral-7B run",
        "how many GB is each ckpt of Phi-3-mini LoRA",
    ],
    "gpu_memory": ["存盘时显存会涨吗", "does gradient checkpointing help"],
    "several_copies": ["每两张卡一个服务", "two replicas behind a proxy", "DP=4 with vLLM"],
    "one_over_all": ["TP 开到 4", "one instance over all of them", "切到八张卡上"],
    "beyond_plain": [
        "DPO 比普通 SFT 显存高多少", "PPO 比起 lora 要多吃多少", "ORPO memory vs plain SFT",
        "how much more does GRPO take than ordinary fine-tuning",
    ],
}  # fmt: skip
_NOT_SAID = {
    "largest_model": [
        "3090 上 Yi-6B 最大 batch 多少", "the maximum context length on an L4 for this model",
        "max concurrency of the service", "4090 能跑 Yi-34B 吗",
    ],
    "kv_size": ["vLLM 报 KV cache 不够怎么办", "turn on the kv cache for generate()"],
    "each_token": ["生成一千个 token 要几秒", "price of a million tokens"],
    "accumulates": ["数据越攒越多,累积一下再训", "batch 16 fits?"],
    "classifier": ["文本生成模型微调", "an image generator"],
    "saved": ["开 gradient checkpointing 省多少", "activation checkpoint on, batch 4"],
    "checkpoint": ["从断点继续训练报错", "gradient checkpoint on: size of activations?"],
    "several_copies": ["keep two checkpoints", "备份一份数据"],
    "one_over_all": ["http 服务", "one machine is enough"],
    "beyond_plain": ["DPO 要多少显存", "LoRA or full fine-tuning"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("mark", "question"), [(mark, text) for mark, texts in _SAID.items() for text in texts]
)
def test_what_is_said_is_read(mark: str, question: str) -> None:
    assert parse(question).says(f"sizing.{mark}")


@pytest.mark.parametrize(
    ("mark", "question"), [(mark, text) for mark, texts in _NOT_SAID.items() for text in texts]
)
def test_what_only_sounds_alike_is_not(mark: str, question: str) -> None:
    assert not parse(question).says(f"sizing.{mark}")


@pytest.mark.parametrize(
    ("question", "batches", "steps"),
    [
        ("Yi-6B LoRA:batch 24 和 bs=6 累积 4 步效果一样吗", (24.0, 6.0), 4),
        ("batch size 32 versus micro batch 2 with 16 accumulation steps", (32.0, 2.0), 16),
        ("8步梯度累积,batch 2", (2.0,), 8),
        ("batch 4卡 3090", (), None),
    ],
)
def test_batches_and_steps(question: str, batches: tuple[float, ...], steps: int | None) -> None:
    request = parse(question)
    assert request.amounts.get("sizing.batches", ()) == batches
    assert request.slots.grad_accum == steps


@pytest.mark.parametrize(
    ("question", "width", "weights"),
    [
        ("Yi-34B AWQ,kv cache 量化成 int8,24k", "int8", "awq"),
        ("Gemma-2-27B with an 8-bit KV cache", "fp8", None),
        ("KV cache per token in FP8 for Phi-3-medium", "fp8", None),
        ("Yi-6B int4 kv cache 16k 多大", None, "int4"),
        ("不用 fp8 kv cache,Yi-6B 16k", None, None),
    ],
)
def test_width_of_the_cache_is_not_that_of_the_weights(
    question: str, width: str | None, weights: str | None
) -> None:
    slots = parse(question).slots
    assert (slots.kv_cache_dtype, slots.quantization) == (width, weights)
