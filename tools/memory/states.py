"""Weights, gradients and optimizer states of a training run, per card."""

from __future__ import annotations

from typing import NamedTuple

from tools.memory.params import ParamGroups, layer_linears, param_groups
from tools.memory.resolve import TrainRun
from tools.memory.tables import find_row

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
    step_workspace: float
    trained: float
    """Parameters that train (over all cards)."""
    inputs: float
    host: float
    """Host memory that the run's states take."""

    @property
    def resident(self) -> float:
        """Alive at every moment."""
        return self.weights + self.adapters + self.optimizer + self.extras + self.inputs


def adapter_params(run: TrainRun) -> int:
    """Parameters of the run's adapters."""
    total = 0.0
    targets, rank = run.targets, run.rank
    every = "all-linear" in targets
    for linear, count in layer_linears(run.spec):
        if linear.name in targets or (every and linear.quantizable):
            total += count * rank * (linear.size_in + linear.size_out)
            if run.method == "dora":
                total += count * linear.size_out
    if "lm_head" in targets:
        total += rank * ((run.spec.hidden_size or 0) + (run.spec.vocab_size or 0))
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
    rest = groups.total - groups.linear - groups.experts
    rest_width = 4 if run.kbit_prepared else 2
    return quantized_bytes(groups.linear + groups.experts, run) + rest * rest_width


def states_of(run: TrainRun) -> States:
    """Resident bytes of a run on one card without sharding; sharded runs go through parallel."""
    groups = param_groups(run.spec)
    base = weights_bytes(run, groups)
    if run.adapter:
        trained = float(adapter_params(run))
        adapters = trained * run.adapter_width
        width = run.adapter_width
    else:
        trained, adapters, width = float(groups.total), 0.0, run.master_width
    states = optimizer_bytes(run, trained, width, groups)
    gradients = trained * width
    return States(
        weights=base,
        adapters=adapters,
        optimizer=states,
        extras=0.0,
        gradients=gradients,
        step_workspace=_step_workspace(run, gradients, groups),
        trained=trained,
        inputs=float(run.tokens * _ROW_TOKENS),
        host=0.0,
    )


def optimizer_bytes(run: TrainRun, trained: float, width: int, groups: ParamGroups) -> float:
    """Optimizer states, in bytes; paged states are not on the card's own memory."""
    row = run.optimizer_row
    if row.get("paged"):
        return 0.0
    per_param = float(row["state_bytes"][0 if width == 4 else 1])
    total = trained * per_param
    if row.get("blockwise"):
        total += trained * (per_param * 4 / _BLOCK)
    if row.get("factored"):
        total += 4 * trained / 1000
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
