"""What brings a need down: distinct changes, the least sacrifice first, each with its figure."""

from __future__ import annotations

from collections.abc import Iterable

from agent.answering.fitting.card_facts import is_metal
from agent.answering.telling.draft import Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.phrases import sentences
from agent.answering.telling.run_words import is_language, value_name
from agent.toolbox.memory import ChangeOut, MemoryReport
from tools.gpus import all_gpus
from tools.memory import GGUF_ENGINES, cache_pool

_TOLD_AS_WAYS = ("method", "gpu_count", "parallelism", "cpu_offload")
"""Changes that the ways out tell with figures of their own."""
_TOGETHER = "the cheap changes together"
_OF_CUDA = ("fused_ce", "optimizer", _TOGETHER)
"""Changes of training that take kernels made for CUDA."""
_OF_LLAMA_CPP = "weight_format=gguf"
_EAGER = "eager mode"
"""Said where an engine has no setting of its own for running without CUDA graphs."""
_IDLE = 0.02
"""Share of the need below which a change is none."""
_LESS = 0.97
"""Together the cheap changes are told where they need less than the best of them alone."""
_MOST = 4


PUBLISHED_IN_FOUR = ("mxfp4", "int4-experts", "fp4-experts")
"""Formats of weights that are about four bits as they are published."""


def say_changes(draft: Draft, report: MemoryReport) -> list[ChangeOut]:
    """What would bring the need down, as a list; gives back the changes told."""
    changes = changes_of(draft, report)
    draft.bullets(changes_told(draft, report, changes), title=draft.phrase("memory.changes_title"))
    return changes


def changes_told(draft: Draft, report: MemoryReport, changes: Iterable[ChangeOut]) -> list[str]:
    """A line a change."""
    told = []
    for change in changes:
        key = "memory.change_fits" if change.fits else "memory.change_short"
        draft.figure(f"after {change.name}", change.after_bytes, "B", formula="estimate again")
        told.append(draft.phrase(key, name=change_name(draft, change.name, report),
                                 after=gib(change.after_bytes)))  # fmt: skip
    return told


def changes_of(
    draft: Draft, report: MemoryReport, *, without_length: bool = False
) -> list[ChangeOut]:
    """At most four changes, one of a kind, in the order of what they cost.

    Those that make it fit alone; where fewer than two do, also the mildest ones and all of the
    cheap ones together.
    """
    open_ = [c for c in report.changes if _is_worth_telling(draft, report, c)]
    if without_length:
        open_ = [c for c in open_ if not c.name.startswith("seq_len=")]
    together = [c for c in open_ if c.name == _TOGETHER]
    alone = _one_of_a_kind(c for c in open_ if c.name != _TOGETHER)
    least = min((c.after_bytes for c in alone), default=None)
    together = [c for c in together if least is None or c.after_bytes < _LESS * least]
    fitting = [c for c in alone if c.fits]
    if len(fitting) > 1:
        return fitting[:_MOST]
    milder = [c for c in alone if not c.fits]
    room = _MOST - len(fitting) - len(together)
    chosen = sorted([*milder[:room], *fitting], key=lambda c: c.cost_rank)
    return [*chosen, *together]


def _is_worth_telling(draft: Draft, report: MemoryReport, change: ChangeOut) -> bool:
    """False for what is told elsewhere, saves next to nothing, or the engine named cannot do."""
    field = change.name.partition("=")[0]
    if field in (_TOLD_AS_WAYS if report.task == "train" else ("gpu_count",)):
        return False
    if report.task == "train" and is_metal(report.gpu) and field in _OF_CUDA:
        return False
    if field == "weight_format" and report.weight_format in PUBLISHED_IN_FOUR:
        return False
    if field == "weight_format" and not _can_run(report, change.name):
        return False
    is_of_llama_cpp = change.name.startswith(_OF_LLAMA_CPP)
    if field == "weight_format" and is_of_llama_cpp is not (
        draft.request.slots.framework in GGUF_ENGINES
    ):
        return False
    is_idle = change.saving_bytes < _IDLE * report.process_bytes
    return not is_idle or (change.fits and field not in ("weight_format", "optimizer"))


def _can_run(report: MemoryReport, change: str) -> bool:
    """Whether the card computes with a format; formats in 4 bit are those of language models."""
    from tools.gpus import get_gpu

    if change.endswith("=nf4"):  # bitsandbytes, which diffusers loads transformers with
        return True
    if not change.endswith("=fp8"):
        return is_language(report)
    if report.gpu is None or report.gpu.endswith("class"):
        return True
    capability = get_gpu(report.gpu).compute_capability
    return capability is None or capability >= _FP8_WEIGHTS_FROM


_FP8_WEIGHTS_FROM = 8.0
"""Compute capability from which servers run FP8 weights, with 16-bit arithmetic before 8.9."""


def _one_of_a_kind(changes: Iterable[ChangeOut]) -> list[ChangeOut]:
    """Of each setting the mildest value that fits, else the one that saves most."""
    by_field: dict[str, ChangeOut] = {}
    for change in changes:
        field, _, value = change.name.partition("=")
        if field == "weight_format":
            field = f"{field}, {''.join(c for c in value if c.isdigit())[:1]} bits"
        known = by_field.get(field)
        if known is None or _is_better(change, known):
            by_field[field] = change
    return sorted(by_field.values(), key=lambda c: (c.cost_rank, -c.saving_bytes))


def _is_better(change: ChangeOut, known: ChangeOut) -> bool:
    if change.fits != known.fits:
        return change.fits
    if change.name.startswith("weight_format="):
        return False
    if change.fits:
        return (change.cost_rank, change.saving_bytes) < (known.cost_rank, known.saving_bytes)
    return change.saving_bytes > known.saving_bytes


def change_name(draft: Draft, name: str, report: MemoryReport) -> str:
    """A change as it is told."""
    if name == _TOGETHER:
        return draft.phrase(f"changes.together_{_together(report)}")
    field, _, value = name.partition("=")
    if f"{field}_{value}" in sentences("changes"):
        return draft.phrase(f"changes.{field}_{value}")
    if field in sentences("changes"):
        flag = cache_pool(draft.request.slots.framework).graphs or _EAGER
        return draft.phrase(f"changes.{field}", value=value_name(draft, field, value), flag=flag)
    return name


def _together(report: MemoryReport) -> str:
    """Which settings the cheap changes are: those of language models, or of any."""
    if report.method != "full":
        return "adapters" if is_language(report) else "any_adapters"
    kind = "full" if is_language(report) else "any"
    return f"{kind}_fp16" if _lacks_bf16(report.gpu) else kind


def _lacks_bf16(gpu: str | None) -> bool:
    """Whether a card is known not to compute in bf16."""
    card = next((spec for spec in all_gpus() if spec.name == gpu), None)
    return card is not None and card.bf16_supported is False
