"""A user's own `module:function` that returns a model and a batch.

Runs the user's code: only a local command line may ask for it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tools.errors import BadQuantityError
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf


def _call(request: SimulationRequest) -> tuple[nn.Module, Any]:
    module, _, name = str(request.config.get("target", "")).partition(":")
    if not module or not name:
        raise BadQuantityError(
            field="custom", given=request.config.get("target"), allowed="module:function"
        )
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise BadQuantityError(
            field="custom", given=f"{module}:{name}", allowed=f"a function there is ({error})"
        ) from error
    model, batch = function()
    return model, batch


def build(request: SimulationRequest) -> nn.Module:
    """The model that the user's function returns, moved to the meta device."""
    return _call(request)[0].to("meta")


def feed(request: SimulationRequest) -> LossOf:
    """The batch that it returns: a dictionary, a sequence or one tensor, as fake tensors.

    The model's own loss is used where its output has one, else the sum of the output.
    """
    with torch.device("meta"):
        _, batch = _call(request)

    def fake(value: Any) -> Any:
        is_tensor = isinstance(value, torch.Tensor)
        return torch.empty(value.shape, dtype=value.dtype) if is_tensor else value

    named = {k: fake(v) for k, v in batch.items()} if isinstance(batch, dict) else {}
    if named:
        placed: list[Any] = []
    else:
        placed = [fake(v) for v in (batch if isinstance(batch, list | tuple) else [batch])]

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        out = model(*placed, **named)
        loss = getattr(out, "loss", None)
        if loss is None:
            first = out[0] if isinstance(out, list | tuple) else getattr(out, "logits", out)
            loss = first if first.dim() == 0 else first.float().sum()
        return loss, out

    return forward
