"""Labels and values in a row: each number keeps its own word, whichever of the two comes first."""

from __future__ import annotations

from typing import Any

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("7B 推理 并发 64 上下文 32k", {"concurrency": 64, "seq_len": 32_768}),
        ("7B 推理 上下文 32k 并发 64", {"concurrency": 64, "seq_len": 32_768}),
        ("7B 推理 64 并发 32k 上下文", {"concurrency": 64, "seq_len": 32_768}),
        ("7B 推理 并发 64 32k 上下文", {"concurrency": 64, "seq_len": 32_768}),
        ("serve 8b concurrency 64 context 32k", {"concurrency": 64, "seq_len": 32_768}),
        ("serve 8b 64 concurrent 32k ctx", {"concurrency": 64, "seq_len": 32_768}),
        ("8b users 30 ctx 8192 output 500",
         {"concurrency": 30, "seq_len": 8192, "output_len": 500}),
        ("8b 30 users 8192 ctx 500 output",
         {"concurrency": 30, "seq_len": 8192, "output_len": 500}),
        ("7b lora bs 8 seq 4096 lr 1e-4", {"batch": 8, "seq_len": 4096, "runs": None}),
        ("7b 支持 20 人 上下文 8k", {"concurrency": 20, "seq_len": 8192}),
        ("7b 推理 支持 32k 上下文吗", {"concurrency": None, "seq_len": 32_768}),
        ("7b a100 多少并发 32k 上下文", {"concurrency": None, "seq_len": 32_768}),
        ("8b a100 how many concurrent users 4096 context",
         {"concurrency": None, "seq_len": 4096}),
    ],
)  # fmt: skip
def test_neighbours_share_their_numbers_out(text: str, wanted: dict[str, Any]) -> None:
    slots = parse(text).slots.model_dump()
    assert {name: slots[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("serve 8b, in 4k out 1k", (4096, 1024)),
        ("serve 8b, 2k in / 500 out", (2048, 500)),
        ("7B 推理 输入/输出 2k/512", (2048, 512)),
        ("serve 8b 1000 in and 200 out", (1000, 200)),
        ("train 7b in 8 hours", (None, None)),
    ],
)
def test_tokens_in_and_out(text: str, tokens: tuple[int | None, int | None]) -> None:
    slots = parse(text).slots
    assert (slots.input_len, slots.output_len) == tokens


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("2x3090 with nvlink, can I qlora 70b at 2048?", 2048),
        ("lora 8b at 8192 on a 4090", 8192),
        ("lora 8b @512 on a T4", 512),
        ("13B lora, bs 1, 4096", 4096),
        ("7B lora 8192 samples", None),
        ("rent at 512 a month for a 7b", None),
    ],
)
def test_a_length_without_a_word_beside_it(text: str, length: int | None) -> None:
    assert parse(text).slots.seq_len == length


def test_pixels_of_a_picture_model_are_no_tokens() -> None:
    slots = parse("flux lora at 1024 on a 4090").slots
    assert (slots.img_size, slots.seq_len) == (1024, None)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("llama 4 scout 10M context on 8xH100",
         {"model": "meta-llama/Llama-4-Scout-17B-16E-Instruct", "seq_len": 10_000_000}),
        ("qwen2.5 7b 128k 上下文 A100", {"model": "Qwen/Qwen2.5-7B", "seq_len": 131_072}),
        ("mlx qwen2.5 32b 4bit tokens per sec on m3 max",
         {"model": "Qwen/Qwen2.5-32B", "quantization": "int4", "tokens": None}),
        ("7B pretrain on 30B tokens", {"tokens": 30_000_000_000}),
        ("7B 训 1.5T token", {"tokens": 1_500_000_000_000}),
    ],
)  # fmt: skip
def test_a_length_or_a_width_is_no_size(text: str, wanted: dict[str, Any]) -> None:
    slots = parse(text).slots.model_dump()
    assert {name: slots[name] for name in wanted} == wanted
