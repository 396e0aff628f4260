"""A layer written down as the operations that autograd records, and what they keep.

`Tape` plays one layer forward, remembers which storages each operation saves for backward, and
walks the graph back to find the moments at which most is alive. Sizes are symbolic (`Size`:
bytes = fixed + per token x tokens + per score x tokens x keys + per key x keys), so that one play
serves every batch and length. The rules are those of PyTorch autograd and of autocast on CUDA;
what each family's module does is written in `layers/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Size(NamedTuple):
    """Bytes (or elements) as a linear form in the tokens of a card and the keys they see."""

    fixed: float = 0.0
    token: float = 0.0
    score: float = 0.0
    """Coefficient of tokens x keys."""
    key: float = 0.0
    """Coefficient of keys: what all rows of a batch share, such as rotary angles."""

    def plus(self, other: Size) -> Size:
        """The sum."""
        return Size(self[0] + other[0], self[1] + other[1], self[2] + other[2], self[3] + other[3])

    def minus(self, other: Size) -> Size:
        """The difference."""
        return Size(self[0] - other[0], self[1] - other[1], self[2] - other[2], self[3] - other[3])

    def times(self, factor: float) -> Size:
        """Each coefficient scaled."""
        return Size(self[0] * factor, self[1] * factor, self[2] * factor, self[3] * factor)

    def covers(self, other: Size) -> bool:
        """No coefficient is below the other's."""
        return (
            self[0] >= other[0] and self[1] >= other[1] and self[2] >= other[2]
            and self[3] >= other[3]
        )  # fmt: skip

    def at(self, tokens: float, keys: float) -> float:
        """The value for this many tokens and keys."""
        return self[0] + tokens * (self[1] + self[2] * keys) + self[3] * keys


ZERO = Size()


def per_token(elements: float) -> Size:
    """So many elements for each token."""
    return Size(0.0, elements, 0.0)


def per_key(elements: float) -> Size:
    """So many elements for each position of a sequence, whatever the batch."""
    return Size(0.0, 0.0, 0.0, elements)


def fixed(elements: float) -> Size:
    """So many elements, whatever the tokens."""
    return Size(elements, 0.0, 0.0)


class Storage:
    """One allocation."""

    __slots__ = ("last_use", "saves", "size")

    def __init__(self, size: Size) -> None:
        self.size = size
        self.last_use = 0
        self.saves = 0


class Tensor:
    """A tensor of the layer: elements, width, storage, and whether a gradient flows to it."""

    __slots__ = ("elements", "grad_needed", "storage", "width")

    def __init__(self, elements: Size, width: int, storage: Storage, grad_needed: bool) -> None:
        self.elements = elements
        self.width = width
        self.storage = storage
        self.grad_needed = grad_needed

    @property
    def size(self) -> Size:
        """Bytes of the tensor itself (its storage may be larger)."""
        return self.elements.times(self.width)


class Node:
    """One recorded operation."""

    __slots__ = (
        "allocates",
        "inputs",
        "is_part",
        "kept_grads",
        "name",
        "out",
        "passes",
        "saved",
        "work",
        "work_back",
    )

    def __init__(self, name: str, inputs: list[Tensor], out: Tensor, saved: list[Storage]) -> None:
        self.name = name
        self.inputs = inputs
        self.out = out
        self.saved = saved
        self.passes = False
        """Backward hands its gradient on without a new allocation (add, view)."""
        self.is_part = False
        """A slice of a larger tensor: its gradient becomes part of that tensor's gradient."""
        self.work = ZERO
        """Temporaries of the forward."""
        self.work_back = ZERO
        """Temporaries of the backward."""
        self.kept_grads = ZERO
        """Gradients of parameters, alive from here to the optimizer step."""
        self.allocates = True


class LayerForm(NamedTuple):
    """What one layer costs, in symbolic bytes."""

    kept: Size
    """Saved for backward without checkpointing (weight casts of `cast_cache` not counted)."""
    boundary: Size
    """The layer's input, which is all that full checkpointing keeps."""
    cast_cache: Size
    """16-bit copies of trained fp32 weights: alive until the autocast block ends."""
    weight_grads: Size
    """Gradients of the layer's own trained parameters."""
    forward_peaks: tuple[Size, ...]
    """Candidates for the most that is alive inside the forward, above the layer's input."""
    backward_peaks: tuple[Size, ...]
    """Candidates for the most that is alive inside the backward, what the layer keeps included."""
    backward_peaks_shed: tuple[Size, ...]
    """The same when each parameter's gradient leaves as soon as it is made."""
    inference_peaks: tuple[Size, ...]
    """The same for a forward without gradients."""
    policy_kept: Size
    """Kept by the per-operation policy of selective checkpointing: every second matrix product
    and the attention output, beside the input."""


class Tape:
    """Records the operations of one layer."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.cast_cache = ZERO

    def source(self, elements: Size, width: int, *, grad_needed: bool) -> Tensor:
        """A tensor that exists before the layer begins."""
        return Tensor(elements, width, Storage(elements.times(width)), grad_needed)

    def op(
        self,
        name: str,
        inputs: list[Tensor],
        elements: Size,
        width: int,
        *,
        saved: Iterable[Storage] = (),
        saves_out: bool = False,
        grad_needed: bool | None = None,
        view_of: Tensor | None = None,
    ) -> Tensor:
        """Records an operation and gives its output."""
        needs = any(t.grad_needed for t in inputs) if grad_needed is None else grad_needed
        storage = view_of.storage if view_of is not None else Storage(elements.times(width))
        out = Tensor(elements, width, storage, needs)
        kept = list(saved) if needs else []
        if saves_out and needs:
            kept.append(storage)
        node = Node(name, inputs, out, kept)
        node.allocates = view_of is None
        for storage_kept in kept:
            storage_kept.saves += 1
        self.nodes.append(node)
        step = len(self.nodes)
        for tensor in inputs:
            tensor.storage.last_use = step
        storage.last_use = max(storage.last_use, step)
        return out

    def touch(self, tensor: Tensor) -> None:
        """A variable of the module still holds this tensor here."""
        tensor.storage.last_use = len(self.nodes)

    @property
    def last(self) -> Node:
        """The operation recorded last."""
        return self.nodes[-1]

    # ------------------------------------------------------------------ the walk

    def form(self, source: Tensor, out: Tensor) -> LayerForm:
        """Plays the layer forward and back."""
        kept: dict[int, Storage] = {}
        for node in self.nodes:
            for storage in node.saved:
                kept[id(storage)] = storage
        total = ZERO
        for storage in kept.values():
            total = total.plus(storage.size)
        grads = ZERO
        for node in self.nodes:
            grads = grads.plus(node.kept_grads)
        self.touch(out)
        return LayerForm(
            kept=total,
            boundary=source.storage.size,
            cast_cache=self.cast_cache,
            weight_grads=grads,
            forward_peaks=self._forward(source, keep=True),
            backward_peaks=self._backward(out, total, kept, shed=False),
            backward_peaks_shed=self._backward(out, total, kept, shed=True),
            inference_peaks=self._forward(source, keep=False),
            policy_kept=self._policy(source),
        )

    def _policy(self, source: Tensor) -> Size:
        total = source.storage.size
        for node in self.nodes:
            if node.name in ("linear", "linear4", "experts_up", "experts_down"):
                total = total.plus(node.out.size.times(0.5))
            elif node.name in ("sdpa", "logsumexp"):
                total = total.plus(node.out.size)
        return total

    def _forward(self, source: Tensor, *, keep: bool) -> tuple[Size, ...]:
        """Live bytes above the layer's input, at each operation."""
        live = ZERO
        peaks = Peaks()
        alive: dict[int, Storage] = {}
        for step, node in enumerate(self.nodes, start=1):
            storage = node.out.storage
            if node.allocates and id(storage) not in alive and storage is not source.storage:
                alive[id(storage)] = storage
                live = live.plus(storage.size)
            peaks.add(live.plus(node.work))
            for key, held in list(alive.items()):
                if held.last_use <= step and not (keep and held.saves):
                    live = live.minus(held.size)
                    del alive[key]
        return peaks.best

    def _backward(
        self, out: Tensor, kept_total: Size, kept: dict[int, Storage], *, shed: bool
    ) -> tuple[Size, ...]:
        """Live bytes at each step back, from what the layer keeps and its output gradient."""
        remaining = {key: storage.saves for key, storage in kept.items()}
        pending: dict[int, Size] = {id(out): out.size}
        live = kept_total.plus(out.size)
        peaks = Peaks()
        peaks.add(live)
        for node in reversed(self.nodes):
            grad = pending.pop(id(node.out), None)
            if grad is None:
                continue
            receivers = [t for t in node.inputs if t.grad_needed]
            if node.is_part:
                for tensor in receivers:
                    pending[id(tensor)] = pending.get(id(tensor), ZERO).plus(grad)
                continue
            fresh = [] if node.passes else receivers
            made = ZERO
            for tensor in fresh:
                made = made.plus(tensor.size)
            live = live.plus(made).plus(node.kept_grads)
            peaks.add(live.plus(node.work_back))
            if shed:
                live = live.minus(node.kept_grads)
            if not node.passes:
                live = live.minus(grad)
            for storage in node.saved:
                remaining[id(storage)] -= 1
                if remaining[id(storage)] == 0:
                    live = live.minus(storage.size)
            for position, tensor in enumerate(receivers):
                shared = node.passes and position > 0
                live = self._hand_on(tensor, live, pending, peaks, shared=shared)
        return peaks.best

    @staticmethod
    def _hand_on(
        tensor: Tensor, live: Size, pending: dict[int, Size], peaks: Peaks, *, shared: bool
    ) -> Size:
        """Adds a gradient to its tensor's buffer; a second one is summed into a new tensor."""
        key = id(tensor)
        if key in pending:
            peaks.add(live.plus(tensor.size))
            return live if shared else live.minus(tensor.size)
        pending[key] = ZERO if shared else tensor.size
        return live


class Peaks:
    """Sizes of which none is smaller than another in every coefficient."""

    __slots__ = ("best",)

    def __init__(self) -> None:
        self.best: tuple[Size, ...] = ()

    def add(self, size: Size) -> None:
        """Keeps `size` if it can be the largest for some tokens and keys."""
        if any(held.covers(size) for held in self.best):
            return
        self.best = (*(held for held in self.best if not size.covers(held)), size)
