"""Numbers, amounts, counts and words, as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from agent.understanding import parse
from agent.understanding.lexicon.numerals import parse_number
from agent.understanding.lexicon.text import Document, fold


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("120_000", 120_000), ("1,234,567", 1_234_567), ("8k", 8000), ("1.5万", 15_000),
        ("七十亿", 7e9), ("两百五十", 250), ("十", 10), ("二零四八", 2048), ("半", 0.5),
        ("3千万", 3e7), ("12w", 120_000), ("-4", -4), ("dozen", 12), ("abc", None),
        ("9" * 400, None), ("", None),
    ],
)  # fmt: skip
def test_written_number(written: str, value: float | None) -> None:
    assert parse_number(written) == value


@pytest.mark.parametrize(
    ("written", "tokens"),
    [
        ("2k", 2048), ("8K", 8192), ("32k", 32768), ("128k", 131072), ("120k", 120_000),
        ("10k", 10_000),
    ],
)  # fmt: skip
def test_thousands_of_tokens(written: str, tokens: int) -> None:
    assert parse_number(written, kibi=True) == tokens


def slots(text: str) -> dict[str, Any]:
    return parse(text).slots.model_dump(exclude_none=True)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("7B lora 8K上下文", {"seq_len": 8192}),
        ("7b 128k ctx 推理", {"seq_len": 131072}),
        ("7b model_max_length 1024 训练", {"seq_len": 1024}),
        ("7b 训练 序列长度 4096 梯度累积 8 bs=2", {"seq_len": 4096, "grad_accum": 8, "batch": 2}),
        ("4k ctx 32 users on a 7b", {"seq_len": 4096, "concurrency": 32}),
        ("7b 输入512输出256 32并发", {"input_len": 512, "output_len": 256, "concurrency": 32}),
        ("7b batch size of 16, seq 2k", {"batch": 16, "seq_len": 2048}),
        ("支持100人同时用 7b", {"concurrency": 100}),
        ("7b 推理 QPS 20", {"request_rate_per_s": 20.0}),
        ("训练 8.68s/iter 10个epoch", {"step_s": 8.68, "epochs": 10.0}),
        ("52k条数据 训7B", {"samples": 52_000}),
        ("imgsz=1280 yolov8n 训练", {"img_size": 1280}),
        ("vllm tp=4 pp=2 70b", {"tp": 4, "pp": 2}),
        ("7b lora r=16", {"lora_rank": 16}),
        ("CUDA OOM 训 7B 主机内存 64G", {"host_ram_gb": 64.0}),
        ("8卡4090 600G RAM 跑 r1", {"host_ram_gb": 600.0, "gpu_count": 8}),
        ("1T内存 能跑 671B 吗", {"host_ram_gb": 1000.0}),
        ("7b 训练 显存24 内存64", {"gpu_mem_gb": 24.0, "host_ram_gb": 64.0}),
        ("24g显存 跑 7b", {"gpu_mem_gb": 24.0}),
        ("4 x 16G 跑 7b", {"gpu_mem_gb": 16.0, "gpu_count": 4}),
        ("80GB *4 训 7b", {"gpu_mem_gb": 80.0, "gpu_count": 4}),
        ("3台8卡L20 部署 671B", {"nodes": 3, "gpu_count": 24}),
        ("两台 H100*8 训 70B", {"nodes": 2, "gpu_count": 16}),
        ("16 gpus on two nodes, training is slow", {"nodes": 2, "gpu_count": 16}),
        ("8×22B 推理", {"params_b": 140.6}),
        ("30B-A3B int4", {"params_b": 30.5321}),
        ("70亿参数 微调", {"params_b": 7.0, "method": "lora"}),
        ("七十亿模型 推理", {"params_b": 7.0}),
        ("500M参数的模型 训练", {"params_b": 0.5}),
        ("7B full parameter finetune", {"method": "full"}),
        ("7b 4bit lora", {"method": "qlora"}),
        ("7b 增量预训练 lora", {"method": "cpt+lora"}),
        ("dpo qlora 7b", {"method": "dpo+qlora"}),
        ("zero3 offload 训 30B", {"method": "full", "zero_stage": 3, "offload": True}),
        ("7b 推理 --cache-type-k=q8_0", {"kv_cache_dtype": "q8_0"}),
        ("7b 训练 gradient checkpointing 开了", {"gradient_checkpointing": "full"}),
        ("租A10 预算5000一个月", {"budget": {"amount": 5000, "currency": "CNY", "per": "month"}}),
        ("A10 ¥10/h 贵吗", {"price": {"amount": 10, "currency": "CNY", "per": "hour"}}),
        ("A10 at $0.99 per hour", {"price": {"amount": 0.99, "currency": "USD", "per": "hour"}}),
        ("抢占式 打2折 A10", {"billing": "spot", "discount": 0.2}),
        ("7*24小时开着 A10 多少钱", {"hours": 720.0}),
        ("7b run on my m4 16GB mac", {"host_ram_gb": 16.0, "gpu": "Apple M4"}),
        ("7B vllm 在 昇腾910B 上部署", {"gpu": "Huawei Ascend 910B 64GB"}),
    ],
)  # fmt: skip
def test_slots_read_from_a_clause(text: str, wanted: dict[str, Any]) -> None:
    found = slots(text)
    for slot, value in wanted.items():
        given = found.get(slot)
        if isinstance(value, float):
            assert given == pytest.approx(value, rel=0.05 if slot == "params_b" else 1e-6), (
                slot,
                found,
            )
        else:
            assert given == value, (slot, found)


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("gn7i-c32g1.8xlarge 怎么样", "params_b"), ("gn7i-c32g1.8xlarge 跑 7B", "gpu_count_8"),
        ("vGPU-32G 是什么", "params_b"), ("max_length 2080 7b 训练", "gpu"),
        ("8000 samples 7b lora", "gpu"), ("7b 训练 bf16 kv cache int8", "quantization"),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_slot_is_none(text: str, slot: str) -> None:
    found = slots(text)
    if slot == "gpu_count_8":
        assert found.get("gpu_count") != 8
    else:
        assert slot not in found


def test_full_width_and_traditional_text_reads_like_plain_text() -> None:
    assert slots("７Ｂ 微調 ２張Ａ１０ 顯存夠嗎") == slots("7B 微调 2张A10 显存够吗")


def test_invisible_characters_do_not_hide_a_name() -> None:
    assert slots("7\u200bB lo\u200bra A\u200b10") == slots("7B lora A10")


def test_spans_point_into_the_original_text() -> None:
    text = "７Ｂ\u200b 模型 LoRA 在 Ａ１０ 上"
    request = parse(text)
    assert request.spans["params_b"].text == "７Ｂ"
    assert request.spans["gpu"].text == "Ａ１０"


def test_folding_keeps_the_way_back() -> None:
    folded, places = fold("Ａ１０\u200bx４")
    assert folded == "a10x4"
    assert places == [0, 1, 2, 4, 5]


def test_long_text_is_read_at_head_tail_and_telling_lines() -> None:
    middle = "x " * 40_000
    document = Document.of("7B " + middle + "CUDA out of memory here" + middle + " A10")
    assert "cuda out of memory here" in document.text
    assert document.text.startswith("7b ")
    assert document.text.rstrip().endswith("a10")
    start = document.text.index("cuda out")
    assert document.span(start, start + 8).text == "CUDA out"


def test_inferred_slots_are_told_apart_from_said_ones() -> None:
    request = parse("微调 Qwen2.5-7B 用 A10")
    assert {"params_b", "gpu_count", "method"} <= set(request.inferred)
    assert "gpu" not in request.inferred
    assert "method" not in parse("LoRA 微调 Qwen2.5-7B").inferred


def test_family_without_size_asks_for_the_size() -> None:
    request = parse("千问 LoRA 微调 用 A10 够吗")
    assert request.clarifying_question is not None
    assert "model" in request.ambiguities


def test_two_cards_set_against_each_other_are_compared() -> None:
    request = parse("微调 7B 用 V100 32G 还是 A10 好")
    assert request.slots.gpus == ("Tesla V100 SXM2 32GB", "NVIDIA A10")
    assert request.slots.gpu is None
    assert request.intent == "gpu_compare"


def test_card_named_in_passing_leaves_the_first_one_meant() -> None:
    request = parse("7B lora 放 colab T4 加载半天没动静,本地的 2080ti 会好点吗")
    assert request.slots.gpu == "Tesla T4"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("7b int8 长度4096 并发2", {"seq_len": 4096, "concurrency": 2}),
        ("4k ctx 32 users llama 3 8b", {"seq_len": 4096, "concurrency": 32}),
        ("sdxl 1024x1024 batch 4, 3090 ok?", {"img_size": 1024, "batch": 4}),
        ("unet 1920*1080 分辨率", {"img_size": 1920}),
        ("7b full b1 s1024", {"batch": 1, "seq_len": 1024}),
        ("14b 两三个人用", {"concurrency": 3}),
        ("30b 二十来个医生用", {"concurrency": 20}),
        ("8b 单并发", {"concurrency": 1}),
        ("how many concurrent 4k-token chats for 14b", {"seq_len": 4096}),
        ("7b on 16 gigs", {"gpu_mem_gb": 16.0}),
        ("10万张图 训 resnet50", {"samples": 100_000}),
        ("34b zero3 参数卸载", {"offload": True}),
        ("full precision.. no sorry I mean bf16, 7b", {"precision": "bf16"}),
        ("7b adamw with fp32 states, bf16 compute", {"precision": "bf16"}),
        ("两节点每节点8张H100 13b", {"gpu_count": 16, "nodes": 2}),
    ],
)
def test_numbers_go_to_the_words_they_belong_to(text: str, wanted: dict[str, Any]) -> None:
    found = slots(text)
    assert {name: found.get(name) for name in wanted} == wanted


def test_what_is_not_done_is_no_slot() -> None:
    assert "offload" not in slots("qwen2.5-7b zero3不offload")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("我们的模型-7B 能在 A10 上跑吗", 7), ("`MyModel`-7B LoRA on A10?", 7),
        ('Can "Foo"-13B run on A10?', 13), ("《星辰》-1.5B 推理", 1.5),
        ("a -7B model on A10", -7), ("-7B 能在 A10 上跑吗", -7), ("参数量是-7B 能跑吗", -7),
        ("params=-7B on A10", -7),
    ],
)  # fmt: skip
def test_a_hyphen_behind_a_name_is_no_minus(text: str, size: float) -> None:
    assert parse(text).slots.params_b == size
