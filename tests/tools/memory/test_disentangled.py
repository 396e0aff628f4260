"""Attention that no fused kernel computes keeps its scores."""

from __future__ import annotations

from typing import Literal

import pytest

from tools.gpus import get_gpu
from tools.memory import MemoryEstimate, TrainingWorkload, estimate
from tools.models import find_model


def _trained(
    model: str, length: int, attention: Literal["eager", "sdpa"] | None = None
) -> MemoryEstimate:
    workload = TrainingWorkload(
        model=find_model(model).spec, gpu=get_gpu("GeForce RTX 3090"), method="full",
        precision="fp16-mixed", micro_batch_size=4, seq_len=length, attention=attention,
        gradient_checkpointing="none",
    )  # fmt: skip
    return estimate(workload)


def _activations(found: MemoryEstimate) -> int:
    return next(part.bytes for part in found.parts if part.name == "activations")


def test_scores_of_relative_positions_are_kept_whatever_kernel_is_asked_for() -> None:
    usual = _activations(_trained("deberta-v3-large", 512))
    assert usual == _activations(_trained("deberta-v3-large", 512, attention="sdpa"))
    # 24 layers x 16 heads x 4 x 512^2: dropped weights of 2 B and a mask of 1 B are kept at least
    kept = 24 * 16 * 4 * 512**2 * 3
    assert usual - _activations(_trained("bert-large-uncased", 512)) >= kept


@pytest.mark.parametrize("model", ["bert-large-uncased", "roberta-large"])
def test_others_take_the_fused_kernel(model: str) -> None:
    fused = _activations(_trained(model, 512))
    assert fused < _activations(_trained(model, 512, "eager"))
