"""Allocated memory of one training step: the largest of its moments.

The peak is a maximum over moments (end of forward, loss, start of backward, each layer's
backward, end of backward, optimizer step), never the sum of the parts' own maxima.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tools.memory.layers.decoder import BuiltLayer, build_layer, build_tail
from tools.memory.layers.ops import Mode
from tools.memory.layers.plan import family_row, layer_kinds
from tools.memory.params import param_groups
from tools.memory.resolve import TrainRun
from tools.memory.states import States, states_of
from tools.models import ModelSpec


class Moment(NamedTuple):
    """What is alive at one moment beside weights and optimizer states, in bytes."""

    name: str
    gradients: float
    activations: float
    logits: float
    workspace: float

    @property
    def total(self) -> float:
        """All four."""
        return self.gradients + self.activations + self.logits + self.workspace


class Peak(NamedTuple):
    """The largest moment, with what is alive throughout."""

    states: States
    moment: Moment

    @property
    def total(self) -> float:
        """Allocated bytes."""
        return self.states.resident + self.moment.total


class Stack(NamedTuple):
    """The layers of a run, played: forms by kind and the order they stand in.

    With a frozen embedding and no checkpointing the first layer is a kind of its own: nothing
    flows back to its input.
    """

    built: tuple[BuiltLayer, ...]
    order: tuple[int, ...]
    tail: BuiltLayer
    head_width: int
    """Bytes of an output-head weight."""


def layer_mode(run: TrainRun) -> Mode:
    """The mode that the run's layers play in."""
    kbit = run.kbit_prepared
    quantized = run.quantization != "none"
    wide = run.weight_width == 4 or kbit
    return Mode(
        weight_width=run.weight_width,
        norm_width=4 if wide else 2,
        stream_width=4 if wide else 2,
        autocast=run.autocast,
        trains=not run.adapter,
        quantized=quantized,
        keeps_quantized_inputs=bool(run.asked.keeps_quantized_inputs),
        targets=run.targets,
        rank=run.rank,
        adapter_width=run.adapter_width,
        adapter_casts=run.adapter_width == 4,
        dropout=run.dropout,
        dora=run.method == "dora",
        attention="eager" if run.attention == "eager" else "fused",
        masked=run.masked,
        kv_expanded=bool(run.asked.gqa_kv_expanded),
        fused_norms=run.compiled,
        cuda=run.asked.torch_build != "cpu",
    )


@lru_cache(maxsize=2048)
def _stack(spec_id: int, mode: Mode, split: int, expert_split: int, frozen_start: bool) -> Stack:
    spec = _SPECS[spec_id]
    kinds = layer_kinds(spec, split, expert_split)
    row = family_row(spec)
    tail_mode = mode._replace(
        quantized=False,
        weight_width=mode.norm_width if mode.quantized else mode.weight_width,
        targets=frozenset({"lm_head"} & mode.targets),
        dropout=False,
    )
    hidden = spec.hidden_size or 0
    vocab = (spec.vocab_size or 0) / split
    tail = build_tail(hidden, vocab, row["norm"], tail_mode, bias=spec.lm_head_bias)
    built = tuple(build_layer(plan, mode) for plan in kinds.plans)
    order = kinds.order
    if frozen_start and order:
        built = (*built, build_layer(kinds.plans[order[0]], mode, input_grad=False))
        order = (len(built) - 1, *order[1:])
    return Stack(built, order, tail, tail_mode.weight_width)


_SPECS: dict[int, ModelSpec] = {}


def stack_of(run: TrainRun) -> Stack:
    """The run's layers, played once per model and mode."""
    key = id(run.spec)
    _SPECS.setdefault(key, run.spec)
    frozen_start = run.adapter and run.checkpointing == "none"
    sharding = run.sharding
    return _stack(key, layer_mode(run), sharding.tensor, sharding.expert, frozen_start)


def training_peak(run: TrainRun) -> Peak:
    """The largest moment of a steady training step, per card."""
    stack = stack_of(run)
    states = states_of(run)
    moments = _moments(run, stack, states)
    return Peak(states, max(moments, key=lambda moment: moment.total))


class _Sums(NamedTuple):
    """Running sums over the layers."""

    kept: list[float]
    """kept[i] = bytes that the first i layers keep."""
    grads: list[float]
    """grads[i] = gradient bytes of the layers from i up."""
    casts: float
    """16-bit copies of trained fp32 weights over all layers."""


def _sums(stack: Stack, tokens: float, keys: float, *, checkpointed: bool) -> _Sums:
    kept_of, grads_of, casts_of = [], [], []
    for built in stack.built:
        form = built.form
        kept_of.append(
            form.boundary.at(tokens, keys) if checkpointed else form.kept.at(tokens, keys)
        )
        grads_of.append(form.weight_grads[0])
        casts_of.append(form.cast_cache[0])
    kept, total = [0.0], 0.0
    for kind in stack.order:
        total += kept_of[kind] + (0.0 if checkpointed else casts_of[kind])
        kept.append(total)
    grads, total = [0.0], 0.0
    for kind in reversed(stack.order):
        total += grads_of[kind]
        grads.append(total)
    grads.reverse()
    return _Sums(kept, grads, sum(casts_of[kind] for kind in stack.order) if checkpointed else 0.0)


def _moments(run: TrainRun, stack: Stack, states: States) -> list[Moment]:
    tokens, keys = float(run.tokens), float(run.seq_len)
    checkpointed = run.checkpointing == "full"
    sums = _sums(stack, tokens, keys, checkpointed=checkpointed)
    groups = param_groups(run.spec)
    tail = stack.tail.form
    vocab = (run.spec.vocab_size or 0) / run.sharding.tensor
    logits = vocab * tokens
    width = 2 if run.autocast or stack.head_width == 2 else 4
    hold = width if run.held else 0
    before = states.gradients if run.kept_grads else 0.0
    layers_kept = sums.kept[-1]
    tail_kept = tail.kept.at(tokens, keys)
    tail_cast = tail.cast_cache[0]
    kept = layers_kept + tail_kept
    up = 0 if width == 4 else 4
    head_grad = tail.weight_grads[0] if not run.kept_grads else 0.0
    head_work = _head_work(run, stack, groups.embedding)
    moments = [
        Moment("loss", before, kept + sums.casts + tail_cast, (width + up + 4) * logits, 0.0),
        Moment("loss_backward", before, kept + tail_cast, (12 + hold) * logits, 0.0),
        Moment(
            "head_backward",
            before + head_grad,
            kept + tail_cast,
            (width + hold) * logits,
            head_work,
        ),
    ]
    held = hold * logits
    moments += _layer_moments(run, stack, sums, before, head_grad, held, tokens, keys)
    moments += _last_moments(run, states, groups.embedding, before, held, tokens)
    return moments


def _head_work(run: TrainRun, stack: Stack, head: int) -> float:
    """The 16-bit gradient of an fp32 head before it is cast up."""
    if run.autocast and stack.head_width == 4 and not run.adapter:
        return 2.0 * head / run.sharding.tensor
    return 0.0


def _layer_moments(
    run: TrainRun, stack: Stack, sums: _Sums, before: float, head_grad: float, held: float,
    tokens: float, keys: float,
) -> list[Moment]:  # fmt: skip
    moments = []
    order = stack.order
    checkpointed = run.checkpointing == "full"
    for kind, built in enumerate(stack.built):
        if kind not in order:
            continue
        form = built.form
        inside = max(size.at(tokens, keys) for size in form.backward_peaks)
        forward = max(size.at(tokens, keys) for size in form.forward_peaks)
        casts = form.cast_cache[0]
        gradient_out = form.boundary.at(tokens, keys)
        first, last = order.index(kind), len(order) - 1 - order[::-1].index(kind)
        for index in {first, last}:
            if checkpointed:
                kept = sums.kept[index + 1] + casts
                inside_now = max(inside, forward + gradient_out)
            else:
                kept = sums.kept[index + 1] - form.kept.at(tokens, keys)
                inside_now = inside
            later = 0.0 if run.kept_grads else head_grad + sums.grads[index + 1]
            moments.append(Moment("layer_backward", before + later, kept + inside_now, held, 0.0))
            moments.append(
                Moment(
                    "layer_forward",
                    before,
                    sums.kept[index] + forward + casts + sums.casts,
                    0.0,
                    0.0,
                )
            )
    return moments


def _last_moments(
    run: TrainRun, states: States, embedding: int, before: float, held: float, tokens: float
) -> list[Moment]:
    """End of backward (embedding gradients) and the optimizer step."""
    gradients = states.gradients
    moments = []
    spec = run.spec
    width = run.master_width if run.sharding.kind == "none" else 2
    if not run.adapter and run.sharding.kind in ("none", "ddp"):
        table = embedding * width
        tied = bool(spec.tie_word_embeddings) and not spec.no_lm_head
        extra = 0.0
        if tied:
            extra = float(table) if run.autocast and run.master_width == 4 else 2.0 * table
        stream = tokens * (spec.hidden_size or 0) * (4 if run.weight_width == 4 else 2)
        if run.kept_grads:
            extra = float(table)
        moments.append(Moment("embedding_backward", gradients, stream, held, extra))
    moments.append(Moment("optimizer_step", gradients, 0.0, held, states.step_workspace))
    return moments
