"""Seconds of one image or video of a diffusion transformer, from its layers and tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

from tools.errors import UnknownModelError
from tools.provenance import Assumption, Figure
from tools.speed.hardware import Card, card, intra_link
from tools.speed.results import (
    Interval,
    Worked,
    constants_of,
    data_source,
    load_data,
    require_all_positive,
)

_ATTENTION = 4
"""Weights of self-attention in squares of the width: query, key, value, output."""
_CROSS = 2
"""The same that an image token meets in cross-attention: query and output."""

_LINES = frozenset((240, 360, 480, 540, 544, 576, 704, 720, 768, 1080, 1440, 2160))
"""Heights that videos are called by; any other number is a width."""


@dataclass(frozen=True, slots=True)
class Denoiser:
    """Dimensions of a diffusion transformer, with its publisher's defaults."""

    name: str
    layers: int
    hidden: int
    ffn: int
    mlp_products: int
    """Products of the feed-forward: 2, or 3 where it is gated."""
    joint: bool
    """Text and image share every layer's attention; otherwise the image looks at the text."""
    image_attention_layers: int
    """Layers with a second attention over the image alone."""
    text_tokens: int
    passes: int
    """Passes of one denoising step: 2 with and without the prompt."""
    steps: int
    width: int
    height: int
    frames: int
    fps: int | None
    """Frames per second of the video; None for images."""
    pixel_side: int
    """Pixels of a token's side."""
    frame_ratio: int
    """Frames of one latent frame, after the first."""
    decode_macs: float
    """Multiply-adds of the decoder per pixel and frame."""
    params: float
    origin: str

    @property
    def is_video(self) -> bool:
        """Makes videos rather than single images."""
        return self.fps is not None

    def tokens(self, width: int, height: int, frames: int) -> int:
        """Image tokens of one item."""
        latent_frames = (frames - 1) // self.frame_ratio + 1
        return (width // self.pixel_side) * (height // self.pixel_side) * latent_frames

    def linear_macs(self, image_tokens: int) -> float:
        """Multiply-adds of the matrix products of one pass."""
        mlp = self.mlp_products * self.hidden * self.ffn
        square = self.hidden**2
        if self.joint:
            each = _ATTENTION * square + mlp
            extra = self.image_attention_layers * _ATTENTION * square * image_tokens
            return float(self.layers * each * (image_tokens + self.text_tokens) + extra)
        each = (_ATTENTION + _CROSS) * square + mlp
        keys = _CROSS * square * self.text_tokens
        return float(self.layers * (each * image_tokens + keys))

    def attention_macs(self, image_tokens: int) -> float:
        """Multiply-adds of the attention sums of one pass: 2 n^2 h a layer."""
        if self.joint:
            every = (image_tokens + self.text_tokens) ** 2 * self.layers
            every += image_tokens**2 * self.image_attention_layers
        else:
            every = (image_tokens**2 + image_tokens * self.text_tokens) * self.layers
        return 2.0 * every * self.hidden

    def macs(self, px: int | None = None) -> float:
        """Multiply-adds of one pass over one item at `px` pixels."""
        tokens = self.tokens(*self.size(px), self.frames)
        return self.linear_macs(tokens) + self.attention_macs(tokens)

    def size(self, px: int | None) -> tuple[int, int]:
        """(width, height): a square image of that side, or a video by its lines or its width."""
        if px is None:
            return self.width, self.height
        if not self.is_video:
            return px, px
        side, shape = self.pixel_side, self.width / self.height
        if px in _LINES:
            height = px // side * side
            return round(height * shape / side) * side, height
        return px // side * side, round(px / shape / side) * side


@dataclass(frozen=True, slots=True, kw_only=True)
class DenoisingJob:
    """One diffusion transformer on a card; None = the publisher's default, reported."""

    gpu: str
    model: str
    precision: str | None = None
    engine: str | None = None
    """diffusers, torch.compile, TensorRT, ... as written."""
    steps: int | None = None
    image_px: int | None = None
    """Side of an image; lines (480, 720) or width (832, 1280) of a video."""
    frames: int | None = None
    batch: int = 1
    num_gpus: int = 1


@dataclass(frozen=True, slots=True)
class DenoisingSpeed(Worked):
    """Speed of a diffusion transformer; parts are seconds of one item."""

    seconds: Interval
    """Seconds of one image or video on one card, decoder included."""
    items_per_s: Interval
    """Images or videos per second of all cards, each making its own."""
    shared_s: Interval
    """Seconds of one item that all cards make together, its tokens split among them."""
    link: Literal["nvlink", "pcie"]
    """What the cards of one machine exchange their tokens over."""
    item: Literal["image", "video"]
    steps: int


@cache
def find_denoiser(name: str) -> Denoiser | None:
    """The diffusion transformer of that name by any spelling; None when the table lacks it.

    >>> find_denoiser("Wan2.1-T2V-14B").layers, find_denoiser("resnet50")
    (40, None)
    """
    folded = name.casefold()
    for row in load_data("denoisers")["models"]:
        if re.search(row["pattern"], folded):
            fields = {key: row[key] for key in row if key in Denoiser.__slots__}
            width, height = row["px"]
            return Denoiser(**fields, width=width, height=height, params=row["params_m"] * 1e6)
    return None


def _constant(name: str) -> float:
    return float(load_data("denoisers")["constants"][name]["value"])


def _is_compiled(engine: str | None) -> bool:
    words = ("compile", "tensorrt", "xdit", "sglang", "inductor")
    return any(word in (engine or "").casefold() for word in words)


def denoising_parts(
    net: Denoiser, device: Card, job: DenoisingJob, size: tuple[int, int, int]
) -> dict[str, float]:
    """Seconds of one item by part.

    Source: matrix products and memory passes at the shares learnt from training
    (data/training.json); attention forward at the share of FlashAttention; decoder as convolutions.
    """
    c = constants_of("training")
    width, height, frames = size
    tokens = net.tokens(width, height, frames)
    passes = float((job.steps or net.steps) * net.passes)
    kind = _kind(job.precision, device)
    matrix_rate = device.powered_rate(kind, c["gemm"] * (c["fp8"] if kind == "fp8" else 1.0), c)
    matrix_rate *= net.hidden / (net.hidden + c["small_matrix"])
    attention_rate = device.tensor16_flops if kind != "fp32" else device.fp32_flops
    attention_rate *= _constant("attention_forward") * tokens / (tokens + c["attention_half"])
    attention_rate *= _constant("attention_async") if device.is_async else 1.0
    bandwidth = device.bytes_per_s * c["bandwidth"]
    wide = 4.0 if kind == "fp32" else 2.0  # activations stay in 16 bit beside FP8 products
    moved = c["elementwise"] * net.layers * net.hidden * (tokens + net.text_tokens) * wide
    moved *= c["compiled"] if _is_compiled(job.engine) else _constant("norms_in_fp32")
    pixels = float(width * height * frames)
    decode = 2 * net.decode_macs * pixels / (device.tensor16_flops * _constant("decode_share"))
    return {
        "matrices": 2 * net.linear_macs(tokens) * passes / matrix_rate,
        "attention": 2 * net.attention_macs(tokens) * passes / attention_rate,
        "elementwise": moved * passes / bandwidth,
        "weights": net.params * _WEIGHT_BYTES[kind] * passes / job.batch / bandwidth,
        "decoder": decode,
    }


_WEIGHT_BYTES = {"fp8": 1.0, "16": 2.0, "fp32": 4.0}
"""Bytes of a weight by what the matrix units multiply."""


def _kind(precision: str | None, device: Card) -> str:
    text = (precision or "bf16").casefold()
    if ("fp8" in text or "float8" in text) and device.fp8_flops:
        return "fp8"
    return "fp32" if text in ("fp32", "float32") else "16"


def denoising_speed(job: DenoisingJob) -> DenoisingSpeed:
    """Seconds of one image or video of a diffusion transformer.

    Args:
        job: The run; fields that are None are the publisher's defaults and reported.

    Raises:
        BadQuantityError: If a number is not above zero.
        UnknownModelError: If the model is not in the table.
        UnknownGpuError: If the card is not known.

    Assumes: weights stay on the card (or are quantised without cost); step caches and distilled
    samplers are not used.
    """
    require_all_positive(
        steps=job.steps, image_px=job.image_px, frames=job.frames, batch=job.batch,
        num_gpus=job.num_gpus,
    )  # fmt: skip
    net = find_denoiser(job.model)
    if net is None:
        names = [row["name"] for row in load_data("denoisers")["models"]]
        raise UnknownModelError(job.model, names[:3])
    device = card(job.gpu)
    width, height = net.size(job.image_px)
    frames = (job.frames or net.frames) if net.is_video else 1
    found = denoising_parts(net, device, job, (width, height, frames))
    value = sum(found.values())
    spread = float(load_data("denoisers")["spread"]["value"])
    seconds = Interval(value, value / spread, value * spread, "s")
    item: Literal["image", "video"] = "video" if net.is_video else "image"
    link: Literal["nvlink", "pcie"] = (
        "nvlink" if intra_link(device, None).startswith("nvlink") else "pcie"
    )
    loss = float(load_data("denoisers")["constants"][f"shared_loss_{link}"]["value"])
    shared = seconds.scaled((1 + loss * (job.num_gpus - 1)) / job.num_gpus, "s")
    rate = seconds.inverse(float(job.num_gpus), f"{item}/s")
    return DenoisingSpeed(
        seconds=seconds,
        items_per_s=rate,
        shared_s=shared,
        link=link,
        item=item,
        steps=job.steps or net.steps,
        parts=found,
        assumptions=_assumptions(job, net, (width, height, frames)),
        _figures=_figures(seconds, rate, shared, net, device, net.tokens(width, height, frames)),
    )


def _assumptions(
    job: DenoisingJob, net: Denoiser, size: tuple[int, int, int]
) -> tuple[Assumption, ...]:
    why = "the publisher's default"
    found: list[tuple[str, Any, str]] = []
    if job.steps is None:
        found.append(("denoising_steps", net.steps, "1"))
    if job.image_px is None:
        found.append(("size", f"{size[0]}x{size[1]}", "px"))
    if net.is_video and job.frames is None:
        found.append(("frames", size[2], "1"))
    if net.passes > 1:
        found.append(("passes", net.passes, "1"))
    return tuple(Assumption(name, value, unit, why) for name, value, unit in found)


def _figures(
    seconds: Interval, rate: Interval, shared: Interval, net: Denoiser, device: Card, tokens: int
) -> tuple[Figure, ...]:
    macs = net.linear_macs(tokens) + net.attention_macs(tokens)
    work = Figure("pass_tmac", macs / 1e12, "TMAC", (data_source("denoisers", net.name),))
    peak = Figure(
        "peak_dense_16bit",
        device.tensor16_flops / 1e12,
        "TFLOP/s",
        (data_source("cards", device.name),),
    )
    formula = "steps * passes * (products + attention + memory passes) + decoder"
    origin = (data_source("denoisers", "constants"),)
    return (
        *seconds.figures("seconds", formula=formula, inputs=(work, peak), sources=origin),
        *rate.figures("samples_per_s", formula="GPUs / seconds", sources=origin),
        *shared.figures(
            "shared_seconds", formula="seconds * (1 + loss * (GPUs - 1)) / GPUs", sources=origin
        ),
        work,
    )


@lru_cache(maxsize=256)
def cached_denoising_speed(job: DenoisingJob) -> DenoisingSpeed:
    """`denoising_speed` of a run asked before costs a look-up."""
    return denoising_speed(job)
