"""concept: what a card can do by the table, and what the checked guidance says."""

from __future__ import annotations

from agent.answering.hosts import cpu_or_gpu
from agent.answering.hosts.host import compose_host
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.machines import cards_text
from agent.answering.telling.numbers import gib
from agent.answering.telling.parts import say_methods
from agent.answering.telling.passages import on_the_point, say_passages
from agent.answering.telling.run_words import joined, report_method, short_model
from agent.answering.telling.sources import guidance_call, own_passages_in, passages_in
from agent.request import Request
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport

_VLLM_FLOOR = 7.0
_MAC_EXAMPLE_B = 7.0
"""Size shown when somebody asks what a Mac can run."""
_FLAGS = {
    "concepts.bf16": ("bf16_supported", "bf16"),
    "concepts.fp8": ("fp8_supported", "FP8"),
    "concepts.flash_attention": ("flash_attention2_supported", "FlashAttention-2"),
    "concepts.mig": ("mig", "MIG"),
}
"""Traits that a card has or lacks, by their marks: the column that says so, how it is told."""
_LINK, _MEMORY_RATE, _COMPUTE = "concepts.nvlink", "concepts.memory_bandwidth", "concepts.compute"
_RATE = "concepts.bandwidth"


def compose(request: Request, context: Context) -> Plan:
    """Facts of the cards named, then passages with their corrections."""
    from agent.answering.concepts.compare import correct_sameness

    draft = Draft(request)
    slots = request.slots
    is_mac = (slots.gpu or "").casefold().startswith("apple")
    if is_mac and slots.task != "train" and slots.model is None:
        return (yield from compose_host(draft, example_b=slots.params_b or _MAC_EXAMPLE_B))
    if {"classic_ml", "cpu_vs_gpu"} & set(request.topics) and (slots.model or slots.model_size_mb):
        return (yield from cpu_or_gpu.compose(request, context))
    names = slots.gpus or ((slots.gpu,) if slots.gpu and slots.gpu != "none" else ())
    calls = [Call("find_gpu", {"name": name}) for name in dict.fromkeys(names)]
    if slots.instance:
        calls.append(Call("find_instances", {"name": slots.instance, "provider": request.cloud}))
    compared = methods_compared(request) if not names else []
    calls += [
        Call("estimate_memory", {"model": slots.model, "params_b": slots.params_b or _EXAMPLE_B,
                                 "task": "train", "method": method, "with_changes": False})
        for method in compared
    ]  # fmt: skip
    results = yield (*calls, guidance_call(request, k=5))
    draft.use(*results)
    cards = [r.report for r in results if isinstance(r.report, GpuReport)]
    correct_sameness(draft, cards)
    for card in cards:
        say_card_facts(draft, card, asked=_asked_of_cards(request, context))
    for result in results:
        if isinstance(result.report, InstancesReport):
            _say_slices(draft, result.report)
    reports = [r.report for r in results if isinstance(r.report, MemoryReport)]
    if len(reports) > 1:
        _say_difference(draft, reports)
    passages = on_the_point(passages_in(results), request)
    own = on_the_point(own_passages_in(results), request)
    say_passages(draft, passages, own=own)
    if not passages and not own and not cards and not request.corrections:
        draft.say("concept.nothing", importance=HEAD)
    return draft.finish("not_applicable")


def traits_asked(request: Request) -> frozenset[str]:
    """Marks of the traits of a card that the words name.

    A bandwidth that is not said to be a link's is that of the memory.
    """
    asked = {mark for mark in (*_FLAGS, _LINK, _MEMORY_RATE, _COMPUTE) if request.says(mark)}
    if request.says(_RATE) and _LINK not in asked:
        asked.add(_MEMORY_RATE)
    if request.slots.precision == "bf16":
        asked.add("concepts.bf16")
    return frozenset(asked)


def _asked_of_cards(request: Request, context: Context) -> frozenset[str]:
    """Traits that the turn asks for; those of the one before where it only names another card."""
    asked = traits_asked(request)
    before = context.earlier[-1] if context.earlier else None
    if before is None or before.intent != "concept" or before.slots.gpu is None:
        return asked
    is_short = request.says("concepts.goes_on") and not asked
    return traits_asked(before) if is_short else asked


_METHODS = {
    "full": "concepts.full_method", "lora": "concepts.lora_method",
    "qlora": "concepts.qlora_method",
}  # fmt: skip
"""Methods and the mark of each; one that is turned down has none."""
_EXAMPLE_B = 7.0
"""Size shown where methods are compared and no model was named."""


def methods_compared(request: Request) -> list[str]:
    """Methods that are set against each other; none where only one is named."""
    named = [name for name, mark in _METHODS.items() if request.says(mark)]
    return named if len(named) > 1 else []


def _say_difference(draft: Draft, reports: list[MemoryReport]) -> None:
    """Memory of the methods named, and what the leanest saves against the largest."""
    most = max(reports, key=lambda r: r.process_bytes)
    least = min(reports, key=lambda r: r.process_bytes)
    saved = most.process_bytes - least.process_bytes
    draft.figure("saved", saved, "B", formula="difference of the two needs")
    share = round(100 * saved / most.process_bytes)
    draft.figure("saved_percent", share, "%", formula="difference / larger need")
    draft.say("concept.difference", model=short_model(most),
              least=report_method(draft, least), need=gib(least.process_bytes),
              most=report_method(draft, most), other=gib(most.process_bytes),
              saved=gib(saved), share=share, importance=HEAD)  # fmt: skip
    say_methods(draft, reports)
    say_assumptions(draft, least)


def _say_slices(draft: Draft, report: InstancesReport) -> None:
    """Slices of a card: how much memory each has, and what its driver needs."""
    slices = [row for row in report.instances if row.gpu_share is not None and row.gpu_share < 1]
    if not slices:
        return
    items = [f"`{row.instance_type}` {cards_text(draft, row)}" for row in slices[:4]]
    draft.say("concept.slices", items=joined(draft, items), importance=HEAD)
    draft.offer(row.as_offer() for row in slices[:4])


def say_card_facts(draft: Draft, card: GpuReport, *, asked: frozenset[str]) -> None:
    """What was asked of a card, and what it is."""
    facts = [*_flags(draft, card, asked), *_figures(draft, card, asked)]
    if facts:
        text = draft.phrase("concept.semicolon").join(facts)
        draft.add(text[0].upper() + text[1:] + draft.phrase("concept.stop"), importance=HEAD)
    _say_architecture(draft, card, importance=BODY)
    _say_instead(draft, card, asked)
    if (card.vendor or "").upper() == "AMD":
        draft.say("compare.rocm", gpu=card.name, importance=HEAD)
    if card.mig and "concepts.mig" in asked:
        draft.say("concept.mig", importance=HEAD)


def _flags(draft: Draft, card: GpuReport, asked: frozenset[str]) -> list[str]:
    """Traits asked for that the card has or lacks."""
    told = []
    for mark, (field, word) in _FLAGS.items():
        value = getattr(card, field)
        if mark in asked and value is not None:
            key = "concept.supports" if value else "concept.lacks"
            told.append(draft.phrase(key, gpu=card.name, what=word))
    return told


def _figures(draft: Draft, card: GpuReport, asked: frozenset[str]) -> list[str]:
    """Traits asked for that are numbers."""
    told = []
    if _LINK in asked and card.nvlink is not None:
        told.append(_nvlink(draft, card))
    if _MEMORY_RATE in asked and card.mem_bandwidth_gbs is not None:
        gbs = f"{card.mem_bandwidth_gbs:g}"
        told.append(draft.phrase("concept.bandwidth", gpu=card.name, gbs=gbs))
    kind, rate = ("BF16", card.bf16_tflops) if card.bf16_tflops else ("FP16", card.fp16_tflops)
    if _COMPUTE in asked and rate is not None:
        draft.figure(f"{kind.lower()}_dense", rate, "TFLOPS", sources=(card.source,))
        told.append(draft.phrase("concept.compute", gpu=card.name, tflops=f"{rate:g}", kind=kind))
    return told


def _nvlink(draft: Draft, card: GpuReport) -> str:
    if not card.nvlink:
        return draft.phrase("concept.lacks_nvlink", gpu=card.name)
    if card.nvlink_total_gbs is None:
        return draft.phrase("concept.has_nvlink_plain", gpu=card.name)
    return draft.phrase("concept.has_nvlink", gpu=card.name, gbs=f"{card.nvlink_total_gbs:g}")


def _say_architecture(draft: Draft, card: GpuReport, *, importance: int) -> None:
    values = {
        "gpu": card.name,
        "label": f"{card.memory_label_gb:g}" if card.memory_label_gb else "?",
        "usable": gib(card.usable_bytes) if card.usable_bytes else "?",
    }
    if card.compute_capability is None:
        draft.say("concept.architecture_plain", importance=importance, **values)
    else:
        draft.say("concept.architecture", importance=importance, architecture=card.architecture,
                  cc=f"{card.compute_capability:.1f}", **values)  # fmt: skip


def _say_instead(draft: Draft, card: GpuReport, asked: frozenset[str]) -> None:
    wants_precision = "concepts.bf16" in asked or draft.request.slots.precision is not None
    if card.bf16_supported is False and wants_precision:
        draft.figure("fp32_bytes", 4, "B", formula="32 bit")
        draft.say("concept.bf16_instead")
    if card.flash_attention2_supported is False and "concepts.flash_attention" in asked:
        draft.say("concept.flash_instead")
    is_old = card.compute_capability is not None and card.compute_capability < _VLLM_FLOOR
    if is_old and draft.request.slots.framework == "vllm":
        draft.say("concept.vllm_floor", gpu=card.name, cc=f"{card.compute_capability:.1f}",
                  importance=HEAD)  # fmt: skip
