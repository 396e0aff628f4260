"""LoRA and DoRA through peft, and NF4 weights as their storage: what bitsandbytes keeps."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

NF4_BLOCK = 64
DOUBLE_QUANT_BLOCK = 256
_LATENT = {"q_proj": ["q_b_proj"], "v_proj": ["kv_b_proj"]}
_FUSED_NAMES = {
    "gpt_bigcode": {"q_proj": ["c_attn"], "v_proj": ["c_attn"]},
    "minicpm3": _LATENT,
    "glm4_moe_lite": _LATENT,
    "deepseek_v2": {"q_proj": ["q_proj", "q_b_proj"], "v_proj": ["kv_b_proj"]},
    "deepseek_v3": _LATENT,
    "gpt2": {"q_proj": ["c_attn"], "v_proj": ["c_attn"]},
    "gpt_neox": {"q_proj": ["query_key_value"], "v_proj": ["query_key_value"]},
    "falcon": {"q_proj": ["query_key_value"], "v_proj": ["query_key_value"]},
    "bloom": {"q_proj": ["query_key_value"], "v_proj": ["query_key_value"]},
    "phi3": {
        "q_proj": ["qkv_proj"], "k_proj": ["qkv_proj"], "v_proj": ["qkv_proj"],
        "gate_proj": ["gate_up_proj"], "up_proj": ["gate_up_proj"],
    },
    "glm": {"gate_proj": ["gate_up_proj"], "up_proj": ["gate_up_proj"]},
    "bert": {"q_proj": ["query"], "v_proj": ["value"]},
    "roberta": {"q_proj": ["query"], "v_proj": ["value"]},
    "xlm-roberta": {"q_proj": ["query"], "v_proj": ["value"]},
    "t5": {"q_proj": ["q"], "v_proj": ["v"]},
    "mt5": {"q_proj": ["q"], "v_proj": ["v"]},
}  # fmt: skip


class _Dequantised(torch.autograd.Function):
    """A linear on 4-bit weights: dequantises for the product, keeps nothing of its input."""

    @staticmethod
    def forward(ctx: Any, given: torch.Tensor, linear: Nf4Linear) -> torch.Tensor:
        """Output (..., out_features) in the input's dtype."""
        ctx.linear = linear
        weight = given.new_empty((linear.out_features, linear.in_features))
        return functional.linear(given, weight, None)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        """Gradient of the input through a weight dequantised anew."""
        weight = grad.new_empty((ctx.linear.out_features, ctx.linear.in_features))
        return grad @ weight, None


class Nf4Linear(nn.Linear):
    """Storage of a bitsandbytes Linear4bit: packed weight, absmax per 64, compute in 16 bit."""

    def __init__(
        self, linear: nn.Linear, *, double_quant: bool, compute_dtype: torch.dtype
    ) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        count = self.in_features * self.out_features
        self.compute_dtype = compute_dtype
        self.weight = nn.Parameter(torch.empty(count // 2, dtype=torch.uint8), requires_grad=False)
        absmax = torch.uint8 if double_quant else torch.float32
        self.absmax = nn.Parameter(
            torch.empty(-(-count // NF4_BLOCK), dtype=absmax), requires_grad=False
        )
        if double_quant:
            nested = -(-count // (NF4_BLOCK * DOUBLE_QUANT_BLOCK))
            self.nested_absmax = nn.Parameter(torch.empty(nested), requires_grad=False)
        self.bias = (
            None if linear.bias is None else nn.Parameter(linear.bias.detach(), requires_grad=False)
        )

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """(..., in_features) -> (..., out_features), in the input's dtype."""
        with torch.autocast("cpu", enabled=False):
            out = _Dequantised.apply(given.to(self.compute_dtype), self)
            if self.bias is not None:
                out = out + self.bias.to(self.compute_dtype)
            return out.to(given.dtype)


def quantise(model: nn.Module, *, double_quant: bool, compute_dtype: torch.dtype) -> None:
    """Puts NF4 storage in place of every linear but the output head (on the meta device)."""
    head = _output_head(model)
    with torch.device("meta"):
        for parent in list(model.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, nn.Linear) and child is not head:
                    packed = Nf4Linear(
                        child, double_quant=double_quant, compute_dtype=compute_dtype
                    )
                    setattr(parent, name, packed)


def prepare_kbit(model: nn.Module) -> None:
    """Raises everything that is not packed to fp32, as prepare_model_for_kbit_training does."""
    for module in model.modules():
        if isinstance(module, Nf4Linear):
            continue
        for name, parameter in list(module._parameters.items()):
            if parameter is not None and parameter.is_floating_point():
                module._parameters[name] = nn.Parameter(parameter.float(), requires_grad=False)
    if hasattr(model, "tie_weights"):
        model.tie_weights()


def add_lora(
    model: nn.Module,
    targets: Any,
    *,
    rank: int,
    dropout: float,
    use_dora: bool,
    is_autocast: bool,
) -> nn.Module:
    """The model with fp32 adapters (alpha = 2 x rank, no bias) and everything else frozen.

    On 4-bit weights peft leaves an adapter's input as it is under autocast, so that adapters of
    one input share its 16-bit form; elsewhere each casts its own to fp32.
    """
    from peft import LoraConfig, get_peft_model

    names = _target_names(model, targets)
    config = LoraConfig(
        r=rank, lora_alpha=2 * rank, lora_dropout=dropout, target_modules=names, use_dora=use_dora
    )
    adapted: nn.Module = get_peft_model(model, config)
    for parameter in adapted.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    for module in adapted.modules():
        if is_autocast and isinstance(getattr(module, "base_layer", None), Nf4Linear):
            vars(module)["cast_input_dtype_enabled"] = False
    return adapted


def _target_names(model: nn.Module, targets: Any) -> Any:
    if targets is None:
        targets = ("q_proj", "v_proj")
    if targets == "all-linear" or list(targets) == ["all-linear"]:
        head = _output_head(model)
        from transformers.pytorch_utils import Conv1D

        return sorted(
            {
                name.rpartition(".")[2]
                for name, module in model.named_modules()
                if isinstance(module, nn.Linear | Conv1D) and module is not head
            }
        )
    family = getattr(getattr(model, "config", None), "model_type", "")
    fused = _FUSED_NAMES.get(str(family), {})
    return sorted({new for name in targets for new in fused.get(name, [name])})


def _output_head(model: nn.Module) -> nn.Module | None:
    getter = getattr(model, "get_output_embeddings", None)
    return getter() if getter is not None else None
