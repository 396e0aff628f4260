"""How a memory estimate is told: verdict, parts, card, changes, assumptions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from agent.answer import AssumptionOut, MemoryRange
from agent.answering.draft import BODY, DETAIL, EXTRA, HEAD, Draft
from agent.answering.numbers import count, gib, gib_range
from agent.answering.phrases import sentences
from agent.request import Request, Slots
from agent.toolbox.memory import ChangeOut, MemoryReport
from agent.toolbox.registries import GpuReport
from tools.models import try_find_model
from tools.units import MIB, bytes_from_gb, format_significant

_SLOTS = (
    "model", "params_b", "method", "precision", "quantization", "kv_cache_dtype", "optimizer",
    "lora_rank", "lora_targets", "batch", "grad_accum", "gradient_checkpointing", "attention",
    "seq_len", "output_len", "concurrency", "gpu_memory_utilization", "gpu_layers", "img_size",
    "framework", "gpu", "gpu_mem_gb", "gpu_count", "instance", "provider", "tp", "pp", "zero_stage",
    "strategy", "offload",
)  # fmt: skip
_PARTS = {
    "weights": ("weights", "adapters", "master_weights", "quantization_constants"),
    "gradients": ("gradients",),
    "optimizer": ("optimizer_states",),
    "kv": ("kv_cache",),
    "activations": ("activations", "logits", "inputs", "loss"),
    "overhead": ("allocator_slack", "cuda_context", "communication", "cublas_workspace"),
}
_BORDERLINE = 1.05
"""Times the usable memory up to which the answer is open: settings decide."""
_LARGEST_BYTES = bytes_from_gb(141)
"""Memory of the largest common card: a need above it is that of all cards together."""
_ABSURD = 20
"""Times the usable memory from which a need is called out of all proportion."""


def memory_arguments(slots: Slots, *, with_changes: bool = False, **changes: Any) -> dict[str, Any]:
    """Arguments of estimate_memory for what was said, with some of it changed."""
    said = {name: getattr(slots, name) for name in _SLOTS}
    said["task"] = "train" if slots.task == "train" else "infer"
    said["framework"] = slots.framework or slots.library
    if said["gpu"] is not None:
        said["instance"] = None
    said.update(changes)
    said["with_changes"] = with_changes
    return {name: value for name, value in said.items() if value is not None}


def memory_range(report: MemoryReport) -> MemoryRange:
    """The interval of an estimate as an answer carries it."""
    return MemoryRange(
        scope="per_gpu",
        low_bytes=report.low_bytes,
        high_bytes=report.high_bytes,
        usable_bytes=report.usable_bytes,
    )


def short_model(report: MemoryReport) -> str:
    """A model's name without its publisher; a nominal size stands for itself."""
    return report.model.rsplit("/", 1)[-1].removesuffix(" reference architecture")


def method_name(draft: Draft, method: str | None) -> str:
    """A training method as it is told; objectives stand in front."""
    words = [w for w in (method or "").split("+") if w and w != "sft"]
    base = words[-1] if words and words[-1] in ("full", "lora", "qlora") else None
    objectives = [w.upper() for w in words if w not in ("full", "lora", "qlora")]
    told = [*objectives, *([draft.phrase(f"memory.method_{base}")] if base else [])]
    return " ".join(told) or "LoRA"


def report_method(draft: Draft, report: MemoryReport) -> str:
    """Objective and method of an estimate."""
    return method_name(draft, f"{report.objective}+{report.method}")


def card_name(draft: Draft, report: MemoryReport) -> str:
    """The card with its count."""
    name = report.gpu or ""
    if report.label_gb is not None and name.endswith("class"):
        name = f"{report.label_gb:g} GB"
    return f"{report.gpu_count}×{name}" if report.gpu_count > 1 else name


_CAP = re.compile(r"max[-_ ]?(?:num[-_ ]?seqs|running[-_ ]?requests|concurren)", re.IGNORECASE)


def concurrency_cap(request: Request) -> int | None:
    """The most requests that a server lets in at a time, where that is what was said.

    Such a cap is no demand: the server starts once one request of full length fits, and further
    ones wait for room in the cache.
    """
    said = request.spans.get("concurrency")
    is_cap = said is not None and _CAP.search(said.text)
    return request.slots.concurrency if is_cap else None


def what(draft: Draft, report: MemoryReport) -> str:
    """What is run, in a few words."""
    model = short_model(report)
    if report.task == "train":
        method = report_method(draft, report)
        base = draft.request.slots.quantization
        if base is not None and report.method == "lora":
            method = f"{method} ({base})"
        told = draft.phrase("memory.train_what", model=model, method=method)
        return told + _settings_said(draft)
    held = {a.name: a.value for a in report.assumptions}
    slots = draft.request.slots
    context = slots.seq_len or held.get("context_len")
    is_capped = concurrency_cap(draft.request) is not None
    batch = 1 if is_capped else slots.concurrency or slots.batch or held.get("batch")
    form = (
        report.weight_format or slots.quantization or slots.precision or held.get("weight_format")
    )
    form = format_name(str(form)) if form else form
    if context is None or batch is None:
        return draft.phrase("memory.infer_what_short", model=model, format=form)
    return draft.phrase("memory.infer_what", model=model, format=form, context=context, batch=batch)


def _settings_said(draft: Draft) -> str:
    """Length and batch that a follow-up gave, in brackets behind what is trained."""
    request = draft.request
    parts = [
        draft.phrase(key, value=getattr(request.slots, slot))
        for slot, key in (("seq_len", "memory.said_length"), ("batch", "memory.said_batch"))
        if slot in request.changed and getattr(request.slots, slot) is not None
    ]
    return draft.phrase("memory.said_settings", items=joined(draft, parts)) if parts else ""


_FORMATS = {
    "fp8-block": "FP8", "mxfp4": "MXFP4", "int4-experts": "INT4 experts",
    "fp4-experts": "FP4 experts + FP8",
}  # fmt: skip


_PUBLISHED_NARROW = frozenset(_FORMATS)


def format_name(form: str) -> str:
    """A weight format of the calculator as people write it.

    >>> format_name("fp8-block"), format_name("awq")
    ('FP8', 'awq')
    """
    return _FORMATS.get(form, form)


def say_native_format(
    draft: Draft, report: MemoryReport, wide: MemoryReport | None, card: GpuReport | None
) -> bool:
    """That the weights count as they are published, and what 16 bit would take instead.

    Returns:
        Whether there was such a thing to say.
    """
    given = next((a for a in report.assumptions if a.name == "weight_format"), None)
    if given is None or str(given.value) not in _PUBLISHED_NARROW:
        return False
    form = str(given.value)
    draft.say("memory.native", format=format_name(form), weights=gib(report.weights_bytes))
    if wide is not None:
        key = "memory.native_wide" if wide.verdict else "memory.native_wide_plain"
        draft.say(key, need=gib(wide.process_bytes), weights=gib(wide.weights_bytes),
                  outcome=outcome(draft, wide) if wide.verdict else "")  # fmt: skip
    if card is not None and card.compute_capability is not None:
        _say_arithmetic(draft, card, card.compute_capability, form)
    return True


def _say_arithmetic(draft: Draft, card: GpuReport, capability: float, form: str) -> None:
    """How a card without units for a format computes with it."""
    is_eight = form == "fp8-block"
    if is_eight and card.fp8_supported is False:
        is_ampere = capability >= _WEIGHT_ONLY_FROM
        key = "memory.native_weight_only" if is_ampere else "memory.native_impossible"
        draft.say(key, gpu=card.name, format=format_name(form))
    elif not is_eight and capability < _FP4_FROM:
        draft.say("memory.native_four", gpu=card.name, format=format_name(form))


_WEIGHT_ONLY_FROM = 8.0
"""Compute capability from which servers run FP8 weights with 16-bit arithmetic (FP8 Marlin)."""
_FP4_FROM = 10.0
"""Compute capability from which tensor cores compute in FP4 (Blackwell)."""


def say_verdict(draft: Draft, report: MemoryReport) -> None:
    """The first sentence: fits or not, the need, and what it is compared with."""
    values = {
        "what": what(draft, report),
        "need": gib(report.process_bytes),
        "range": gib_range(report.low_bytes, report.high_bytes),
    }
    if report.verdict is None or report.usable_bytes is None or report.headroom_bytes is None:
        key = "memory.need_only"
        if report.gpu is None and report.process_bytes > _LARGEST_BYTES:
            key = f"memory.need_whole_{report.task}"
        draft.say(key, importance=HEAD, **values)
        return
    draft.figure("headroom", report.headroom_bytes, "B", formula="usable - need")
    if report.headroom_bytes < 0:
        draft.figure("shortfall", -report.headroom_bytes, "B", formula="need - usable")
    draft.figure(
        "usable_memory", report.usable_bytes, "B", sources=(f"data:gpus.csv#{report.gpu}",)
    )
    draft.say(
        _verdict_key(report, report.usable_bytes),
        importance=HEAD,
        card=card_name(draft, report),
        usable=gib(report.usable_bytes),
        headroom=gib(report.headroom_bytes),
        short=gib(-report.headroom_bytes),
        **values,
    )
    if report.pool_bytes is not None and report.process_bytes > 0.95 * report.pool_bytes:
        draft.figure("engine_pool", report.pool_bytes, "B", formula="usable * utilization")
        _say_pool(draft, report, report.usable_bytes)
    if is_borderline(report):
        draft.say("memory.borderline")
    if report.process_bytes > _ABSURD * report.usable_bytes:
        times = report.process_bytes / report.usable_bytes
        draft.say(
            "memory.absurd", times=f"{float(format_significant(times, 2)):,.0f}", importance=HEAD
        )


def _verdict_key(report: MemoryReport, usable: int) -> str:
    """The sentence of a verdict: which side of the usable memory the interval reaches."""
    reaches_over = report.high_bytes > usable
    if report.verdict == "fits" and reaches_over:
        return "memory.fits_likely"
    if report.verdict == "tight" and not reaches_over:
        return "memory.tight_below"
    return f"memory.{report.verdict}"


def _say_pool(draft: Draft, report: MemoryReport, usable: int) -> None:
    """What the engine may take at its share of the card, where that is what runs short."""
    assert report.pool_bytes is not None
    share = draft.request.slots.gpu_memory_utilization
    if share is None:
        draft.say("memory.pool", pool=gib(report.pool_bytes))
        return
    draft.figure("utilization", share, "1", sources=("user:gpu_memory_utilization",))
    needed = report.process_bytes / usable
    is_short = report.process_bytes > report.pool_bytes
    key = "memory.pool_short" if is_short and needed <= _MOST_SHARE else "memory.pool_given"
    draft.figure("utilization_needed", round(needed + 0.005, 2), "1", formula="need / usable")
    draft.say(key, share=f"{share:g}", pool=gib(report.pool_bytes), needed=f"{needed + 0.005:.2f}")


_MOST_SHARE = 0.97
"""Share of a card beyond which a server leaves the driver and its graphs no room."""


def is_borderline(report: MemoryReport) -> bool:
    """True when a need is above the card by little, and length or batch could make up for it."""
    if report.verdict != "does_not_fit" or report.usable_bytes is None:
        return False
    movable = report.part(*_PARTS["kv"], *_PARTS["activations"])
    if report.process_bytes - movable > report.usable_bytes:
        return False
    return report.process_bytes <= _BORDERLINE * report.usable_bytes


def say_card(draft: Draft, report: MemoryReport, card: GpuReport | None) -> None:
    """Label against usable memory, and what the card cannot do."""
    if report.usable_bytes is None or report.gpu is None or report.label_gb is None:
        return
    usable = gib(report.usable_bytes)
    draft.figure("memory_label", report.label_gb, "GB", sources=(f"data:gpus.csv#{report.gpu}",))
    if report.slice_memory_gb is not None:
        parts = round(report.label_gb / report.slice_memory_gb)
        draft.figure("slice_memory", report.slice_memory_gb, "GB", sources=("data:gpus.csv",))
        draft.say("memory.slice", slice=f"{report.slice_memory_gb:g}", label=f"{report.label_gb:g}",
                  parts=parts, usable=usable)  # fmt: skip
    elif report.gpu.endswith("class"):
        draft.say("memory.card_class", label=f"{report.label_gb:g}", usable=usable)
    else:
        exact = f"{report.usable_bytes / 1024**3:.2f} GiB"
        draft.say("memory.card", gpu=report.gpu, label=f"{report.label_gb:g}", usable=exact,
                  mib=f"{report.usable_bytes // MIB:,}")  # fmt: skip
    if card is not None:
        say_precision(draft, card)


def say_precision(draft: Draft, card: GpuReport) -> None:
    """bf16, FlashAttention and FP8 where the card lacks what the run would use."""
    slots = draft.request.slots
    cc = f"{card.compute_capability:g}" if card.compute_capability is not None else ""
    if card.bf16_supported is False and cc:
        flash = (
            "" if card.flash_attention2_supported is not False else draft.phrase("memory.no_flash")
        )
        draft.say("memory.no_bf16", gpu=card.name, cc=cc, flash=flash)
    if card.fp8_supported is False and slots.quantization == "fp8":
        why = draft.phrase("memory.no_fp8_cc", cc=cc) if cc else ""
        draft.say("memory.no_fp8", gpu=card.name, cc=why, importance=HEAD)


_LANGUAGE_KINDS = ("decoder-lm", "moe-lm", "vlm")


def is_language(report: MemoryReport) -> bool:
    """True for a language model; sequence, logits and adapters are its affair."""
    match = try_find_model(report.model)
    return match is None or match.spec.kind in _LANGUAGE_KINDS


def say_images(draft: Draft, report: MemoryReport) -> None:
    """Tokens that the images of a vision-language model take in its sequence."""
    held = {a.name: a.value for a in report.assumptions}
    tokens, side = held.get("image_tokens"), draft.request.slots.img_size
    if not tokens or side is None:
        return
    draft.figure("image_tokens", int(tokens), "token", formula="pixels / pixels per token")
    draft.say("memory.images", side=side, tokens=f"{int(tokens):,}",
              images=held.get("images", 1))  # fmt: skip


def say_why(draft: Draft, report: MemoryReport) -> None:
    """One sentence on where the memory goes."""
    if report.task == "infer":
        if report.kv_cache_bytes == 0:
            return
        draft.say(
            "memory.why_infer", weights=gib(report.weights_bytes), kv=gib(report.kv_cache_bytes)
        )
    elif report.method == "full":
        held = report.part("weights", "master_weights", "gradients", "optimizer_states")
        per_param = held * max(report.gpu_count, 1) / report.params
        if report.gpu_count == 1:
            draft.figure("bytes_per_parameter", round(per_param, 1), "B",
                         formula="(weights + gradients + optimizer_states) / params")  # fmt: skip
            key = "memory.why_full" if is_language(report) else "memory.why_full_small"
            work = report.part("activations", "logits", "inputs", "loss")
            draft.say(key, bytes=format_significant(per_param, 2), activations=gib(work))
    elif report.method in ("lora", "qlora"):
        draft.say(f"memory.why_{report.method}", weights=gib(report.part("weights")))
    if report.params_active is not None:
        draft.figure("params", report.params, "param", formula="model registry")
        draft.figure("params_active", report.params_active, "param", formula="model registry")
        draft.say(
            "memory.why_moe",
            active=_params(report.params_active),
            total=_params(report.params),
        )


def _params(params: int) -> str:
    return f"{params / 1e9:.3g}B"


def say_parts(draft: Draft, report: MemoryReport, *, importance: int = DETAIL) -> None:
    """The parts as a small table."""
    rows, known = [], 0
    for label, names in _PARTS.items():
        size = report.part(*names)
        known += size
        if size >= 20 * MIB:
            draft.figure(f"part: {label}", size, "B", formula=" + ".join(names))
            rows.append((draft.phrase(f"memory.part_{label}"), gib(size)))
    rest = sum(part.bytes for part in report.parts) - known
    if rest >= 20 * MIB:
        draft.figure("part: other", rest, "B", formula="total - parts named")
        rows.append((draft.phrase("memory.part_other"), gib(rest)))
    header = (draft.phrase("memory.head_part"), draft.phrase("memory.head_size"))
    draft.table(header, rows, importance=importance)


def say_methods(draft: Draft, reports: Sequence[MemoryReport]) -> None:
    """Full, LoRA and QLoRA side by side."""
    first = reports[0]
    held = {a.name: a.value for a in first.assumptions}
    slots = draft.request.slots
    values: dict[str, Any] = {
        "batch": slots.batch or held.get("micro_batch_size"),
        "seq": slots.seq_len or held.get("seq_len"),
    }
    if first.gpu is not None:
        draft.say("memory.methods_title", card=card_name(draft, first), **values)
    else:
        draft.say("memory.methods_title_no_card", **values)
    header = ["memory.head_method", "memory.head_need", "memory.head_range"]
    rows = []
    for report in reports:
        row = [
            report_method(draft, report),
            gib(report.process_bytes),
            gib_range(report.low_bytes, report.high_bytes),
        ]
        if report.verdict is not None:
            row.append(outcome(draft, report))
        rows.append(row)
    if first.verdict is not None:
        header.append("memory.head_outcome")
    draft.table([draft.phrase(key) for key in header], rows)


def outcome(draft: Draft, report: MemoryReport) -> str:
    """Fits, tight or not, in a word."""
    return draft.phrase(f"memory.outcome_{report.verdict}")


_TOLD_AS_WAYS = ("method", "gpu_count", "parallelism", "cpu_offload")
"""Changes that the list of ways out tells with figures of its own."""


def say_changes(draft: Draft, report: MemoryReport, *, limit: int = 4) -> None:
    """What would bring the need down, each with its new figure."""
    told = []
    told_apart = _TOLD_AS_WAYS if report.task == "train" else ("gpu_count",)
    changes = [
        c for c in report.changes
        if c.name.partition("=")[0] not in told_apart and not _is_idle(c, report)
    ]  # fmt: skip
    fitting = [c for c in changes if c.fits]
    for change in (fitting or changes)[:limit]:
        key = "memory.change_fits" if change.fits else "memory.change_short"
        draft.figure(f"after {change.name}", change.after_bytes, "B", formula="estimate again")
        _record_change_values(draft, change.name)
        told.append(draft.phrase(key, name=change_name(draft, change.name),
                                 after=gib(change.after_bytes)))  # fmt: skip
    draft.bullets(told, title=draft.phrase("memory.changes_title"), importance=BODY)


_IDLE = 0.02
"""Share of the need below which a change is none."""


def _is_idle(change: ChangeOut, report: MemoryReport) -> bool:
    """A change that saves next to nothing, such as a weight format that the model has already."""
    return (
        change.saving_bytes < _IDLE * report.process_bytes
        and not change.fits
        or (
            change.name.startswith(("weight_format=", "optimizer="))
            and change.saving_bytes < _IDLE * report.process_bytes
        )
    )


def _record_change_values(draft: Draft, name: str) -> None:
    """A number of cards that a change names."""
    field, _, value = name.partition("=")
    if field == "gpu_count" and value.isdigit():
        draft.figure("cards", int(value), "1", formula="change")


def change_name(draft: Draft, name: str) -> str:
    """A change as it is told."""
    known = sentences("changes")
    field, _, value = name.partition("=")
    if name in known:
        return draft.phrase(f"changes.{name}")
    if field in known:
        return draft.phrase(f"changes.{field}", value=value)
    return name


def say_assumptions(draft: Draft, *reports: MemoryReport) -> None:
    """What was assumed, in one line."""
    for report in reports:
        draft.assume(report.assumptions)
    told = [
        draft.phrase(f"assumptions.{a.name}", value=_assumed_value(a))
        for a in draft.assumptions
        if a.name in sentences("assumptions")
    ]
    if told:
        separator = ", " if draft.language == "en" else "、"
        draft.say("memory.assumed", items=separator.join(told), importance=DETAIL)


def _assumed_value(assumption: AssumptionOut) -> str:
    if isinstance(assumption.value, bool):
        return str(assumption.value).lower()
    if assumption.name == "weight_format":
        return format_name(str(assumption.value))
    return str(assumption.value)


def say_reference(draft: Draft, report: MemoryReport) -> None:
    """Says that a nominal size stands for a named architecture."""
    size = draft.request.slots.params_b
    if report.is_reference and size is not None:
        draft.say("memory.reference", size=f"{size:g}", name=report.model, importance=EXTRA)


def say_total(draft: Draft, report: MemoryReport) -> None:
    """The sum over the cards, where there are several."""
    if report.gpu_count > 1:
        total = report.process_bytes * report.gpu_count
        draft.figure("total_over_cards", total, "B", formula="need per card * cards")
        draft.say("memory.total_line", count=report.gpu_count, total=gib(total))


def context_words(draft: Draft, tokens: int) -> str:
    """A number of tokens as it is told."""
    return count(tokens, draft.language)


def joined(draft: Draft, items: Iterable[str]) -> str:
    """A list in one line, in the punctuation of the language."""
    return (", " if draft.language == "en" else "、").join(items)
