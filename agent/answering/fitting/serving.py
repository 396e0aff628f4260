"""Memory of serving, with other weight formats beside it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answer import AssumptionOut, Verdict
from agent.answering.fitting.card_facts import is_unified, say_card
from agent.answering.fitting.changes import PUBLISHED_IN_FOUR, say_changes
from agent.answering.fitting.doubtful import is_doubtful, say_doubtful
from agent.answering.fitting.kernels import judged_kernels
from agent.answering.fitting.more_machines import say_more_machines
from agent.answering.fitting.native_formats import say_native_format
from agent.answering.fitting.pipeline import judged_pipeline
from agent.answering.fitting.positions import say_positions
from agent.answering.fitting.shared_prefix import say_shared_context, say_shared_prefix
from agent.answering.hosts.layer_split import is_layer_split, say_layer_split
from agent.answering.hosts.offload import can_offload, compose_offload
from agent.answering.hosts.on_cpu import (
    complains_of_cpu,
    is_short,
    say_on_cpu,
    say_whole,
    wants_whole,
)
from agent.answering.hosts.unified import board_bytes, judged_on_board
from agent.answering.plan import Call
from agent.answering.renting.after_fit import rent_after
from agent.answering.renting.renting import say_fitting_cards
from agent.answering.sizing.inverse import is_too_large
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import Draft
from agent.answering.telling.found import Found, Steps, failed
from agent.answering.telling.numbers import gib
from agent.answering.telling.parts import (
    PARTS,
    say_images,
    say_parts,
    say_reference,
    say_total,
    say_why,
)
from agent.answering.telling.run_words import (
    concurrency_cap,
    format_name,
    is_language,
    joined,
    memory_arguments,
    memory_range,
    outcome,
)
from agent.answering.telling.verdicts import (
    cannot_start,
    is_queued,
    pool_words,
    say_verdict,
    verdict_of,
)
from agent.toolbox import ToolResult
from agent.toolbox.limits import LimitReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport
from tools.memory import known_pool
from tools.models import SMALL_KINDS

SERVED = ("bf16", "int8", "int4")


_SHORT_CONTEXT = 1024
_NODE = 8
"""GPUs of a full machine."""


def serving(draft: Draft) -> Steps:
    """Memory of serving, with other weight formats beside it."""
    slots = draft.request.slots
    said = slots.quantization or slots.precision
    results = yield _calls(draft, said)
    draft.use(*results)
    chosen = results[0].report
    if not isinstance(chosen, MemoryReport):
        return failed(draft, results[0])
    rest = [r.report for r in results[1:] if isinstance(r.report, MemoryReport)]
    card = next((r.report for r in results if isinstance(r.report, GpuReport)), None)
    board = board_bytes(draft, card, slots)
    if card is not None and board is not None:
        chosen, *rest = (judged_on_board(report, card, board) for report in (chosen, *rest))
    others = _worth_telling(chosen, rest)
    if chosen.verdict == "does_not_fit" and slots.seq_len is None:
        chosen, others = yield from _shortened(draft, chosen, others, said)
    split = None
    verdict: Verdict
    if can_offload(draft, chosen):
        arguments = memory_arguments(slots, task="infer", gpu_layers=None, **_format(said))
        split = yield from compose_offload(draft, chosen, arguments)
    if split is not None and complains_of_cpu(draft.request):
        chosen = yield from say_on_cpu(draft, split)
        verdict = "does_not_fit"
        _say_serving_details(draft, chosen, [], card)
    elif split is not None and wants_whole(draft.request) and is_short(split):
        say_whole(draft, split)
        _say_serving_details(draft, split.report, [], card)
        chosen, verdict = split.whole, "does_not_fit"
    elif split is not None:
        _say_serving_details(draft, split.report, [], card)
        if split.verdict != "fits":
            yield from say_fitting_cards(draft, split.whole)
        verdict, chosen = split.verdict, split.report
    else:
        verdict = yield from _judged(draft, chosen, card)
        if is_layer_split(draft, chosen):
            say_layer_split(draft, chosen)
        _say_serving_details(draft, chosen, others, card)
        yield from _say_more_cards(draft, chosen)
        yield from rent_after(draft, chosen, verdict)
    draft.follow_ups += [draft.phrase("fit.follow_context"), draft.phrase("fit.follow_speed")]
    memory = memory_range(chosen)
    if board is not None:
        memory = memory.model_copy(update={"scope": "unified"})
    return Found(verdict, memory, chosen, is_split=split is not None)


def _calls(draft: Draft, said: str | None) -> tuple[Call, ...]:
    """The run in the format that was said and in the usual ones, and the card."""
    slots = draft.request.slots
    calls = [
        Call(
            "estimate_memory",
            memory_arguments(
                slots, task="infer", with_changes=number == 0, **_format(form), **_at_once(draft)
            ),
        )
        for number, form in enumerate([said, *(f for f in SERVED if f != said)])
    ]
    if slots.gpu is not None and slots.gpu != "none":
        calls.append(Call("find_gpu", {"name": slots.gpu, "memory_gb": slots.gpu_mem_gb}))
    return tuple(calls)


def _judged(
    draft: Draft, report: MemoryReport, card: GpuReport | None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Verdict]:
    """The verdict, told; open where the card comes in several sizes or lacks FP8."""
    slots = draft.request.slots
    verdict: Verdict
    if is_doubtful(draft, report):
        verdict = yield from say_doubtful(draft, report, card)
    else:
        verdict = verdict_of(report)
        say_verdict(draft, report)
        verdict = judged_pipeline(draft, report, verdict)
        if verdict == "does_not_fit" and is_queued(draft, report):
            verdict = "depends"
        if cannot_start(draft, report):
            verdict = "does_not_fit"
        verdict = judged_kernels(draft, report, card, verdict)
    lacks_fp8 = card is not None and card.fp8_supported is False and slots.quantization == "fp8"
    if _differs(card, report, slots.gpu_mem_gb) or (lacks_fp8 and verdict != "does_not_fit"):
        return "depends"
    is_open = slots.quantization is None and slots.precision is None
    if verdict == "does_not_fit" and is_open and is_unified(card):
        if any(change.fits for change in report.changes):
            draft.lead("memory.unified_lead")
            return "depends"
    return verdict


def _worth_telling(chosen: MemoryReport, others: list[MemoryReport]) -> list[MemoryReport]:
    """Formats that are another size; none between 16 bit and weights published in 4 bit."""
    apart = [o for o in others if abs(o.weights_bytes / max(chosen.weights_bytes, 1) - 1) > _SAME]
    is_narrow = chosen.weight_format in PUBLISHED_IN_FOUR
    if chosen.kind in _NOT_IN_FOUR:
        apart = [o for o in apart if o.weight_format != "int4"]
    return [o for o in apart if not is_narrow or o.weight_format == "bf16"]


_NOT_IN_FOUR = (*SMALL_KINDS, "diffusion-unet")
"""Kinds that are not served in 4 bit: their published builds are of 16 and 8 bit."""


_SAME = 0.1
"""Two formats whose weights differ by less are one size."""


def _short_context(
    draft: Draft, chosen: MemoryReport, form: str | None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], MemoryReport]:
    """The same with a short context, where no length was said: it may fit like that."""
    slots = draft.request.slots
    call = Call(
        "estimate_memory",
        memory_arguments(
            slots, task="infer", seq_len=_SHORT_CONTEXT, **_format(form), **_at_once(draft)
        ),
    )
    results = yield (call,)
    draft.use(*results)
    short = results[0].report
    if not isinstance(short, MemoryReport) or short.verdict in (None, "does_not_fit"):
        return chosen
    why = "no context length was said; a longer one does not fit"
    draft.assume([AssumptionOut(name="context_len", value=_SHORT_CONTEXT, unit="token", why=why)])
    draft.say("fit.short_only", context=_SHORT_CONTEXT, need=gib(chosen.process_bytes))
    return short.model_copy(update={"verdict": "tight"})


def _shortened(
    draft: Draft, chosen: MemoryReport, others: list[MemoryReport], form: str | None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], tuple[MemoryReport, list[MemoryReport]]]:
    """The run, and the formats beside it, at the short context where only that one fits."""
    short = yield from _short_context(draft, chosen, form)
    if short is chosen:
        return chosen, others
    results = yield tuple(
        Call("estimate_memory", memory_arguments(
            draft.request.slots, task="infer", seq_len=_SHORT_CONTEXT,
            **_format(other.weight_format), **_at_once(draft)))
        for other in others
    )  # fmt: skip
    draft.use(*results)
    return short, [r.report for r in results if isinstance(r.report, MemoryReport)]


def _at_once(draft: Draft) -> dict[str, Any]:
    """One request at a time where only the server's cap was said."""
    return {} if concurrency_cap(draft.request) is None else {"concurrency": 1}


def _format(form: str | None) -> dict[str, Any]:
    """Arguments that set the weight format; None leaves it to the engine."""
    return {"quantization": form, "precision": None} if form else {}


def _differs(card: GpuReport | None, report: MemoryReport, size_gb: float | None) -> bool:
    """True when the card comes in sizes of which some hold the run and some do not."""
    if card is None or size_gb is not None or not card.variants:
        return False
    sold = [v for v in card.variants if "modified" not in v.name]
    sizes = [v.usable_bytes for v in sold] + [report.usable_bytes or 0]
    return len({size >= report.process_bytes for size in sizes}) > 1


def say_variants(draft: Draft, report: MemoryReport, card: GpuReport | None) -> None:
    """Other memory sizes of a card whose size was not said."""
    if card is None or not card.variants or draft.request.slots.gpu_mem_gb is not None:
        return
    items = [
        draft.phrase("plans.variant", gpu=v.name, usable=gib(v.usable_bytes),
                     outcome=draft.phrase("plans.holds" if v.usable_bytes >= report.process_bytes
                                          else "plans.short"))
        for v in card.variants if v.usable_bytes != report.usable_bytes
    ]  # fmt: skip
    if items:
        draft.say("plans.variants", gpu=card.name, items=joined(draft, items))


def _say_serving_details(
    draft: Draft,
    chosen: MemoryReport,
    others: list[MemoryReport],
    card: GpuReport | None,
) -> None:
    slots = draft.request.slots
    say_positions(draft)
    say_shared_context(draft)
    say_shared_prefix(draft, chosen)
    say_card(draft, chosen, card)
    say_variants(draft, chosen, card)
    wide = next((o for o in others if o.weight_format == "bf16"), None)
    say_images(draft, chosen)
    is_native = say_native_format(draft, chosen, wide, card)
    say_why(draft, chosen)
    if chosen.gpu_count > 1 and not is_layer_split(draft, chosen):
        key = "layers_dealt" if (slots.pp or 1) > 1 and (slots.tp or 1) == 1 else "tensor_parallel"
        each = chosen.part(*PARTS["weights"])
        whole = each * chosen.gpu_count
        draft.figure("weights_in_all", whole, "B", formula="weights * cards")
        draft.say(f"memory.{key}", count=chosen.gpu_count, weights=gib(each),
                  whole=gib(whole))  # fmt: skip
        say_total(draft, chosen)
    changes = say_changes(draft, chosen) if chosen.verdict != "fits" else []
    if _could_split(draft, chosen) or _is_short_of_server(draft, chosen):
        draft.say("host.split_way")
    if not any(change.name.startswith("weight_format=") for change in changes):
        _say_other_formats(draft, [o for o in others if not (is_native and o is wide)])
    holds_weights = chosen.weights_bytes < (chosen.usable_bytes or 0)
    pool = known_pool(slots.framework)
    is_served = pool is not None and pool.of == "card" and holds_weights
    if pool is not None and is_served and chosen.verdict != "fits":
        share = slots.gpu_memory_utilization or pool.share
        draft.say("memory.preallocated", share=f"{share:g}", **pool_words(draft))
    say_parts(draft, chosen)
    say_assumptions(draft, chosen)
    say_reference(draft, chosen)


def _say_more_cards(
    draft: Draft, report: MemoryReport
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """How many of the card hold the model together, where one is too small."""
    is_short = report.verdict == "does_not_fit"
    is_card = report.gpu is not None and "Laptop" not in report.gpu and not report.slice_memory_gb
    if not (is_short and is_card and is_language(report)) or is_too_large(report):
        return
    said = draft.request.slots.quantization or draft.request.slots.precision
    arguments = memory_arguments(draft.request.slots, task="infer", **_format(said))
    results = yield (Call("find_limit", {**arguments, "goal": "fewest_cards"}),)
    draft.use(*results)
    found = results[0].report
    if not isinstance(found, LimitReport) or not found.value:
        return
    if found.value > _NODE:
        yield from say_more_machines(draft, report, found.value, arguments)
    if not report.gpu_count < found.value <= _NODE:
        return
    draft.figure("cards", found.value, "1", formula="fewest that hold it")
    each = gib(found.memory.process_bytes)
    draft.say("memory.more_cards", count=found.value, gpu=report.gpu, each=each,
              outcome=outcome(draft, found.memory))  # fmt: skip


_WORTH_SPLITTING = 16
"""Times the card's memory up to which a part of a run in host memory is worth naming."""


def _could_split(draft: Draft, report: MemoryReport) -> bool:
    """Whether leaving layers in host memory is a way out of one card that is too small."""
    is_alone = report.verdict == "does_not_fit" and report.gpu_count == 1
    is_alone = is_alone and report.process_bytes <= _WORTH_SPLITTING * (report.usable_bytes or 0)
    is_open = draft.request.slots.framework is None and not is_queued(draft, report)
    return is_alone and is_language(report) and is_open


def _is_short_of_server(draft: Draft, report: MemoryReport) -> bool:
    """Whether the cards of a server, or several cards, are too small for a language model."""
    framework = draft.request.slots.framework
    pool = known_pool(framework)
    is_server = pool is not None and pool.is_reserved
    is_other = is_server or (framework is None and report.gpu_count > 1)
    holds = report.weights_bytes < (report.usable_bytes or 0)
    return report.verdict == "does_not_fit" and is_language(report) and is_other and not holds


def _say_other_formats(draft: Draft, others: list[MemoryReport]) -> None:
    """What the same model needs in other weight formats, in one line."""
    items = [
        draft.phrase(
            "memory.alternative" if other.verdict else "memory.alternative_plain",
            format=format_name(str(other.weight_format)),
            need=gib(other.process_bytes),
            outcome=outcome(draft, other) if other.verdict else "",
        )
        for other in others
    ]
    if items:
        draft.say("memory.alternatives", items=joined(draft, items))
