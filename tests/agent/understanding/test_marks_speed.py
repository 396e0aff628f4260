"""What questions about time and rates say beyond their slots."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("speed.rate", "Phi-4 on an L4: how fast does it write?"),
        ("speed.rate", "gemma 9b 放 A10 上吞吐大概什么水平"),
        ("speed.rate", "L20 跑 32B 的生成速度"),
        ("speed.rate", "sdxl on a 4080, seconds per picture?"),
        ("speed.rate", "yolo 在 T4 上一秒能处理几张"),
        ("speed.rate", "T4 上 bge 每分钟多少条"),
        ("speed.rate", "what speed should I expect from a 3090"),
        ("speed.fit", "is one A40 enough for it"),
        ("speed.fit", "12G 的卡装得下不"),
        ("speed.first_token", "prefill takes ages on our box"),
        ("speed.first_token", "首 token 要等六秒"),
        ("speed.remedy", "how could we shorten that"),
        ("speed.remedy", "有没有办法压下来"),
        ("speed.in_all", "这些一共要跑几天"),
        ("speed.in_all", "how many hours would all of it be"),
        ("speed.of_memory", "resnet on coco, does the vram hold batch 64"),
        ("speed.of_memory", "显存会不会不够"),
        ("speed.halves_time", "will it scale linearly with cards"),
        ("speed.doubled", "卡数翻倍会怎样"),
        ("speed.deadline", "must be finished by friday"),
        ("speed.deadline", "今晚之前跑完"),
        ("speed.due", "tag them all in 6 hours"),
        ("speed.due", "这批图 3 小时内打完标签"),
        ("speed.how_fast", "来得及吗"),
        ("speed.how_fast", "how many cards for that"),
        ("speed.images", "two million product photos"),
        ("speed.images", "800万张要过一遍"),
        ("speed.layout", "64 张卡怎么切"),
        ("speed.layout", "which parallelism for 32 cards"),
        ("speed.mixture", "we pretrain a sparse MoE"),
        ("speed.mixture", "训一个混合专家"),
        ("speed.live", "live captions for 40 calls"),
        ("speed.live", "实时转写"),
        ("speed.live_lines", "30 路同时做识别"),
    ],
)
def test_words_give_the_mark(mark: str, text: str) -> None:
    assert mark in parse(text).marks


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("speed.rate", "download speed of the weights is poor"),
        ("speed.rate", "网络速度只有百兆"),
        ("speed.rate", "network latency between our two offices"),
        ("speed.rate", "磁盘读取速度太低"),
        ("speed.rate", "每秒 50 个请求"),
        ("speed.fit", "which outfit do the benchmarks come from"),
        ("speed.first_token", "the tokenizer is slow"),
        ("speed.due", "主机 24 核内存 64G"),
        ("speed.due", "the loss is low in general"),
        ("speed.images", "10 万条短文本"),
        ("speed.images", "用 8 张卡"),
        ("speed.mixture", "moeller's model"),
        ("speed.live", "deliver it tomorrow"),
        ("speed.of_memory", "resnet50 训 90 轮要多久"),
    ],
)
def test_near_words_do_not(mark: str, text: str) -> None:
    assert mark not in parse(text).marks


@pytest.mark.parametrize(
    ("text", "rates"),
    [("现在只有 35 tok/s", (35.0,)), ("from 20 tokens/s to 60 tokens/s", (20.0, 60.0)),
     ("20 cards in all", ())],
)  # fmt: skip
def test_rates_of_tokens_are_amounts(text: str, rates: tuple[float, ...]) -> None:
    assert parse(text).amounts.get("speed.tokens_per_s", ()) == rates


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("resnet101 on ILSVRC 2012", "imagenet-1k"),
        ("swin 在 ImageNet-22K 上预训练", "imagenet-21k"),
        ("cifar-100 跑 200 轮", "cifar"),
        ("yolo11s, MS COCO, 300 epochs", "coco"),
        ("fashion-mnist demo", "mnist"),
        ("cocoa beans classifier", None),
        ("vit-large on our own pictures", None),
    ],
)
def test_public_data_sets_are_named(text: str, name: str | None) -> None:
    assert parse(text).data_set == name


@pytest.mark.parametrize(
    ("text", "per_s"),
    [("it/s: 1.75, 9000 steps", 1.75), ("tqdm 显示 2.4 it/s", 2.4), ("iter/s 是 0.8", 0.8)],
)
def test_steps_a_second_are_read_before_and_behind(text: str, per_s: float) -> None:
    assert parse(text).slots.steps_per_s == per_s


@pytest.mark.parametrize(
    ("text", "each"),
    [
        ("bge-reranker-base, 12 QPS, each 40 passages, on an L4", 40),
        ("bge-reranker-v2-m3 每次请求 64 条候选, 每秒 9 次, T4", 64),
        ("bge-reranker-v2-m3 on an A10, 3 rps", None),
    ],
)
def test_what_one_request_ranks_is_no_work_in_all(text: str, each: int | None) -> None:
    slots = parse(text).slots
    assert (slots.items_per_request, slots.samples) == (each, None)


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("train a 3B on 300B tokens, 32 H100", "pretrain"),
        ("训一个 7B, 2T tokens, 512 张 H800", "pretrain"),
        ("train a 3B with lora on 300B tokens", "lora"),
        ("train a 7B on 40M tokens", "lora"),
        ("14B full with optimizer offload on 4x 3090", "full"),
        ("14B q4 full offload to the 3090", None),
    ],
)
def test_how_it_is_trained_follows_from_the_work(text: str, method: str | None) -> None:
    assert parse(text).slots.method == method
