"""concept: what a card can do by the table, and what the checked guidance says."""

from __future__ import annotations

import re

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
_ASKED = {
    "bf16_supported": ("bf16", re.compile(r"bf16|bfloat16", re.IGNORECASE)),
    "fp8_supported": ("FP8", re.compile(r"fp8|float8", re.IGNORECASE)),
    "flash_attention2_supported": (
        "FlashAttention-2",
        re.compile(r"flash[-_ ]?att|(?<![a-z])fa-?2(?![a-z0-9])", re.IGNORECASE),
    ),
    "mig": ("MIG", re.compile(r"(?<![a-z])mig(?![a-z])", re.IGNORECASE)),
}
_BANDWIDTH = re.compile(r"(?:memory|mem|hbm|vram)[ -]?bandwidth|显存带宽|内存带宽", re.IGNORECASE)
_NVLINK = re.compile(r"nvlink|nvswitch|互联|互连|interconnect", re.IGNORECASE)


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
        calls.append(Call("find_instances", {"name": slots.instance, "provider": slots.provider}))
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
    passages = on_the_point(passages_in(results), request.search_query)
    own = on_the_point(own_passages_in(results), request.search_query)
    say_passages(draft, passages, own=own)
    if not passages and not own and not cards and not request.corrections:
        draft.say("concept.nothing", importance=HEAD)
    return draft.finish("not_applicable")


def _asked_of_cards(request: Request, context: Context) -> str:
    """The words of the turn; of the one before too where this one only names another card."""
    asked = request.search_query
    patterns = (*(pattern for _, pattern in _ASKED.values()), _NVLINK, _BANDWIDTH)
    before = context.earlier[-1] if context.earlier else None
    if before is None or before.intent != "concept" or before.slots.gpu is None:
        return asked
    is_short = bool(_GOES_ON.search(asked)) and not any(p.search(asked) for p in patterns)
    return f"{before.search_query} {asked}" if is_short else asked


_GOES_ON = re.compile(
    r"^\s*(?:and|or|what about|how about)(?![a-z])|^\s*那|呢\s*[?？]?\s*$", re.IGNORECASE
)
"""A turn that only names another card and asks what the one before asked."""
_NOT_DENIED = "".join(
    f"(?<!{word})"
    for word in ("不要", "不用", "不是", "不走", "没用", "并非", "非", "not ", "no ", "without ")
)
"""A method that is turned down is none of those that are set against each other."""
_METHODS = {
    "full": re.compile(r"全参|全量微调|full[- ]?(?:param|fine|ft)", re.IGNORECASE),
    "lora": re.compile(rf"{_NOT_DENIED}(?<![a-z])lora(?![a-z])", re.IGNORECASE),
    "qlora": re.compile(rf"{_NOT_DENIED}(?<![a-z])q-?lora(?![a-z])", re.IGNORECASE),
}
_EXAMPLE_B = 7.0
"""Size shown where methods are compared and no model was named."""


def methods_compared(request: Request) -> list[str]:
    """Methods that are set against each other; none where only one is named."""
    named = [name for name, words in _METHODS.items() if words.search(request.search_query)]
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


def say_card_facts(draft: Draft, card: GpuReport, *, asked: str) -> None:
    """What was asked of a card, and what it is."""
    facts = []
    for field, (word, pattern) in _ASKED.items():
        is_asked = pattern.search(asked) or (word == draft.request.slots.precision)
        value = getattr(card, field)
        if is_asked and value is not None:
            key = "concept.supports" if value else "concept.lacks"
            facts.append(draft.phrase(key, gpu=card.name, what=word))
    if _NVLINK.search(asked) and card.nvlink is not None:
        facts.append(_nvlink(draft, card))
    if _BANDWIDTH.search(asked) and card.mem_bandwidth_gbs is not None:
        gbs = f"{card.mem_bandwidth_gbs:g}"
        facts.append(draft.phrase("concept.bandwidth", gpu=card.name, gbs=gbs))
    if facts:
        text = draft.phrase("concept.semicolon").join(facts)
        draft.add(text[0].upper() + text[1:] + draft.phrase("concept.stop"), importance=HEAD)
    _say_architecture(draft, card, importance=BODY)
    _say_instead(draft, card, asked)
    if (card.vendor or "").upper() == "AMD":
        draft.say("compare.rocm", gpu=card.name, importance=HEAD)
    if card.mig and _ASKED["mig"][1].search(asked):
        draft.say("concept.mig", importance=HEAD)


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


def _say_instead(draft: Draft, card: GpuReport, asked: str) -> None:
    precision = draft.request.slots.precision
    wants_precision = _ASKED["bf16_supported"][1].search(asked) or precision is not None
    if card.bf16_supported is False and wants_precision:
        draft.figure("fp32_bytes", 4, "B", formula="32 bit")
        draft.say("concept.bf16_instead")
    wants_flash = _ASKED["flash_attention2_supported"][1].search(asked)
    if card.flash_attention2_supported is False and wants_flash:
        draft.say("concept.flash_instead")
    is_old = card.compute_capability is not None and card.compute_capability < _VLLM_FLOOR
    if is_old and draft.request.slots.framework == "vllm":
        draft.say("concept.vllm_floor", gpu=card.name, cc=f"{card.compute_capability:.1f}",
                  importance=HEAD)  # fmt: skip
