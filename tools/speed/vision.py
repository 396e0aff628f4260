"""Samples per second of image models, in training and in inference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tools.provenance import Assumption, Figure
from tools.speed.denoising import DenoisingJob, cached_denoising_speed, find_denoiser
from tools.speed.hardware import Card, card, intra_link
from tools.speed.networks import ImageNet, image_model
from tools.speed.results import (
    Interval,
    Worked,
    constants_of,
    data_source,
    load_data,
    require_positive,
)
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
    steps: int | None = None
    """Denoising steps of one image (diffusion alone; guided ones run twice a step).

    None: one pass of a U-Net or another network, the usual steps of a diffusion transformer.
    """
    frames: int | None = None
    """Frames of a video (diffusion alone)."""
    num_gpus: int = 1
    nodes: int | None = None
    interconnect: str | None = None
    link: str | None = None


@dataclass(frozen=True, slots=True)
class ImageSpeed(Worked):
    """Throughput of an image model; parts are seconds of one step."""

    samples_per_s: Interval
    """Images per second of all GPUs together."""
    step_s: float
    """Seconds of one step of one GPU's batch."""
    scaling: float
    """Share of the single-GPU speed that each GPU keeps."""


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
    count = 3.0 if training else float(job.steps or 1)
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
    floor_ms = c["floor_train"] if training else c["floor_infer"] * (job.steps or 1)
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
    if job.task == "infer" and find_denoiser(job.model) is not None:
        return _denoised(job)
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


def _denoised(job: ImageJob) -> ImageSpeed:
    """Images or videos of a diffusion transformer, each card making its own."""
    speed = cached_denoising_speed(
        DenoisingJob(
            gpu=job.gpu,
            model=job.model,
            precision=job.precision,
            engine=job.engine,
            steps=job.steps,
            image_px=job.image_px,
            frames=job.frames,
            batch=max(1, int(job.batch or 1)),
            num_gpus=max(1, job.num_gpus),
        )
    )
    return ImageSpeed(
        samples_per_s=speed.items_per_s,
        step_s=speed.seconds.value,
        scaling=1.0,
        parts=speed.parts,
        assumptions=speed.assumptions,
        _figures=speed.figures(),
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
