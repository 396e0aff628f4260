"""Inverse questions answer with the last value that fits."""

from __future__ import annotations

import dataclasses

from tools.gpus import all_gpus, find_gpu
from tools.memory import (
    InferenceWorkload,
    TrainingWorkload,
    estimate,
    fewest_cards,
    largest_batch,
    longest_context,
    most_concurrent,
    most_kv_tokens,
    smallest_card,
    what_to_change,
)
from tools.models import get_model
from tools.units import GIB

QWEN7 = get_model("Qwen/Qwen2.5-7B")
A10 = find_gpu("A10").spec.usable_bytes or 0
A100 = find_gpu("A100 80G").spec.usable_bytes or 0
QLORA = TrainingWorkload(QWEN7, method="qlora", seq_len=1024)
SERVED = InferenceWorkload(QWEN7, engine="vllm", context_len=4096)


def test_the_next_batch_does_not_fit() -> None:
    batch = largest_batch(QLORA, A10)
    assert batch >= 1
    assert estimate(dataclasses.replace(QLORA, micro_batch_size=batch)).process_bytes <= A10
    assert estimate(dataclasses.replace(QLORA, micro_batch_size=batch + 1)).process_bytes > A10


def test_the_next_token_of_context_does_not_fit() -> None:
    length = longest_context(QLORA, A10)
    assert estimate(dataclasses.replace(QLORA, seq_len=length)).process_bytes <= A10
    assert estimate(dataclasses.replace(QLORA, seq_len=length + 1)).process_bytes > A10


def test_nothing_fits_gives_zero() -> None:
    assert largest_batch(QLORA, GIB) == 0
    assert most_concurrent(SERVED, GIB) == 0
    assert most_kv_tokens(SERVED, GIB) == 0


def test_concurrency_and_cache_tokens_agree() -> None:
    tokens = most_kv_tokens(SERVED, A100)
    requests = most_concurrent(SERVED, A100)
    assert requests * 4096 <= tokens < (requests + 1) * 4096
    # the room beside weights and working memory, at 56 KiB a token
    assert tokens * 56 * 1024 < 0.9 * A100 - 15.2e9


def test_fewest_cards_for_full_training() -> None:
    full = TrainingWorkload(
        QWEN7, method="full", precision="bf16-mixed", gradient_checkpointing="full"
    )
    cards = fewest_cards(full, A100)
    assert cards == 2
    assert fewest_cards(full, 2 * GIB) is None


def test_smallest_card_is_large_enough_and_the_next_smaller_is_not() -> None:
    found = smallest_card(QLORA, all_gpus())
    assert found is not None
    assert found.need_bytes <= found.usable_bytes
    smaller = [g for g in all_gpus() if g.usable_bytes and g.usable_bytes < found.usable_bytes]
    assert smallest_card(QLORA, smaller) is None


def test_changes_put_first_what_makes_it_fit_and_carry_the_new_figure() -> None:
    full = TrainingWorkload(QWEN7, method="full")
    changes = what_to_change(full, A10)
    assert changes[0].fits
    flags = [change.fits for change in changes]
    assert flags == sorted(flags, reverse=True)
    for change in changes:
        assert estimate(change.workload).process_bytes == change.after_bytes
        assert change.before_bytes - change.after_bytes == change.saving_bytes > 0


def test_serving_that_does_not_fit_is_offered_smaller_weights_and_more_cards() -> None:
    served = InferenceWorkload(get_model("meta-llama/Llama-3.1-70B"), engine="vllm")
    names = [change.name for change in what_to_change(served, A100)]
    assert "weight_format=awq-int4" in names
    assert "gpu_count=4" in names
