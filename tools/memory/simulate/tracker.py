"""Counts the bytes of every live tensor storage while fake tensors run through a step.

Each storage counts once, rounded up to the allocator's 512 bytes, from the operation that makes
it until the last tensor on it dies. Shapes only: no memory is touched.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

ALLOCATION_BYTES = 512


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
                key = id(tensor.untyped_storage())
                size, old = self._kinds[key]
                self._kinds[key] = (size, kind)
                self.live_by_kind[old] -= size
                self.live_by_kind[kind] = self.live_by_kind.get(kind, 0) + size

    def _count(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = id(storage)
        if key in self._kinds:
            return
        size = -(-storage.nbytes() // ALLOCATION_BYTES) * ALLOCATION_BYTES
        self._kinds[key] = (size, "other")
        weakref.finalize(storage, self._free, key)
        self.live_bytes += size
        self.live_by_kind["other"] = self.live_by_kind.get("other", 0) + size
        if self.live_bytes > self.peak_bytes:
            self.reset_peak()

    def _free(self, key: int) -> None:
        size, kind = self._kinds.pop(key)
        self.live_bytes -= size
        self.live_by_kind[kind] -= size
