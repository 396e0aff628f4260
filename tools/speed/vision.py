"""Samples per second of image models, in training and in inference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

from tools.errors import UnknownModelError, UnsupportedError
from tools.provenance import Assumption, Figure
from tools.speed.hardware import Card, card
from tools.speed.results import (
    Interval,
    constants_of,
    data_source,
    load_data,
    require_positive,
)
from tools.speed.training import intra_link
from tools.speed.workload import link_gbps, transport_of

GPUS_PER_NODE = 8
SMOOTHNESS = 3.0
GUIDANCE = 2.0
"""Classifier-free guidance runs every denoising step for the prompt and for no prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageJob:
    """One run of an image model; None = not said, assumed and reported."""

    gpu: str
    model: str
    params_b: float | None = None
    task: Literal["train", "infer"] = "train"
    precision: str | None = None
    """amp, fp16, bf16, fp32, tf32; `channels_last` or `nhwc` in it says the memory layout."""
    engine: str | None = None
    """pytorch, torch.compile, torchscript, tensorrt, xla, mxnet, dali ... as written."""
    batch: float | None = None
    """Images per GPU and step."""
    global_batch: float | None = None
    image_px: int | None = None
    steps: int = 1
    """Denoising steps of one image (diffusion alone); each runs twice, with and without prompt."""
    num_gpus: int = 1
    nodes: int | None = None
    interconnect: str | None = None
    link: str | None = None


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


@dataclass(frozen=True, slots=True)
class ImageSpeed:
    """Throughput of an image model."""

    samples_per_s: Interval
    """Images per second of all GPUs together."""
    step_s: float
    """Seconds of one step of one GPU's batch."""
    scaling: float
    """Share of the single-GPU speed that each GPU keeps."""
    parts: dict[str, float]
    assumptions: tuple[Assumption, ...]
    _figures: tuple[Figure, ...]

    def figures(self) -> tuple[Figure, ...]:
        """Images per second with its interval, seconds of a step."""
        return self._figures


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
    if re.search(r"flux\d", squeezed) and "flux1" not in squeezed:
        return None
    names = {**{key: key for key in models}, **aliases}
    for written in sorted(
        names, key=lambda name: len(re.sub(r"[^a-z0-9]", "", name)), reverse=True
    ):
        if re.sub(r"[^a-z0-9]", "", written) in squeezed:
            return str(names[written])
    return None


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


def _precision(job: ImageJob, device: Card) -> str:
    text = (job.precision or "amp").casefold()
    if any(word in text for word in ("amp", "16", "mixed", "bf16")):
        return "16"
    if "tf32" in text or "adaptive" in text:
        return "tf32" if device.tf32_flops else "fp32"
    if "int8" in text:
        return "int8"
    return "fp32"


def image_batch(job: ImageJob, net: ImageNet, assumed: list[Assumption]) -> float:
    """Images per GPU and step; an assumed one is added to `assumed`."""
    if job.batch is not None:
        return job.batch
    if job.global_batch is not None:
        return max(1.0, job.global_batch / max(1, job.num_gpus))
    size = 2.0 if net.kind == "detector" else 64.0
    assumed.append(Assumption("batch", size, "image", "usual batch per GPU for this network"))
    return size


def engine_style(engine: str | None) -> str:
    """plain, compiled or optimised: how the program runs a network."""
    text = (engine or "").casefold()
    if any(word in text for word in ("tensorrt", "ti-acc", "onnx", "openvino")):
        return "optimised"
    if any(word in text for word in ("compile", "xla", "oneflow", "torchscript", "dynamo")):
        return "compiled"
    return "plain"


def image_parts(
    net: ImageNet, device: Card, job: ImageJob, batch: float, c: Mapping[str, float]
) -> dict[str, float]:
    """Seconds of one step of one GPU's batch, by part.

    Source: training is one forward and two backward passes; each pass writes and reads the
    activations. Constants: data/vision.json.
    """
    precision = _precision(job, device)
    style = engine_style(job.engine)
    training = job.task == "train"
    count = 3.0 if training else float(job.steps)
    if net.is_guided and not training:
        count *= GUIDANCE
    width = 2.0 if precision == "16" else (1.0 if precision == "int8" else 4.0)
    if precision == "fp32":
        peak = device.fp32_flops * c["fp32_share"]
    else:
        peak = device.powered_rate(precision, c[f"share_{net.kind}"], c)
    text = f"{job.precision or ''} {job.engine or ''}".casefold()
    if precision != "fp32" and net.kind in ("cnn", "grouped") and "nchw" in text:
        peak *= c["channels_first"]
    arithmetic = 2 * net.macs * batch * count / peak
    traffic = net.activations * batch * width * count * c[f"traffic_{net.kind}"]
    if style != "plain":
        traffic *= c["fused"]
    memory = traffic / device.bytes_per_s
    floor_ms = c["floor_train"] if training else c["floor_infer"] * job.steps
    if style == "optimised":
        floor_ms *= 0.1
    elif style == "compiled":
        floor_ms *= 0.4
    floor = floor_ms * 1e-3 * (0.05 if device.is_cpu else 1.0)
    busy = arithmetic + memory
    joined = (busy**SMOOTHNESS + floor**SMOOTHNESS) ** (1 / SMOOTHNESS)
    update = net.params * 24 / device.bytes_per_s if training else 0.0
    return {
        "arithmetic": arithmetic,
        "memory": memory,
        "launch": joined - busy,
        "optimizer": update,
    }


def image_scaling(
    job: ImageJob, net: ImageNet, device: Card, step_s: float, c: Mapping[str, float]
) -> float:
    """Share of the single-GPU speed that each GPU keeps, from 0 to 1."""
    if job.num_gpus <= 1:
        return 1.0
    links = load_data("links")
    local = min(job.num_gpus, GPUS_PER_NODE)
    nodes = job.nodes or max(1, -(-job.num_gpus // GPUS_PER_NODE))
    gradients = 4.0 * net.params
    inside = links["intra_node_gb_s"][intra_link(device, job.interconnect)]["value"] * 1e9
    waiting = max(0.0, 2 * gradients * (local - 1) / local / inside - c["overlap"] * step_s)
    if nodes > 1:
        speed = link_gbps(job.link)
        kind = transport_of(job.link) if job.link else "rdma"
        row = links["transport"][kind]
        usable = (speed or 100.0) * row["share"]
        usable = min(usable, row["ceiling_gbps"] or usable)
        between = 2 * gradients * (job.num_gpus - 1) / job.num_gpus * 8 / (usable * 1e9)
        helped = (
            "acc" in (job.engine or "").casefold() or "user-space" in (job.link or "").casefold()
        )
        hidden = c["overlap"] * step_s if (kind == "rdma" or helped) else 0.0
        waiting += max(0.0, between - hidden)
    return float(step_s / (step_s * (1 + c["crowd"] * (local - 1) / 7) + waiting))


def image_speed(job: ImageJob, *, constants: Mapping[str, float] | None = None) -> ImageSpeed:
    """Images per second of an image model on a machine.

    Args:
        job: The run; fields that are None are assumed and reported.
        constants: Constants in place of data/vision.json; for calibration.

    Raises:
        BadQuantityError: If a number is not above zero.
        UnknownModelError: If the network is not known and no size is given.
        UnknownGpuError: If the card is not known.

    Assumes: the input arrives in time; `data_loading` says whether it does.
    """
    for name in ("batch", "global_batch", "image_px", "num_gpus", "nodes", "steps"):
        require_positive(name, getattr(job, name) or None)
    table = load_data("vision")
    c = constants or constants_of("vision")
    device = card(job.gpu)
    net = image_model(job.model, job.image_px, job.params_b)
    assumed: list[Assumption] = []
    if job.precision is None:
        assumed.append(Assumption("precision", "amp", "", "mixed precision is the usual choice"))
    batch = image_batch(job, net, assumed)
    found = image_parts(net, device, job, batch, c)
    step_s = sum(found.values())
    scaling = image_scaling(job, net, device, step_s, c)
    factor = 1.0
    for kind, key in image_groups(job, net, device).items():
        row = table["groups"].get(kind, {}).get(key)
        factor *= row["factor"] if row else 1.0
    rate = batch / step_s * scaling * max(1, job.num_gpus) * factor
    spread = float((table["spread"].get(job.task) or table["spread"]["default"])["factor"])
    interval = Interval(rate, rate / spread, rate * spread, "image/s")
    return ImageSpeed(
        samples_per_s=interval,
        step_s=step_s / factor,
        scaling=scaling,
        parts=found,
        assumptions=tuple(assumed),
        _figures=_figures(interval, net, device, step_s / factor),
    )


def image_groups(job: ImageJob, net: ImageNet, device: Card) -> dict[str, str]:
    """Groups whose rows share a learnt correction."""
    precision = _precision(job, device)
    return {
        "architecture": f"{device.generation}/{precision}",
        "card": f"{device.name}/{job.task}",
        "network": f"{net.name}/{job.task}",
        "style": f"{engine_style(job.engine)}/{job.task}/{precision}",
    }


def _figures(interval: Interval, net: ImageNet, device: Card, step_s: float) -> tuple[Figure, ...]:
    origin = (data_source("vision", "constants"),)
    work = Figure("forward_gmac", net.macs / 1e9, "GMAC", (data_source("image_models", net.name),))
    peak = Figure(
        "peak_dense_16bit",
        device.tensor16_flops / 1e12,
        "TFLOP/s",
        (data_source("cards", device.name),),
    )
    formula = "batch / (arithmetic + activations / bandwidth + launches) * scaling * GPUs"
    return (
        *interval.figures("samples_per_s", formula=formula, inputs=(work, peak), sources=origin),
        Figure("step", step_s, "s", formula="arithmetic + memory + launches + update"),
        work,
    )


@lru_cache(maxsize=1024)
def cached_image_speed(job: ImageJob) -> ImageSpeed:
    """`image_speed` of a run asked before costs a look-up."""
    return image_speed(job)
