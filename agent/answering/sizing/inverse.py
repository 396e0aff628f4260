"""Inverse questions: the number that was asked for, its memory, and what would raise it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answer import Answer, Verdict
from agent.answering.plan import Call, Context
from agent.answering.renting.renting import cards_to_rent, say_fitting_cards
from agent.answering.sizing import fleet
from agent.answering.speed.decode import asks_speed
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import BODY, DETAIL, HEAD, Draft
from agent.answering.telling.found import Found, quoted_hint, settled
from agent.answering.telling.numbers import gib, gib_range
from agent.answering.telling.parts import say_parts, say_reference
from agent.answering.telling.run_words import (
    card_name,
    format_name,
    joined,
    memory_arguments,
    memory_range,
    run_text,
    short_model,
)
from agent.answering.telling.verdicts import is_borderline, pool_words
from agent.request import Goal, Request, Slots
from agent.toolbox import ToolResult
from agent.toolbox.limits import LimitReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.timing import TimeReport
from tools.models import ENCODER_KINDS, LANGUAGE_KINDS, try_find_model
from tools.units import GB, bytes_from_gb

COMMON_CARDS = (
    "NVIDIA L20", "NVIDIA A100 SXM4 80GB", "NVIDIA H20 96GB",
    "NVIDIA H100 SXM5 80GB", "NVIDIA H200 SXM 141GB",
)  # fmt: skip
"""Cards of the clouds that large models are put on, smallest first."""
_NODE = 8
_IN_PLACE = {
    "largest_batch": "other_batch",
    "longest_context": "other_context",
    "most_concurrent": "other_concurrent",
}
_OTHERS = {**_IN_PLACE, "fewest_cards": "other_cards"}
_INTENTS = ("fit_check", "serving_plan", "multi_gpu_plan", "recommend_instance", "oom_diagnosis")
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True when the question looks for a number that can be searched for."""
    slots, goal = request.slots, request.goal
    if goal is None or request.intent not in _INTENTS or request.pasted:
        return False
    if not slots.has_model:
        return False
    if slots.gpu == "none" or str(slots.gpu).startswith("Apple") or len(slots.gpus or ()) > 1:
        return False
    if goal == "fewest_cards" and slots.request_rate_per_s is not None:
        return False  # a load, not memory, decides
    has_card = any((slots.gpu, slots.gpu_mem_gb, slots.instance))
    return has_card or goal in ("smallest_card", "fewest_cards")


def compose(request: Request, context: Context) -> Steps:
    """The verdict first, with the number."""
    draft, goal = Draft(request), request.goal
    assert goal is not None
    slots = request.slots
    if goal == "fewest_cards" and not any((slots.gpu, slots.gpu_mem_gb, slots.instance)):
        return (yield from compose_counts(draft))
    calls = [_call(draft, goal)]
    others = _others(draft, goal)
    calls += [_call(draft, goal, **changes) for _, changes in others]
    if goal == "fewest_cards":
        calls.append(Call("estimate_memory", memory_arguments(slots, gpu_count=1)))
    results = yield tuple(calls)
    draft.use(*results)
    found = results[0].report
    if not isinstance(found, LimitReport):
        draft.add(quoted_hint(draft, results[0]), importance=HEAD)
        return draft.finish("not_applicable")
    is_found = bool(found.cards) if goal == "smallest_card" else bool(found.value)
    if goal == "fewest_cards" and not is_found and fleet.needs_groups(draft):
        return (yield from fleet.compose_groups(draft))
    _tell(draft, found, is_found=is_found)
    if goal == "fewest_cards" and is_found:
        _say_sum(draft, found.memory)
    is_nearly_one = goal == "fewest_cards" and _tell_nearly(draft, found, results[-1])
    is_rescued = _tell_others(draft, goal, others, results[1:], is_found=is_found)
    _tell_hints(draft, goal, found)
    if is_found and found.memory.task == "infer" and asks_speed(draft.request):
        yield from _speed(draft, found.memory)
    say_parts(draft, found.memory)
    say_assumptions(draft, found.memory)
    say_reference(draft, found.memory)
    yield from _rent(draft, found)
    verdict: Verdict = "fits" if is_found else "does_not_fit"
    is_one = goal == "fewest_cards" and found.value == 1
    if is_rescued or (goal in ("fewest_cards", "smallest_card") and is_found and not is_one):
        verdict = "depends"
    if is_nearly_one:
        verdict = "tight"
    memory = memory_range(found.memory)
    slots_found = settled(Found(verdict, memory, found.memory))
    if goal == "fewest_cards" and is_found:
        slots_found["gpu_count"] = found.memory.gpu_count
    return draft.finish(verdict, memory=memory, slots=slots_found)


def _speed(
    draft: Draft, report: MemoryReport
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """The speed at what was found, where it is asked for beside the number."""
    from agent.answering.speed.times import say_serving_speed, time_arguments

    held = {a.name: a.value for a in report.assumptions}
    said = draft.request.slots.concurrency or draft.request.slots.batch
    concurrency = int(said or held.get("batch") or 1)
    results = yield (
        Call("estimate_time_and_cost", time_arguments(
            draft, task="infer", concurrency=concurrency, batch=None, gpu=report.gpu,
            gpu_count=report.gpu_count)),
    )  # fmt: skip
    draft.use(*results)
    if isinstance(results[0].report, TimeReport):
        say_serving_speed(draft, results[0].report, concurrency)


def _say_sum(draft: Draft, report: MemoryReport) -> None:
    """What all cards hold together, with the weights in it."""
    cards = report.gpu_count
    if cards < 2:
        return
    whole, weights = report.process_bytes * cards, report.weights_bytes * cards
    draft.figure("total_of_all_cards", whole, "B", formula="need per card * cards")
    draft.figure("weights_of_all_cards", weights, "B", formula="weights per card * cards")
    draft.say("inverse.sum", cards=cards, whole=gib(whole), gb=f"{whole / GB:,.0f} GB",
              weights=gib(weights))  # fmt: skip


def _tell_nearly(draft: Draft, found: LimitReport, result: ToolResult) -> bool:
    """Says where one card is short by less than an estimate can tell."""
    one = result.report
    if (found.value or 0) < 2 or not isinstance(one, MemoryReport):
        return False
    if not is_borderline(one) or one.headroom_bytes is None:
        return False
    draft.figure("short on one card", -one.headroom_bytes, "B", formula="need - usable")
    draft.say("inverse.nearly_one", need=gib(one.process_bytes), usable=gib(one.usable_bytes or 0),
              short=gib(-one.headroom_bytes), importance=HEAD)  # fmt: skip
    return True


def _call(draft: Draft, goal: Goal, **changes: Any) -> Call:
    slots = draft.request.slots
    is_split = slots.zero_stage is not None or slots.strategy is not None or slots.tp is not None
    method = str(changes.get("method") or slots.method or "")
    if goal in _IN_PLACE and slots.task == "train" and (slots.gpu_count or 1) > 1:
        if method.endswith("full") and not is_split:
            changes = {"zero_stage": 3, **changes}
    arguments = memory_arguments(slots, **changes)
    arguments.pop("with_changes")
    return Call("find_limit", {**arguments, "goal": goal})


def _others(draft: Draft, goal: Goal) -> list[tuple[str, dict[str, Any]]]:
    """Settings that were left open and would raise the number."""
    slots = draft.request.slots
    if goal == "smallest_card":
        return []
    match = try_find_model(slots.model) if slots.model else None
    kind = match.spec.kind if match is not None else "decoder-lm"
    is_language = kind in LANGUAGE_KINDS
    trials: list[tuple[str, dict[str, Any]]] = []
    if goal == "fewest_cards":
        return _lighter(slots) if is_language else []
    if slots.task == "train":
        if is_language:
            trials.append(("fused_ce", {"fused_ce": True}))
            if (slots.method or "").endswith("lora") and not (slots.method or "").endswith("qlora"):
                trials.append(("qlora", {"method": str(slots.method)[:-4] + "qlora"}))
        elif kind in ENCODER_KINDS:
            if slots.precision is None:
                trials.append(("amp", {"precision": "bf16"}))
            if slots.gradient_checkpointing is None:
                trials.append(("checkpointing", {"gradient_checkpointing": "full"}))
    elif is_language:
        if slots.quantization is None:
            trials.append(("int8", {"quantization": "int8", "precision": None}))
            trials.append(("int4", {"quantization": "int4", "precision": None}))
        if slots.kv_cache_dtype is None and slots.framework in (None, "vllm", "sglang"):
            trials.append(("kv_fp8", {"kv_cache_dtype": "fp8"}))
    return trials


def _lighter(slots: Slots) -> list[tuple[str, dict[str, Any]]]:
    """Methods and formats with which fewer cards may do."""
    if slots.task != "train":
        forms = ("int8", "int4") if slots.quantization in (None, "fp8") else ()
        return [(f, {"quantization": f, "precision": None}) for f in forms]
    goal, _, scale = (slots.method or "lora").rpartition("+")
    front = f"{goal}+" if goal else ""
    lighter = {"full": ("lora", "qlora"), "lora": ("qlora",)}.get(scale, ())
    return [(name, {"method": front + name}) for name in lighter]


def _tell(draft: Draft, found: LimitReport, *, is_found: bool) -> None:
    report = found.memory
    value = found.value if found.cap is None else found.cap
    if report.usable_bytes is not None:
        draft.figure("usable_memory", report.usable_bytes, "B",
                     sources=(f"data:gpus.csv#{report.gpu}",))  # fmt: skip
    name = report.gpu or ""
    is_class = name.endswith("class") and report.label_gb is not None
    card = f"{report.label_gb:g} GB" if is_class else name
    values = {
        "what": _what(draft, found),
        "card": card if found.goal == "fewest_cards" else card_name(draft, report),
        "need": gib(report.process_bytes),
        "range": gib_range(report.low_bytes, report.high_bytes),
        "usable": gib(report.usable_bytes or 0),
    }
    if not is_found:
        is_pool = report.usable_bytes is not None and report.process_bytes <= report.usable_bytes
        if is_pool and report.pool_bytes is not None:  # the card would do, the engine's share not
            needed = report.process_bytes / report.usable_bytes  # type: ignore[operator]
            draft.figure("utilization_needed", round(needed + 0.005, 2), "1",
                         formula="need / usable")  # fmt: skip
            draft.say("inverse.none_pool", importance=HEAD, pool=gib(report.pool_bytes),
                      share=f"{needed + 0.005:.2f}", flag=pool_words(draft)["flag"],
                      **values)  # fmt: skip
            return
        draft.say(f"inverse.none_{found.goal}", importance=HEAD, **values)
        return
    draft.say(f"inverse.{found.goal}", value=f"{value:,}" if value else "", importance=HEAD,
              **values)  # fmt: skip
    if found.cap is not None:
        draft.say("inverse.cap", value=f"{found.value:,}", cap=f"{found.cap:,}", importance=HEAD)
    if found.cautious == 0:
        draft.say("inverse.cautious_none")
    elif found.cautious is not None and found.cautious != value:
        key = "cautious_cards" if found.goal == "fewest_cards" else "cautious"
        draft.say(f"inverse.{key}", value=f"{found.cautious:,}", importance=HEAD)
    if len(found.cards) > 1:
        draft.say("inverse.smallest_more", cards=joined(draft, found.cards[1:]))


def _what(draft: Draft, found: LimitReport) -> str:
    """What is run, without the number that is the answer."""
    report, slots = found.memory, draft.request.slots
    held = {a.name: a.value for a in report.assumptions}
    if report.task == "train":
        base, length = run_text(draft, report), slots.seq_len or held.get("seq_len")
    else:
        written = report.weight_format or slots.quantization or slots.precision
        form = format_name(written) if written else written
        base = draft.phrase("memory.infer_what_short", model=short_model(report), format=form)
        length = slots.seq_len or held.get("context_len")
    if found.goal == "longest_context" or length is None:
        return base
    return draft.phrase("inverse.at_length", what=base, length=length)


def _tell_others(
    draft: Draft,
    goal: Goal,
    others: list[tuple[str, dict[str, Any]]],
    results: tuple[ToolResult, ...],
    *,
    is_found: bool,
) -> bool:
    """The number with one setting changed; True where only that makes it fit."""
    items, most = [], 0
    for (name, _), result in zip(others, results, strict=False):
        report = result.report
        if not isinstance(report, LimitReport):
            continue
        label = draft.phrase(f"inverse.{name}")
        value = report.cap or report.value
        key = _OTHERS[goal] if value else "other_none"
        most = max(most, value or 0)
        items.append(draft.phrase(f"inverse.{key}", name=label, value=f"{value or 0:,}"))
    title = draft.phrase("inverse.others")
    draft.bullets(items, title=title, importance=BODY if is_found else HEAD)
    return not is_found and most > 0


def _tell_hints(draft: Draft, goal: Goal, found: LimitReport) -> None:
    if goal == "largest_batch" and found.memory.task == "train":
        draft.say("inverse.accumulate", importance=DETAIL)
    if goal == "most_concurrent":
        draft.say("inverse.grow", importance=DETAIL)
    if found.memory.gpu_count > 1:
        key = "sharded" if found.memory.task == "train" else "tensor_parallel"
        whole = found.memory.weights_bytes * found.memory.gpu_count
        draft.figure("weights_in_all", whole, "B", formula="weights * cards")
        draft.say(f"memory.{key}", count=found.memory.gpu_count,
                  weights=gib(found.memory.weights_bytes), whole=gib(whole))  # fmt: skip
    if goal == "fewest_cards" and (found.value or 0) > _NODE:
        _say_machines(draft, found.value or 0)


def _machines(draft: Draft, count: int) -> str:
    """How many full machines a number of cards is, where it is more than one."""
    if count <= _NODE:
        return ""
    nodes = -(-count // _NODE)
    draft.figure(f"machines of {count}", nodes, "1", formula="cards / 8, rounded up")
    return draft.phrase("inverse.in_machines", nodes=nodes)


def _say_machines(draft: Draft, count: int) -> None:
    nodes = -(-count // _NODE)
    draft.figure("machines", nodes, "1", formula="cards / 8, rounded up")
    draft.say("inverse.machines", count=count, nodes=nodes)


def _rent(
    draft: Draft, found: LimitReport
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    report = found.memory
    if found.goal == "smallest_card":
        yield from say_fitting_cards(draft, report)
    elif report.gpu is not None and not report.gpu.endswith("class"):
        yield from cards_to_rent(draft, report.gpu, count=report.gpu_count)


def compose_counts(draft: Draft) -> Steps:
    """The fewest cards of each common kind, and where to rent them."""
    results = yield tuple(_call(draft, "fewest_cards", gpu=card) for card in COMMON_CARDS)
    draft.use(*results)
    reports = [r.report for r in results if isinstance(r.report, LimitReport)]
    if not reports:
        draft.add(quoted_hint(draft, results[0]), importance=HEAD)
        return draft.finish("not_applicable")
    first = yield from say_counts(draft, reports)
    say_assumptions(draft, first.memory)
    say_reference(draft, first.memory)
    return draft.finish("depends", memory=memory_range(first.memory))


LARGEST_CARD_BYTES = bytes_from_gb(141)
"""Memory of the largest card that is common in the clouds."""


def is_too_large(report: MemoryReport) -> bool:
    """True for a need that no single card meets, where no card was named."""
    return report.gpu is None and report.process_bytes > LARGEST_CARD_BYTES


def count_cards(
    draft: Draft, report: MemoryReport
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """The fewest cards of each common kind, for a run that was found too large for one."""
    changes: dict[str, Any] = {}
    if report.task == "train":
        changes["method"] = report.method
    results = yield tuple(
        _call(draft, "fewest_cards", gpu=card, **changes) for card in COMMON_CARDS
    )
    draft.use(*results)
    reports = [r.report for r in results if isinstance(r.report, LimitReport)]
    if reports:
        yield from say_counts(draft, reports)


def say_counts(
    draft: Draft, reports: list[LimitReport]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], LimitReport]:
    """Rows of cards and counts; instances for the largest count that is one machine."""
    fitting = [r for r in reports if r.value]
    what = _what(draft, reports[0])
    if not fitting:
        draft.say("inverse.cards_none", what=what, importance=HEAD)
        return reports[0]
    rows = [
        draft.phrase("inverse.cards_row", count=r.value, card=r.memory.gpu,
                     machines=_machines(draft, r.value or 1),
                     need=gib(r.memory.process_bytes), usable=gib(r.memory.usable_bytes or 0))
        for r in fitting
    ]  # fmt: skip
    for r in fitting:
        draft.figure(f"cards: {r.memory.gpu}", r.value or 0, "1", formula="fewest that fit")
        draft.figure(f"usable: {r.memory.gpu}", r.memory.usable_bytes or 0, "B",
                     sources=(f"data:gpus.csv#{r.memory.gpu}",))  # fmt: skip
    draft.bullets(rows, title=draft.phrase("inverse.cards_title", what=what), importance=HEAD)
    most = max(r.value or 0 for r in fitting)
    if most > _NODE:
        _say_machines(draft, most)
    for report in [r for r in fitting if (r.value or 0) <= _NODE][:3]:
        yield from cards_to_rent(
            draft, report.memory.gpu or "", count=report.value or 1, everywhere=True
        )
    return fitting[0]
