"""Time left, cards for a deadline, rates of models that write no text, what bounds decoding."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from agent.toolbox.decode import decode_bound
from agent.toolbox.items import ItemArguments, ItemReport, item_speed, kind_of
from tests.agent.answers import answered
from tools.errors import UnsupportedError


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


def test_time_left_is_the_steps_left_times_the_pace() -> None:
    """(12,600 - 900) * 3.4 s = 39,780 s = 11.05 h."""
    answer, _ = answered("log says 3.4 s/it, 12,600 steps total, I'm at step 900. ETA?")
    assert _figure(answer, "hours_left") == pytest.approx(11.05)
    assert "11.1 hours" in answer.text


def test_a_pasted_progress_bar_and_a_price_give_the_money_that_is_left() -> None:
    """(10,000 - 2,310) * 2 s = 4.272 h, at 9 an hour 38.45."""
    answer, _ = answered("23%|## | 2310/10000 [1:17:00<4:16:20, 2.0s/it] 还要多久 机器 9 块一小时")
    assert _figure(answer, "cost_left") == pytest.approx(38.45)


def test_a_deadline_is_a_rate_and_a_rate_is_cards() -> None:
    """2,000,000 / 86,400 s = 23.15 a second; at 5 a second and card that is 5 cards."""
    answer, _ = answered(
        "label 2M images within 24h, one T4 does 5 images/s of this, how many T4s?"
    )
    assert _figure(answer, "rate_needed") == pytest.approx(23.148, abs=1e-3)
    assert _figure(answer, "cards") == 5


def test_sam_is_slower_than_a_classifier_of_its_size() -> None:
    """2.98 TMAC an image against 0.167 of ViT-H at 224 pixels."""
    sam = item_speed(ItemArguments(model="facebook/sam-vit-huge", gpu="T4"))
    vit = item_speed(ItemArguments(model="timm/vit_huge_patch14_224", gpu="T4"))
    assert sam.per_s.value < vit.per_s.value / 8
    assert 1.5 < sam.per_s.value < 6


@pytest.mark.parametrize(
    ("model", "kind"),
    [("resnet50", "image"), ("yolov8x", "image"), ("whisper-large-v3", "speech"),
     ("bge-m3", "text"), ("Qwen2.5-7B", None), ("SDXL", "image")],
)  # fmt: skip
def test_a_model_is_timed_in_what_it_handles(model: str, kind: str | None) -> None:
    assert kind_of(model) == kind


def test_a_model_that_writes_text_has_no_item_speed() -> None:
    with pytest.raises(UnsupportedError):
        item_speed(ItemArguments(model="Qwen2.5-7B", gpu="A10"))


def test_hours_of_a_training_on_images_are_images_times_epochs_over_the_rate() -> None:
    answer, results = answered("1.2M 张图 resnet50 训 90 轮 4 张 A10 要多久")
    rate = next(r.report.per_s.value for r in results if r.name == "item_speed")  # type: ignore[union-attr]  # an item report
    assert _figure(answer, "hours value") == pytest.approx(1.2e6 * 90 / rate / 3600)


def test_live_speech_depends_on_throughput_and_says_how_many_streams() -> None:
    answer, _ = answered("实时语音识别 同时50路 用faster-whisper large-v3 int8 一张A10 hold住吗")
    assert answer.verdict == "depends"
    times, streams = _figure(answer, "times real time value"), _figure(answer, "streams value")
    assert streams == pytest.approx(times / 30 * 5)


def test_one_stream_is_bound_by_bandwidth_over_the_bytes_of_a_token() -> None:
    """Qwen3-8B in 16 bit: 7.57 G parameters are read a token (the input table is not), 15.1 GB;
    1,008 GB/s of an RTX 4090 over that are about 67 tokens/s."""
    bound = decode_bound(gpu="RTX 4090", model="Qwen3-8B", params_b=None, form="fp16", cards=1)
    assert bound.read_bytes == pytest.approx(15.1e9, rel=0.02)
    assert bound.tokens_per_s == pytest.approx(bound.bandwidth_gb_s * 1e9 / bound.read_bytes)
    assert 63 < bound.tokens_per_s < 70


def test_a_mixture_reads_its_active_share() -> None:
    dense = decode_bound(gpu="A100", model="Qwen3-32B", params_b=None, form="bf16", cards=1)
    sparse = decode_bound(gpu="A100", model="Qwen3-30B-A3B", params_b=None, form="bf16", cards=1)
    assert sparse.tokens_per_s > 6 * dense.tokens_per_s


def test_an_answer_about_decode_speed_says_why() -> None:
    answer, _ = answered("qwen3-8b fp16 放在一张4090上 vllm，单流大概多少token每秒")
    assert "GB/s" in answer.text
    assert "带宽" in answer.text


def test_images_through_clip_are_timed_by_its_vision_transformer() -> None:
    images = item_speed(
        ItemArguments(model="openai/clip-vit-large-patch14", gpu="L4", item="image")
    )
    tower = item_speed(ItemArguments(model="vit_large_patch14_224", gpu="L4"))
    assert (images.kind, images.per_s) == ("image", tower.per_s)


def test_cards_for_a_deadline_by_the_cards_own_rate() -> None:
    """8,000,000 / 72,000 s = 111 a second."""
    answer, results = answered(
        "8M product photos to embed with CLIP ViT-L/14 by tomorrow (20 hours), how many L4?"
    )
    rate = next(r.report.per_s.value for r in results if r.name == "item_speed")  # type: ignore[union-attr]  # an item report
    assert _figure(answer, "rate_needed") == pytest.approx(111.11, abs=0.01)
    assert _figure(answer, "cards") == -(-111.11 // rate)


def test_a_model_that_misses_the_card_says_so_before_its_speed() -> None:
    answer, _ = answered("FLUX.1-dev 4090 一张图多久")
    assert answer.verdict == "does_not_fit"
    assert answer.text.startswith("**显存放不下**")


def test_a_rate_written_behind_its_unit_gives_the_time_left() -> None:
    """18,000 steps at 1.8 a second are 10,000 s."""
    answer, _ = answered("训练日志 it/s=1.8，总步数 30000，已经跑了 12000 步，还剩多久")
    assert _figure(answer, "hours_left") == pytest.approx(10_000 / 3600, rel=1e-3)


def test_a_video_is_timed_by_its_lines_and_frames() -> None:
    # 720p is read as the side of the square with as many pixels, 960
    long = item_speed(ItemArguments(model="HunyuanVideo", gpu="H100", image_px=960, frames=129))
    assert (long.kind, long.size, long.frames) == ("video", "1280x720", 129)
    # 1,904 s by xDiT's table
    assert 1 / long.per_s.high < 1904 < 1 / long.per_s.low
    short = item_speed(ItemArguments(model="HunyuanVideo", gpu="H100", image_px=640, frames=61))
    assert short.per_s.value > 4 * long.per_s.value


def test_cards_that_share_a_video_are_slower_over_pcie_and_8_bit_makes_it_depend() -> None:
    answer, results = answered("4张4090跑wan2.1 14B 720p 视频要多久")
    report = results[0].report
    assert isinstance(report, ItemReport)
    assert report.shared_s is not None
    assert (report.kind, report.link, report.fits_in_8_bit) == ("video", "pcie", True)
    one_s = 4 / report.per_s.value
    assert one_s / 4 < report.shared_s.value < one_s / 2
    assert answer.verdict == "depends"
    assert "PCIe" in answer.text
