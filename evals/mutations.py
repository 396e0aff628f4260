"""The seeded faults: what a slip of the hand could do to the product, one function each.

Each names the rows that must notice it. `python -m evals mutants` judges them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from evals.surgery import Surgery
from tools.units import GIB

Plan = Mapping[str, tuple[str, ...]]
"""Suite -> beginnings of the ids of the rows that are run."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One seeded fault."""

    id: str
    fault: str
    """What is wrong, in a few words."""
    plan: Plan
    apply: Callable[[Surgery], None]


_FOUND: dict[str, Mutant] = {}


def mutants() -> tuple[Mutant, ...]:
    """All seeded faults, in their order."""
    return tuple(_FOUND.values())


def _mutant(
    **plan: Iterable[str],
) -> Callable[[Callable[[Surgery], None]], Callable[[Surgery], None]]:
    def add(apply: Callable[[Surgery], None]) -> Callable[[Surgery], None]:
        name = apply.__name__.strip("_").replace("_", "-")
        fault = str(apply.__doc__)
        _FOUND[name] = Mutant(name, fault, {s: tuple(ids) for s, ids in plan.items()}, apply)
        return apply

    return add


def _cards(surgery: Surgery, change: Callable[[Any], Any]) -> None:
    surgery.returns("tools.gpus.registry:all_gpus", lambda rows: tuple(change(r) for r in rows))


def _models(surgery: Surgery, change: Callable[[Any], Any]) -> None:
    surgery.returns("tools.models.registry:all_models", lambda rows: tuple(change(r) for r in rows))


def _changed(record: Any, **values: Any) -> Any:
    """A copy of a dataclass or named tuple."""
    made = getattr(record, "_replace", None)
    return made(**values) if made is not None else replace(record, **values)


# ---------------------------------------------------------------- cards and models


@_mutant(catalog=["gpu-a10", "gpu-rtx", "gpu-l4"])
def gpu_memory_off_by_2_gib(surgery: Surgery) -> None:
    """Every card has 2 GiB more usable memory."""
    surgery.computes("tools.gpus.spec:GpuSpec.usable_bytes", lambda b: b and b + 2 * GIB)


@_mutant(catalog=["gpu-"])
def label_for_usable(surgery: Surgery) -> None:
    """The label on the box is taken for usable memory."""
    surgery.replace(
        "tools.gpus.spec:GpuSpec.usable_bytes",
        lambda _: property(lambda s: s.memory_label_gb and int(s.memory_label_gb * GIB)),
    )


@_mutant(catalog=["gpu-t4", "gpu-v100"], questions=["zh047", "f-trap-t4-bf16"])
def bf16_on_every_card(surgery: Surgery) -> None:
    """Turing and Volta are said to compute bf16."""
    _cards(surgery, lambda card: _changed(card, bf16_supported=True))


@_mutant(catalog=["gpu-a10"], questions=["f-trap-nvlink"])
def nvlink_on_a10(surgery: Surgery) -> None:
    """The A10 is said to have NVLink."""
    _cards(surgery, lambda c: _changed(c, nvlink=True) if c.name == "NVIDIA A10" else c)


@_mutant(catalog=["gpu-h100", "gpu-a100", "gpu-a10"])
def sparse_peak(surgery: Surgery) -> None:
    """Tensor throughput with sparsity."""
    _cards(surgery, lambda c: _changed(c, bf16_dense=c.bf16_dense and c.bf16_dense * 2))


@_mutant(catalog=["model-"], memory=["inf-143", "inf-145"])
def grouped_queries_forgotten(surgery: Surgery) -> None:
    """MHA heads where the model groups its queries."""
    _models(
        surgery,
        lambda m: (
            _changed(m, num_key_value_heads=m.num_attention_heads) if m.num_key_value_heads else m
        ),
    )


@_mutant(catalog=["model-deepseek", "model-mix"])
def active_for_total(surgery: Surgery) -> None:
    """Active parameters taken for all of a mixture's."""
    _models(surgery, lambda m: _changed(m, params_total=m.params_active or m.params_total))


# ---------------------------------------------------------------- memory


@_mutant(memory=["inf-143", "inf-145", "sim-"])
def kv_cache_halved(surgery: Surgery) -> None:
    """The cache holds one tensor, not keys and values."""
    surgery.returns("tools.memory.serving.serve:cache_bytes", lambda size: size / 2)


@_mutant(memory=["inf-143", "inf-145"])
def kv_without_gqa(surgery: Surgery) -> None:
    """KV cache without grouped queries."""
    surgery.returns(
        "tools.memory.serving.cache:cache_form",
        lambda form: _changed(form, growing=form.growing * 4) if form.kv_heads > 1 else form,
    )


_TRAIN = ("sim-", "fq-")


@_mutant(memory=_TRAIN)
def gradients_forgotten(surgery: Surgery) -> None:
    """Gradients are forgotten."""
    surgery.returns(
        "tools.memory.states:states_of", lambda s: _changed(s, gradients=0.0, gradient_share=0.0)
    )


@_mutant(memory=_TRAIN)
def one_moment(surgery: Surgery) -> None:
    """Adam keeps one moment, not two."""
    surgery.returns("tools.memory.states:optimizer_bytes", lambda size: size / 2)


@_mutant(memory=_TRAIN)
def weights_in_fp32(surgery: Surgery) -> None:
    """16-bit weights counted at 4 bytes."""
    surgery.returns("tools.memory.states:weights_bytes", lambda size: size * 2)


@_mutant(memory=_TRAIN, questions=["f-70b-qlora"])
def four_bit_as_eight(surgery: Surgery) -> None:
    """4-bit weights counted at one byte."""
    surgery.returns("tools.memory.states:quantized_bytes", lambda size: size * 2)


@_mutant(questions=["f-8b-8xa100", "en001"])
def zero3_is_ddp(surgery: Surgery) -> None:
    """ZeRO-3 does not shard."""
    surgery.returns(
        "tools.memory.sharding:sharding_of",
        lambda s: _changed(s, kind="ddp") if s.kind in ("zero3", "fsdp") else s,
    )


@_mutant(memory=["fq-", "inf-"])
def no_interval(surgery: Surgery) -> None:
    """Intervals shrink to a point."""

    def point(interval: Any) -> Any:
        middle = (interval.low_bytes + interval.high_bytes) // 2
        return _changed(interval, low_bytes=middle, high_bytes=middle)

    surgery.returns("tools.memory.uncertainty:interval_for", point)


@_mutant(questions=["f-14b", "f-15b", "f-8b"])
def fit_flipped(surgery: Surgery) -> None:
    """Verdicts of the calculator are flipped."""
    other = {"fits": "does_not_fit", "does_not_fit": "fits", "tight": "tight"}
    surgery.returns("tools.memory.fitting:fit", lambda r: _changed(r, verdict=other[r.verdict]))
    surgery.returns("tools.memory.fitting:likely_verdict", lambda verdict: other[verdict])


# ---------------------------------------------------------------- catalog and prices


@_mutant(catalog=["spot-"])
def spot_price_doubled(surgery: Surgery) -> None:
    """Spot prices are doubled."""
    surgery.returns(
        "tools.catalog.prices:spot_quote",
        lambda q: q and _changed(q, low=q.low * 2, high=q.high * 2),
    )


@_mutant(catalog=["price-"])
def wrong_currency(surgery: Surgery) -> None:
    """Yuan are shown as dollars."""
    surgery.returns(
        "tools.catalog.prices:cheapest",
        lambda p: p and _changed(p, currency={"CNY": "USD", "USD": "CNY"}[p.currency]),
    )


@_mutant(catalog=["price-"])
def month_for_hour(surgery: Surgery) -> None:
    """A monthly price is shown as an hourly one."""
    surgery.computes("tools.catalog.offer:Price.per_hour", lambda amount: amount * 730)


@_mutant(catalog=["inst-p", "inst-g5"])
def one_gpu_each(surgery: Surgery) -> None:
    """Every machine has one GPU."""
    surgery.returns(
        "tools.catalog.loader:read_offers",
        lambda rows: [_changed(r, gpu_count=1) if r.gpu_count else r for r in rows],
    )


@_mutant(catalog=["unknown-"])
def unknown_is_nearest(surgery: Surgery) -> None:
    """A name that does not exist becomes the nearest one."""
    surgery.returns(
        "tools.catalog.lookup:find_instance",
        lambda f: _changed(f, kind="type", offers=f.nearest[:1]) if f.nearest else f,
    )


# ---------------------------------------------------------------- speed, spot


@_mutant(speed=[""])
def training_twice_as_fast(surgery: Surgery) -> None:
    """Training is twice as fast."""
    surgery.returns("tools.speed.training_model:passes", lambda n: n / 2)


@_mutant(speed=[""])
def decode_reads_half(surgery: Surgery) -> None:
    """Decoding reads half of the weights."""
    surgery.returns("tools.speed.serving_model:_read_bytes", lambda size: size / 2)


@_mutant(questions=["f-spot-young"])
def wrong_interval(surgery: Surgery) -> None:
    """The checkpoint interval misses a factor of the square root."""
    surgery.replace(
        "tools.speed.spot:spot_plan",
        lambda real: lambda job: real(replace(job, checkpoint_s=job.checkpoint_s / 2)),
    )


# ---------------------------------------------------------------- guidance


@_mutant(retrieval=["n1", "n2", "n3"])
def passages_reversed(surgery: Surgery) -> None:
    """Passages come in the wrong order."""
    surgery.returns("knowledge.retriever:search", lambda found: found[::-1])


@_mutant(retrieval=["x"])
def never_silent(surgery: Surgery) -> None:
    """Guidance answers anything at all."""
    surgery.replace("knowledge.retriever:THRESHOLD", lambda _: 0.0)


@_mutant(retrieval=["n1", "n2", "n3", "n4"])
def only_first_passage_claims(surgery: Surgery) -> None:
    """One language's guidance is lost."""
    surgery.returns(
        "knowledge.retriever:search", lambda found: [_changed(p, claims=()) for p in found]
    )


# ---------------------------------------------------------------- answers


def _answers(surgery: Surgery, **change: Callable[[Any], Any]) -> None:
    """Changes fields of every finished answer."""

    def made(answer: Any) -> Any:
        return answer.model_copy(update={k: f(getattr(answer, k)) for k, f in change.items()})

    surgery.returns("agent.answering.telling.draft:Draft.finish", made)


_CITED = ("f-kv-cache", "f-zero", "f-lora-vs")
_FIT = ("f-14b", "f-15b", "f-70b", "zh108", "en105")


@_mutant(questions=_FIT)
def gib_as_gb(surgery: Surgery) -> None:
    """GiB are printed as GB."""
    surgery.returns("agent.answering.telling.numbers:gib", lambda text: text.replace("GiB", "GB"))


@_mutant(questions=_CITED)
def citation_dropped(surgery: Surgery) -> None:
    """Citations are dropped."""
    _answers(surgery, citations=lambda _: ())


@_mutant(questions=["f-trap", "zh060", "zh110", "zh112"])
def correction_removed(surgery: Surgery) -> None:
    """False premises are not corrected."""
    surgery.returns("agent.understanding.premises.rows:corrections_for", lambda _: ())


@_mutant(questions=_FIT)
def verdict_flipped(surgery: Surgery) -> None:
    """The verdict of the answer is flipped."""
    other = {"fits": "does_not_fit", "does_not_fit": "fits", "tight": "does_not_fit"}
    _answers(surgery, verdict=lambda verdict: other.get(verdict, verdict))


@_mutant(questions=_FIT)
def language_mixed_up(surgery: Surgery) -> None:
    """Sentences come in the other language."""

    def make(real: Any) -> Any:
        def other(key: str, language: str, /, **values: object) -> Any:
            return real(key, "en" if language == "zh" else "zh", **values)

        return other

    surgery.replace("agent.answering.telling.phrases:phrase", make)


@_mutant(questions=["zh001", "zh004", "zh018"], conversation=["zh-methods"])
def follow_up_forgets(surgery: Surgery) -> None:
    """A follow-up forgets the question."""
    surgery.returns("agent.understanding.turns.leaning:leans_on", lambda _: None)


@_mutant(questions=["f-batch-zero", "f-context", "zh100"])
def invalid_accepted(surgery: Surgery) -> None:
    """Impossible values are computed with."""
    surgery.returns("agent.understanding.settling.validity:invalid_values", lambda _: ())


@_mutant(questions=["f-poem", "en094", "zh104"])
def out_of_scope_answered(surgery: Surgery) -> None:
    """Anything is in scope."""
    surgery.returns("agent.understanding.kinds.scope:is_out_of_scope", lambda _: False)


@_mutant(questions=["f-inject-price", "f-cat", "zh066", "zh072"])
def told_price_doubled(surgery: Surgery) -> None:
    """Prices in the text are doubled."""
    surgery.replace(
        "agent.answering.telling.numbers:money",
        lambda real: lambda amount, *a, **k: real(Decimal(str(amount)) * 2, *a, **k),
    )


@_mutant(questions=["f-8b-8xa100", "en001", "en006", "en018"])
def card_count_lost(surgery: Surgery) -> None:
    """The number of cards is lost."""
    surgery.returns("agent.understanding.settling.cards:_count", lambda f: f and (1, f[1]))


@_mutant(questions=["zh091", "zh090"])
def never_asks(surgery: Surgery) -> None:
    """No question is asked back."""
    surgery.returns(
        "agent.answering.plan:advance",
        lambda step: (
            step.model_copy(update={"clarifying_question": None})
            if hasattr(step, "clarifying_question")
            else step
        ),
    )


@_mutant(questions=_FIT)
def too_long(surgery: Surgery) -> None:
    """Answers become lectures."""
    _answers(surgery, text=lambda text: "\n\n".join([text] * 4))


@_mutant(questions=_FIT)
def figure_left_out(surgery: Surgery) -> None:
    """The memory figure is left out."""
    _answers(surgery, memory=lambda _: None)


# ---------------------------------------------------------------- endpoints


@_mutant(grounding=["lie-zh-0", "lie-en-0"], faults=["lies-twice"])
def lies_let_through(surgery: Surgery) -> None:
    """What the model says is not checked."""
    surgery.returns("agent.grounding.check:problems", lambda _: ())


class _Complaint:
    """A finding of the check about nothing."""

    kind, text, reason = "number", "1", "no reason"


@_mutant(grounding=["truth-zh-0", "truth-en-0"])
def truths_thrown_away(surgery: Surgery) -> None:
    """True rewordings are thrown away."""
    surgery.returns("agent.grounding.check:problems", lambda _: (_Complaint(),))


@_mutant(faults=["http-401", "empty-text", "broken-json"])
def silent_fall_back(surgery: Surgery) -> None:
    """A fall back is not admitted."""
    surgery.returns("agent.backends.author:degraded_text", lambda _: "")


@_mutant(faults=["http-401", "http-403", "http-404"])
def retries_everything(surgery: Surgery) -> None:
    """A wrong key is tried again."""

    def make(real: Any) -> Any:
        def start(self: Any, kind: str, detail: str = "") -> None:
            real(self, kind, detail)
            self.may_retry = True

        return start

    surgery.replace("agent.backends.faults:Fault.__init__", make)
