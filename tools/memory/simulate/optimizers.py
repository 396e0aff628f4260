"""Optimizer states and the workspace of their step, by the rules of torch and bitsandbytes."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tools.memory.simulate.tracker import StorageTracker, local_of

EIGHT_BIT_BLOCK = 256
EIGHT_BIT_FLOOR = 4096
"""Elements below which bitsandbytes keeps fp32 states."""


class Optimizer:
    """Holds states; `step` allocates what a step of the real optimizer allocates."""

    def __init__(
        self, parameters: Sequence[torch.nn.Parameter], name: str, impl: str | None
    ) -> None:
        self._parameters = list(parameters)
        self._name = name
        self._impl = impl or "fused"
        self.states = [s for p in self._parameters for s in self._states_of(local_of(p))]

    def _states_of(self, parameter: torch.Tensor) -> list[torch.Tensor]:
        if self._name == "sgd" or self._name.startswith("paged-"):
            return []  # paged states live in unified memory, which torch does not count
        if self._name == "sgd-momentum":
            return [torch.empty_like(parameter)]
        if self._name == "adafactor":
            return _adafactor_states(parameter)
        if self._name == "adamw-8bit":
            return _eight_bit_states(parameter)
        step = torch.empty((), dtype=torch.float32)
        return [torch.empty_like(parameter), torch.empty_like(parameter), step]

    def step(self, tracker: StorageTracker) -> None:
        """Allocates and drops the workspace, tensor by tensor or all at once."""
        tracker.tag(self.states, "opt")
        with torch.no_grad():
            grads = [local_of(p.grad) for p in self._parameters if p.grad is not None]
            if self._name == "adafactor":
                for parameter, grad in zip(self._parameters, grads, strict=True):
                    _adafactor_step(local_of(parameter), grad)
            elif not self._name.endswith("8bit") and self._impl == "foreach":
                workspace = [torch.empty_like(g) for g in grads]
                del workspace
            elif self._name == "adamw" and self._impl == "for-loop":
                for grad in grads:
                    root = torch.empty_like(grad)
                    denominator = torch.empty_like(grad)
                    del root, denominator


def _eight_bit_states(parameter: torch.Tensor) -> list[torch.Tensor]:
    count = parameter.numel()
    if count < EIGHT_BIT_FLOOR:
        return [torch.empty(count, dtype=torch.float32) for _ in range(2)]
    blocks = -(-count // EIGHT_BIT_BLOCK)
    packed = [torch.empty(count, dtype=torch.uint8) for _ in range(2)]
    return [*packed, *(torch.empty(blocks, dtype=torch.float32) for _ in range(2))]


def _adafactor_states(parameter: torch.Tensor) -> list[torch.Tensor]:
    if parameter.dim() < 2:
        return [torch.empty(parameter.shape, dtype=torch.float32)]
    row = torch.empty(parameter.shape[:-1], dtype=torch.float32)
    column = torch.empty((*parameter.shape[:-2], parameter.shape[-1]), dtype=torch.float32)
    return [row, column]


def _adafactor_step(parameter: torch.Tensor, grad: torch.Tensor) -> None:
    """Adafactor of transformers: fp32 gradient and weight, squared update, update."""
    raised = grad.float() if grad.dtype != torch.float32 else grad
    weight = parameter.float() if parameter.dtype != torch.float32 else parameter
    square = raised**2
    square = square + 1e-30
    update = torch.empty_like(raised)
    del raised, weight, square, update
