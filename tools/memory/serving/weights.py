"""Weights of a served model by format: which tensors shrink, and where they stand."""

from __future__ import annotations

from typing import NamedTuple

from tools.memory.params import param_groups
from tools.memory.speccache import by_identity
from tools.memory.tables import find_row
from tools.models import ModelSpec


class ServedWeights(NamedTuple):
    """Bytes of a model's weights in a format."""

    total: float
    """Everything that is loaded."""
    embedding: float
    """Input embedding, which some engines keep in host memory."""
    replicated: float
    """Part that tensor parallelism does not split."""


@by_identity
def served_weights(spec: ModelSpec, weight_format: str) -> ServedWeights:
    """Weights in a format.

    Raises:
        BadQuantityError: If the format is not known; names the known ones.
    """
    row = find_row("formats", weight_format, field="weight_format")
    groups = param_groups(spec)
    bits = float(row["bits"])
    if row.get("gguf"):
        text = groups.total - groups.vision
        total = text * bits / 8 + groups.vision * 2
        embedding = 0.0 if spec.tie_word_embeddings else groups.embedding * min(bits, 16) / 8
        return ServedWeights(total, embedding, groups.vision * 2.0)
    if row.get("experts_only"):
        packed = groups.experts or groups.linear
    elif row.get("linear_only"):
        packed = groups.linear + groups.experts
    else:
        return ServedWeights(
            groups.total * bits / 8, groups.embedding * bits / 8, groups.vision * 2.0
        )
    share = float(row.get("mixed_share", 0.0))
    mean = bits * (1 - share) + float(row.get("mixed_bits", bits)) * share
    rest = groups.total - packed
    if row.get("unties_head") and spec.tie_word_embeddings and not spec.no_lm_head:
        rest += groups.embedding
    return ServedWeights(packed * mean / 8 + rest * 2, groups.embedding * 2.0, groups.vision * 2.0)
