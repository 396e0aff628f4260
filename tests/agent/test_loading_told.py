"""A starved GPU: what the card takes, what that asks of disks and cores; text asks for little."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from tests.agent.answers import answer, answered
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


@pytest.mark.parametrize(
    ("question", "low_tb", "need"),
    [
        # 2 and 4 bytes a token; 50,000 tokens/s of 4 bytes a card are 0.2 MB/s
        ("pretraining on 2T pre-tokenized tokens with 32 GPUs: do we need Lustre?", 4, 6.4),
        ("16 张卡预训练,语料 4000 亿 token 已分词,放 NAS 读得动吗,够不够", 0.8, 3.2),
    ],
)
def test_tokens_are_little_to_read_and_checkpoints_are_not(
    question: str, low_tb: float, need: float
) -> None:
    told = answer(question)
    figures = _figures(told)
    assert told.intent == "io_bottleneck"
    assert figures["text need"] == pytest.approx(need)
    assert figures["data low"] == pytest.approx(low_tb)
    assert figures["checkpoint"] == pytest.approx(98)  # 7 B parameters of 14 bytes


@pytest.mark.parametrize(
    ("question", "of_a_core"),
    [
        # 700 images/s on 4 cards over 32 cores; 600 on one over 8
        (
            "4x A100, 32 vCPU, resnet50 from jpegs: benchmarks say 2400 img/s a card, I get 700",
            87.5,
        ),
        ("单张 A100 训 resnet50 原图 jpg,8 核,官方标称 2500 张/秒,我这只有 600", 75),
    ],
)
def test_a_rate_below_the_promised_one_is_set_against_the_cores(
    question: str, of_a_core: float
) -> None:
    told = answer(question)
    assert told.intent == "io_bottleneck"
    assert _figures(told)["rate of a core"] == pytest.approx(of_a_core)
    assert "DALI" in told.text


def test_cores_that_do_little_are_not_what_holds_a_job_back() -> None:
    told = answer("1x A100, 64 vCPU, resnet50 from jpegs: supposed to be 2400 img/s, I'm at 500")
    assert "cores are left over" in told.text


@pytest.mark.parametrize("store", ["EFS", "NAS"])
def test_images_on_a_named_store_are_about_loading_and_not_about_memory(store: str) -> None:
    told = answer(f"resnet50 on 4 A100 with imagenet on {store}, will it keep up?")
    assert told.intent == "io_bottleneck"
    assert _figures(told)["NVIDIA A100 SXM4 80GB: images"] > 1000
