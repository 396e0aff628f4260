"""Networks of images: multiply-adds, activations and parameters, by any spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tools.errors import UnknownModelError, UnsupportedError
from tools.speed.denoising import Denoiser, find_denoiser
from tools.speed.results import load_data


@dataclass(frozen=True, slots=True)
class ImageNet:
    """Work of one image through a network."""

    name: str
    macs: float
    """Multiply-accumulates of one forward pass."""
    activations: float
    """Elements written by one forward pass."""
    params: float
    kind: str
    px: int
    origin: str
    is_guided: bool = False
    """Every denoising step runs twice, with and without the prompt."""
    usual_steps: int = 1
    """Denoising steps of one image; 1 for networks that are run once."""


@cache
def image_model(name: str, px: int | None = None, params_b: float | None = None) -> ImageNet:
    """Work of a network by any spelling, at `px` pixels.

    Args:
        name: A timm name, or as written (`ResNet-50 v1.5`, `Mask R-CNN R50-FPN`).
        px: Side of the image; None = 224 for classifiers, the row's own for the rest.
        params_b: Size in billions, for a network that is not in the table.

    Raises:
        UnknownModelError: If no row carries the name and no size is given.
        UnsupportedError: If it is a diffusion model that the table lacks.

    Source: data/image_models.json; work grows with the pixels.
    """
    table = load_data("image_models")
    models = table["models"]
    folded = name.strip().casefold().removeprefix("timm/").removeprefix("tf_")
    key = _key_of(folded, models, table["aliases"])
    transformer = find_denoiser(name)
    if transformer is not None:
        return _of_denoiser(transformer, px)
    if key is None:
        if params_b is None:
            raise UnknownModelError(name, sorted(models)[:3])
        _refuse_denoiser(name)
        return _by_size(name, params_b, px or 224)
    row = models[key]
    size = px or (
        224 if "origin" not in row and row["px"] < 400 and row["kind"] != "mobile" else None
    )
    if size is None and row["kind"] == "mobile":
        size = min(row["px"], 300) if key.startswith("efficientnetv2") else min(row["px"], 320)
    size = size or row["px"]
    growth = (size / row["px"]) ** 2
    return ImageNet(
        key,
        row["gmacs"] * 1e9 * growth,
        row["macts"] * 1e6 * growth,
        row["params_m"] * 1e6,
        row["kind"],
        size,
        row.get("origin", table["source"]),
        is_guided=row.get("guided", False),
        usual_steps=row.get("steps", 1),
    )


def _key_of(folded: str, models: Mapping[str, Any], aliases: Mapping[str, str]) -> str | None:
    plain = re.sub(r"\(.*?\)", "", folded).strip()
    if plain in load_data("image_models")["other_things"]:
        return None
    for candidate in (
        folded,
        plain,
        plain.replace("-", "").replace(" ", "_"),
        plain.replace("-", "_"),
    ):
        if candidate in models:
            return candidate
        if candidate in aliases:
            return aliases[candidate]
    detector = re.search(r"(mask|faster|keypoint) r-?cnn.*?\b([rx])(50|101)", plain)
    if detector:
        key = f"{detector[1]}_rcnn_{detector[2]}{detector[3]}_fpn"
        return key if key in models else f"{detector[1]}_rcnn_r50_fpn"
    yolo = re.search(r"yolo[ -]?v?(5|8|11|12|26)[ -]?([nsmlx])u?\b", plain)
    if yolo:
        return f"yolo{'v' if len(yolo[1]) == 1 else ''}{yolo[1]}{yolo[2]}"
    squeezed = re.sub(r"[^a-z0-9]", "", plain)
    names = {**{key: key for key in models}, **aliases}
    for written in sorted(
        names, key=lambda name: len(re.sub(r"[^a-z0-9]", "", name)), reverse=True
    ):
        short = re.sub(r"[^a-z0-9]", "", written)
        if len(short) <= _SHORT and not re.search(rf"(?<![a-z]){short}(?![a-z])", plain):
            continue
        if short in squeezed:
            return str(names[written])
    return None


_SHORT = 3
"""Letters of a name that counts only as a word of its own."""


_DENOISING = ("dit", "diffusion-unet")


def _refuse_denoiser(name: str) -> None:
    """Refuses a diffusion model that the table lacks: its work does not follow from its size."""
    from tools.models import try_find_model

    match = try_find_model(name)
    if match is not None and match.spec.kind in _DENOISING:
        raise UnsupportedError(
            name,
            reason="the work of one denoising step of this model is not known",
            instead="Give a measured time of one step, or name SDXL, SD 3.5 or FLUX.1.",
        )


def _by_size(name: str, params_b: float, px: int) -> ImageNet:
    """A convolutional network of that size: ResNet's work and activations a parameter."""
    row = load_data("image_models")["models"]["resnet50"]
    ratio = params_b * 1e3 / row["params_m"]
    growth = (px / row["px"]) ** 2
    return ImageNet(
        name,
        row["gmacs"] * 1e9 * ratio * growth,
        row["macts"] * 1e6 * ratio**0.6 * growth,
        params_b * 1e9,
        "cnn",
        px,
        "scaled from ResNet-50 by its parameters",
    )


_WRITTEN = 14.0
"""Vectors that a layer of a diffusion transformer writes for every token: query, key, value,
attention, output, the four times wider feed-forward and its result, norms."""


def _of_denoiser(row: Denoiser, px: int | None) -> ImageNet:
    """One pass of a diffusion transformer as a network, for training."""
    tokens = row.tokens(*row.size(px), row.frames)
    return ImageNet(
        row.name,
        row.macs(px),
        _WRITTEN * row.hidden * row.layers * (tokens + (row.text_tokens if row.joint else 0)),
        row.params,
        "vit",
        row.size(px)[1],
        row.origin,
        is_guided=row.passes > 1,
        usual_steps=row.steps,
    )
