"""Kinds of models that are treated alike: the one home of such lists (kinds: `ModelSpec.kind`)."""

from __future__ import annotations

LANGUAGE_KINDS = ("decoder-lm", "moe-lm", "vlm")
"""Decoders that write text token by token, from a cache of keys and values."""
WRITING_KINDS = (*LANGUAGE_KINDS, "seq2seq")
"""All that write text: their speed is one of tokens."""
ENCODER_KINDS = ("encoder", "embedding", "reranker")
"""Texts in, vectors or scores out."""
DENOISER_KINDS = ("diffusion-unet", "dit")
"""The denoising part of a pipeline for pictures or video."""
SEEING_KINDS = ("cnn", "detector", "vit", "segmentation")
"""Networks that see pictures."""
SMALL_KINDS = (*ENCODER_KINDS, *SEEING_KINDS)
"""Networks of which a CPU may carry the load."""
