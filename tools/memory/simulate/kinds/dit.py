"""Image transformers of diffusers beside SD 3 and FLUX: PixArt, Qwen-Image, FLUX.2."""

from __future__ import annotations

from typing import Any

import torch

from tools.memory.simulate.kinds.common import weights_dtype
from tools.memory.simulate.kinds.denoiser import build, denoising, filled
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf

__all__ = ["build", "feed"]

_PIXART_TOKENS, _FLUX2_TOKENS, _QWEN_TOKENS = 300, 512, 256
"""Text tokens: PixArt-Sigma and FLUX.2 pad to them; Qwen-Image runs a long prompt's own."""
_T5_WIDTH = 4096


def feed(request: SimulationRequest) -> LossOf:
    """Noisy latents, a time step and text states of one step."""
    make = {"pixart": _pixart, "qwenimage": _qwen_image, "flux2": _flux2}[request.kind]
    return denoising(request, *make(request))


_Inputs = tuple[dict[str, Any], tuple[int, ...]]


def _pixart(request: SimulationRequest) -> _Inputs:
    make, side = filled(request), (request.image_px or 1024) // 8
    tokens = request.target_len or _PIXART_TOKENS
    inputs = {
        "hidden_states": make(4, side, side),
        "timestep": torch.empty((request.batch,), dtype=torch.long),
        "encoder_hidden_states": make(tokens, _T5_WIDTH),
        "encoder_attention_mask": make(tokens),
        "added_cond_kwargs": {"resolution": None, "aspect_ratio": None},
    }
    return inputs, (request.batch, 8, side, side)


def _qwen_image(request: SimulationRequest) -> _Inputs:
    make, side = filled(request), (request.image_px or 1024) // 16
    width = int(request.config.get("joint_attention_dim", 3584))
    inputs = {
        "hidden_states": make(side * side, 64),
        "timestep": make(),
        "encoder_hidden_states": make(request.target_len or _QWEN_TOKENS, width),
        "img_shapes": [[(1, side, side)]] * request.batch,
    }
    return inputs, (request.batch, side * side, 64)


def _flux2(request: SimulationRequest) -> _Inputs:
    make, side = filled(request), (request.image_px or 1024) // 16
    dtype, tokens = weights_dtype(request), request.target_len or _FLUX2_TOKENS
    width = int(request.config.get("joint_attention_dim", 15360))
    inputs = {
        "hidden_states": make(side * side, 128),
        "timestep": make(),
        "guidance": make() if request.config.get("guidance_embeds", True) else None,
        "encoder_hidden_states": make(tokens, width),
        "txt_ids": torch.empty((tokens, 4), dtype=dtype),
        "img_ids": torch.empty((side * side, 4), dtype=dtype),
    }
    return inputs, (request.batch, side * side, 128)
