"""What a card holds when a run is spread: shards, gathered units, buckets, and host memory.

Persistent shares and live extras per engine; what does not shrink with more cards (one sample's
activations and logits, the root unit, communication buffers) stays with the caller.
"""

from __future__ import annotations

from typing import NamedTuple

from tools.memory.params import ParamGroups
from tools.memory.resolve import TrainRun

_LIVE_PARAMETERS = 1_000_000_000
"""stage3_max_live_parameters and sub_group_size of ZeRO-3, in elements."""
_NVME_BUFFERS = 5.0 * 100_000_000 * 4
"""Pinned host buffers of ZeRO-Infinity: five of 1e8 fp32 elements, its defaults."""
_HOST_GRADIENT = 4
"""Bytes of an offloaded gradient: the CPU optimizer steps on fp32 (16 and 18 bytes a parameter in
DeepSpeed's own estimate, without and with offloaded parameters, before its factor for buffers)."""
_BUCKET = 200_000_000
"""Elements of a ZeRO bucket, as the published configurations set it."""


class Shares(NamedTuple):
    """Bytes on one card, and what is alive beside them at times."""

    weights: float
    adapters: float
    optimizer: float
    extras: float
    """Masters, permanent gradient partitions, unsharded tensors."""
    gradients: float
    """Gradients kept on the card at the end of backward (0 when they live in `extras`)."""
    gradient_share: float
    """Part of each produced gradient that stays until the step."""
    gathered: float
    """Units gathered during forward and backward, and the unsharded gradient of one."""
    step_workspace: float
    host: float
    """Host memory of offloaded states, per node of cards as one sum over the cards given."""


class Whole(NamedTuple):
    """What one card would hold without sharding."""

    weights: float
    """Base weights in the dtype that computes."""
    trained: float
    """Parameters that train."""
    adapter: bool
    optimizer: float
    """Optimizer states without masters."""
    step_workspace: float


def shares_of(run: TrainRun, whole: Whole, groups: ParamGroups) -> Shares:
    """The shares of one card for the run's engine."""
    kind = run.sharding.kind
    if kind in ("none", "ddp"):
        return _replicated(run, whole)
    if kind == "megatron":
        return _megatron(run, whole, groups)
    if kind == "fsdp":
        return _fsdp(run, whole, groups)
    return _zero(run, whole, groups, stage=int(kind[-1]))


def _replicated(run: TrainRun, whole: Whole) -> Shares:
    width = run.adapter_width if whole.adapter else run.master_width
    gradients = whole.trained * width
    buckets = gradients if run.sharding.kind == "ddp" else 0.0
    adapters = whole.trained * width if whole.adapter else 0.0
    optimizer, host = whole.optimizer, 0.0
    if run.sharding.offload_optimizer:
        optimizer, host = 0.0, whole.optimizer + gradients
    return Shares(
        whole.weights, adapters, optimizer, buckets, gradients, 1.0, 0.0, whole.step_workspace, host
    )


def _masters(run: TrainRun, whole: Whole) -> float:
    """Copies of trained weights that ZeRO keeps beside the ones that compute."""
    return run.master_width * whole.trained


def _zero(run: TrainRun, whole: Whole, groups: ParamGroups, *, stage: int) -> Shares:
    cards = run.sharding.data * run.sharding.context
    trained = whole.trained
    weights, adapters = whole.weights, 2 * trained if whole.adapter else 0.0
    states = _masters(run, whole) + whole.optimizer
    gradients, share, gathered, extras = 2 * trained, 1.0, 0.0, 0.0
    sub_group = min(_LIVE_PARAMETERS, trained / cards)
    step = 4 * sub_group if run.master_width == 4 else 2 * trained / cards
    bucket = 2 * min(_BUCKET, trained)
    if stage == 3:
        unsharded = _unsharded(run, groups)
        weights = (weights - unsharded) / cards + unsharded
        adapters /= cards
        extras, gradients, share = 2 * trained / cards, 0.0, 0.0
        gathered = 2.0 * min(_LIVE_PARAMETERS, _gatherable(run, groups)) + bucket
    elif stage == 2:
        gradients, share, gathered = 2 * trained / cards, 1.0 / cards, 2.0 * bucket
    else:
        gathered = 2.0 * bucket
    optimizer = states / cards
    host = 0.0
    if run.sharding.offload_optimizer:
        host += states + _HOST_GRADIENT * trained
        optimizer, step = 0.0, 0.0
        extras = 0.0 if stage == 3 else extras
    if run.sharding.offload_params and stage == 3:
        host += whole.weights
        weights = _unsharded(run, groups)
    if run.sharding.nvme:
        host = min(host, _NVME_BUFFERS)
    return Shares(weights, adapters, optimizer, extras, gradients, share, gathered, step, host)


def _gatherable(run: TrainRun, groups: ParamGroups) -> float:
    """Elements that a gather can hold in the base's storage dtype."""
    if run.quantization != "none":
        return (groups.linear + groups.experts) / 4 + groups.embedding + groups.head
    return float(groups.total)


def _unsharded(run: TrainRun, groups: ParamGroups) -> float:
    """Scales of 4-bit weights are no parameters: every card keeps all of them."""
    if run.quantization not in ("nf4", "fp4"):
        return 0.0
    return (groups.linear + groups.experts) / (64 if run.double_quant else 16)


def _fsdp(run: TrainRun, whole: Whole, groups: ParamGroups) -> Shares:
    data, tensor = run.sharding.data, run.sharding.tensor
    cards = data * tensor
    unsharded = _unsharded(run, groups)
    base = whole.weights if whole.adapter else whole.trained * run.master_width
    weights = (base - unsharded) / cards + unsharded
    adapters = whole.trained * run.adapter_width / cards if whole.adapter else 0.0
    width = run.master_width if not whole.adapter else run.adapter_width
    gradients = whole.trained * width / cards
    compute = 2 if run.quantization == "none" else 0.5
    layer = groups.per_layer * compute / tensor
    root = 2.0 * (groups.embedding + groups.head) / tensor
    raised = 1.0 if whole.adapter else run.master_width / run.weight_width  # shards in the master
    unit_gradient = 0.0 if whole.adapter else groups.per_layer * 2.0 / tensor
    optimizer, host = whole.optimizer / cards, 0.0
    gathered = root + 2 * layer + unit_gradient
    if run.sharding.offload_params or run.sharding.offload_optimizer:
        host = base + whole.optimizer + whole.trained * width
        weights, adapters, optimizer, gradients = unsharded, 0.0, 0.0, 0.0
        gathered *= 1 + 1 / cards
    return Shares(
        weights, adapters, optimizer, 0.0, gradients, raised / cards, gathered,
        whole.step_workspace / cards, host,
    )  # fmt: skip


def _megatron(run: TrainRun, whole: Whole, groups: ParamGroups) -> Shares:
    sharding = run.sharding
    model_cards = sharding.tensor * sharding.pipeline
    data = sharding.data * sharding.context
    expert_data = max(data // sharding.expert, 1)
    trained = whole.trained
    expert_share = groups.experts / max(groups.total, 1)
    dense = trained * (1 - expert_share) / model_cards
    routed = trained * expert_share / (sharding.pipeline * sharding.expert)
    split = data if sharding.distributed_optimizer else 1
    expert_split = expert_data if sharding.distributed_optimizer else 1
    state = 4 + whole.optimizer / max(trained, 1)
    weights = whole.weights * (1 - expert_share) / model_cards
    weights += whole.weights * expert_share / (sharding.pipeline * sharding.expert)
    gradients = 4 * (dense + routed)
    optimizer = state * (dense / split + routed / expert_split)
    adapters = 2 * trained / model_cards if whole.adapter else 0.0
    return Shares(weights, adapters, optimizer, gradients, 0.0, 0.0, 0.0, 0.0, 0.0)
