"""Texts per second of encoders."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.errors import BadQuantityError
from tools.speed import EncodingJob, encoding_speed


def test_bert_large_on_an_a100_as_published() -> None:
    # NVIDIA DeepLearningExamples: BERT-large SQuAD inference, TF32, batch 32, 384 tokens: 216/s
    found = encoding_speed(
        EncodingJob(gpu="A100 80GB", model="bert-large", tokens=384, batch=32, precision="tf32")
    )
    assert found.texts_per_s.low <= 216 <= found.texts_per_s.high
    assert found.texts_per_s.value == pytest.approx(216, rel=0.2)


def test_no_card_beats_its_peak() -> None:
    # bge-large: 24 layers of 12 * 1024^2 weights, 2 FLOP each and token
    for gpu, peak in (("T4", 65e12), ("A10", 125e12), ("L4", 121e12), ("H100", 989e12)):
        found = encoding_speed(EncodingJob(gpu=gpu, model="bge-large-zh", tokens=256, batch=64))
        assert found.tokens_per_s.high * 2 * 24 * 12 * 1024**2 < peak


def test_what_is_assumed_is_said_and_the_pile_takes_its_time() -> None:
    found = encoding_speed(EncodingJob(gpu="A10", model="bge-m3"))
    assert {a.name for a in found.assumptions} >= {"tokens", "batch", "precision"}
    hours = found.seconds_for(1e6).value / 3600
    assert hours == pytest.approx(1e6 / found.texts_per_s.value / 3600)
    assert {f.name for f in found.figures()} >= {"texts_per_s", "texts_per_s_low"}
    with pytest.raises(BadQuantityError):
        found.seconds_for(0)
    with pytest.raises(BadQuantityError):
        encoding_speed(EncodingJob(gpu="A10", model="bge-m3", tokens=0))


@settings(max_examples=25, deadline=None)
@given(tokens=st.integers(16, 2000), batch=st.integers(1, 64))
def test_longer_texts_are_slower_and_larger_batches_are_not(tokens: int, batch: int) -> None:
    def rate(length: int, size: int) -> float:
        job = EncodingJob(gpu="A10", model="bge-m3", tokens=length, batch=size)
        return encoding_speed(job).texts_per_s.value

    assert rate(2 * tokens, batch) < rate(tokens, batch)
    assert rate(tokens, 2 * batch) >= rate(tokens, batch) * 0.999
