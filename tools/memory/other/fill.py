"""Every field of a run filled in: what was said, else the usual value of the kind, noted."""

from __future__ import annotations

from typing import Any, NamedTuple

from tools.memory.other.forms import Sizes, table
from tools.memory.workload import InferenceWorkload, TrainingWorkload, Workload
from tools.models import ModelSpec

Assumed = tuple[str, int | float | str | bool]
_LATENT_FRAMES = 4
"""Frames that a video autoencoder folds into one latent frame, after the first."""
MEL_TOKENS = 1500
"""Encoder positions of Whisper: 30 s whatever the clip."""


class Filler:
    """Takes a field when it was said, else the kind's default, and remembers which."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.kind = kind_of(workload.model)
        self.defaults: dict[str, Any] = {
            **table("defaults")[self.kind], **_own(workload.model), **_own_clip(workload)
        }  # fmt: skip
        self.assumed: list[Assumed] = []

    def get(self, field: str, default: Any = None) -> Any:
        """The value of a field of the workload."""
        value = getattr(self.workload, field, None)
        if field == "seq_len" and isinstance(self.workload, InferenceWorkload):
            value = self.workload.prompt_len
        if value is not None:
            return value
        value = default if default is not None else self.defaults.get(field)
        if value is not None:
            self.assumed.append((field, value))
        return value


def kind_of(spec: ModelSpec) -> str:
    """Row of data/defaults.json: the registry's kind, told apart where runs differ."""
    if spec.kind == "speech":
        return "whisper" if "whisper" in spec.name.casefold() else "wav2vec2"
    if spec.kind == "embedding":
        return "vit"  # CLIP
    if spec.name in table("pipelines") and table("pipelines")[spec.name].get("frames"):
        return "video"
    return spec.kind


def _own(spec: ModelSpec) -> dict[str, Any]:
    """What a family's own training scripts use, where it is not the kind's usual value."""
    rows: dict[str, dict[str, Any]] = table("defaults")["models"]
    own = next((row for prefix, row in rows.items() if spec.name.startswith(prefix)), {})
    large = table("defaults")["large"].get(kind_of(spec))
    if large is not None and spec.params_total > large["above_params"]:
        return {**{k: v for k, v in large.items() if k != "above_params"}, **own}
    return own


def _own_clip(workload: Workload) -> dict[str, Any]:
    """The clip that a video pipeline makes when nothing is said; training cuts shorter ones."""
    if is_training(workload):
        return {}
    clip: dict[str, Any] = table("pipelines").get(workload.model.name, {}).get("clip", {})
    return clip


def _native_px(spec: ModelSpec) -> int | None:
    """Size that a model was made for, where it is not the kind's usual one."""
    if spec.name in table("pipelines"):
        px = table("pipelines")[spec.name].get("image_px")
        return None if px is None else int(px)
    if spec.kind not in ("cnn", "vit") or spec.name not in table("lines"):
        return None
    return int(next(iter(table("lines")[spec.name].values()))["at"][0]["image_px"])


class Shape(NamedTuple):
    """Size of one sample, as the forms count it."""

    sizes: Sizes
    pixels: float
    """Height x width of one image or frame; 0 where there is none."""


def shape_of(fill: Filler) -> Shape:
    """Sizes of one sample from the workload's fields."""
    workload = fill.workload
    if fill.kind in ("whisper", "seq2seq"):
        target = "target_len"
        length = float(fill.get("seq_len"))
        other = float(fill.get(target)) if fill.kind == "seq2seq" else 0.0
        return Shape({"seq_len": length, "target_len": other}, 0.0)
    if fill.kind == "wav2vec2":
        return Shape({"audio_samples": float(fill.get("audio_samples"))}, 0.0)
    if workload.image_height and workload.image_width:
        pixels = float(workload.image_height * workload.image_width)
    else:
        pixels = float(fill.get("image_px", _native_px(workload.model))) ** 2
    frames = fill.get("frames") if fill.kind == "video" else workload.frames
    folded = (frames - 1) // _LATENT_FRAMES + 1 if frames else 1
    return Shape({"px2": pixels * folded}, pixels)


def is_training(workload: Workload) -> bool:
    """Whether a step is trained."""
    return isinstance(workload, TrainingWorkload)


def batch_of(fill: Filler) -> int:
    """Samples at a time on one card."""
    if isinstance(fill.workload, InferenceWorkload):
        return int(fill.workload.batch or fill.workload.concurrency or fill.get("batch"))
    return int(fill.get("micro_batch_size"))
