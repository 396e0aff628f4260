"""One rank of a sharded or replicated run: FSDP's own code over a process group that sends nothing.

`fully_shard` of torch runs as it is: shards, gathers with their prefetch, reduce-scatters and the
freeing of gathered units are its decisions, only the bytes on the wire are missing. Data
parallelism holds the reducer's buckets beside the gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.tracker import StorageTracker, local_of

_UNSHARDED = ("absmax", "nested_absmax")
"""Scales of 4-bit weights: no parameters in bitsandbytes, whole on every rank."""


def _is_sharded(request: SimulationRequest) -> bool:
    return request.world_size > 1 and request.sharding == "fsdp"


@contextmanager
def ranks(request: SimulationRequest) -> Iterator[None]:
    """A process group of the request's size whose collectives return at once; none for one card."""
    if not _is_sharded(request):
        yield
        return
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=request.world_size, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


def shard(model: nn.Module, request: SimulationRequest) -> nn.Module:
    """Shards each transformer layer, then the rest as the root unit (on the meta device)."""
    if not _is_sharded(request):
        return model
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = init_device_mesh("cpu", (request.world_size,))
    policy = MixedPrecisionPolicy()
    if request.precision in ("bf16-mixed", "fp16-mixed"):  # as accelerate sets it
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
    whole = {p for name, p in model.named_parameters() if name.rpartition(".")[2] in _UNSHARDED}
    for unit in (*_units(model), model):
        fully_shard(unit, mesh=mesh, mp_policy=policy, ignored_params=whole)
    return model


def _units(model: nn.Module) -> list[nn.Module]:
    """The layers that the model's class names as not to be split, else the longest lists."""
    names = {
        name
        for module in model.modules()
        for name in (getattr(module, "_no_split_modules", None) or ())
    }
    named = [m for m in model.modules() if type(m).__name__ in names]
    if named:
        return named
    lists = [m for m in model.modules() if isinstance(m, nn.ModuleList) and len(m) > 1]
    inner = {id(child) for one in lists for part in one for child in part.modules()}
    return [part for one in lists if id(one) not in inner for part in one]


@contextmanager
def filing_gradients(request: SimulationRequest, tracker: StorageTracker) -> Iterator[None]:
    """Files the shards of gradients under `grads` as each unit's reduce-scatter makes them."""
    if not _is_sharded(request):
        yield
        return
    from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup

    plain: Callable[..., Any] = FSDPParamGroup.post_backward

    def post_backward(group: Any, *args: Any) -> None:
        plain(group, *args)
        tracker.tag([p.sharded_param.grad for p in group.fsdp_params], "grads")

    FSDPParamGroup.post_backward = post_backward
    try:
        yield
    finally:
        FSDPParamGroup.post_backward = plain


def buckets(parameters: list[nn.Parameter], request: SimulationRequest) -> list[torch.Tensor]:
    """Flat copies of the gradients that data parallelism reduces; none otherwise."""
    if request.world_size == 1 or request.sharding != "ddp":
        return []
    return [torch.empty_like(local_of(p)) for p in parameters]
