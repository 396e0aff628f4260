"""Seconds of one training step, part by part, from hardware limits and a few constants.

The constants (data/training.json) are shares of a hardware limit or costs per layer, learnt from
published rows by `tools.speed.calibrate`; nothing here knows a model or a card by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tools.speed.hardware import Card
from tools.speed.results import load_data
from tools.speed.shapes import USUAL_EXPERTS, Shape
from tools.speed.workload import link_gbps, transport_of

GPUS_PER_NODE = 8
SMOOTHNESS = 3.0
"""Power of the mean that joins a floor and a load: 1 adds them, infinity takes the larger."""


@dataclass(frozen=True, slots=True)
class Step:
    """One fully specified training step: every assumption is made."""

    method: str
    precision: str
    """fp32, tf32, 16 or fp8: what the matrix units multiply."""
    mixed: bool
    """Weights and activations between the products in fp32 (AMP), or all in 16 bit."""
    quantized: bool
    encoder: bool
    micro_batch: float
    seq_len: int
    grad_accum: int
    recompute: float
    """Extra forward passes: 1 for full checkpointing, 0 for none, a share for selective."""
    flash: bool
    eager: bool
    """Library code launched kernel by kernel, as fine-tuning scripts run it."""
    compiled: bool
    sharding: str
    tensor: int
    pipeline: int
    context: int
    expert: int
    virtual_stages: int
    num_gpus: int
    nodes: int
    zero_over_node: bool
    cpu_offload: bool
    intra: str
    """Key of links.json: nvlink3, pcie4, ..."""
    link: str | None
    vendor_kernels: bool = False
    """Attention by the card maker's own kernels (Transformer Engine), not by FlashAttention 2."""


def _join(*seconds: float) -> float:
    """Smooth maximum of times that run side by side."""
    return float(sum(s**SMOOTHNESS for s in seconds if s > 0) ** (1 / SMOOTHNESS))


def passes(step: Step) -> float:
    """Forward-equivalents of the matrix products per token: 3 in full training, 2 for an adapter.

    Source: 2N forward + 4N backward; without weight gradients of frozen matrices 2N backward.
    """
    if step.method == "forward":
        return 1.0
    backward = 2.0 if step.method == "full" else 1.1
    return 1.0 + backward + step.recompute


def model_flops_per_token(shape: Shape, *, method: str, seq_len: int, recompute: float) -> float:
    """FLOPs that one token costs: k N for the matrices plus the attention sum.

    Source: llm-foundry benchmarking README (6N + attention), halved for causal attention.
    """
    k = {"full": 3.0, "forward": 1.0}.get(method, 2.0) + recompute
    span = min(seq_len, shape.window or seq_len)
    causal = 1.0 if shape.is_encoder else 0.5
    return 2 * shape.matmul_params * k + 4 * causal * shape.layers * shape.heads_dim * span * k


def parts(step: Step, card: Card, shape: Shape, c: Mapping[str, float]) -> dict[str, float]:
    """Seconds of one micro-step on one GPU, by part; the step of an accumulated batch is their sum.

    Args:
        step: The run.
        card: Hardware limits.
        shape: Model dimensions.
        c: Constants of data/training.json.
    """
    split = step.tensor * step.pipeline * step.context
    tokens = step.micro_batch * step.seq_len
    count = passes(step)
    width = 4.0 if step.precision in ("fp32", "tf32") else (3.0 if step.mixed else 2.0)
    size = shape.hidden / (shape.hidden + c["small_matrix"])
    rate = card.powered_rate(step.precision, c["gemm"], c) * size
    if shape.is_moe:
        rate *= c["experts"]
    if step.precision == "fp8":
        rate *= c["fp8"]
    elif step.precision == "fp32":
        rate = card.fp32_flops * c["gemm_fp32"]
    bandwidth = card.bytes_per_s * c["bandwidth"]
    matrices = 2 * shape.matmul_params * tokens * count / rate / split
    weights = shape.matmul_params * (2.0 if width < 4 else 4.0) * count / bandwidth / split
    elementwise = (
        c["elementwise"] * tokens * shape.layers * shape.hidden * width * count / bandwidth / split
    )
    elementwise += _routing(shape, c) * tokens * 2.0 * count / bandwidth / split
    logits = c["logits"] * tokens * shape.vocab * 4.0 / bandwidth / split
    if step.compiled:
        elementwise *= c["compiled"]
        logits *= c["compiled"]
    found = {
        "matrices": matrices,
        "weights": weights,
        "elementwise": elementwise,
        "logits": 0.0 if shape.is_encoder else logits,
        "attention": _attention(step, card, shape, c, bandwidth) / split,
    }
    if step.quantized:
        found["dequantise"] = c["dequantise"] * shape.matmul_params * count / bandwidth / split
    busy = sum(found.values())
    floor = _launch(step, shape, c) / max(step.pipeline, 1)
    computing = _join(busy, floor)
    found["launch"] = computing - busy
    found["communication"] = _exposed(step, card, shape, c, computing, bandwidth)
    found["bubble"] = _bubble(step, c) * computing
    found["optimizer"] = _optimizer(step, shape, c, bandwidth)
    return found


def _routing(shape: Shape, c: Mapping[str, float]) -> float:
    """Elements of one token and pass that sending it to experts moves, over all layers.

    Source: each of the chosen experts gets a copy of the hidden vector and returns one.
    """
    return c["routing"] * shape.layers * (shape.experts_per_token or 0) * shape.hidden


def _attention(
    step: Step, card: Card, shape: Shape, c: Mapping[str, float], bandwidth: float
) -> float:
    """Seconds of the attention sums of one micro-step, before any split."""
    tokens = step.micro_batch * step.seq_len
    span = min(step.seq_len, shape.window or step.seq_len)
    causal = 1.0 if shape.is_encoder else 0.5
    forward = 4 * causal * tokens * shape.layers * shape.heads_dim * span
    peak = card.fp32_flops if step.precision == "fp32" else card.tensor16_flops
    if step.precision == "tf32":
        peak = card.flops("tf32")
    if step.flash:
        share = c["attention"] * span / (span + c["attention_half"])
        if card.is_async and not step.vendor_kernels:
            share *= c["attention_async"]
        backward = 0.0 if step.method == "forward" else 2.5
        return forward * (1 + backward + step.recompute) / (peak * share)
    heads = max(1.0, shape.heads_dim / 64)
    traffic = c["eager_attention"] * tokens * span * heads * shape.layers * 2.0
    if step.precision in ("fp32", "tf32"):
        traffic *= 2
    count = (1 if step.method == "forward" else 3) + step.recompute
    return forward * count / (peak * c["gemm"]) + traffic * count / bandwidth


def _launch(step: Step, shape: Shape, c: Mapping[str, float]) -> float:
    """Seconds that the host needs to start the kernels of one micro-step."""
    per_layer = c["launch_eager"] if step.eager else c["launch_tuned"]
    if step.eager and shape.is_moe:
        per_layer += (shape.experts or USUAL_EXPERTS) * c["launch_expert"]
    if step.method == "forward":
        return per_layer / 3 * 1e-3 * shape.layers
    if step.method != "full":
        per_layer += c["launch_adapter"]
    if step.sharding == "zero3" and step.eager:
        per_layer += c["launch_sharded"]
    elif step.sharding == "fsdp" and step.eager:
        per_layer += c["launch_fsdp"]
    return per_layer * 1e-3 * shape.layers * (1 + step.recompute / 3)


def _optimizer(step: Step, shape: Shape, c: Mapping[str, float], bandwidth: float) -> float:
    """Seconds of the optimizer's update, spread over the micro-steps."""
    if step.method != "full":
        return 0.0
    shards = float(step.tensor * step.pipeline)
    if step.sharding in ("zero1", "zero2", "zero3", "fsdp"):
        data = step.num_gpus / shards
        shards *= min(data, GPUS_PER_NODE) if step.zero_over_node else data
    return shape.params_total * c["optimizer_bytes"] / bandwidth / shards / step.grad_accum


def _bubble(step: Step, c: Mapping[str, float]) -> float:
    """Share of idle time of a pipeline: (p - 1) / (micro-steps * virtual stages)."""
    if step.pipeline <= 1:
        return 0.0
    batches = max(step.grad_accum, 4 * step.pipeline) * max(step.virtual_stages, 1)
    return (step.pipeline - 1) / batches


def _intra_bytes_per_s(step: Step) -> float:
    return float(load_data("links")["intra_node_gb_s"][step.intra]["value"]) * 1e9


def _inter_bytes_per_s(step: Step, c: Mapping[str, float]) -> float:
    """Bytes per second and machine between machines."""
    stated = link_gbps(step.link)
    kind = transport_of(step.link)
    if stated is None:
        full_machines = step.num_gpus / step.nodes >= GPUS_PER_NODE
        stated = c["link_gbps_cluster"] if full_machines else c["link_gbps_cloud"]
        if full_machines and step.intra in ("nvlink4", "nvlink5"):
            stated *= 2
        kind = "rdma" if full_machines else "tcp"
    row = load_data("links")["transport"][kind]
    usable = stated * row["share"]
    return float(min(usable, row["ceiling_gbps"] or usable)) * 1e9 / 8


def _dispatch(step: Step, shape: Shape, c: Mapping[str, float]) -> float:
    """Seconds to send the tokens of one micro-step to their experts and back.

    Source: every layer sends the hidden vector of a token to each of its experts and returns it,
    in the forward and the backward pass. Between machines a token travels once to each machine
    that holds one of its experts; a GPU has its share of the machine's link.
    """
    tokens = step.micro_batch * step.seq_len / step.context / step.tensor
    copies = min(shape.experts_per_token or 1, step.expert)
    passes_made = 2 + 2 + 2 * step.recompute
    volume = passes_made * tokens * copies * shape.hidden * 2.0 * shape.layers / step.pipeline
    local = min(step.num_gpus, GPUS_PER_NODE)
    inside = _intra_bytes_per_s(step)
    if step.expert <= local:
        return volume * (step.expert - 1) / step.expert / inside
    machines = step.expert / local
    reached = machines * (1 - (1 - 1 / machines) ** copies)
    between = _inter_bytes_per_s(step, c) / local
    return max(volume / copies * reached * (1 - 1 / machines) / between, volume / inside)


def _exposed(
    step: Step, card: Card, shape: Shape, c: Mapping[str, float], computing: float, bandwidth: float
) -> float:
    """Seconds of communication that the computation does not hide, per micro-step."""
    if (step.num_gpus <= 1 and not step.cpu_offload) or step.method == "forward":
        return 0.0
    local = min(step.num_gpus, GPUS_PER_NODE)
    split = step.tensor * step.pipeline
    data = max(1.0, step.num_gpus / split / step.context)
    held = shape.params_total / step.expert
    weights = held * (0.53 if step.quantized else 2.0) / split
    trained = held if step.method == "full" else 0.01 * held
    gradients = trained * (4.0 if step.mixed and step.sharding == "ddp" else 2.0) / split
    tokens = step.micro_batch * step.seq_len / step.context
    seconds = 0.0
    if step.sharding in ("zero3", "fsdp") and data > 1:
        moved = 2 * weights + gradients
    else:
        moved = 2 * gradients / step.grad_accum if data > 1 else 0.0
    inside = moved * (local - 1) / local / _intra_bytes_per_s(step)
    seconds += inside
    if step.nodes > 1:
        moved_between = moved
        if step.zero_over_node:
            moved_between = moved / local
        share = (step.nodes - 1) / step.nodes
        seconds += moved_between * share / _inter_bytes_per_s(step, c)
    hidden = c["overlap"] * computing
    exposed = max(0.0, seconds - hidden) + c["overlap_loss"] * min(seconds, hidden)
    if step.tensor > 1:
        volume = 4 * tokens * shape.hidden * 2.0 * shape.layers / step.pipeline
        ring = 2 * (step.tensor - 1) / step.tensor
        speed = _intra_bytes_per_s(step)
        if step.tensor > local:
            speed = _inter_bytes_per_s(step, c)
        exposed += c["tensor_exposed"] * volume * ring / speed
    if step.expert > 1 and shape.experts_per_token:
        exposed += c["expert_exposed"] * _dispatch(step, shape, c)
    if step.cpu_offload:
        host = load_data("links")["intra_node_gb_s"]["pcie4"]["value"] * 1e9
        exposed += c["offload"] * 2 * weights / local / host
    scale = c["straggler"] * (max(step.num_gpus, 1) ** 0.5 - 1) / 30
    return float(exposed + scale * computing)
