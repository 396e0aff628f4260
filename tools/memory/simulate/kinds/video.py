"""Video transformers of diffusers and their autoencoders: CogVideoX, Wan, HunyuanVideo."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tools.memory.simulate.kinds.common import weights_dtype
from tools.memory.simulate.kinds.denoiser import build, denoising, filled
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf

__all__ = ["build", "feed"]

_COG_TOKENS, _WAN_TOKENS, _HUNYUAN_TOKENS = 226, 512, 256
"""Text tokens that the pipelines pad to."""
_T5_WIDTH, _CLIP_POOLED = 4096, 768
_FOLDED = 4
"""Frames to one latent frame, after the first."""
_WAN22_CHANNELS = 48
"""Latent channels of the autoencoder that shrinks 16 times instead of 8."""


def feed(request: SimulationRequest) -> LossOf:
    """Noisy latents of a clip, a time step and text states; or latents to decode."""
    if request.kind.endswith("-vae"):
        return _decode(request)
    make = {"cogvideox": _cogvideox, "wan": _wan, "hunyuan": _hunyuan}[request.kind]
    return denoising(request, *make(request))


def latent_frames(request: SimulationRequest) -> int:
    """Latent frames of the clip, up to a whole number of temporal patches."""
    folded = ((request.frames or 49) - 1) // _FOLDED + 1
    patch = int(request.config.get("patch_size_t") or 1)
    return -(-folded // patch) * patch


_Inputs = tuple[dict[str, Any], tuple[int, ...]]


def _cogvideox(request: SimulationRequest) -> _Inputs:
    make, side, frames = filled(request), (request.image_px or 480) // 8, latent_frames(request)
    inputs: dict[str, Any] = {
        "hidden_states": make(frames, 16, side, side),
        "timestep": torch.empty((request.batch,), dtype=torch.long),
        "encoder_hidden_states": make(request.target_len or _COG_TOKENS, _T5_WIDTH),
    }
    if request.config.get("use_rotary_positional_embeddings"):
        patch = int(request.config.get("patch_size_t") or 1)
        tokens = (frames // patch) * (side // 2) ** 2
        table = torch.empty((tokens, 64), dtype=torch.float32)
        inputs["image_rotary_emb"] = (table, torch.empty_like(table))
    return inputs, (request.batch, frames, 16, side, side)


def _wan(request: SimulationRequest) -> _Inputs:
    channels = int(request.config.get("in_channels", 16))
    shrunk = 16 if channels == _WAN22_CHANNELS else 8
    side, frames = (request.image_px or 480) // shrunk, latent_frames(request)
    make = filled(request)
    inputs = {
        "hidden_states": make(channels, frames, side, side),
        "timestep": torch.empty((request.batch,), dtype=torch.long),
        "encoder_hidden_states": make(request.target_len or _WAN_TOKENS, _T5_WIDTH),
    }
    return inputs, (request.batch, channels, frames, side, side)


def _hunyuan(request: SimulationRequest) -> _Inputs:
    make, side, frames = filled(request), (request.image_px or 720) // 8, latent_frames(request)
    tokens = request.target_len or _HUNYUAN_TOKENS
    inputs = {
        "hidden_states": make(16, frames, side, side),
        "timestep": torch.empty((request.batch,), dtype=torch.long),
        "encoder_hidden_states": make(tokens, _T5_WIDTH),
        "encoder_attention_mask": torch.empty((request.batch, tokens), dtype=torch.long),
        "pooled_projections": make(_CLIP_POOLED),
        "guidance": make(),
    }
    return inputs, (request.batch, 16, frames, side, side)


def _decode(request: SimulationRequest) -> LossOf:
    """Latents to frames: what a pipeline does last."""
    side = (request.image_px or 480) // int(request.config.get("scale_factor_spatial", 8))
    channels = int(request.config.get("z_dim", 16))
    latents = torch.empty(
        (request.batch, channels, latent_frames(request), side, side), dtype=weights_dtype(request)
    )

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        clip = model.decode(latents, return_dict=False)[0]
        return clip, clip

    return forward
