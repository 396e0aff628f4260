"""Builds the model of a request on the meta device and gives it fake tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tools.errors import UnsupportedError
from tools.memory.simulate import adapters, cuda_rules
from tools.memory.simulate.kinds import home_of
from tools.memory.simulate.kinds.common import weights_dtype
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import TIED_LEAF, Prepared
from tools.memory.simulate.tracker import local_of


def build_on_meta(request: SimulationRequest) -> nn.Module:
    """The model, its adapters and packed weights, without memory.

    Raises:
        UnsupportedError: If the class of the config is not known to the installed libraries.
    """
    cuda_rules.install()
    with torch.device("meta"):
        model = home_of(request.kind).build(request)
    _disable_cache(model, request)
    if request.method == "qlora":
        for parameter in model.parameters():
            parameter.requires_grad_(False)
        adapters.quantise(
            model, double_quant=request.double_quant, compute_dtype=weights_dtype(request)
        )
        if request.kbit_prepared:
            adapters.prepare_kbit(model)
    if request.gradient_checkpointing == "full":
        _enable_checkpointing(model)
    if request.method in ("lora", "dora", "qlora"):
        if request.gradient_checkpointing == "full" and hasattr(
            model, "enable_input_require_grads"
        ):
            model.enable_input_require_grads()
        model = adapters.add_lora(
            model,
            request.lora_targets,
            rank=request.lora_rank or 16,
            dropout=request.lora_dropout,
            use_dora=request.method == "dora",
            is_autocast=request.autocast or request.precision in ("bf16-mixed", "fp16-mixed"),
        )
    return model


def _disable_cache(model: nn.Module, request: SimulationRequest) -> None:
    config = getattr(model, "config", None)
    if config is not None and request.task == "train" and hasattr(config, "use_cache"):
        config.use_cache = False


def _enable_checkpointing(model: nn.Module) -> None:
    enable = getattr(model, "gradient_checkpointing_enable", None)
    if enable is not None:  # transformers
        enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    elif hasattr(model, "enable_gradient_checkpointing"):  # diffusers
        model.enable_gradient_checkpointing()
    elif hasattr(model, "set_grad_checkpointing"):  # timm
        try:
            model.set_grad_checkpointing(True)
        except AssertionError as error:
            raise UnsupportedError("gradient checkpointing", reason=str(error)) from error
    else:
        raise UnsupportedError("gradient checkpointing", reason="this class does not offer it")


def materialise(model: nn.Module, *, split_tied: bool = False) -> None:
    """Puts fake CPU tensors in place of the meta ones; tied weights stay tied.

    Args:
        model: Built on the meta device.
        split_tied: Give each further user of a tied weight a leaf of its own on the same
            storage. Real fp32 gradients of a tied weight are summed in place, which fake ones
            never are; two leaves hold the same bytes.
    """
    if any(local_of(p) is not p for p in model.parameters()):
        model.to_empty(device="cpu")  # shards; the engine keeps its own record of them
        return
    seen: dict[int, Any] = {}
    for module in model.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                if id(parameter) not in seen:
                    fake = torch.empty(parameter.shape, dtype=parameter.dtype)
                    seen[id(parameter)] = nn.Parameter(fake, requires_grad=parameter.requires_grad)
                    module._parameters[name] = seen[id(parameter)]
                elif split_tied and parameter.requires_grad:
                    leaf = nn.Parameter(seen[id(parameter)].detach())
                    setattr(leaf, TIED_LEAF, True)
                    module._parameters[name] = leaf
                else:
                    module._parameters[name] = seen[id(parameter)]
        for name, buffer in list(module._buffers.items()):
            if buffer is not None:
                if id(buffer) not in seen:
                    seen[id(buffer)] = torch.empty(buffer.shape, dtype=buffer.dtype)
                module._buffers[name] = seen[id(buffer)]


def prepare(model: nn.Module, request: SimulationRequest) -> Prepared:
    """The model with the batch that a step of its kind gets."""
    return Prepared(model, home_of(request.kind).feed(request))
