"""Parameters of a vision tower, from the width and depth of its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_PATCH_CHANNELS = 3


def vision_params(vision: Mapping[str, Any], *, text_hidden_size: int) -> int:
    """Parameters of a ViT tower and its projector, by the usual shape of both.

    A block has four square attention matrices and a feed-forward part (gated where the tower
    says `silu`), each with biases; the projector is two matrices from (merged) patches to the
    text width. Towers differ in details: within about 5 % of the known rows.
    """
    width = _number(vision, "hidden_size", "embed_dim", "width") or 0
    if vision.get("embed_dim") and vision.get("hidden_size"):
        width = _number(vision, "embed_dim") or width
    depth = _number(vision, "num_hidden_layers", "depth", "layers") or 0
    feed = _number(vision, "intermediate_size") or int(width * float(vision.get("mlp_ratio") or 4))
    gated = str(vision.get("hidden_act", "")) == "silu"
    block = 4 * width * width + 4 * width + (3 if gated else 2) * width * feed + 4 * width + feed
    patch = _number(vision, "patch_size", "spatial_patch_size") or 14
    frames = _number(vision, "temporal_patch_size") or 1
    stem = _PATCH_CHANNELS * patch * patch * frames * width
    side = _number(vision, "image_size") or 0
    places = _number(vision, "num_position_embeddings") or (side // patch) ** 2
    positions = places * width
    merge = (_number(vision, "spatial_merge_size") or 1) ** 2
    merged = width * merge
    inner = merged if merge > 1 else text_hidden_size
    projector = merged * inner + inner * text_hidden_size
    taps = vision.get("deepstack_visual_indexes")
    projectors = 1 + (min(len(taps), depth) if isinstance(taps, list) else 0)
    return depth * block + stem + positions + projectors * projector


def _number(config: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = config.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 10**7:
            return int(value)
    return None
