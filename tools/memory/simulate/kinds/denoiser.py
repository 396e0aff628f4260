"""Models of diffusers, and the feeds of UNets, SD 3, FLUX and the image autoencoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tools.errors import UnsupportedError
from tools.memory.simulate.kinds.common import weights_dtype
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf

_CLASSES = {
    "sd15": "UNet2DConditionModel",
    "sdxl": "UNet2DConditionModel",
    "sd3": "SD3Transformer2DModel",
    "flux": "FluxTransformer2DModel",
    "pixart": "PixArtTransformer2DModel",
    "qwenimage": "QwenImageTransformer2DModel",
    "flux2": "Flux2Transformer2DModel",
    "cogvideox": "CogVideoXTransformer3DModel",
    "wan": "WanTransformer3DModel",
    "hunyuan": "HunyuanVideoTransformer3DModel",
    "vae": "AutoencoderKL",
    "cogvideox-vae": "AutoencoderKLCogVideoX",
    "wan-vae": "AutoencoderKLWan",
    "hunyuan-vae": "AutoencoderKLHunyuanVideo",
}
_CLIP_TOKENS, _SD3_TOKENS, _FLUX_TOKENS = 77, 154, 512
_SDXL_POOLED, _SD3_POOLED, _FLUX_POOLED = 1280, 2048, 768


def build(request: SimulationRequest) -> nn.Module:
    """The denoiser of the request's constructor arguments.

    Raises:
        UnsupportedError: If diffusers is not installed.
    """
    try:
        import diffusers
    except ImportError as error:
        raise UnsupportedError(
            "simulating a denoiser",
            reason="diffusers is not installed",
            instead="pip install diffusers==0.42.1",
        ) from error
    model = getattr(diffusers, _CLASSES[request.kind])(**request.config)
    built: nn.Module = model.to(weights_dtype(request))
    return built


def feed(request: SimulationRequest) -> LossOf:
    """Noisy latents, time steps and text states; mean squared error to a target in fp32."""
    if request.kind == "vae":
        return _decode(request)
    make = {"sd15": _unet, "sdxl": _unet, "sd3": _sd3, "flux": _flux}[request.kind]
    return denoising(request, *make(request))


def denoising(request: SimulationRequest, inputs: dict[str, Any], shape: tuple[int, ...]) -> LossOf:
    """One pass over these inputs, and the mean squared error to a target of this shape."""
    target = torch.empty(shape, dtype=weights_dtype(request))

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        out = model(**inputs, return_dict=False)[0]
        return functional.mse_loss(out.float(), target.float()), out

    return forward


def _decode(request: SimulationRequest) -> LossOf:
    """Latents to images: what a pipeline does last."""
    side = (request.image_px or 512) // 8
    channels = int(request.config.get("latent_channels", 4))
    latents = torch.empty((request.batch, channels, side, side), dtype=weights_dtype(request))

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        images = model.decode(latents, return_dict=False)[0]
        return images, images

    return forward


_Inputs = tuple[dict[str, Any], tuple[int, ...]]


def filled(request: SimulationRequest) -> Callable[..., torch.Tensor]:
    """Makes tensors of the batch x a shape in the dtype of the weights."""
    dtype = weights_dtype(request)
    return lambda *shape: torch.empty((request.batch, *shape), dtype=dtype)


def _unet(request: SimulationRequest) -> _Inputs:
    make, side = filled(request), (request.image_px or 512) // 8
    width = int(request.config.get("cross_attention_dim", 768))
    inputs: dict[str, Any] = {
        "sample": make(4, side, side),
        "timestep": torch.empty((request.batch,), dtype=torch.long),
        "encoder_hidden_states": make(_CLIP_TOKENS, width),
    }
    if request.kind == "sdxl":
        inputs["added_cond_kwargs"] = {"text_embeds": make(_SDXL_POOLED), "time_ids": make(6)}
    return inputs, (request.batch, 4, side, side)


def _sd3(request: SimulationRequest) -> _Inputs:
    make, side = filled(request), (request.image_px or 1024) // 8
    inputs = {
        "hidden_states": make(16, side, side),
        "timestep": torch.empty((request.batch,), dtype=torch.long),
        "encoder_hidden_states": make(request.target_len or _SD3_TOKENS, 4096),
        "pooled_projections": make(_SD3_POOLED),
    }
    return inputs, (request.batch, 16, side, side)


def _flux(request: SimulationRequest) -> _Inputs:
    make, side = filled(request), (request.image_px or 1024) // 16
    dtype = weights_dtype(request)
    inputs = {
        "hidden_states": make(side * side, 64),
        "timestep": make(),
        "guidance": make() if request.config.get("guidance_embeds") else None,
        "encoder_hidden_states": make(request.target_len or _FLUX_TOKENS, 4096),
        "pooled_projections": make(_FLUX_POOLED),
        "txt_ids": torch.empty((request.target_len or _FLUX_TOKENS, 3), dtype=dtype),
        "img_ids": torch.empty((side * side, 3), dtype=dtype),
    }
    return inputs, (request.batch, side * side, 64)
