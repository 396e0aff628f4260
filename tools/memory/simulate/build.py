"""Builds the model of a request on the meta device and gives it fake tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tools.errors import UnsupportedError
from tools.memory.simulate import adapters, cuda_rules
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import TIED_LEAF, Prepared

_DTYPES = {
    "fp32": torch.float32,
    "bf16-mixed": torch.float32,
    "fp16-mixed": torch.float32,
    "pure-bf16": torch.bfloat16,
    "pure-fp16": torch.float16,
}


def weights_dtype(request: SimulationRequest) -> torch.dtype:
    """Dtype of the weights before adapters are added."""
    return _DTYPES[request.precision]


def build_on_meta(request: SimulationRequest) -> nn.Module:
    """The model, its adapters and packed weights, without memory.

    Raises:
        UnsupportedError: If the class of the config is not known to the installed libraries.
    """
    cuda_rules.install()
    with torch.device("meta"):
        model = _causal_model(request)
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
        )
    return model


def _causal_model(request: SimulationRequest) -> nn.Module:
    from transformers import AutoConfig, AutoModelForCausalLM

    given = dict(request.config)
    try:
        config = AutoConfig.for_model(str(given.pop("model_type", "")), **given)
    except (ValueError, KeyError) as error:
        raise UnsupportedError(
            f"model_type {request.config.get('model_type')!r}",
            reason="the installed transformers has no such architecture",
        ) from error
    built: nn.Module = AutoModelForCausalLM.from_config(
        config,
        dtype=weights_dtype(request),
        attn_implementation=request.attention or _default_attention(config),
    )
    return built


def _default_attention(config: Any) -> str:
    """gemma-2 caps its scores, which only the eager form does; everything else takes sdpa."""
    return "eager" if getattr(config, "attn_logit_softcapping", None) else "sdpa"


def _disable_cache(model: nn.Module, request: SimulationRequest) -> None:
    config = getattr(model, "config", None)
    if config is not None and request.task == "train" and hasattr(config, "use_cache"):
        config.use_cache = False


def _enable_checkpointing(model: nn.Module) -> None:
    enable = getattr(model, "gradient_checkpointing_enable", None)
    if enable is None:
        raise UnsupportedError("gradient checkpointing", reason="this class does not offer it")
    enable(gradient_checkpointing_kwargs={"use_reentrant": False})


def materialise(model: nn.Module, *, split_tied: bool = False) -> None:
    """Puts fake CPU tensors in place of the meta ones; tied weights stay tied.

    Args:
        model: Built on the meta device.
        split_tied: Give each further user of a tied weight a leaf of its own on the same
            storage. Real fp32 gradients of a tied weight are summed in place, which fake ones
            never are; two leaves hold the same bytes.
    """
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
    tokens = torch.empty((request.batch, request.seq_len), dtype=torch.long)
    inputs: dict[str, Any] = {"input_ids": tokens}
    if request.padding_mask:
        inputs["attention_mask"] = torch.ones((request.batch, request.seq_len), dtype=torch.long)
    if request.task == "train":
        inputs["labels"] = tokens
    else:
        inputs["use_cache"] = True
        inputs["logits_to_keep"] = 1 if request.logits == "last" else 0

    def forward(current: nn.Module) -> tuple[torch.Tensor, Any]:
        outputs = current(**inputs)
        return outputs.loss, outputs

    return Prepared(model, forward)
