"""What the kinds share: dtypes, configs of transformers, checkpointing."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tools.errors import UnsupportedError
from tools.memory.simulate.request import SimulationRequest

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


def hf_class_config(request: SimulationRequest) -> Any:
    """The config object of the request's dictionary.

    Raises:
        UnsupportedError: If the installed transformers has no such architecture.
    """
    from transformers import AutoConfig

    given = dict(request.config)
    try:
        return AutoConfig.for_model(str(given.pop("model_type", "")), **given)
    except (ValueError, KeyError) as error:
        raise UnsupportedError(
            f"model_type {request.config.get('model_type')!r}",
            reason="the installed transformers has no such architecture",
        ) from error


def from_config(request: SimulationRequest, auto_class: str, config: Any = None) -> nn.Module:
    """A transformers model of an Auto class or a class of its own, in dtype and attention."""
    import transformers

    config = config if config is not None else hf_class_config(request)
    home = getattr(transformers, auto_class)
    build = home.from_config if auto_class.startswith("Auto") else home._from_config
    built: nn.Module = build(
        config,
        dtype=weights_dtype(request),
        attn_implementation=request.attention or default_attention(config),
    )
    return built


def default_attention(config: Any) -> str:
    """gemma-2 caps its scores, which only the eager form does; everything else takes sdpa."""
    return "eager" if getattr(config, "attn_logit_softcapping", None) else "sdpa"


def tokens(request: SimulationRequest, length: int) -> torch.Tensor:
    """Token ids, batch x length."""
    return torch.empty((request.batch, length), dtype=torch.long)


def labels(request: SimulationRequest) -> torch.Tensor:
    """One class label a row."""
    return torch.empty((request.batch,), dtype=torch.long)


def class_loss(logits: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Cross entropy in fp32."""
    return functional.cross_entropy(logits.float(), wanted)
