"""Counts the bytes of every live tensor storage while fake tensors run through a step.

Each storage counts once, rounded up to the allocator's 512 bytes, from the operation that makes
it until the last tensor on it dies. Shapes only: no memory is touched.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, Self

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

ALLOCATION_BYTES = 512


def local_of(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's shard of a distributed tensor; the tensor itself otherwise."""
    shard: torch.Tensor = getattr(tensor, "_local_tensor", tensor)
    return shard


def _rounded(size: int) -> int:
    return -(-size // ALLOCATION_BYTES) * ALLOCATION_BYTES


class StorageTracker(TorchDispatchMode):
    """Dispatch mode that keeps the live total, its peak, and the peak's split by kind."""

    def __init__(self) -> None:
        super().__init__()
        self.phase = "setup"
        self._kinds: dict[int, tuple[int, str]] = {}
        """id of a live storage -> (bytes, kind)."""
        self.live_by_kind: dict[str, int] = {}
        self.live_bytes = 0
        self.reset_peak()

    def reset_peak(self) -> None:
        """Forgets the peak so far; the live storages stay counted."""
        self.peak_bytes = self.live_bytes
        self.peak_phase = self.phase
        self.peak_parts = dict(self.live_by_kind)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Runs the operation and counts the storages of what comes out."""
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self._count(leaf)
        return result

    def tag(self, tensors: Iterable[torch.Tensor | None], kind: str) -> None:
        """Files the storages of these tensors under a kind (params, buffers, grads, opt)."""
        for tensor in tensors:
            if tensor is not None:
                self._count(tensor)
                key = id(local_of(tensor).untyped_storage())
                size, old = self._kinds[key]
                self._kinds[key] = (size, kind)
                self.live_by_kind[old] -= size
                self.live_by_kind[kind] = self.live_by_kind.get(kind, 0) + size

    def _count(self, tensor: torch.Tensor) -> None:
        storage = local_of(tensor).untyped_storage()
        key = id(storage)
        if key in self._kinds:
            return
        size = _rounded(storage.nbytes())
        self._kinds[key] = (size, "other")
        weakref.finalize(storage, self._free, key)
        self.live_bytes += size
        self.live_by_kind["other"] = self.live_by_kind.get("other", 0) + size
        if self.live_bytes > self.peak_bytes:
            self.reset_peak()

    def _resized(self, storage: torch.UntypedStorage) -> None:
        """FSDP frees a gathered unit by giving its storage no bytes, and fills it again later."""
        key = id(storage)
        if key not in self._kinds:
            return
        old, kind = self._kinds[key]
        size = _rounded(storage.nbytes())
        self._kinds[key] = (size, kind)
        self.live_bytes += size - old
        self.live_by_kind[kind] += size - old
        if self.live_bytes > self.peak_bytes:
            self.reset_peak()

    def __enter__(self) -> Self:
        """Starts counting; resizes of storages pass no dispatch and are caught at their source."""
        plain = self._plain_resize = torch.UntypedStorage.resize_

        def resize(storage: torch.UntypedStorage, size: int) -> Any:
            result = plain(storage, size)
            self._resized(storage)
            return result

        torch.UntypedStorage.resize_ = resize
        entered: Self = super().__enter__()
        return entered

    def __exit__(self, *raised: Any) -> None:
        """Stops counting."""
        torch.UntypedStorage.resize_ = self._plain_resize
        super().__exit__(*raised)

    def _free(self, key: int) -> None:
        size, kind = self._kinds.pop(key)
        self.live_bytes -= size
        self.live_by_kind[kind] -= size
