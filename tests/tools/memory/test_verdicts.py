"""One home of verdicts: the sure one, and the one for a run of which not everything was said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.memory import (
    InferenceWorkload,
    TrainingWorkload,
    estimate,
    fit,
    likely,
    likely_verdict,
    waiting_bytes,
)
from tools.models import get_model

_SEVEN_B = get_model("Qwen/Qwen2.5-7B")


@pytest.mark.parametrize(
    ("need", "high", "verdict"),
    [
        (60, 99, "fits"),  # the upper bound is below
        (85, 120, "fits"),  # 15 % of the card is left
        (86, 120, "tight"),
        (100, 120, "tight"),
        (101, 120, "does_not_fit"),
    ],
)
def test_fifteen_percent_to_spare_are_enough(need: int, high: int, verdict: str) -> None:
    assert likely(need, high_bytes=high, usable_bytes=100) == verdict


@given(st.integers(1, 200), st.integers(0, 100), st.integers(1, 200))
def test_the_sure_verdict_is_never_the_milder_one(need: int, more: int, usable: int) -> None:
    order = ("fits", "tight", "does_not_fit")
    mild = likely(need, high_bytes=need + more, usable_bytes=usable)
    sure = "does_not_fit" if need > usable else "fits" if need + more <= usable else "tight"
    assert order.index(sure) >= order.index(mild)


def test_both_say_no_at_the_same_point() -> None:
    found = estimate(TrainingWorkload(_SEVEN_B, method="lora"))
    below = found.process_bytes - 1
    assert fit(found, below).verdict == "does_not_fit"
    assert likely_verdict(found, below) == "does_not_fit"


def test_a_share_that_was_said_and_is_too_small_makes_it_tight() -> None:
    given_half = estimate(
        InferenceWorkload(_SEVEN_B, engine="vllm", gpu_memory_utilization=0.5, context_len=2048)
    )
    usable = int(given_half.process_bytes * 1.6)
    assert likely_verdict(given_half, usable) == "tight"
    open_share = estimate(InferenceWorkload(_SEVEN_B, engine="vllm", context_len=2048))
    assert likely_verdict(open_share, usable) == "fits"


def test_requests_of_a_paged_engine_wait_and_do_not_run_out() -> None:
    """8B, 20 requests of 8,192 tokens: 20 GiB of cache beside 16 GiB, in a pool of 40 GiB.

    The upper bound is that of the weights and of the work; a smaller cache queues requests.
    """
    eight = get_model("meta-llama/Meta-Llama-3-8B")
    served = estimate(InferenceWorkload(eight, engine="vllm", context_len=8192, batch=20))
    pool = int(served.process_bytes * 1.08)
    assert waiting_bytes(served) == pytest.approx(served.kv_cache_bytes * 19 / 20, rel=1e-3)
    assert likely_verdict(served, int(pool / 0.9)) == "fits"
    alone = estimate(InferenceWorkload(eight, engine="vllm", context_len=8192, batch=1))
    assert waiting_bytes(alone) == 0
    plain = estimate(InferenceWorkload(eight, engine="transformers", context_len=8192, batch=20))
    assert waiting_bytes(plain) == 0
    assert likely_verdict(plain, int(plain.process_bytes * 1.08)) == "tight"


@given(st.integers(1, 200), st.integers(0, 100), st.integers(1, 200), st.integers(0, 200))
def test_waiting_never_makes_a_need_above_the_memory_fit(
    need: int, more: int, usable: int, waiting: int
) -> None:
    found = likely(
        need, high_bytes=need + more, usable_bytes=usable, waiting_bytes=min(waiting, need)
    )
    assert (found == "does_not_fit") == (need > usable)
