"""The steps that are run: training steps until one is steady, a forward pass once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from tools.memory.simulate import shard
from tools.memory.simulate.cuda_rules import CudaRules
from tools.memory.simulate.optimizers import Optimizer
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.tracker import StorageTracker

TIED_LEAF = "is_tied_leaf"
"""Attribute of a further user of a tied weight: same storage, own gradient, no states."""

LossOf = Callable[[nn.Module], tuple[torch.Tensor, Any]]
"""Model -> (scalar loss, what the caller of the model holds)."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model on fake tensors with the input of one step."""

    model: nn.Module
    forward: LossOf
    """Runs the model on its batch."""


def compute_context(request: SimulationRequest) -> AbstractContextManager[Any]:
    """CUDA's rules, and autocast where the request has it."""
    stack = ExitStack()
    stack.enter_context(CudaRules())
    is_mixed = request.precision in ("bf16-mixed", "fp16-mixed") or request.autocast
    stack.enter_context(torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_mixed))
    return stack


def train(prepared: Prepared, request: SimulationRequest, tracker: StorageTracker) -> None:
    """Forward, backward, optimizer; the tracker's peak is that of a steady step.

    States are there before the first step, so that step is steady already when it leaves alive
    what it found, kind by kind. When it leaves more (kept gradients, lazily made buffers or
    shards) a second one is run and counted instead.
    """
    model = prepared.model.train()
    leaves = [p for p in model.parameters() if p.requires_grad]
    trained = [p for p in leaves if not hasattr(p, TIED_LEAF)]
    optimizer = Optimizer(trained, request.optimizer or "adamw", request.optimizer_impl)
    tracker.tag(optimizer.states, "opt")
    reduced = shard.buckets(trained, request)
    for parameter in trained:
        parameter.register_post_accumulate_grad_hook(lambda p: tracker.tag([p.grad], "grads"))
    for _ in range(2):
        found = _alive(tracker)
        _step(prepared, request, tracker, leaves, optimizer)
        if not request.gradients_kept_across_steps:
            _drop_gradients(leaves)
        if _alive(tracker) == found and request.sharding == "ddp":
            break
    del reduced


def _step(
    prepared: Prepared,
    request: SimulationRequest,
    tracker: StorageTracker,
    leaves: list[nn.Parameter],
    optimizer: Optimizer,
) -> None:
    """One step, whose peak is the tracker's afterwards."""
    tracker.phase = "fwd"
    tracker.reset_peak()
    with compute_context(request):
        loss, held = prepared.forward(prepared.model)
    if not request.logits_held_through_backward:
        held = None
    tracker.phase = "bwd"
    with CudaRules(), shard.filing_gradients(request, tracker):
        torch.autograd.backward(loss)
    del loss, held
    _drop_gradients([p for p in leaves if hasattr(p, TIED_LEAF)])
    tracker.phase = "opt"
    optimizer.step(tracker)


def _alive(tracker: StorageTracker) -> dict[str, int]:
    """Live bytes by kind, without the kinds that have none."""
    return {kind: size for kind, size in tracker.live_by_kind.items() if size}


def _drop_gradients(parameters: list[nn.Parameter]) -> None:
    for parameter in parameters:
        parameter.grad = None


def infer(prepared: Prepared, request: SimulationRequest, tracker: StorageTracker) -> None:
    """One forward pass without gradients; decoders add the decode step that follows."""
    model = prepared.model.eval()
    tracker.phase = "prefill" if request.kind == "decoder" else "fwd"
    tracker.reset_peak()
    with torch.no_grad(), compute_context(request):
        _, held = prepared.forward(model)
        if request.kind == "decoder":
            cache = held.past_key_values
            del held
            tracker.phase = "decode"
            token = torch.empty((request.batch, 1), dtype=torch.long)
            model(input_ids=token, past_key_values=cache, use_cache=True, logits_to_keep=1)
