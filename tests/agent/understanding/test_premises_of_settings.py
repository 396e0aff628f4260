"""What a setting is believed to do: accumulation taken for memory, a size of tensor parallelism."""

from __future__ import annotations

import pytest

from agent.understanding import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    "text",
    [
        "grad accum of 32 stacks up the gradients so memory grows 32 times, yes?",
        "梯度累积8步等于激活要存8份,我12G卡跑不了吧",
        "累积步数越大显存越大是吗,那我3060只能累积2步",
        "accumulation holds every micro batch's activations until the step, so I need an 80GB card",
        "gradient_accumulation_steps: 16 takes 16x the activations, my T4 will die",
        "梯度累积会把显存翻倍吧",
    ],
)
def test_accumulation_takes_no_memory(text: str) -> None:
    assert "accumulation" in {c.kind for c in parse(text).corrections}


@pytest.mark.parametrize(
    "text",
    [
        "梯度累积能省显存吗",
        "does gradient accumulation save memory compared with batch 32?",
        "accumulation does not multiply the activations, so batch 1 x 32 fits a T4?",
        "7B lora batch 1 累积16步,24G够吗",
        "will gradient accumulation increase training time",
        "batch 16 takes 16x the activations of batch 1, so use accumulation instead",
    ],
)
def test_accumulation_that_is_understood_is_left_alone(text: str) -> None:
    assert "accumulation" not in {c.kind for c in parse(text).corrections}


def test_a_feared_accumulation_is_answered_for_small_cards() -> None:
    answer, _ = answered("accumulating 64 steps keeps 64x the activations so my 8GB card cannot")
    assert answer.intent == "concept"
    assert "micro batch" in answer.text
    assert "A100" not in answer.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("6张3090跑Qwen2.5-72B-awq,tp=6,总共144G肯定够", "64"),
        ("3x A10, vllm llama-3.1-8b --tensor-parallel-size 3, should fit right", "32"),
        ("five A100s, qwen2.5-32b --tensor-parallel-size 5, plenty of memory", "8 KV"),
    ],
)
def test_a_size_that_does_not_divide_is_put_right(text: str, said: str) -> None:
    facts = [c.fact for c in parse(text).corrections if c.kind == "tp_heads"]
    assert len(facts) == 1
    assert said in facts[0]


@pytest.mark.parametrize(
    "text",
    [
        "4x 3090 llama-3.3-70b awq tp=4 fits right?",
        "can i use tp=3 for llama-3.1-8b on three A10",
        "llama-3.3-70b awq on 3x 3090 with --pipeline-parallel-size 3, enough?",
        "tp=3 失败:64 attention heads must be divisible by tensor parallel size 3,三张3090够大啊",
    ],
)
def test_a_size_that_divides_or_is_asked_is_not(text: str) -> None:
    assert "tp_heads" not in {c.kind for c in parse(text).corrections}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("slices_join", "can FSDP span three MIG slices of my H100? I plan 13B on them"),
        ("slices_join", "A100切两个MIG实例,显存加起来不就有40G了,13B能放"),
        ("slice_as_fast", "一个3g.20gb切片和整卡一样快吧,就是显存小点"),
        ("slice_as_fast", "a MIG slice runs at full speed, it only has less memory, right"),
        ("weights_and_cache", "gptq之后kv cache也变小一半,所以能开64k?"),
        ("weights_and_cache", "a Q4 GGUF also has a KV cache that is a quarter, no?"),
        ("batch_for_nothing", "the batch size has no effect on vram so I set 128 for bert"),
        ("batch_for_nothing", "批大小不影响显存吧,只是快慢"),
        ("batch_for_all", "doubling the batch size doubles the memory, so 24GB needs 48GB"),
        ("few_bits_train_faster", "4bit微调更快,因为权重小"),
        ("few_bits_train_faster", "nf4 training should be faster than 16 bit lora, right?"),
        ("rank_for_all", "rank 128 needs 16x the memory of rank 8 on my 3090"),
        ("engine_offloads", "sglang放不下的层会自动卸载到内存吧"),
        ("engine_offloads", "vllm will automatically offload to cpu what my 4090 cannot hold"),
        ("layers_in_turn", "llama.cpp在两张4090上速度翻倍对吧"),
        (
            "fp8_training_halves",
            "fp8 training makes optimizer states half the size, so 7B full fits",
        ),
    ],
)
def test_a_common_belief_is_put_right(kind: str, text: str) -> None:
    assert kind in {c.kind for c in parse(text).corrections}


_BELIEFS = {
    "slices_join", "slice_as_fast", "weights_and_cache", "batch_for_nothing", "batch_for_all",
    "few_bits_train_faster", "rank_for_all", "engine_offloads", "layers_in_turn",
    "fp8_training_halves",
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "one 7B awq on each MIG slice of an A100, do they fit in 1g.10gb?",
        "MIG slices cannot be used by DDP, so should I switch MIG off?",
        "AWQ 7B with --kv-cache-dtype fp8, is the kv cache half then?",
        "int4 权重,KV 缓存还是 16 位,32k 要多少显存",
        "quantised weights don't shrink the KV cache, so how large is it at 32k",
        "batch size doesn't change the weights, what does grow?",
        "how much memory does doubling the batch take for 7b lora",
        "qlora is slower than lora, by how much",
        "qlora 训练会不会更快",
        "rank 64 or rank 8, how much more memory for 7b lora",
        "vllm 70B awq on 48GB with --cpu-offload-gb 20",
        "ollama on two 3090s with 70B q4, does it fit",
        "fp8 training on H100, which batch fits for 7B full",
        "8bit 优化器省一半显存吗",
    ],
)
def test_near_misses_of_a_belief_are_left_alone(text: str) -> None:
    assert not {c.kind for c in parse(text).corrections} & _BELIEFS
