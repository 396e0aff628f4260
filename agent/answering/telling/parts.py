"""Where the memory of a run goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent.answering.telling.draft import DETAIL, EXTRA, Draft
from agent.answering.telling.numbers import gib, gib_range
from agent.answering.telling.run_words import (
    card_name,
    is_language,
    outcome,
    report_method,
    value_name,
)
from agent.toolbox.memory import MemoryReport
from tools.models import try_find_model
from tools.units import MIB, format_significant

PARTS = {
    "weights": ("weights", "adapters", "master_weights", "quantization_constants"),
    "encoders": ("text_encoders",),
    "gradients": ("gradients",),
    "optimizer": ("optimizer_states",),
    "kv": ("kv_cache",),
    "activations": ("activations", "logits", "inputs", "loss", "step_workspace"),
    "models": ("resident_copies",),
    "overhead": (
        "allocator_slack",
        "allocator_rounding",
        "cuda_context",
        "communication",
        "cublas_workspace",
    ),
}


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
        slots, extra = draft.request.slots, report.part("extra_models")
        if slots.served_loras and extra:
            draft.figure("served_loras", slots.served_loras, "1", sources=("user:served_loras",))
            draft.figure("adapters", extra, "B", formula="adapter parameters * 2 B * adapters")
            draft.say("memory.adapters", count=slots.served_loras, rank=slots.lora_rank or 16,
                      size=gib(extra))  # fmt: skip
        if report.kv_cache_bytes == 0:
            return
        weights = report.part(*PARTS["weights"])
        draft.figure("part: weights", weights, "B", formula=" + ".join(PARTS["weights"]))
        draft.say("memory.why_infer", weights=gib(weights), kv=gib(report.kv_cache_bytes))
    elif report.method == "full":
        held = report.part("weights", "master_weights", "gradients", "optimizer_states")
        per_param = held * max(report.gpu_count, 1) / report.params
        if report.gpu_count == 1 and per_param > _ON_THE_CARD:
            per = format_significant(per_param, 2)
            draft.figure("bytes_per_parameter", float(per), "B",
                         formula="(weights + gradients + optimizer_states) / params")  # fmt: skip
            if is_language(report):
                draft.say("memory.why_full", bytes=per, optimizer=_optimizer(draft))
            else:
                _say_largest(draft, report, held, per)
    elif report.method in ("lora", "qlora"):
        _say_base(draft, report)
    if report.params_active is not None:
        draft.figure("params", report.params, "param", formula="model registry")
        draft.figure("params_active", report.params_active, "param", formula="model registry")
        draft.say(
            "memory.why_moe",
            active=_params(report.params_active),
            total=_params(report.params),
        )


def _say_base(draft: Draft, report: MemoryReport) -> None:
    """The frozen weights that adapters are trained on."""
    weights = report.part("weights")
    is_whole = weights >= _HALF_OF_16_BIT * report.params
    if report.method == "lora" and report.gpu_count > 1 and not is_whole:
        draft.say("memory.why_lora_sharded", weights=gib(weights), cards=report.gpu_count)
        return
    if draft.request.slots.blocks_to_swap:
        return
    is_wide = is_whole or report.gpu_count > 1
    bits = 32 if weights > 3 * report.params else 16 if is_wide else 8
    is_metal = report.method == "qlora" and (report.gpu or "").startswith("Apple")
    key = "qlora_metal" if is_metal else report.method
    draft.say(f"memory.why_{key}", weights=gib(weights), bits=bits)


_HALF_OF_16_BIT = 1.1
"""Bytes a parameter below which a card of several holds a shard, not the whole weights."""
_ON_THE_CARD = 0.5
"""Bytes a parameter below which the states lie in host memory, not on the card."""


def _optimizer(draft: Draft) -> str:
    """The optimizer as it is told: the one that was said, else Adam."""
    said = draft.request.slots.optimizer
    return value_name(draft, "optimizer", said.replace("_", "-")) if said else "Adam"


def _say_largest(draft: Draft, report: MemoryReport, states: int, per_param: str) -> None:
    """Which is most of a small model's training: its states, or the activations."""
    work = report.part(*PARTS["activations"])
    rest = report.process_bytes - states - work
    largest = max((states, "states"), (work, "work"), (rest, "rest"))[1]
    draft.figure("states_of_training", states, "B",
                 formula="weights + gradients + optimizer_states")  # fmt: skip
    draft.figure("activations_and_temporaries", work, "B", formula="activations + workspaces")
    draft.figure("everything_else", rest, "B", formula="process - states - activations")
    has_gradients = 2 * report.part("gradients") >= report.part("weights")
    held = draft.phrase(f"memory.{'held_all' if has_gradients else 'held_no_gradients'}")
    draft.say(f"memory.why_small_{largest}", bytes=per_param, held=held, states=gib(states),
              work=gib(work), rest=gib(rest))  # fmt: skip


def _params(params: int) -> str:
    billions = params / 1e9
    return f"{billions:,.0f}B" if billions >= _THOUSAND else f"{billions:.3g}B"


_THOUSAND = 1000
"""Billions from which three digits would be told as a power of ten."""


def say_parts(draft: Draft, report: MemoryReport, *, importance: int = DETAIL) -> None:
    """The parts as a small table."""
    rows, told = [], 0
    least = max(20 * MIB, _LEAST_SHARE * report.process_bytes)
    for label, names in PARTS.items():
        size = report.part(*names)
        if size >= least:
            told += size
            draft.figure(f"part: {label}", size, "B", formula=" + ".join(names))
            rows.append((draft.phrase(_part_key(label, report)), gib(size)))
    rest = report.process_bytes - told
    if rest >= _LEAST_REST * report.process_bytes:
        draft.figure("part: other", rest, "B", formula="total - parts named")
        rows.append((draft.phrase("memory.part_other"), gib(rest)))
    header = (draft.phrase("memory.head_part"), draft.phrase("memory.head_size"))
    draft.table(header, rows, importance=importance)


_LEAST_SHARE = 0.01
"""Share of the need below which a part is not worth a line."""
_LEAST_REST = 0.005
"""Share of the need from which what has no line of its own is told, so that the lines add up."""


def _part_key(label: str, report: MemoryReport) -> str:
    """Sentence of a part; copies that sharding keeps are no models of their own."""
    is_copy = label == "models" and report.objective in (None, "sft", "pretrain")
    return "memory.part_copies" if is_copy else f"memory.part_{label}"


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


def say_reference(draft: Draft, report: MemoryReport) -> None:
    """Says that a nominal size stands for a named architecture."""
    size = draft.request.slots.params_b
    if report.is_reference and size is not None:
        draft.say("memory.reference", size=f"{size:g}", importance=EXTRA)
    say_left_out(draft)


def say_left_out(draft: Draft) -> None:
    """The feed-forward width that a pasted config.json leaves out, and what was taken."""
    match = try_find_model(draft.request.slots.model or "")
    note = (match.spec.note or "") if match is not None else ""
    if match is None or "intermediate_size is not in the file" not in note:
        return
    width = match.spec.intermediate_size or 0
    draft.figure("intermediate_size", width, "1", sources=("rule:feed-forward-left-out",))
    why = note.partition(f"{width}, ")[2].partition(";")[0]
    draft.say("memory.width_left_out", width=width, why=why)


def say_total(draft: Draft, report: MemoryReport) -> None:
    """The sum over the cards, where there are several."""
    if report.gpu_count > 1:
        total = report.process_bytes * report.gpu_count
        draft.figure("total_over_cards", total, "B", formula="need per card * cards")
        draft.say("memory.total_line", count=report.gpu_count, total=gib(total))
