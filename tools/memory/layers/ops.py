"""The modules that layers are made of, as operations on a `Tape`.

Each function plays one module of the reference implementations (PyTorch, transformers, peft,
bitsandbytes): which tensors it makes, what it saves, what its backward needs.
"""

from __future__ import annotations

from typing import NamedTuple

from tools.memory.tape import Size, Tape, Tensor, fixed, per_token


class Mode(NamedTuple):
    """How a layer runs: dtypes, what trains, what is adapted, which attention kernel."""

    weight_width: int = 2
    """Bytes of a base weight (4 under AMP and fp32)."""
    norm_width: int = 2
    """Bytes of the weights that are no linear (4 after k-bit preparation)."""
    stream_width: int = 2
    """Bytes of the residual stream."""
    autocast: bool = False
    trains: bool = True
    """Base weights receive gradients."""
    quantized: bool = False
    """Linears are stored in 4 or 8 bit and dequantised at use."""
    keeps_quantized_inputs: bool = False
    targets: frozenset[str] = frozenset()
    """Adapted linears; {"all-linear"} for every one."""
    rank: int = 0
    adapter_width: int = 4
    adapter_casts: bool = True
    """peft casts the input to the adapter's dtype; programs with 16-bit adapters do not."""
    dropout: bool = False
    dora: bool = False
    attention: str = "fused"
    """fused (flash and memory-efficient kernels), eager, or math (unfused SDPA)."""
    masked: bool = False
    """A padding mask: a float mask a layer, keys and values repeated for grouped heads."""
    kv_expanded: bool = False
    fused_norms: bool = False
    """torch.compile: a norm keeps its 16-bit input only."""
    cuda: bool = True
    """CUDA kernels; a CPU build casts before a softmax and needs less in its backward."""


class Linear(NamedTuple):
    """A matrix of the layer, as stored on one card."""

    name: str
    size_in: float
    size_out: float
    bias: bool
    quantizable: bool

    @property
    def params(self) -> float:
        """Elements of the matrix without its bias."""
        return self.size_in * self.size_out


_MEMBERS = {"qkv": {"q", "k", "v"}, "gate_up": {"gate", "up"}}
_PARTS = {"q": "qkv", "k": "qkv", "v": "qkv", "q_b": "q", "kv_b": "v", "gate": "gate_up",
          "up": "gate_up"}  # fmt: skip
_NEVER = frozenset({"router", "lm_head"})


def is_adapted(role: str, targets: frozenset[str]) -> bool:
    """Whether targets (roles) put an adapter on a linear of this role.

    A target that names a part of a fused matrix adapts the whole matrix, and the other way round.
    """
    if not targets:
        return False
    if role in targets or ("all-linear" in targets and role not in _NEVER):
        return True
    return bool(_MEMBERS.get(role, set()) & targets) or _PARTS.get(role) in targets


class Net:
    """A layer being written down: a tape and the mode it runs in."""

    def __init__(self, mode: Mode) -> None:
        self.tape = Tape()
        self.mode = mode
        self.linears: list[Linear] = []

    # ---------------------------------------------------------------- elementwise

    def cast(self, x: Tensor, width: int) -> Tensor:
        """The tensor in another width; the same tensor when it has it."""
        if x.width == width:
            return x
        return self.tape.op("cast", [x], x.elements, width)

    def add(self, residual: Tensor, branch: Tensor) -> Tensor:
        """Sum; both get the same gradient, so the longer-lived comes first."""
        out = self.tape.op(
            "add", [residual, branch], residual.elements, max(residual.width, branch.width)
        )
        self.tape.last.passes = residual.width == branch.width
        return out

    def scale(self, x: Tensor) -> Tensor:
        """A tensor times a number."""
        return self.tape.op("scale", [x], x.elements, x.width)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        """Product of two tensors of the same shape."""
        saved = [a.storage] if b.grad_needed else []
        saved += [b.storage] if a.grad_needed else []
        return self.tape.op("mul", [a, b], a.elements, max(a.width, b.width), saved=saved)

    def drop(self, x: Tensor) -> Tensor:
        """Dropout with a one-byte mask."""
        if not x.grad_needed:
            return self.tape.op("dropout", [x], x.elements, x.width)
        mask = self.tape.op("mask", [], x.elements, 1, grad_needed=False)
        return self.tape.op("dropout", [x], x.elements, x.width, saved=[mask.storage])

    def silu(self, x: Tensor) -> Tensor:
        """An activation that saves its input (SiLU, GELU)."""
        return self.tape.op("act", [x], x.elements, x.width, saved=[x.storage])

    def relu(self, x: Tensor) -> Tensor:
        """ReLU saves its output."""
        return self.tape.op("relu", [x], x.elements, x.width, saves_out=True)

    def gelu_new(self, x: Tensor) -> Tensor:
        """GELU written out with pow and tanh, one tensor an operation (GPT-2)."""
        half = self.scale(x)
        wide = self.cast(x, 4) if self.mode.autocast else x
        cube = self.tape.op("pow", [wide], x.elements, wide.width, saved=[wide.storage])
        self.tape.last.work_back = x.elements.times(wide.width)
        cube = self.scale(cube)
        inner = self.add(x, cube)
        inner = self.scale(inner)
        tanh = self.tape.op("tanh", [inner], x.elements, inner.width, saves_out=True)
        plus = self.scale(tanh)
        out = self.mul(half, plus)
        self.tape.touch(x)
        return out

    def activation(self, x: Tensor, kind: str) -> Tensor:
        """One of silu, gelu, relu, gelu_new, gelu_custom."""
        if kind == "relu":
            return self.relu(x)
        if kind == "gelu_new":
            return self.gelu_new(x)
        return self.silu(x)

    def softmax(self, x: Tensor, width: int) -> Tensor:
        """Softmax with its result in `width`; the CUDA backward makes grad * output first."""
        if not self.mode.cuda:
            x = self.cast(x, width)
        out = self.tape.op("softmax", [x], x.elements, width, saves_out=True)
        if self.mode.cuda:
            self.tape.last.work_back = x.elements.times(width)
        return out

    # ---------------------------------------------------------------- norms

    def norm(self, x: Tensor, kind: str, *, groups: float = 1) -> Tensor:
        """A normalisation; `groups` statistics a token (heads for a per-head norm)."""
        if kind == "ln":
            return self._layer_norm(x)
        if kind == "cohere":
            return self._cohere_norm(x, groups)
        if self.mode.fused_norms:
            return self._fused_norm(x, groups)
        return self._rms_norm(x, kind, groups)

    def _rms_norm(self, x: Tensor, kind: str, groups: float) -> Tensor:
        tape, mode = self.tape, self.mode
        wide = self.cast(x, 4)
        square = tape.op("pow_mean", [wide], per_token(groups), 4, saved=[wide.storage])
        tape.last.work = wide.size
        tape.last.work_back = wide.size
        root = tape.op("rsqrt", [square], per_token(groups), 4, saves_out=True)
        normed = tape.op("mul", [wide, root], x.elements, 4, saved=[wide.storage, root.storage])
        tape.last.work_back = wide.size
        if kind == "llama":
            normed = self.cast(normed, x.width)
        saved = [normed.storage] if mode.trains else []
        width = max(normed.width, mode.norm_width) if kind != "llama_cast" else 4
        out = tape.op("weight", [normed], x.elements, width, saved=saved)
        if mode.trains:
            tape.last.work_back = out.size
        if kind != "llama":
            out = self.cast(out, x.width)
        return out

    def _fused_norm(self, x: Tensor, groups: float) -> Tensor:
        out = self.tape.op("norm", [x], x.elements, x.width, saved=[x.storage])
        self.tape.op("stats", [], per_token(groups), 4, grad_needed=False)
        return out

    def _layer_norm(self, x: Tensor) -> Tensor:
        wide = self.cast(x, 4) if self.mode.autocast else x
        stats = self.tape.op("stats", [], per_token(2), 4, grad_needed=False)
        return self.tape.op(
            "layer_norm", [wide], x.elements, wide.width, saved=[wide.storage, stats.storage]
        )

    def _cohere_norm(self, x: Tensor, groups: float) -> Tensor:
        tape = self.tape
        wide = self.cast(x, 4)
        mean = tape.op("mean", [wide], per_token(groups), 4)
        centred = tape.op("sub", [wide, mean], x.elements, 4)
        square = tape.op("pow_mean", [centred], per_token(groups), 4, saved=[centred.storage])
        tape.last.work = wide.size
        tape.last.work_back = wide.size
        root = tape.op("rsqrt", [square], per_token(groups), 4, saves_out=True)
        again = tape.op("sub", [wide, mean], x.elements, 4)
        normed = tape.op("mul", [again, root], x.elements, 4, saved=[again.storage, root.storage])
        saved = [normed.storage] if self.mode.trains else []
        out = tape.op("weight", [normed], x.elements, 4, saved=saved)
        return self.cast(out, x.width)

    # ---------------------------------------------------------------- linears

    def adapted(self, role: str) -> bool:
        """Whether a LoRA adapter sits on this linear."""
        return is_adapted(role, self.mode.targets)

    def linear(
        self, x: Tensor, name: str, size_in: float, size_out: float, *, bias: bool = False,
        quantizable: bool = True, rows: float | None = None,
    ) -> Tensor:  # fmt: skip
        """Product with a matrix (sizes as on one card), with its adapter if any."""
        self.linears.append(Linear(name, size_in, size_out, bias, quantizable))
        params = size_in * size_out + (size_out if bias else 0)
        elements = per_token(size_out if rows is None else rows)
        out = self._base_linear(x, params, size_in * size_out, elements, quantizable=quantizable)
        if self.adapted(name):
            out = self._adapter(x, out, size_in, size_out, quantizable=quantizable)
        return out

    def _base_linear(
        self, x: Tensor, params: float, matrix: float, elements: Size, *, quantizable: bool
    ) -> Tensor:
        tape, mode = self.tape, self.mode
        if mode.quantized and quantizable:
            given = self.cast(x, 2)
            saved = [given.storage] if mode.keeps_quantized_inputs else []
            out = tape.op("linear4", [given], elements, 2, saved=saved)
            tape.last.work = tape.last.work_back = fixed(2 * matrix)
            return self.cast(out, x.width)
        if mode.autocast:
            given = self.cast(x, 2)
            saved = [given.storage] if mode.trains else []
            out = tape.op("linear", [given], elements, 2, saved=saved)
            if mode.weight_width == 4:
                if mode.trains:
                    tape.cast_cache = tape.cast_cache.plus(fixed(2 * params))
                    tape.last.work_back = fixed(2 * params)
                else:
                    copy = tape.op("weight_cast", [], fixed(matrix), 2, grad_needed=False)
                    tape.nodes[-2].saved.append(copy.storage)
                    copy.storage.saves += 1
        else:
            saved = [x.storage] if mode.trains else []
            out = tape.op("linear", [x], elements, x.width, saved=saved)
        if mode.trains:
            node = next(n for n in reversed(tape.nodes) if n.name == "linear")
            node.kept_grads = fixed(mode.weight_width * params)
        return out

    def _adapter(
        self, x: Tensor, out: Tensor, size_in: float, size_out: float, *, quantizable: bool
    ) -> Tensor:
        mode, tape = self.mode, self.tape
        quantized = mode.quantized and quantizable
        given = x
        if mode.adapter_casts and not (quantized and mode.autocast):
            given = self.cast(x, mode.adapter_width)
        if mode.dropout:
            given = self.drop(given)
        if mode.autocast:
            given = self.cast(given, 2)
            weights = mode.rank * (size_in + size_out)
            if mode.adapter_width == 4:
                tape.cast_cache = tape.cast_cache.plus(fixed(2 * weights))
        low = tape.op(
            "lora_a", [given], per_token(mode.rank), given.width,
            saved=[given.storage], grad_needed=True,
        )  # fmt: skip
        tape.last.kept_grads = fixed(mode.adapter_width * mode.rank * size_in)
        high = tape.op("lora_b", [low], out.elements, given.width, saved=[low.storage])
        tape.last.kept_grads = fixed(mode.adapter_width * mode.rank * size_out)
        high = self.scale(high)
        if mode.dora:
            high = self._dora(high, out)
        total = tape.op("lora_add", [out, high], out.elements, max(out.width, high.width))
        tape.last.passes = out.width == high.width
        return self.cast(total, out.width)

    def _dora(self, high: Tensor, base: Tensor) -> Tensor:
        """DoRA scales both the base output and the update by magnitude over weight norm."""
        saved = [high.storage, base.storage]
        out = self.tape.op("dora", [high], base.elements, high.width, saved=saved)
        self.tape.last.work_back = base.size
        return out

    def keep(self, x: Tensor) -> None:
        """The operation that made x keeps it for backward."""
        self.tape.last.saved.append(x.storage)
        x.storage.saves += 1

    # ---------------------------------------------------------------- shapes

    def view(self, x: Tensor) -> Tensor:
        """The same storage under another shape."""
        out = self.tape.op("view", [x], x.elements, x.width, view_of=x)
        self.tape.last.passes = True
        return out

    def part(self, x: Tensor, elements: float) -> Tensor:
        """A slice of a fused tensor: it keeps the whole storage alive."""
        out = self.tape.op("slice", [x], per_token(elements), x.width, view_of=x)
        self.tape.last.is_part = True
        return out

    def new(self, name: str, x: Tensor, elements: float) -> Tensor:
        """A copy (contiguous, cat, repeat) that saves nothing."""
        return self.tape.op(name, [x], per_token(elements), x.width)
