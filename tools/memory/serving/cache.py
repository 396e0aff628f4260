"""Keys, values and states that sequences keep, by attention family and engine."""

from __future__ import annotations

from typing import NamedTuple

from tools.memory.layers.plan import window_of
from tools.memory.speccache import by_identity
from tools.models import ModelSpec


class CacheForm(NamedTuple):
    """Elements that one sequence keeps, as sums over the layers."""

    growing: int
    """Elements per token of layers that keep every token."""
    windowed: tuple[tuple[int, int], ...]
    """(window, elements per token) of sliding layers."""
    state: int
    """Elements of recurrent state, fp32, whatever the length."""
    conv: int
    """Elements of convolution state, in the compute dtype."""
    largest_layer: int
    """Elements per token of the largest layer."""
    kv_heads: int
    """Heads that a cache can be split over; 1 for a latent that every rank holds."""

    def elements(self, tokens: int, *, whole: bool = False) -> int:
        """Elements of growing and sliding layers for a sequence of `tokens`.

        `whole`: the engine keeps every token of sliding layers as well.
        """
        total = self.growing * tokens
        for window, per_token in self.windowed:
            total += per_token * (tokens if whole else min(tokens, window))
        return total


@by_identity
def cache_form(spec: ModelSpec) -> CacheForm:
    """The cache of one sequence of a decoder."""
    layers = spec.num_hidden_layers or 0
    kv_heads = spec.num_key_value_heads or spec.num_attention_heads or 1
    head_dim = spec.head_dim or (spec.hidden_size or 0) // (spec.num_attention_heads or 1)
    if spec.mla is not None:
        per_layer = spec.mla.kv_lora_rank + spec.mla.qk_rope_head_dim
        if spec.mla.indexer is not None:
            per_layer += spec.mla.indexer.dim
        kv_heads = 1
    else:
        per_layer = 2 * kv_heads * head_dim
    linear = spec.linear.num_linear_layers if spec.linear else 0
    state = conv = 0
    if spec.linear is not None:
        state = linear * (spec.linear.state_elems_per_layer or 0)
        conv = linear * (spec.linear.conv_state_elems_per_layer or 0)
    shared = spec.cla_share_factor or 1
    windows: dict[int, int] = {}
    growing = 0
    if spec.kv_elems_per_token and spec.sliding is None:
        growing = spec.kv_elems_per_token
    else:
        for index in range(layers - linear):
            window = window_of(spec, index) if not linear else None
            if window is None:
                growing += per_layer
            else:
                windows[window] = windows.get(window, 0) + per_layer
        growing //= shared
    return CacheForm(growing, tuple(windows.items()), state, conv, per_layer, kv_heads)
