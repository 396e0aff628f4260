"""Which models, modes and sizes the closed forms of tools/memory/other are derived from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tools.memory.simulate.configs import denoisers, hf_config
from tools.memory.simulate.request import SimulationRequest
from tools.models import get_model

_RANK = 16
_ATTENTION = ("to_q", "to_k", "to_v", "to_out.0")


class Job(NamedTuple):
    """One mode of one model, with the sizes at which it is run."""

    name: str
    request: SimulationRequest
    samples: tuple[tuple[int, dict[str, int]], ...]
    """(batch, fields that set the size); as many as the basis has names."""
    basis: tuple[str, ...]
    """What the coefficients multiply: 1, b, b*px2, b*target_len, ..."""


def _modes(kind: str, precisions: Iterable[str]) -> Iterable[tuple[str, dict[str, Any]]]:
    full: dict[str, Any] = {"method": "full", "task": "train"}
    lora = {
        "method": "lora", "task": "train", "precision": "pure-bf16", "autocast": True,
        "lora_rank": _RANK,
        "lora_targets": _ATTENTION if kind in DENOISERS else ("q_proj", "v_proj"),
    }  # fmt: skip
    for name in precisions:
        precision, _, checkpointing = name.partition("/")
        base = {**full, "precision": precision}
        if precision in ("lora", "lora16"):  # lora16: 16-bit weights without autocast
            base = {**lora, "autocast": precision == "lora"}
        if precision.startswith("infer"):
            base = {"task": "infer", "method": None, "precision": precision.partition(":")[2]}
        yield name, {**base, "gradient_checkpointing": checkpointing or "none"}


_IMAGE_MODES = ("bf16-mixed", "fp32", "infer:fp32", "bf16-mixed/full", "fp32/full")
_DENOISER_MODES = (
    "lora", "lora/full", "bf16-mixed/full", "bf16-mixed", "fp32", "infer:pure-bf16",
    "pure-bf16/full",
)  # fmt: skip
_SPEECH_MODES = (
    "bf16-mixed", "bf16-mixed/full", "lora", "lora/full", "infer:pure-bf16", "fp32", "fp32/full",
)  # fmt: skip
_YOLO_MODES = ("bf16-mixed", "fp32", "infer:fp32")
_VIDEO_MODES = ("lora/full", "lora", "bf16-mixed/full", "infer:pure-bf16", "pure-bf16/full")
_VAE_MODES = ("infer:fp32", "infer:pure-bf16")
_SAM_MODES = ("bf16-mixed", "fp32", "infer:fp32", "infer:pure-bf16")
_CLIP_MODES = ("bf16-mixed", "fp32", "infer:fp32", "infer:pure-bf16", "bf16-mixed/full")
_T5_MODES = (
    "fp32", "bf16-mixed", "pure-bf16", "lora16", "bf16-mixed/full", "infer:pure-bf16",
    "pure-bf16/full", "lora16/full",
)  # fmt: skip
_NATIVE_PX = {"efficientnet_b1": 240, "efficientnet_b2": 260, "efficientnet_b3": 300,
              "efficientnet_b4": 380, "efficientnet_b5": 456, "efficientnet_b6": 528,
              "efficientnet_b7": 600}  # fmt: skip
_SQUARE_BASIS = ("1", "b", "b*px2", "b*px2*px2")
_SQUARE_SAMPLES = tuple(
    (batch, {"image_px": px}) for batch, px in ((2, 512), (3, 512), (2, 768), (2, 1024))
)
_TEXT_BASIS = (
    "1", "b*seq_len", "b*target_len", "b*seq_len*seq_len", "b*target_len*target_len",
    "b*seq_len*target_len",
)  # fmt: skip
_FUSED_TEXT_BASIS = tuple(
    name.removeprefix("b*") if name.count("_len") == 2 and len(set(name.split("*"))) == 2 else name
    for name in _TEXT_BASIS
)
"""A fused kernel keeps the position bias alone of what grows with a length squared: it has no
batch. A trained bias takes the unfused form, which keeps the scores of every sample."""
_TEXT_SAMPLES = tuple(
    (batch, {"seq_len": seq, "target_len": target})
    for batch, seq, target in (
        (2, 128, 64), (2, 256, 64), (2, 128, 192), (2, 512, 64), (2, 128, 448), (2, 256, 192),
    )
)  # fmt: skip


STACKS: dict[str, tuple[tuple[str, ...], ...]] = {
    "t5": (("num_layers", "num_decoder_layers"),),
    **dict.fromkeys(("pixart", "qwenimage", "cogvideox", "wan"), (("num_layers",),)),
    **dict.fromkeys(("flux2", "hunyuan"), (("num_layers",), ("num_single_layers",))),
}
"""Stacks of equal layers, by the names of their depths: run at two and at three layers."""
DENOISERS = frozenset("sd15 sdxl sd3 flux pixart qwenimage flux2 cogvideox wan hunyuan".split())
_OF_MANY_BILLIONS = frozenset("flux qwenimage flux2".split())


def _denoiser_plan(kind: str) -> tuple[str, tuple[str, ...], tuple[str, ...], Any]:
    """A denoiser's modes, basis and samples; clips have frames."""
    modes: tuple[str, ...] = _VAE_MODES if kind == "vae" else _DENOISER_MODES
    if kind in ("cogvideox", "wan", "hunyuan"):
        samples = tuple(
            (batch, {"image_px": px, "frames": 29}) for batch, px in ((2, 256), (3, 256), (2, 512))
        )
        return kind, _VIDEO_MODES, ("1", "b", "b*px2"), samples
    if kind in _OF_MANY_BILLIONS:
        modes = _DENOISER_MODES[:2] + _DENOISER_MODES[-2:]
    large = 768 if kind == "pixart" else 1024  # at 1,024 PixArt takes a table that it keeps
    samples = tuple((batch, {"image_px": px}) for batch, px in ((2, 512), (3, 512), (2, large)))
    return kind, modes, ("1", "b", "b*px2"), samples


_DECODE_MODES = ("decode:pure-bf16", "decode:fp32")
_DECODE_SAMPLES = tuple(
    (1, {"image_px": px, "frames": frames}) for px, frames in ((256, 49), (512, 49), (256, 81))
)


def _decoding(model: str, kind: str) -> list[Job]:
    """The autoencoder of a clip's pipeline: latents to frames."""
    config = denoisers()[model].get("vae", {})
    return [
        Job(
            mode,
            SimulationRequest(
                model=model, kind=f"{kind}-vae", config=config, task="infer", method=None,
                precision=mode.partition(":")[2],
            ),
            _DECODE_SAMPLES,
            ("1", "b*area", "b*px2"),
        )
        for mode in _DECODE_MODES
    ]  # fmt: skip


def _plan(model: str) -> tuple[str, tuple[str, ...], tuple[str, ...], Any]:
    """Kind, modes, basis and samples of a model."""
    if model.startswith("timm/"):
        px = _NATIVE_PX.get(model.removeprefix("timm/"), 224)
        samples: Any = ((2, {"image_px": px}), (4, {"image_px": px}))
        return "timm", _IMAGE_MODES, ("1", "b*px2"), samples
    if model.startswith("ultralytics/"):
        return "yolo", _YOLO_MODES, ("1", "b*px2"), ((2, {"image_px": 640}), (4, {"image_px": 640}))
    if model.startswith("nvidia/segformer"):
        return "segformer", _YOLO_MODES, _SQUARE_BASIS, _SQUARE_SAMPLES
    if model.startswith("facebook/detr"):
        return "detr", _YOLO_MODES, _SQUARE_BASIS, _SQUARE_SAMPLES
    if model.startswith("facebook/sam"):
        return "sam", _SAM_MODES, ("1", "b"), ((2, {"image_px": 1024}), (3, {"image_px": 1024}))
    if model.startswith("openai/clip"):
        return "clip", _CLIP_MODES, ("1", "b"), ((2, {"image_px": 224}), (4, {"image_px": 224}))
    if model in denoisers():
        return _denoiser_plan(str(denoisers()[model]["kind"]))
    if "whisper" in model:
        samples = ((2, {"seq_len": 64}), (3, {"seq_len": 64}), (2, {"seq_len": 192}))
        return "whisper", _SPEECH_MODES, ("1", "b", "b*seq_len"), samples
    if "t5" in model:
        return "t5", _T5_MODES, _TEXT_BASIS, _TEXT_SAMPLES
    sizes = ({"audio_samples": 80_000}, {"audio_samples": 160_000})
    samples = ((2, sizes[0]), (3, sizes[0]), (2, sizes[1]))
    return "wav2vec2", _SPEECH_MODES, ("1", "b", "b*audio_samples"), samples


def jobs(model: str, only: frozenset[str] = frozenset()) -> list[Job]:
    """The modes of a model that the closed forms need."""
    kind, modes, basis, samples = _plan(model)
    config = hf_config(get_model(model))
    found = []
    for name, fields in _modes(kind, modes):
        if only and name not in only:
            continue
        request = SimulationRequest(model=model, kind=kind, config=config, **fields)
        fused = kind == "t5" and name.startswith(("lora", "infer"))
        found.append(Job(name, request, samples, _FUSED_TEXT_BASIS if fused else basis))
    if "vae" in denoisers().get(model, {}):
        found += [job for job in _decoding(model, kind) if not only or job.name in only]
    return found


def basis_row(names: Sequence[str], batch: int, size: dict[str, int]) -> tuple[float, ...]:
    """What each name of a basis is worth at this batch and size."""
    area = size.get("image_px", 0) ** 2
    folded = (size["frames"] - 1) // 4 + 1 if "frames" in size else 1
    known = {"1": 1, "b": batch, **size, "area": area, "px2": area * folded}
    return tuple(float(np.prod([known[part] for part in name.split("*")])) for name in names)
