"""Pictures and cards are both counted in 张; amounts of data with words between; speeds."""

from __future__ import annotations

import pytest

from agent.understanding.parser import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("sdxl 出图 1000张 4090 要多久", {"samples": 1000, "gpu_count": 1}),
        ("flux 出 50 张 A100 多长时间", {"samples": 50, "gpu_count": 1}),
        ("sdxl 一次出 4 张 4090 够吗", {"batch": 4, "gpu_count": 1}),
        ("resnet50 8张 V100 训练", {"samples": None, "gpu_count": 8}),
        ("用 128 张 A100 训练 7B", {"samples": None, "gpu_count": 128}),
        ("qlora llama3 8b, 60k dolly samples, 2 epochs", {"samples": 60_000, "epochs": 2}),
        ("embed 3 million passages 256 tokens with bge-m3",
         {"samples": 3_000_000, "tokens_per_sample": 256}),
        ("yolov8m 一秒处理 300 张图 T4", {"samples": None, "request_rate_per_s": 300}),
    ],
)  # fmt: skip
def test_what_is_counted(text: str, slots: dict[str, float | None]) -> None:
    read = parse(text).slots
    assert {name: getattr(read, name) for name in slots} == slots


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("llama3 70b H100 fp8 x2", 2),
        ("qwen2.5 72b A100 80G int4 x4 能跑吗", 4),
        ("qwen 7b 4090 batch x2", 1),
    ],
)
def test_a_multiplication_behind_the_settings_counts_the_card(text: str, count: int) -> None:
    assert parse(text).slots.gpu_count == count


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("yolov8m L4 每秒多少张", "每秒"),
        ("sd1.5 3060 一分钟能出几张", "每分钟"),
        ("sdxl 3090 速度", "秒一张图"),
        ("whisper medium T4 speed", "real time"),
        ("qwen2.5 14b int4 4090 速度", "token/s"),
        ("qwen2.5 7b lora 4090 训练速度", "token/s"),
    ],
)
def test_a_speed_that_is_asked_for_stands_in_the_first_lines(text: str, told: str) -> None:
    answer, _ = answered(text)
    assert told in "\n".join(answer.text.split("\n\n")[:2])
    assert "至少 1 张" not in answer.text
