"""One training step of a model that is no language model, on one card."""

from __future__ import annotations

import math
from typing import NamedTuple

from tools.errors import UnsupportedError
from tools.memory.other.fill import Assumed, Filler, Shape, batch_of, shape_of
from tools.memory.other.forms import Form, Moment, form_of
from tools.memory.other.pipelines import Companions, companions
from tools.memory.tables import Row, find_row
from tools.memory.workload import TrainingWorkload

_SIMULATED_RANK = 16
_ADAPTER_SHARE = 0.012
"""Adapters of rank 16 over the model, where no simulated row says it (ViT-B query and value)."""
_BLOCK = 256
_ADAPTERS = frozenset({"lora", "dora", "qlora"})
_SHARDED_WEIGHTS = frozenset({"zero3", "fsdp"})
_SHARDED_GRADS = frozenset({"zero2", "zero3", "fsdp"})
_SHARDED_STATES = frozenset({"zero1", "zero2", "zero3", "fsdp"})
_FROZEN_PRECISION = "pure-bf16"
"""Frozen weights under adapters are loaded in 16 bit, also where full training keeps to fp32."""
_NF4_BITS = 4 + 8 / 64 + 32 / 16384
_FACTORED_BYTES = 0.004
"""Row and column means of a matrix, per parameter."""


class TrainStep(NamedTuple):
    """The bytes of a step at its peak."""

    weights: float
    adapters: float
    optimizer: float
    buffers: float
    text_encoders: float
    vae: float
    copies: float
    gradients: float
    activations: float
    workspace: float
    moment: str
    host: float
    form: Form
    rest: Companions | None
    assumed: tuple[Assumed, ...]


class _States(NamedTuple):
    weights: float
    adapters: float
    optimizer: float
    gradients: float
    copies: float
    workspace: float
    host: float


def train_step(workload: TrainingWorkload) -> TrainStep:
    """The peak of one training step.

    Raises:
        UnsupportedError: If the model has no activation form.
        BadQuantityError: If the optimizer's name is not known.
    """
    fill = Filler(workload)
    method = str(fill.get("method"))
    is_adapter = method in _ADAPTERS
    is_fp32 = is_adapter and fill.defaults["precision"] == "fp32"
    precision = str(fill.get("precision", _FROZEN_PRECISION if is_fp32 else None))
    checkpointing = str(fill.get("gradient_checkpointing"))
    optimizer = find_row("optimizers", str(fill.get("optimizer")), field="optimizer")
    batch, shape = batch_of(fill), shape_of(fill)
    form = form_of(workload.model, mode_of(workload, precision, checkpointing, is_adapter))
    states = _states(fill, form, optimizer, precision, method)
    rest = companions(workload.model)
    text, vae = _companion_bytes(fill, rest)
    peak, name = _highest(form, states, batch, shape, workload)
    return TrainStep(
        weights=states.weights, adapters=states.adapters, optimizer=states.optimizer,
        buffers=form.buffers_bytes, text_encoders=text, vae=vae, copies=states.copies,
        gradients=peak.gradients, activations=peak.activations,
        workspace=states.workspace if name == "optimizer_step" else 0.0,
        moment=name, host=states.host, form=form, rest=rest, assumed=tuple(fill.assumed),
    )  # fmt: skip


def mode_of(workload: TrainingWorkload, precision: str, checkpointing: str, adapter: bool) -> str:
    """Name of the simulated mode that a run is in."""
    if adapter:
        mode = "lora-fp32" if precision == "fp32" else "lora"
        if precision == "pure-bf16" and workload.autocast is False:
            mode = "lora16"
    elif precision in ("fp32", "pure-bf16"):
        mode = precision
    else:
        mode = "pure-bf16" if precision == "pure-fp16" else "bf16-mixed"
    return mode if checkpointing == "none" else f"{mode}/full"


def _states(
    fill: Filler, form: Form, optimizer: Row, precision: str, method: str
) -> _States:  # fmt: skip
    workload = fill.workload
    assert isinstance(workload, TrainingWorkload)
    params = max(workload.model.params_total, form.params if _is_own(form, workload) else 0)
    is_adapter = method in _ADAPTERS
    width = 4 if precision in ("fp32", "bf16-mixed", "fp16-mixed", "fp8") else 2
    if is_adapter and precision != "fp32":
        width = 2
    rank = int(fill.get("lora_rank")) if is_adapter else 0
    adapters = _adapter_params(form, workload, rank) if is_adapter else 0.0
    weights = params * (_base_width(workload, method, width) if is_adapter else width)
    trained = adapters or float(params)
    grad_width = 4 if is_adapter else width
    per_param = _state_bytes(optimizer, grad_width)
    cards, sharding = workload.gpu_count or 1, str(workload.parallelism or "none").casefold()
    weights, host = _swapped(workload, weights)
    states, gradients = trained * per_param, trained * grad_width
    copies = gradients if cards > 1 and sharding in ("none", "ddp") else 0.0
    if sharding in _SHARDED_STATES:
        if width == 4 and not is_adapter:  # 16-bit copy to compute, fp32 masters with the states
            weights, gradients = params * 2.0, gradients / 2
            states += trained * 4
        states /= cards
        gradients /= cards if sharding in _SHARDED_GRADS else 1
        weights /= cards if sharding in _SHARDED_WEIGHTS else 1
    if optimizer.get("paged") or workload.cpu_offload:
        states, host = 0.0, host + states + (gradients if workload.cpu_offload else 0.0)
    impl = fill.get("optimizer_impl")
    workspace = gradients if impl == "foreach" and per_param >= 4 else 0.0
    return _States(weights, adapters * 4, states, gradients, copies, workspace, host)


def _base_width(workload: TrainingWorkload, method: str, width: int) -> float:
    """Bytes a parameter of frozen weights under adapters: NF4, another format, or 16 bit."""
    named = workload.quantization
    if method == "qlora":
        return _NF4_BITS / 8
    if named in (None, "none"):
        return float(width)
    return float(find_row("formats", named, field="quantization")["bits"]) / 8


def _swapped(workload: TrainingWorkload, weights: float) -> tuple[float, float]:
    """Weights left on the card and in host memory where blocks are swapped.

    Raises:
        UnsupportedError: If the model's blocks are not known.
    """
    swapped = workload.blocks_to_swap
    if not swapped:
        return weights, 0.0
    blocks = workload.model.num_hidden_layers
    if workload.model.kind != "dit" or not blocks:
        raise UnsupportedError(
            f"swapping blocks of {workload.model.name}",
            reason="it is a setting of trainers for diffusion transformers",
            instead="Lower the batch, the resolution, or quantize the base weights.",
        )
    moved = weights * min(swapped, blocks - _BLOCKS_ON_CARD) / blocks
    return weights - moved, moved


_BLOCKS_ON_CARD = 2
"""The block that computes and the one that is on its way."""


def _is_own(form: Form, workload: TrainingWorkload) -> bool:
    return form.model == workload.model.name and not form.mode.startswith("lora")


def _adapter_params(form: Form, workload: TrainingWorkload, rank: int) -> float:
    share = rank / _SIMULATED_RANK
    if form.mode.startswith("lora"):
        return form.trained * share * (form.scale if form.model != workload.model.name else 1.0)
    return workload.model.params_total * _ADAPTER_SHARE * share


def _state_bytes(optimizer: Row, width: int) -> float:
    per_param = float(optimizer["state_bytes"][0 if width == 4 else 1])
    if optimizer.get("blockwise"):
        per_param += math.floor(per_param) * 4 / _BLOCK
    return per_param + (_FACTORED_BYTES if optimizer.get("factored") else 0.0)


def _companion_bytes(fill: Filler, rest: Companions | None) -> tuple[float, float]:
    """Frozen text encoders in 16 bit and the autoencoder, unless their outputs were cached."""
    if rest is None:
        return 0.0, 0.0
    text = 0.0 if fill.get("text_cached") else 2.0 * rest.text_encoders
    width = 4.0 if rest.vae_in_fp32 else 2.0
    return text, 0.0 if fill.get("latents_cached") else width * rest.vae


def _highest(
    form: Form, states: _States, batch: int, shape: Shape, workload: TrainingWorkload
) -> tuple[Moment, str]:  # fmt: skip
    """The moment of forward, backward or step at which most is alive beside the states."""
    simulated = form.trained * (2.0 if form.mode.startswith("pure") else 4.0)
    candidates = []
    for moment in form.moments(batch, shape.sizes):
        share = min(1.0, moment.gradients / simulated) if simulated else 0.0
        held = 1.0 if workload.gradients_kept_across_steps else share
        name = "backward" if moment.gradients else "forward"
        candidates.append((Moment(states.gradients * held, moment.activations), name))
    candidates.append((Moment(states.gradients, states.workspace), "optimizer_step"))
    peak, name = max(candidates, key=lambda pair: pair[0].total)
    if name == "optimizer_step":
        peak = Moment(peak.gradients, 0.0)
    return peak, name
