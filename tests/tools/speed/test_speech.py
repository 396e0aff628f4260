"""Speech recognition beside published wall times, and its bounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.errors import BadQuantityError, UnsupportedError
from tools.speed import SpeechJob, answer_case, speech_speed, speech_work


@pytest.mark.parametrize(
    ("gpu", "model", "engine", "weights", "batch", "beams", "audio_s", "wall_s"),
    [
        # SYSTRAN/faster-whisper README: 13 minutes of audio, RTX 3070 Ti and i7-12700K
        ("RTX 3070 Ti", "whisper large-v2", "openai/whisper", "fp16", 1, None, 780, 143),
        ("RTX 3070 Ti", "whisper large-v2", "faster-whisper", "fp16", 1, None, 780, 63),
        ("RTX 3070 Ti", "whisper large-v2", "faster-whisper", "int8", 1, None, 780, 59),
        ("RTX 3070 Ti", "whisper large-v2", "faster-whisper batch 8", "fp16", 8, None, 780, 17),
        ("RTX 3070 Ti", "whisper large-v2", "whisper.cpp FA", "fp16", 1, None, 780, 65),
        ("CPU i7-12700K 8 threads", "whisper small", "faster-whisper", "fp32", 1, None, 780, 157),
        # Vaibhavs10/insanely-fast-whisper README: 150 minutes on an A100 80GB
        ("A100 80GB", "whisper large-v3", "transformers", "fp16", 24, 1, 9000, 98),
        ("A100 80GB", "whisper large-v2", "faster-whisper", "fp16", 1, 1, 9000, 563),
        ("A100 80GB", "whisper large-v2", "faster-whisper", "int8", 1, 1, 9000, 495),
    ],
)
def test_published_wall_times_are_inside(
    gpu: str, model: str, engine: str, weights: str, batch: int, beams: int | None,
    audio_s: float, wall_s: float,
) -> None:  # fmt: skip
    job = SpeechJob(
        gpu=gpu, model=model, engine=engine, weight_format=weights, batch=batch, beams=beams
    )
    found = speech_speed(job).seconds_for(audio_s)
    assert found.low <= wall_s <= found.high <= 4 * found.low
    assert found.value == pytest.approx(wall_s, rel=0.35)


def test_the_encoder_of_large_v2_by_hand() -> None:
    # 1,500 positions: 32 layers * 12 * 1280^2 weights and 4 * 1500 * 1280 sums a layer, keys and
    # values of 32 decoder layers; 130 tokens * 2 * (32 * 14 * 1280^2 + 51,865 * 1280)
    encoder = 1500 * (2 * 32 * (12 + 2) * 1280**2 + 4 * 1500 * 32 * 1280)
    decoder = 130 * 2 * (32 * 14 * 1280**2 + 51_865 * 1280)
    assert speech_work("whisper large-v2")[0] == pytest.approx(encoder + decoder, rel=1e-3)


def test_a_row_with_its_audio_is_answered_in_seconds() -> None:
    row = {
        "id": "x", "task": "asr", "model": "whisper large-v2", "weight_format": "fp16",
        "engine": "faster-whisper", "gpu": "RTX 3070 Ti 8GB", "num_gpus": 1, "batch": 1,
        "metric": "wall_time_fixed_audio", "unit": "s (13 min audio)",
    }  # fmt: skip
    answer = answer_case(row)
    assert answer["status"] == "ok"
    assert answer["low"] <= 63 <= answer["high"]
    assert answer["wall_s"] * answer["audio_hours_per_hour"] == pytest.approx(780)


def test_turbo_is_faster_and_a_language_model_is_refused() -> None:
    def speed(model: str) -> float:
        return speech_speed(SpeechJob(gpu="L4", model=model)).hours_per_hour.value

    assert speed("whisper large-v3-turbo") > 2 * speed("whisper large-v3")
    assert speed("whisper small") > speed("whisper large-v3")
    with pytest.raises(UnsupportedError, match="speech"):
        speed("Qwen2.5-7B")
    with pytest.raises(BadQuantityError):
        speech_speed(SpeechJob(gpu="L4", model="whisper small", beams=0))


@settings(max_examples=25, deadline=None)
@given(batch=st.integers(1, 16), cards=st.integers(1, 8))
def test_larger_batches_and_more_cards_are_never_slower(batch: int, cards: int) -> None:
    def speed(size: int, gpus: int) -> float:
        job = SpeechJob(gpu="A10", model="whisper large-v3", batch=size, beams=1, num_gpus=gpus)
        return speech_speed(job).hours_per_hour.value

    # 1 -> 2 pays for the longest of the batch once; from there on it only gains
    assert speed(2 * batch, cards) >= speed(batch, cards) * 0.99
    assert speed(batch, cards + 1) > speed(batch, cards)
