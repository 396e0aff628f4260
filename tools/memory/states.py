"""Weights, gradients and optimizer states of a training run, per card."""

from __future__ import annotations

from typing import NamedTuple

from tools.memory.layers.ops import is_adapted
from tools.memory.layers.plan import family_row
from tools.memory.parallel import Whole, shares_of
from tools.memory.params import ParamGroups, layer_linears, param_groups
from tools.memory.resolve import TrainRun
from tools.memory.rounding import weight_rounding
from tools.memory.speccache import by_identity
from tools.memory.tables import find_row
from tools.models import ModelSpec

_ROW_TOKENS = 8
"""input_ids, an int64 a token; the labels are the same tensor."""
_BLOCK = 256
"""Elements that share a scale in blockwise 8-bit states."""


class States(NamedTuple):
    """What is on the card throughout a step, in bytes, and what the step adds."""

    weights: float
    adapters: float
    optimizer: float
    extras: float
    """Masters, buffers and copies that sharding or an objective keeps resident."""
    gradients: float
    """All gradients together at the end of backward."""
    gradient_share: float
    """Part of each produced gradient that stays on the card until the step."""
    gathered: float
    """Alive during forward and backward only: gathered units, buckets."""
    step_workspace: float
    trained: float
    """Parameters that train (over all cards)."""
    inputs: float
    rounding: float
    """Segments of the caching allocator that large matrices do not fill."""
    host: float
    """Host memory that the run's states take."""

    @property
    def resident(self) -> float:
        """Alive at every moment."""
        fixed = self.weights + self.adapters + self.optimizer + self.extras
        return fixed + self.inputs + self.rounding


def adapter_params(run: TrainRun) -> int:
    """Parameters of the run's adapters."""
    return _adapter_params(run.spec, run.code, run.targets, run.rank, run.method == "dora")


@by_identity
def _adapter_params(
    spec: ModelSpec, code: str, targets: frozenset[str], rank: int, dora: bool
) -> int:
    total = 0.0
    for linear, count in layer_linears(spec, code):
        if is_adapted(linear.name, targets):
            total += count * rank * (linear.size_in + linear.size_out)
            if dora:
                total += count * linear.size_out
    if "lm_head" in targets:
        total += rank * ((spec.hidden_size or 0) + (spec.vocab_size or 0))
    return int(total)


def quantized_bytes(params: float, run: TrainRun) -> float:
    """Bytes of base matrices in the run's weight format."""
    row = find_row("formats", run.quantization, field="quantization")
    bits = float(row["bits"])
    if run.quantization in ("nf4", "fp4"):
        bits = 4 + 8 / 64 + 32 / 16384 if run.double_quant else 4 + 32 / 64
    return params * bits / 8


def weights_bytes(run: TrainRun, groups: ParamGroups) -> float:
    """Base weights on one card that holds all of them."""
    if run.quantization == "none":
        return float(groups.total) * run.weight_width
    packed = groups.linear + groups.experts
    if run.head_quantized:
        packed += groups.head
    rest_width = 4 if run.kbit_prepared else 2
    return quantized_bytes(packed, run) + (groups.total - packed) * rest_width


def states_of(run: TrainRun) -> States:
    """Resident bytes of a run on one card."""
    groups = param_groups(run.spec)
    trained = float(_trained(run, groups))
    width = _state_width(run)
    whole = Whole(
        weights=weights_bytes(run, groups),
        trained=trained,
        adapter=run.adapter,
        optimizer=optimizer_bytes(run, trained, width, groups),
        step_workspace=_step_workspace(run, trained * width, groups),
    )
    share = shares_of(run, whole, groups)
    gradients, part = share.gradients, share.gradient_share
    if run.in_backward and not run.adapter:
        gradients, part = float(groups.largest_tensor * run.master_width), 0.0
    saved = _saved_modules(run, groups)
    return States(
        weights=share.weights,
        adapters=share.adapters + saved * 2,
        optimizer=share.optimizer + saved * 4,
        extras=share.extras + saved * 2 + other_models_bytes(run, groups) + causal_buffer(run.spec),
        gradients=gradients,
        gradient_share=part,
        gathered=share.gathered,
        step_workspace=0.0 if run.in_backward else share.step_workspace,
        trained=trained + saved,
        inputs=float(run.tokens * _ROW_TOKENS),
        rounding=_rounding(run),
        host=share.host,
    )


def causal_buffer(spec: ModelSpec) -> float:
    """Bytes of a stored causal mask: one bool for each pair of learned positions (GPT-BigCode)."""
    return float(spec.learned_positions or 0) ** 2 if family_row(spec).get("causal_buffer") else 0.0


def _trained(run: TrainRun, groups: ParamGroups) -> float:
    """Parameters that train, saved modules not counted."""
    if run.adapter:
        return adapter_params(run)
    if run.method in ("freeze", "badam"):
        layers = run.asked.trainable_layers or (1 if run.method == "badam" else 2)
        head = groups.head if run.method == "freeze" else 0
        return min(groups.total, groups.per_layer * layers + head)
    return groups.total


def _saved_modules(run: TrainRun, groups: ParamGroups) -> float:
    """Parameters of modules that train as whole copies beside adapters (modules_to_save)."""
    total = 0
    for name in run.asked.modules_to_save or ():
        if name in ("lm_head", "output", "embed_out"):
            total += groups.head or groups.embedding
        elif name in ("embed_tokens", "wte", "tok_embeddings", "word_embeddings", "embed_in"):
            total += groups.embedding
        elif "norm" in name:
            total += (run.spec.num_hidden_layers or 0) * 2 * (run.spec.hidden_size or 0)
    return float(total)


def other_models_bytes(run: TrainRun, groups: ParamGroups) -> float:
    """Frozen or trained models beside the policy: reference, reward, value, teacher."""
    sharded = run.sharding.data if run.sharding.kind in ("zero3", "fsdp") else 1
    one = 2.0 * groups.total
    objective = run.objective
    copies = 0.0
    if objective == "ppo":
        if run.adapter:
            copies = 2 * one
        else:
            value = _value_model(run, groups)
            return value + (2 * one) / sharded + one
    elif objective in ("dpo", "kto") or (objective == "grpo" and run.asked.reference_model):
        keeps = run.asked.reference_model
        copies = one if keeps or (keeps is None and not run.adapter) else 0.0
    total = copies / sharded
    if run.asked.teacher is not None:
        total += 2.0 * run.asked.teacher.params_total / sharded
    return total


def _value_model(run: TrainRun, groups: ParamGroups) -> float:
    """A second trained model of the policy's size, with its states, per card."""
    cards = run.sharding.data if run.sharding.kind in ("zero3", "fsdp") else 1
    return groups.total * 18.0 / cards


def _rounding(run: TrainRun) -> float:
    """Unfilled segments of weights and optimizer states on one card."""
    if run.asked.torch_build == "cpu" or run.sharding.kind not in ("none", "ddp"):
        return 0.0
    width = run.weight_width if run.quantization == "none" else 0.5
    one = float(weight_rounding(run.spec, width))
    if run.adapter or run.optimizer_row.get("paged"):
        return one
    state = float(run.optimizer_row["state_bytes"][0 if run.master_width == 4 else 1])
    copies = round(state / run.master_width)
    return one + copies * weight_rounding(run.spec, run.master_width)


def _state_width(run: TrainRun) -> int:
    """Bytes of the copy that the optimizer works on."""
    if run.adapter:
        return 4 if run.sharding.kind.startswith("zero") else run.adapter_width
    return run.master_width


def optimizer_bytes(run: TrainRun, trained: float, width: int, groups: ParamGroups) -> float:
    """Optimizer states, in bytes; paged states are not on the card's own memory."""
    row = run.optimizer_row
    if row.get("paged"):
        return 0.0
    per_param = float(row["state_bytes"][0 if width == 4 else 1])
    if row.get("galore") or run.method == "galore":
        return _galore_bytes(run, per_param, groups)
    total = trained * per_param
    if row.get("blockwise"):
        total += trained * (per_param * 4 / _BLOCK)
        if not run.adapter and run.framework_row.get("embedding_state_32bit"):
            total += groups.embedding * (8 - per_param)
    if row.get("factored"):
        total += 4 * trained / 1000
    if "embedding_state_bytes" in row and not run.adapter:
        other = float(row["embedding_state_bytes"][0 if width == 4 else 1])
        total += (groups.embedding + groups.head + groups.other) * (other - per_param)
    return total


def _galore_bytes(run: TrainRun, per_param: float, groups: ParamGroups) -> float:
    """States in the projected space of each matrix, its projector, full states elsewhere."""
    rank = run.asked.galore_rank or 128
    total = (groups.embedding + groups.head + groups.other) * per_param
    for linear, count in layer_linears(run.spec):
        long, short = max(linear.size_in, linear.size_out), min(linear.size_in, linear.size_out)
        kept = min(rank, short)
        total += count * (kept * long * per_param + kept * short * 2)
    return total


def _step_workspace(run: TrainRun, gradients: float, groups: ParamGroups) -> float:
    kind = run.optimizer_row.get("workspace")
    largest = 0.0 if run.adapter else float(groups.largest_tensor)
    if kind == "adam":
        if run.optimizer_impl == "foreach":
            return gradients
        if run.optimizer_impl == "for-loop":
            return 2 * largest * run.master_width
        return 0.0
    if kind == "adafactor":
        return largest * (8 if run.master_width == 4 else 16)
    if kind == "muon":
        return largest * 6
    return 0.0
