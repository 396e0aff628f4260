"""How a run, its model, method and card are named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agent.answer import MemoryRange
from agent.answering.telling.draft import Draft
from agent.answering.telling.numbers import count
from agent.answering.telling.phrases import sentences
from agent.request import Request, Slots
from agent.toolbox.memory import MemoryReport
from tools.memory import known_pool
from tools.models import LANGUAGE_KINDS

_SLOTS = (
    "model", "params_b", "method", "precision", "precision_mode", "quantization", "kv_cache_dtype",
    "optimizer",
    "lora_rank", "lora_targets", "served_loras",
    "batch", "grad_accum", "gradient_checkpointing", "attention", "fused_ce",
    "seq_len", "output_len", "concurrency", "gpu_memory_utilization", "gpu_layers", "img_size",
    "clip_s", "frames", "beams", "pipeline_offload", "blocks_to_swap", "vae_slicing", "vae_tiling",
    "documents",
    "framework", "gpu", "gpu_mem_gb", "gpu_count", "instance", "provider", "tp", "pp", "zero_stage",
    "strategy", "offload",
)  # fmt: skip


def memory_arguments(slots: Slots, *, with_changes: bool = False, **changes: Any) -> dict[str, Any]:
    """Arguments of estimate_memory for what was said, with some of it changed."""
    said = {name: getattr(slots, name) for name in _SLOTS}
    said["task"] = "train" if slots.task == "train" else "infer"
    said["framework"] = _framework(slots)
    said["seq_len"] = slots.context_of_one
    if said["gpu"] is not None:
        said["instance"] = None
    else:
        said["gpu_mem_gb"] = _shown_gb(slots)
    if said["task"] == "infer" and said["seq_len"] is None:  # prompt and answer share the cache
        both = slots.input_len and slots.input_len + (slots.output_len or 0)
        said |= {"seq_len": both, "output_len": slots.output_len if both else None}
    if said["task"] == "train" and said["seq_len"] is None:  # prompt and answer are one sample
        both = (slots.input_len or _prompt(slots)) + (slots.output_len or 0)
        said["seq_len"] = both or int(slots.sample_length or 0) or None
    said.update(changes)
    said["with_changes"] = with_changes
    return {name: value for name, value in said.items() if value is not None}


_NEAR_LABEL = 0.9
"""Share of a card's label that a total of it is at least."""


def _shown_gb(slots: Slots) -> float | None:
    """Memory of a card that was not named: the total that a tool shows of it, else its label."""
    label, total = slots.gpu_mem_gb, slots.gpu_mem_total_mib
    if label is None or total is None or not _NEAR_LABEL * label <= total / 1024 < label:
        return label
    return round(total / 1024, 2)


_PROMPT = 512
"""Tokens of a prompt that TRL's trainers of reinforcement learning allow when nothing is set."""


def _prompt(slots: Slots) -> int:
    """Tokens of the prompt in front of a sampled answer, where only the answer's are said."""
    is_sampled = (slots.method or "").split("+")[0] in ("grpo", "ppo")
    return _PROMPT if is_sampled and slots.output_len else 0


_SERVERS = ("vllm", "vllm-ascend", "sglang", "ollama", "llama.cpp", "tgi", "lmdeploy")

_PLAIN = "transformers"
"""Engine of a program that is none and sets nothing aside: ComfyUI and the like."""


def _framework(slots: Slots) -> str | None:
    """The program that holds the memory; a server named beside training is not the trainer."""
    if slots.task == "train":
        return slots.library if slots.framework in _SERVERS else slots.framework or slots.library
    program = slots.framework or slots.library
    return _PLAIN if program is not None and known_pool(program) is None else program


def memory_range(report: MemoryReport) -> MemoryRange:
    """The interval of an estimate as an answer carries it."""
    return MemoryRange(
        scope="unified" if (report.gpu or "").startswith("Apple") else "per_gpu",
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
    objectives = [_objective(draft, w) for w in words if w not in ("full", "lora", "qlora")]
    told = [*objectives, *([draft.phrase(f"memory.method_{base}")] if base else [])]
    return " ".join(told) or "LoRA"


def _objective(draft: Draft, word: str) -> str:
    """An objective by its name, or by its letters."""
    key = f"method_{word}"
    return draft.phrase(f"memory.{key}") if key in sentences("memory") else word.upper()


def report_method(draft: Draft, report: MemoryReport) -> str:
    """Objective and method of an estimate."""
    return method_name(draft, f"{report.objective}+{report.method}")


def card_name(draft: Draft, report: MemoryReport) -> str:
    """The card with its count."""
    name = report.gpu or ""
    if report.label_gb is not None and name.endswith("class"):
        name = f"{report.label_gb:g} GB"
    return f"{report.gpu_count}×{name}" if report.gpu_count > 1 else name


def concurrency_cap(request: Request) -> int | None:
    """The most requests that a server lets in at a time, where that is what was said.

    Such a cap is no demand: the server starts once one request of full length fits, and further
    ones wait for room in the cache.
    """
    return request.slots.concurrency if request.slots.concurrency_is_cap else None


def run_text(draft: Draft, report: MemoryReport) -> str:
    """What is run, in a few words."""
    model = short_model(report)
    if report.task == "train":
        method = report_method(draft, report)
        base = draft.request.slots.quantization
        if base is not None and report.method == "lora":
            method = f"{method} ({base})"
        optimizer = draft.request.slots.optimizer
        if optimizer is not None and not optimizer.startswith("adamw"):
            method = f"{method} ({optimizer.capitalize()})"
        told = draft.phrase("memory.train_what", model=model, method=method)
        return told + _settings_said(draft, is_text=is_language(report))
    held = {a.name: a.value for a in report.assumptions}
    slots = draft.request.slots
    context = slots.context_of_one or held.get("context_len")
    is_capped = concurrency_cap(draft.request) is not None
    batch = 1 if is_capped else slots.concurrency or slots.batch or held.get("batch")
    form = (
        report.weight_format or slots.quantization or slots.precision or held.get("weight_format")
    )
    form = format_name(str(form)) if form else form
    if context is None or batch is None:
        return draft.phrase("memory.infer_what_short", model=model, format=form)
    return draft.phrase("memory.infer_what", model=model, format=form, context=context, batch=batch)


def _settings_said(draft: Draft, *, is_text: bool) -> str:
    """Sizes in brackets behind what is trained: those that a follow-up gave, or any of images."""
    request = draft.request
    sizes = [("seq_len", "memory.said_length"), ("batch", "memory.said_batch")]
    if not is_text:
        sizes.append(("img_size", "memory.said_side"))
    parts = [
        draft.phrase(key, value=getattr(request.slots, slot))
        for slot, key in sizes
        if (slot in request.changed or not is_text) and getattr(request.slots, slot) is not None
    ]
    return draft.phrase("memory.said_settings", items=joined(draft, parts)) if parts else ""


FORMATS = {
    "nf4": "NF4",
    "fp8-block": "FP8", "mxfp4": "MXFP4", "int4-experts": "INT4 experts",
    "fp4-experts": "FP4 experts + FP8",
}  # fmt: skip


def format_name(form: str) -> str:
    """A weight format of the calculator as people write it.

    >>> format_name("fp8-block"), format_name("awq")
    ('FP8', 'awq')
    """
    return FORMATS.get(form, form)


def value_name(draft: Draft, name: str, value: str) -> str:
    """A setting's value as it is told: that of the setting, that of any, or its own word."""
    known = sentences("values")
    key = next((k for k in (f"{name}={value}", value) if k in known), None)
    return draft.phrase(f"values.{key}") if key is not None else format_name(value)


def is_language(report: MemoryReport) -> bool:
    """True for a language model; sequence, logits and adapters are its affair."""
    return report.kind in LANGUAGE_KINDS


def outcome(draft: Draft, report: MemoryReport) -> str:
    """Fits, tight or not, in a word."""
    return draft.phrase(f"memory.outcome_{report.verdict}")


def context_words(draft: Draft, tokens: int) -> str:
    """A number of tokens as it is told."""
    return count(tokens, draft.language)


def joined(draft: Draft, items: Iterable[str]) -> str:
    """A list in one line, in the punctuation of the language."""
    return (", " if draft.language == "en" else "、").join(items)


def said_method(report: MemoryReport) -> str:
    """Objective and method of an estimate as estimate_memory takes them."""
    objective = "" if report.objective in (None, "sft") else f"{report.objective}+"
    return f"{objective}{report.method}".replace("pretrain+", "cpt+")
