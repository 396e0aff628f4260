"""Cards set against each other at images, videos, texts or speech: speed, time and cost of each."""

from __future__ import annotations

from collections.abc import Sequence

from agent.answer import AssumptionOut, Verdict
from agent.answering.concepts.compare import called, correct_sameness, short_of, split
from agent.answering.plan import Call, Context, Plan
from agent.answering.speed import item_work
from agent.answering.speed.item_rates import item_arguments
from agent.answering.speed.race import (
    PEERS,
    Runner,
    racing,
    ranked,
    ratio_of,
    say_cheaper,
    say_holders,
    told_ratio,
    told_work,
)
from agent.answering.speed.race_prices import hour_prices, price_calls, told_price
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.numbers import count, gib, whole
from agent.answering.telling.run_words import card_name, memory_arguments, outcome, run_text
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.items import ItemReport, kind_of
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport

_INTENTS = ("gpu_compare", "time_estimate", "cost_estimate", "serving_plan", "recommend_instance")


def applies(request: Request, context: Context) -> bool:
    """True for several cards at a model that is timed in items."""
    slots = request.slots
    if slots.gpus is None or len(slots.gpus) < 2 or slots.model is None:
        return False
    if request.intent not in _INTENTS or slots.models is not None:
        return False
    kind = kind_of(slots.model)
    return kind is not None and (slots.task != "train" or kind == "image")


def compose(request: Request, context: Context) -> Plan:
    """Who is faster and by how much, then hours and cost of the work on each."""
    draft = Draft(item_work.completed(request))
    _record_set(draft, request)
    cards = [split(name) for name in request.slots.gpus or ()]
    n = len(cards)
    item = "image" if request.says("speed.images") else None
    results = yield (
        *(Call("item_speed", item_arguments(draft, gpu=g, gpu_count=c, item=item))
          for g, c in cards),
        *price_calls(draft, cards),
        *(Call("estimate_memory", memory_arguments(
            request.slots, gpu=g, gpu_count=c, gpu_mem_gb=None, concurrency=None))
          for g, c in cards),
        *(Call("find_gpu", {"name": g}) for g, _ in cards),
    )  # fmt: skip
    draft.use(*results)
    speeds, offers, memory, found = (results[i * n : (i + 1) * n] for i in range(4))
    correct_sameness(draft, [r.report for r in found if isinstance(r.report, GpuReport)])
    short = short_of(memory)
    prices = hour_prices(draft, offers)
    runners = ranked([
        Runner(called(card), speed.report.per_s, price, place not in short)
        for place, (card, speed, price) in enumerate(zip(cards, speeds, prices, strict=True))
        if isinstance(speed.report, ItemReport)
    ])  # fmt: skip
    reports = [s.report for s in speeds if isinstance(s.report, ItemReport)]
    if runners:
        _say_runners(draft, runners, reports[0])
    _say_memory(draft, memory)
    for report in reports:
        draft.assume(report.assumptions)
    verdict: Verdict = "does_not_fit" if len(short) == n else "depends"
    return draft.finish(verdict, intent="gpu_compare")


def _record_set(draft: Draft, asked: Request) -> None:
    """The images of a data set that was named."""
    known = item_work.data_set_of(asked)
    if known is not None:
        draft.figure("images_of_the_set", known.samples, "1", sources=(known.source,))
        why = "training images of the data set, by its publisher"
        draft.assume([AssumptionOut(name="samples", value=known.samples, unit="1", why=why)])


def _say_runners(draft: Draft, runners: Sequence[Runner], report: ItemReport) -> None:
    kind = report.kind
    say_holders(draft, runners)
    ratio = ratio_of(draft, runners)
    slow = min(r.speed.value for r in runners)
    if ratio is not None:
        first, last = racing(runners)
        draft.say("compare.item_faster" if ratio >= PEERS else "compare.item_peers",
                  gpu=first.name, other=last.name, ratio=told_ratio(ratio),
                  fast=_rate(draft, first.speed.value, kind, slow),
                  slow=_rate(draft, last.speed.value, kind, slow), importance=HEAD)  # fmt: skip
    say_cheaper(draft, runners, unit=kind)
    work, amount = _work(draft, kind)
    lines = []
    for runner in runners:
        rest = told_work(draft, runner, work, amount) if work else ""
        low, high = sorted(
            (_plain(draft, v, kind, slow) for v in (runner.speed.low, runner.speed.high)),
            key=float,
        )
        lines.append(
            draft.phrase("compare.item_line", gpu=runner.name, rest=rest, low=low, high=high,
                         rate=_rate(draft, runner.speed.value, kind, slow),
                         line=told_price(draft, runner.price))
        )  # fmt: skip
    what = str(draft.request.slots.model).rpartition("/")[2]
    if report.denoising_steps:
        draft.figure("denoising_steps", report.denoising_steps, "1", formula="given or assumed")
        what += draft.phrase("compare.item_steps", value=report.denoising_steps)
    tokens = next((a.value for a in report.assumptions if a.name == "tokens"), None)
    tokens = tokens or draft.request.slots.tokens_per_sample or draft.request.slots.seq_len
    if kind == "text" and tokens:
        draft.figure("tokens_of_a_text", int(tokens), "token", formula="given or assumed")
        what += draft.phrase("compare.item_tokens", value=int(tokens))
    draft.bullets(lines, title=draft.phrase("compare.item_title", what=what))
    if kind == "image":
        draft.say("items.fed", importance=DETAIL)


def _is_slow(kind: str, slowest: float) -> bool:
    """Whether all sides are told in seconds of one item."""
    return kind == "video" or (kind == "image" and slowest < 1)


def _plain(draft: Draft, per_s: float, kind: str, slowest: float) -> str:
    """A rate, or the seconds of one item, as a number."""
    is_slow = _is_slow(kind, slowest)
    told = whole(1 / per_s if is_slow else per_s)
    draft.figure(f"{kind} {told}", float(told), "s" if is_slow else "1/s", formula="item_speed")
    return told


def _rate(draft: Draft, per_s: float, kind: str, slowest: float) -> str:
    """A rate in the unit that all sides of the comparison are told in."""
    each = "_each" if kind == "image" and _is_slow(kind, slowest) else ""
    return draft.phrase(f"compare.rate_{kind}{each}", value=_plain(draft, per_s, kind, slowest))


def _work(draft: Draft, kind: str) -> tuple[float | None, str]:
    """Units of the whole work, and how it is told."""
    slots = draft.request.slots
    if kind == "speech":
        if slots.hours is None:
            return None, ""
        told = draft.phrase("compare.amount_speech", amount=f"{slots.hours:,g} ")
        return slots.hours * 3600, " ".join(told.split())
    amount = slots.samples or slots.rows
    if not amount or amount <= 1:
        return None, ""
    what = draft.phrase(f"compare.amount_{kind}", amount=count(amount, draft.language) + " ")
    what = " ".join(what.split())
    epochs = slots.epochs or 1 if slots.task == "train" else 1
    if epochs == 1:
        return float(amount), what
    return amount * epochs, draft.phrase("compare.amount_epochs", what=what, epochs=f"{epochs:g}")


def _say_memory(draft: Draft, memory: Sequence[ToolResult]) -> None:
    fits = [r.report for r in memory if isinstance(r.report, MemoryReport) and r.report.verdict]
    items = [
        draft.phrase("compare.fit_row", gpu=card_name(draft, f), need=gib(f.process_bytes),
                     usable=gib(f.usable_bytes or 0), outcome=outcome(draft, f))
        for f in fits
    ]  # fmt: skip
    if items:
        draft.bullets(items, title=draft.phrase("compare.fit_title",
                                                what=run_text(draft, fits[0])))  # fmt: skip
