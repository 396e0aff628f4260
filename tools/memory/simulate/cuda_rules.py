"""What CUDA kernels keep for backward, played on CPU fake tensors.

Attention runs as one fused kernel that keeps q, k, v, its output and the row statistics, unless
CUDA would fall back to the unfused form (fp32 or unequal head counts with grouped keys). Dropout
keeps a bool mask. Under autocast the operations of CUDA's fp32 list run in fp32.
Source: torch.nn.functional.scaled_dot_product_attention and torch.amp documentation of
torch 2.13; checked against real runs in docs/accuracy.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils import checkpoint as torch_checkpoint

_plain_checkpoint = torch_checkpoint.checkpoint
_FP32_UNDER_AUTOCAST = {
    functional.layer_norm, functional.group_norm, functional.softmax,
    torch.pow, torch.Tensor.pow, torch.Tensor.__pow__,
}  # fmt: skip
_OPERATORS = ("nms", "qnms")
"""torchvision's operators whose shapes Python registers even where its library did not load."""
_libraries: list[torch.library.Library] = []
_SCALAR_SHAPES: tuple[Any, ...] = ((), ([],), ((),), (torch.Size([]),))


class FusedAttention(torch.autograd.Function):
    """Memory of a fused attention kernel: no score matrix, (batch, heads) fp32 row statistics."""

    @staticmethod
    def forward(
        ctx: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """Output of shape (batch, heads, seq, value head_dim), in the query's memory layout."""
        batch, heads, length, _ = query.shape
        out = torch.empty_like(query)
        if value.shape[-1] != query.shape[-1]:
            out = query.new_empty((batch, length, heads, value.shape[-1])).transpose(1, 2)
        statistics = query.new_empty((batch, heads, length), dtype=torch.float32)
        ctx.save_for_backward(query, key, value, out, statistics, mask)
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        """Gradients of q, k and v; none for the mask."""
        query, key, value, *_ = ctx.saved_tensors
        return torch.empty_like(query), torch.empty_like(key), torch.empty_like(value), None


class MaskedDropout(torch.autograd.Function):
    """Memory of CUDA's dropout: a bool mask of the input's shape."""

    @staticmethod
    def forward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
        """A new tensor of the input's shape and dtype."""
        mask = torch.empty_like(given, dtype=torch.bool)
        ctx.save_for_backward(mask)
        return torch.empty_like(given)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        """Gradient of the input's shape."""
        return torch.empty_like(grad)


class CudaRules(TorchFunctionMode):
    """Swaps the functions whose memory differs between CPU and CUDA."""

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Calls the CUDA-like form where there is one."""
        kwargs = kwargs or {}
        if func is functional.scaled_dot_product_attention:
            return _attention(*args, **kwargs)
        if func is functional.dropout:
            return _dropout(*args, **kwargs)
        if func is torch.rand and args in _SCALAR_SHAPES:
            return 1.0  # layer drop draws this and branches on it: keep the layer
        if func is torch.isfinite:
            return _Finite()
        if func in _FP32_UNDER_AUTOCAST and torch.is_autocast_enabled("cpu"):
            with torch.autocast("cpu", enabled=False):
                return func(*(_fp32(a) for a in args), **{k: _fp32(v) for k, v in kwargs.items()})
        return func(*args, **kwargs)


class _Finite:
    """Answer to a guard against overflow: a fake tensor has no values to look at."""

    def all(self) -> bool:
        """Every value is finite."""
        return True


def _fp32(value: Any) -> Any:
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.float() if is_float else value


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    if torch.is_autocast_enabled("cpu"):
        dtype = torch.get_autocast_dtype("cpu")
        query, key, value = (t.to(dtype) for t in (query, key, value))
        if attn_mask is not None and attn_mask.is_floating_point():
            attn_mask = attn_mask.to(dtype)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        # a bool mask becomes one of the query's dtype at every call, and is kept
        attn_mask = torch.empty_like(attn_mask, dtype=query.dtype)
    is_grouped = query.shape[1] != key.shape[1]
    has_learned_bias = attn_mask is not None and attn_mask.requires_grad
    is_unfused = has_learned_bias or (
        is_grouped and (not enable_gqa or query.dtype == torch.float32)
    )
    if not is_unfused:
        return FusedAttention.apply(query, key, value, attn_mask)
    with sdpa_kernel(SDPBackend.MATH):
        return functional.scaled_dot_product_attention(
            query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale,
            enable_gqa=enable_gqa,
        )  # fmt: skip


def _dropout(
    given: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> torch.Tensor:
    if p == 0.0 or not training:
        return given
    return MaskedDropout.apply(given)


def checkpoint(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Checkpoint of torch whose recomputation runs under the same rules as the forward.

    The autograd engine clears the function modes before it calls back, so they are entered anew.
    """

    def under_rules(*inner: Any, **named: Any) -> Any:
        with CudaRules():
            return function(*inner, **named)

    return _plain_checkpoint(under_rules, *args, **kwargs)


def define_torchvision_operators() -> None:
    """Lets torchvision be imported beside a torch that its library was not built for."""
    if _libraries:
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    _libraries.append(library)
    for name in _OPERATORS:
        try:
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        except RuntimeError:  # a fitting build has defined it already
            continue


def install() -> None:
    """Makes transformers treat fake tensors as real ones, and checkpoints keep the rules."""
    define_torchvision_operators()
    import transformers.masking_utils as masking
    import transformers.modeling_utils as modeling

    masking.find_packed_sequence_indices = lambda *_args, **_kwargs: None
    modeling.checkpoint = checkpoint
    torch_checkpoint.checkpoint = checkpoint
