"""Allocated memory of one training step: the largest of its moments.

The peak is a maximum over moments (end of forward, loss, start of backward, each layer's
backward, end of backward, optimizer step), never the sum of the parts' own maxima.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tools.memory.layers.decoder import (
    BuiltLayer,
    build_embedding,
    build_layer,
    build_tail,
)
from tools.memory.layers.ops import Mode
from tools.memory.layers.plan import LayerKinds, family_row, layer_kinds, masked_keys
from tools.memory.logits import loss_path
from tools.memory.params import is_encoder, param_groups
from tools.memory.resolve import TrainRun
from tools.memory.states import States, states_of
from tools.memory.tape import LayerForm, Size
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
    loss: float
    """Bytes of the loss moments' largest, states not counted."""

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
        keeps_quantized_inputs=run.keeps_inputs,
        targets=run.targets,
        rank=run.rank,
        adapter_width=run.adapter_width,
        adapter_casts=run.adapter_width == 4,
        dropout=run.dropout,
        dora=run.method == "dora",
        attention=run.attention if run.attention in ("eager", "flash") else "fused",
        masked=run.masked,
        kv_expanded=bool(run.asked.gqa_kv_expanded),
        fused_norms=run.compiled or bool(run.framework_row.get("megatron")),
        cuda=run.asked.torch_build != "cpu",
    )


@lru_cache(maxsize=2048)
def _stack(
    spec_id: int, mode: Mode, split: int, expert_split: int, frozen_start: bool, code: str,
    sequence: bool, keys: int, trained: tuple[str, int],
) -> Stack:  # fmt: skip
    spec = _SPECS[spec_id]
    kinds = layer_kinds(spec, split, expert_split, code, sequence, keys)
    row = family_row(spec)
    tail_mode = mode._replace(
        quantized=False,
        weight_width=mode.norm_width if mode.quantized else mode.weight_width,
        targets=frozenset({"lm_head"} & mode.targets),
        dropout=False,
    )
    hidden = spec.hidden_size or 0
    vocab = (spec.vocab_size or 0) / split
    norm = "mlm" if is_encoder(spec) else row["norm"]
    tail = build_tail(hidden, vocab, norm, tail_mode, bias=spec.lm_head_bias)
    built = tuple(build_layer(plan, mode) for plan in kinds.plans)
    order = kinds.order
    if trained[1]:
        built, order = _partly_trained(built, order, kinds, mode, trained)
    if frozen_start and order:
        built = (*built, build_layer(kinds.plans[order[0]], mode, input_grad=False))
        order = (len(built) - 1, *order[1:])
    return Stack(built, order, tail, tail_mode.weight_width)


def _partly_trained(
    built: tuple[BuiltLayer, ...], order: tuple[int, ...], kinds: LayerKinds, mode: Mode,
    trained: tuple[str, int],
) -> tuple[tuple[BuiltLayer, ...], tuple[int, ...]]:  # fmt: skip
    """The stack when only some layers train: the last ones (freeze), or any one block (BAdam).

    Below the lowest trained layer nothing is kept. A frozen layer above a trained one keeps what
    its input's gradient needs. BAdam's costliest block is the lowest, with all others above it.
    """
    method, count = trained
    frozen = mode._replace(trains=False)
    below = tuple(build_layer(plan, frozen, input_grad=False) for plan in kinds.plans)
    above = tuple(build_layer(plan, frozen) for plan in kinds.plans)
    number = len(built)
    if method == "badam":
        rest = tuple(2 * number + kind for kind in order[count:])
        return (*built, *below, *above), (*order[:count], *rest)
    start = max(len(order) - count, 0)
    return (*built, *below), (*(number + kind for kind in order[:start]), *order[start:])


def _trained_layers(run: TrainRun) -> tuple[str, int]:
    """Method and count of the layers that train, where it is not all of them."""
    if run.method not in ("freeze", "badam"):
        return "", 0
    return run.method, run.asked.trainable_layers or (1 if run.method == "badam" else 2)


_SPECS: dict[int, ModelSpec] = {}


def stack_of(run: TrainRun) -> Stack:
    """The run's layers, played once per model and mode."""
    key = id(run.spec)
    _SPECS.setdefault(key, run.spec)
    frozen_start = run.adapter and run.checkpointing == "none"
    sharding = run.sharding
    return _stack(
        key,
        layer_mode(run),
        sharding.tensor,
        sharding.expert,
        frozen_start,
        run.code,
        sharding.sequence,
        masked_keys(run.spec, run.seq_len),
        _trained_layers(run),
    )


def training_peak(run: TrainRun) -> Peak:
    """The largest moment of a steady training step, per card."""
    stack = stack_of(run)
    states = states_of(run)
    moments = _moments(run, stack, states)
    loss = max((m.total for m in moments if m.name.startswith("loss")), default=0.0)
    return Peak(states, max(moments, key=lambda moment: moment.total), loss)


class _Frame(NamedTuple):
    """One pipeline stage of a run, as numbers."""

    run: TrainRun
    stack: Stack
    states: States
    tokens: float
    keys: float
    order: tuple[int, ...]
    """Kinds of the stage's layers, from below."""
    flights: int
    """Micro batches whose kept tensors wait on this stage at a time."""
    kept: list[float]
    """kept[i] = bytes that the first i layers keep (all flights)."""
    grads: list[float]
    """grads[i] = gradient bytes that stay, of the layers from i up."""
    casts: float
    """16-bit copies of trained fp32 weights that live until the end of the forward only."""
    before: float
    """Gradients that are there from the steps before."""
    has_head: bool


def _frames(run: TrainRun, stack: Stack, states: States) -> list[_Frame]:
    """First and last pipeline stage; without pipelining they are one."""
    stages = run.sharding.pipeline
    order = stack.order
    if stages == 1:
        has_head = not is_encoder(run.spec) or run.objective == "mlm"
        return [_frame(run, stack, states, order, 1, has_head=has_head)]
    size = -(-len(order) // stages)
    return [
        _frame(run, stack, states, order[:size], stages, has_head=False),
        _frame(run, stack, states, order[len(order) - size :], 1, has_head=True),
    ]


def _kept_form(run: TrainRun, form: LayerForm) -> Size:
    if run.checkpointing == "full":
        return form.boundary
    if run.checkpointing == "selective" and not run.framework_row.get("megatron"):
        return form.policy_kept
    return form.kept.plus(form.cast_cache)


def _frame(
    run: TrainRun, stack: Stack, states: States, order: tuple[int, ...], flights: int, *,
    has_head: bool,
) -> _Frame:  # fmt: skip
    tokens, keys = float(run.tokens), float(run.seq_len)
    kept_of = [_kept_form(run, built.form).at(tokens, keys) * flights for built in stack.built]
    share = 0.0 if run.kept_grads else states.gradient_share
    grads_of = [built.form.weight_grads[0] * share for built in stack.built]
    total = _embedding_kept(run, tokens)
    kept = [total]
    for kind in order:
        total += kept_of[kind]
        kept.append(total)
    grads, total = [0.0], 0.0
    for kind in reversed(order):
        total += grads_of[kind]
        grads.append(total)
    grads.reverse()
    casts = 0.0
    if run.checkpointing == "full":
        casts = sum(stack.built[kind].form.cast_cache[0] for kind in order)
        if run.asked.activation_offload and len(order) > 2:
            two = kept[1] + kept[2] - kept[1]
            kept = [min(value, two) for value in kept]
    before = states.gradients if run.kept_grads else 0.0
    return _Frame(
        run, stack, states, tokens, keys, order, flights, kept, grads, casts, before, has_head
    )


def _embedding_kept(run: TrainRun, tokens: float) -> float:
    """What an embedding with a norm of its own keeps: the norm's input, a dropout mask."""
    if run.spec.embed_norm and not is_encoder(run.spec):
        wide = 4 if run.weight_width == 4 else 2
        return 0.0 if run.adapter else wide * tokens * (run.spec.hidden_size or 0)
    if not is_encoder(run.spec):
        return 0.0
    form = build_embedding(run.spec.hidden_size or 0, layer_mode(run)).form
    return form.kept.at(tokens, 0.0) if not run.adapter else 0.0


def _moments(run: TrainRun, stack: Stack, states: States) -> list[Moment]:
    moments: list[Moment] = []
    for frame in _frames(run, stack, states):
        held = head_grad = 0.0
        if frame.has_head:
            loss, held, head_grad = _loss_moments(frame)
            moments += loss
        moments += _layer_moments(frame, head_grad, held)
        moments += _last_moments(frame, held)
    return moments


def _loss_moments(frame: _Frame) -> tuple[list[Moment], float, float]:
    """The loss, its backward and the head's; also the held logits and the head's gradient."""
    run, stack, states = frame.run, frame.stack, frame.states
    tail = stack.tail.form
    split = run.sharding.tensor
    vocab = (run.spec.vocab_size or 0) / split
    width = 2 if run.autocast or stack.head_width == 2 else 4
    scored = float(run.scored_tokens)
    path = loss_path(run, width=width, vocab=vocab, tokens=scored)
    logits = vocab * scored
    tail_tokens = scored if scored else frame.tokens
    softcap = 2.0 * logits if family_row(run.spec).get("logits_softcap") else 0.0
    tail_cast = tail.cast_cache[0]
    kept = frame.kept[-1] + tail.kept.at(tail_tokens, frame.keys) + softcap
    share = 0.0 if run.kept_grads else states.gradient_share
    tied = bool(run.spec.tie_word_embeddings)
    if run.in_backward and tied:
        share = 1.0
    head_grad = tail.weight_grads[0] * share
    early = head_grad if path.early_head_grad else 0.0
    live, before = states.gathered, frame.before
    once = tail.weight_grads[0] if share == 0.0 and not run.adapter else 0.0
    work = _head_work(run, stack) + live + once
    if run.head_quantized:
        live += 6.0 * param_groups(run.spec).embedding
    ahead = kept + frame.casts + tail_cast
    moments = [
        Moment("loss", before + early, ahead, path.forward * logits + path.extra, live),
        Moment("loss_backward", before + early, kept + tail_cast, path.backward * logits, live),
        Moment("head_backward", before + head_grad, kept + tail_cast, path.head * logits, work),
    ]  # fmt: skip
    return moments, path.held * logits, head_grad


def _head_work(run: TrainRun, stack: Stack) -> float:
    """The 16-bit gradient of an fp32 head before it is cast up."""
    if run.autocast and stack.head_width == 4 and not run.adapter:
        return 2.0 * param_groups(run.spec).embedding / run.sharding.tensor
    return 0.0


def _layer_moments(frame: _Frame, head_grad: float, held: float) -> list[Moment]:
    run, states, order = frame.run, frame.states, frame.order
    tokens, keys = frame.tokens, frame.keys
    recomputes = run.checkpointing != "none" and not (
        run.checkpointing == "selective" and run.framework_row.get("megatron")
    )
    sheds = run.kept_grads or _spreads_gradients(run, states)
    live = states.gathered
    moments = []
    for kind, built in enumerate(frame.stack.built):
        if kind not in order:
            continue
        form = built.form
        peaks = form.backward_peaks_shed if sheds else form.backward_peaks
        inside = max(size.at(tokens, keys) for size in peaks)
        forward = max(size.at(tokens, keys) for size in form.forward_peaks)
        casts = form.cast_cache[0]
        own = _kept_form(run, form).at(tokens, keys)
        first, last = order.index(kind), len(order) - 1 - order[::-1].index(kind)
        for index in {first, last}:
            if recomputes:
                kept = frame.kept[index + 1] + casts
                working = max(inside, forward + form.boundary.at(tokens, keys))
            else:
                kept = frame.kept[index + 1] - own + casts
                working = inside
            gradients = frame.before + head_grad + frame.grads[index + 1]
            ahead = frame.kept[index] + forward + casts + frame.casts
            moments.append(Moment("layer_backward", gradients, kept + working, held, live))
            moments.append(Moment("layer_forward", frame.before, ahead, 0.0, live))
    return moments


def _spreads_gradients(run: TrainRun, states: States) -> bool:
    """Each produced gradient leaves the card but for a share."""
    return run.sharding.kind == "fsdp" or states.gradient_share < 1.0


def _has_tied_head(run: TrainRun) -> bool:
    return not is_encoder(run.spec) or run.objective == "mlm"


def _last_moments(frame: _Frame, held: float) -> list[Moment]:
    """End of backward (embedding gradients) and the optimizer step."""
    run, states = frame.run, frame.states
    gradients = states.gradients
    moments = [Moment("optimizer_step", gradients, 0.0, held, states.step_workspace)]
    partly = run.method in ("freeze", "badam")
    if run.adapter or partly or _spreads_gradients(run, states):
        return moments
    spec = run.spec
    table = float(param_groups(spec).embedding * run.master_width)
    extra = 0.0
    if run.kept_grads:
        extra = table
    elif run.objective == "contrastive":
        extra = table * (2 if run.asked.torch_build == "cpu" else 1)
    elif spec.tie_word_embeddings and not spec.no_lm_head and _has_tied_head(run):
        extra = table if run.autocast and run.master_width == 4 else 2 * table
    stream = frame.tokens * (spec.hidden_size or 0) * (4 if run.weight_width == 4 else 2)
    moments.append(Moment("embedding_backward", gradients, stream, held, extra))
    return moments
