"""Marks of questions about cards, terms and methods; what a text without a subject opens with."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("concepts.bf16", "does a P100 do bfloat16?"),
        ("concepts.bf16", "P40 能开 BF16 么"),
        ("concepts.fp8", "L4 有没有 FP8"),
        ("concepts.flash_attention", "can FA2 run on Turing"),
        ("concepts.flash_attention", "P100 上装得了 flash-attn 吗"),
        ("concepts.mig", "A30 切 MIG 能切几份"),
        ("concepts.memory_bandwidth", "HBM bandwidth of an MI300X"),
        ("concepts.memory_bandwidth", "L20 显存带宽多少"),
        ("concepts.bandwidth", "V100 带宽是多少"),
        ("concepts.compute", "how many TFLOPS has an L40"),
        ("concepts.nvlink", "are the cards NVLinked"),
        ("concepts.goes_on", "那 L20 呢"),
        ("concepts.goes_on", "and on an L20?"),
        ("concepts.said_same", "A10G 和 A10 是不是一回事"),
        ("concepts.said_same", "the L20 is just a rebadged L40, no?"),
        ("concepts.full_method", "全参微调和 LoRA 差多少"),
        ("concepts.lora_method", "LoRA or full fine-tuning"),
        ("concepts.qlora_method", "换成 Q-LoRA 省多少"),
        ("concepts.lora_method", "用 LoRA 不用 QLoRA"),
        ("concepts.work_of_cards", "L20 算力怎么样"),
        ("concepts.rate_of_memory", "逐字生成吃什么"),
        ("concepts.both_phases", "prefill 和 decode 各看什么"),
        ("concepts.puts_on_a_side", "L20 偏算力还是带宽"),
        ("concepts.puts_on_a_side", "is the L4 made for prefill?"),
        ("concepts.service", "can my desktop run Claude"),
    ],
)
def test_the_words_have_the_mark(mark: str, text: str) -> None:
    assert parse(text).says(mark)


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("concepts.mig", "migrate the job to another zone"),
        ("concepts.lora_method", "QLoRA 微调 7B"),
        ("concepts.qlora_method", "用 LoRA 不用 QLoRA"),
        ("concepts.lora_method", "full fine-tuning, not LoRA"),
        ("concepts.said_same", "A10 and T4, which is cheaper"),
        ("concepts.both_phases", "what does prefill mean"),
        ("concepts.puts_on_a_side", "T4 有多少显存"),
        ("concepts.goes_on", "does the T4 have NVLink"),
        ("concepts.memory_bandwidth", "10 Gbps 网络带宽够吗"),
    ],
)
def test_near_misses_lack_the_mark(mark: str, text: str) -> None:
    assert not parse(text).says(mark)


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("Hey there!", "greeting"), ("在吗", "greeting"), ("谢谢啦", None),
        ("will it run?", "unfinished"), ("够不够", "unfinished"),
        ("AI 入门配什么电脑", "machines_for_ai"), ("hi, 7B LoRA on a T4?", None),
        ("7B 在 A10 上能跑吗", None),
    ],
)  # fmt: skip
def test_what_a_text_opens_with(text: str, opening: str | None) -> None:
    assert parse(text).opening == opening


@pytest.mark.parametrize(
    ("text", "is_cap"),
    [
        ("vllm serve Qwen2.5-7B --max-num-seqs 64 on an L20", True),
        ("Qwen2.5-7B on an L20, max_num_seqs=64", True),
        ("Qwen2.5-7B on an L20 for 64 concurrent users", None),
    ],
)
def test_a_servers_own_limit_is_a_cap(text: str, is_cap: bool | None) -> None:
    request = parse(text)
    assert request.slots.concurrency == 64
    assert request.slots.concurrency_is_cap is is_cap


def test_a_cap_stays_in_a_follow_up_and_goes_with_another_number() -> None:
    first = parse("vllm serve Qwen2.5-7B --max-num-seqs 64 on an L20")
    longer = parse("and with seq 8192?", [first])
    assert longer.slots.concurrency_is_cap
    assert parse("what about 200 concurrent users?", [first]).slots.concurrency_is_cap is None


@pytest.mark.parametrize(
    "text",
    [
        "HFU 和 GPU 利用率不是一回事吧,训练还是慢",
        "is MFU the same thing as GPU utilization?",
        "显卡利用率跟 MFU 有啥区别,数据加载也不快",
    ],
)
def test_terms_told_apart_are_explained(text: str) -> None:
    assert parse(text).intent == "concept"


@pytest.mark.parametrize("text", ["GPU 利用率只有 20%,数据加载太慢", "GPU 利用率上不去,盘太慢"])
def test_a_low_use_is_no_question_of_terms(text: str) -> None:
    assert parse(text).intent != "concept"


@pytest.mark.parametrize(
    ("text", "near"),
    [("RTX 8090 能跑 14B 吗", "RTX 5090"), ("is the RTX 9080 Ti Super ok for 7B?", "SUPER")],
)  # fmt: skip
def test_a_made_up_card_is_told_with_the_nearest_real_ones(text: str, near: str) -> None:
    (value,) = parse(text).invalid
    assert near in value.allowed
    assert "不存在" in value.message_zh
    assert "no such card" in value.message_en


def test_a_trait_asked_behind_a_type_is_that_types() -> None:
    first = parse("g5.12xlarge on AWS, which GPUs?")
    second = parse("and how much vram together?", [first])
    assert second.slots.instance == "g5.12xlarge"
    assert second.intent == "catalog_lookup"
    assert parse("what does QLoRA mean", [first]).slots.instance is None
