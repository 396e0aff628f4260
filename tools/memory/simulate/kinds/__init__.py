"""How each kind of model is built and fed: text, images, denoisers, speech, a user's own.

A kind is a module with `build(request)` (on the meta device) and `feed(request)` (the forward of
one step on fake tensors). Each is imported when a request of its kind is run.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

_HOMES = {
    "decoder": "decoder", "bert": "encoder", "mlm": "encoder", "embed": "encoder",
    "t5": "seq2seq", "whisper": "speech", "wav2vec2": "speech", "timm": "images",
    "sd15": "denoiser", "sdxl": "denoiser", "sd3": "denoiser", "flux": "denoiser",
    "pixart": "dit", "qwenimage": "dit", "flux2": "dit", "cogvideox": "video", "wan": "video",
    "hunyuan": "video", "cogvideox-vae": "video", "wan-vae": "video", "hunyuan-vae": "video",
    "vae": "denoiser", "sam": "sam", "clip": "clip",
    "yolo": "yolo", "segformer": "segmenter", "detr": "detector",
    "custom": "custom",
}  # fmt: skip


def home_of(kind: str) -> ModuleType:
    """The module that builds and feeds a kind."""
    return import_module(f"{__name__}.{_HOMES[kind]}")
