"""A starved GPU: what the card takes, what that asks of disks and cores; text asks for little."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from tests.agent.answers import answered
from tools.speed import ImageJob, image_speed


def _figures(answer: Answer) -> dict[str, float]:
    return {f.name: float(f.value) for f in answer.figures}


def test_without_a_card_common_ones_are_told_for_a_named_yardstick() -> None:
    answer, _ = answered("imagenet 训练 GPU 利用率 30% 怎么办")
    figures = _figures(answer)
    rate = image_speed(ImageJob(gpu="A100", model="resnet50", task="train")).samples_per_s.value
    assert figures["A100: images"] == pytest.approx(rate)
    assert figures["A100: disk"] == pytest.approx(rate * 110 / 1000)  # 110 kB an ImageNet file
    assert figures["A100: cores value"] == pytest.approx(
        rate / 150, rel=0.06
    )  # 150 images/s a vCPU
    assert any(a.name == "image_model" and a.value == "resnet50" for a in answer.assumptions)
    assert any("2605.08731" in c.id for c in answer.citations)
    assert "ESSD PL1 350 MB/s" in answer.text


def test_a_named_machine_gets_its_slowest_stage() -> None:
    answer, _ = answered("4 张 A100 训练 resnet50,imagenet,16 核,GPU 利用率只有 40%")
    figures = _figures(answer)
    rate = image_speed(ImageJob(gpu="A100", model="resnet50", task="train")).samples_per_s.value
    assert figures["busy"] == pytest.approx(16 * 150 / (4 * rate))
    assert figures["images that arrive"] == pytest.approx(0.4 * 4 * rate)
    assert "CPU 解码" in answer.text
    assert not any(a.name == "image_model" for a in answer.assumptions)


def test_text_is_too_small_to_starve_a_card() -> None:
    answer, _ = answered("微调 Qwen2.5-7B 时 GPU 利用率只有 30% 怎么办")
    assert _figures(answer)["text need"] == pytest.approx(0.4)  # 100,000 tokens/s of 4 B
    assert "张/秒" not in answer.text


def test_a_rate_that_was_said_is_not_computed() -> None:
    answer, _ = answered("每张卡每秒要 1400 张图,每张 150KB,利用率上不去,存储要多快")
    assert _figures(answer)["throughput"] == pytest.approx(210)


def test_storage_by_capacity_says_how_much_to_buy() -> None:
    answer, _ = answered("ImageNet 用 CPFS 还是 ESSD,8 卡 A100")
    figures = _figures(answer)
    # 100 MB/s a TiB: 0.1 MB/s a GiB
    assert figures["capacity for the throughput"] == pytest.approx(
        figures["disk_needed"] / 0.1 / 1024, rel=0.05
    )
    assert answer.intent == "io_bottleneck"


def test_an_object_store_is_told_for_a_card_and_no_disk_is_made_of_it() -> None:
    answer, results = answered("S3 直接训练 imagenet 会不会慢")
    assert all(result.ok for result in results)
    assert "S3" in answer.text.splitlines()[2]
