"""gpu_compare: cards side by side, by what decides."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.answer import Verdict
from agent.answering.concepts import concept
from agent.answering.concepts.types_compared import say_types
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting.renting import default_region
from agent.answering.speed.race import race_calls, say_race
from agent.answering.telling.draft import BODY, DETAIL, HEAD, Draft
from agent.answering.telling.machines import short_line
from agent.answering.telling.numbers import gib
from agent.answering.telling.passages import on_the_point, say_passages
from agent.answering.telling.run_words import card_name, joined, memory_arguments, outcome, run_text
from agent.answering.telling.sources import guidance_call, own_passages_in, passages_in
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport
from tools.units import bytes_from_gb

_COUNTED = re.compile(r"^\s*(\d+)\s*[xX×*]\s*(.+)$")


def compose(request: Request, context: Context) -> Plan:
    """Facts side by side, then what they mean for the job asked about."""
    draft = Draft(request)
    slots = request.slots
    named = slots.gpus or ((slots.gpu,) if slots.gpu and slots.gpu != "none" else ())
    is_of_types = not named and len(slots.instances or ()) > 1
    if is_of_types:
        named = yield from say_types(draft)
        if draft.has_text and len({split(name)[0] for name in named}) < 2:
            return draft.finish("not_applicable")
    if not named:
        return (yield from concept.compose(request, context))
    cards = [split(name) for name in named]
    has_model = slots.has_model
    calls = [Call("find_gpu", {"name": name}) for name, _ in cards]
    if has_model:
        calls += [
            Call("estimate_memory", memory_arguments(
                slots, gpu=name, gpu_count=count, gpu_mem_gb=None,
                method=(slots.method or "lora") if slots.task == "train" else None))
            for name, count in cards
        ]  # fmt: skip
    is_race = has_model and len(cards) > 1
    race = race_calls(draft, cards) if is_race else []
    if not is_of_types and ((slots.provider and not is_race) or not has_model):
        calls += [
            Call("find_instances", {"gpu": name, "provider": slots.provider or "alibaba",
                                    "region": default_region(draft), "limit": 50})
            for name, _ in cards
        ]  # fmt: skip
    results = yield (*calls, guidance_call(request, k=2), *race)
    draft.use(*results)
    results, raced = results[: len(calls) + 1], results[len(calls) + 1 :]
    is_told = is_race and say_race(
        draft, [called(card) for card in cards], raced[: len(cards)], raced[len(cards) :],
        short=short_of(results[len(cards) : 2 * len(cards)]),
    )  # fmt: skip
    found = [r.report for r in results if isinstance(r.report, GpuReport)]
    unknown = [str(r.fields.get("given")) for r in results if not r.ok and "given" in r.fields]
    correct_sameness(draft, found)
    verdict = _tell(draft, found, [count for _, count in cards], results)
    if unknown:
        draft.say("compare.unknown", names=joined(draft, unknown))
    if not is_told and not is_of_types:
        own = on_the_point(own_passages_in(results), request)
        say_passages(draft, passages_in(results), own=own, most=1)
    if request.corrections and slots.need_gb is None and not has_model:
        verdict = "not_applicable"
    return draft.finish(verdict)


def short_of(memory: Sequence[ToolResult]) -> list[int]:
    """Places of the cards that do not hold the job."""
    return [
        place for place, result in enumerate(memory)
        if isinstance(result.report, MemoryReport) and result.report.verdict == "does_not_fit"
    ]  # fmt: skip


_APART = 1.2
"""Ratio of two figures from which two cards are not the same."""


def correct_sameness(draft: Draft, cards: Sequence[GpuReport]) -> None:
    """Two cards said to be the same that are not: by what they differ."""
    if len(cards) != 2 or not draft.request.says("concepts.said_same"):
        return
    first, second = cards
    pairs = {
        "compute": (sixteen_bit(first)[0], sixteen_bit(second)[0], "TFLOPS"),
        "bandwidth": (first.mem_bandwidth_gbs, second.mem_bandwidth_gbs, "GB/s"),
        "memory": (first.memory_label_gb, second.memory_label_gb, "GB"),
    }
    items = [
        draft.phrase(f"compare.differ_{name}", one=f"{one:g}", other=f"{other:g}", unit=unit)
        for name, (one, other, unit) in pairs.items()
        if one and other and max(one, other) / min(one, other) >= _APART
    ]
    if not items:
        return
    fact = draft.phrase("compare.not_same", one=first.name, other=second.name,
                        items=joined(draft, items))  # fmt: skip
    premise = draft.phrase("compare.same_premise", one=first.name, other=second.name)
    draft.correct(premise, fact, f"data:gpus.csv#{first.name}")


def called(card: tuple[str, int]) -> str:
    """Card and count as they are told."""
    name, count = card
    return f"{count}×{name}" if count > 1 else name


def split(name: str) -> tuple[str, int]:
    """Card and count of a written "4xT4"."""
    counted = _COUNTED.match(name)
    return (counted[2], int(counted[1])) if counted else (name, 1)


def _tell(
    draft: Draft, cards: list[GpuReport], counts: list[int], results: tuple[ToolResult, ...]
) -> Verdict:
    if not cards:
        return "not_applicable"
    if len(cards) > 1:
        lines = (";" if draft.language == "zh" else "; ").join(_lines(draft, cards))
        draft.say("compare.head", lines=lines or draft.phrase("compare.same"), importance=HEAD)
        _table(draft, cards, counts)
    else:
        concept.say_card_facts(draft, cards[0], asked=concept.traits_asked(draft.request))
    for card in cards:
        if (card.vendor or "").upper() == "AMD":
            draft.say("compare.rocm", gpu=card.name, importance=HEAD)
    _nvlink(draft, cards, counts)
    verdict = _need(draft, cards)
    fits = [r.report for r in results if isinstance(r.report, MemoryReport)]
    if fits:
        items = [
            draft.phrase("compare.fit_row", gpu=card_name(draft, f), need=gib(f.process_bytes),
                         usable=gib(f.usable_bytes or 0), outcome=outcome(draft, f))
            for f in fits if f.verdict
        ]  # fmt: skip
        draft.bullets(items, title=draft.phrase("compare.fit_title", what=run_text(draft, fits[0])))
    _prices(draft, results)
    return verdict


def _lines(draft: Draft, cards: Sequence[GpuReport]) -> list[str]:
    """What sets the cards apart, most telling first."""
    lines = []
    with_bf16 = [c.name for c in cards if c.bf16_supported]
    without = [c.name for c in cards if c.bf16_supported is False]
    memory = {c.memory_label_gb for c in cards}
    if len(memory) > 1:
        best = max(cards, key=lambda c: c.usable_bytes or 0)
        label = f"{best.memory_label_gb:g}" if best.memory_label_gb else "?"
        lines.append(draft.phrase("compare.memory_wins", gpu=best.name, label=label,
                                  usable=gib(best.usable_bytes or 0)))  # fmt: skip
    if with_bf16 and without:
        lines.append(draft.phrase("compare.bf16_wins", yes=joined(draft, with_bf16),
                                  no=joined(draft, without)))  # fmt: skip
    rates = {c.name: sixteen_bit(c)[0] for c in cards}
    if len(set(rates.values())) > 1 and all(rates.values()):
        best = max(cards, key=lambda c: rates[c.name] or 0)
        lines.append(draft.phrase("compare.compute_wins", gpu=best.name,
                                  tflops=f"{rates[best.name]:g}"))  # fmt: skip
    if len({c.mem_bandwidth_gbs for c in cards}) > 1:
        best = max(cards, key=lambda c: c.mem_bandwidth_gbs or 0)
        lines.append(draft.phrase("compare.bandwidth_wins", gpu=best.name,
                                  gbs=f"{best.mem_bandwidth_gbs:g}"))  # fmt: skip
    return lines


def sixteen_bit(card: GpuReport) -> tuple[float | None, str]:
    """Dense 16-bit tensor TFLOPS and the type they are of: bf16, or fp16 where that is known."""
    if card.bf16_tflops:
        return card.bf16_tflops, "bf16"
    return card.fp16_tflops, "fp16"


def _table(draft: Draft, cards: Sequence[GpuReport], counts: Sequence[int]) -> None:
    rows = []
    marks = {True: "✓", False: "✗", None: "?"}
    for card, count in zip(cards, counts, strict=False):
        name = f"{count}×{card.name}" if count > 1 else card.name
        rate, kind = sixteen_bit(card)
        rows.append(
            (
                name,
                f"{card.memory_label_gb or 0:g} GB ({gib(card.usable_bytes or 0)})",
                f"{card.mem_bandwidth_gbs:g} GB/s" if card.mem_bandwidth_gbs else "?",
                f"{rate:g} TFLOPS ({kind})" if rate else "?",
                " / ".join(
                    marks[value]
                    for value in (card.bf16_supported, card.flash_attention2_supported, card.nvlink)
                ),
            )
        )
    header = ("card", "memory", "bandwidth", "compute", "features")
    draft.table([draft.phrase(f"compare.head_{name}") for name in header], rows)


_BRIDGED = re.compile(r"PCIe|GeForce|RTX|Quadro|TITAN|NVL(?![a-z])|\bA(?:30|40)\b")
"""Cards whose NVLink is a bridge that joins two or three; of others it is on the board."""


def _link_key(card: GpuReport) -> str:
    if not card.nvlink:
        return "no_nvlink"
    return "has_bridge" if _BRIDGED.search(card.name) else "has_nvlink"


def _nvlink(draft: Draft, cards: Sequence[GpuReport], counts: Sequence[int]) -> None:
    several = [(c, n) for c, n in zip(cards, counts, strict=False) if n > 1]
    items = [
        draft.phrase(f"compare.{_link_key(card)}", gpu=card.name)
        for card in cards
        if card.nvlink is not None
    ]
    if several:
        card, count = several[0]
        draft.figure("devices", count, "1", sources=("user:gpus",))
        draft.say("compare.separate", count=count, link="NVLink/PCIe" if card.nvlink else "PCIe")
    if items and (several or draft.request.says("concepts.nvlink")):
        draft.say("compare.nvlink_line", items=joined(draft, items))


def _need(draft: Draft, cards: Sequence[GpuReport]) -> Verdict:
    """A need that was named, against each single card."""
    need_gb = draft.request.slots.need_gb
    if need_gb is None:
        return "depends"
    need = bytes_from_gb(need_gb)
    draft.figure("need", need_gb, "GB", sources=("user:need_gb",))
    items, any_fits = [], False
    for card in cards:
        fits = (card.usable_bytes or 0) >= need
        any_fits = any_fits or fits
        key = "compare.need_fits" if fits else "compare.need_short"
        items.append(draft.phrase(key, gpu=card.name, usable=gib(card.usable_bytes or 0)))
    draft.say("compare.need", need=f"{need_gb:g} GB", items=joined(draft, items), importance=HEAD)
    return "depends" if any_fits else "does_not_fit"


def _prices(draft: Draft, results: tuple[ToolResult, ...]) -> None:
    best = []
    for result in results:
        if isinstance(result.report, InstancesReport):
            rows = [r for r in result.report.instances if r.price and r.category == "gpu"]
            if rows:
                best.append(min(rows, key=lambda r: r.price.amount if r.price else 0))
    draft.bullets([short_line(draft, row) for row in best], title=draft.phrase("compare.prices"),
                  importance=DETAIL if len(best) < 2 else BODY)  # fmt: skip
    draft.offer(row.as_offer() for row in best)
