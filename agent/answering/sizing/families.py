"""A family named without a size: counted for a usual member, with the other sizes beside it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from agent.answer import Answer, AssumptionOut
from agent.answering.fitting.training import is_language_model, scheme_is_open
from agent.answering.plan import Call, Plan
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.joining import in_front
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import joined, memory_arguments, outcome
from agent.request import Request, Slots
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from tools.errors import UserInputError

_BY_SIZE = ("fit_check", "serving_plan", "multi_gpu_plan", "oom_diagnosis")
"""Questions whose answer turns on the size: every member is counted."""
_COUNTED = (
    *_BY_SIZE, "recommend_instance", "cost_estimate", "time_estimate", "gpu_compare",
    "ecs_vs_gpu", "network_distributed", "spot_checkpoint", "io_bottleneck",
)  # fmt: skip
_MOST = 6
Rest = Callable[[Request], Plan]


class _Size(NamedTuple):
    """A member counted."""

    report: MemoryReport
    is_sharded: bool = False
    """Counted with its states shared out, because a whole replica is too much for a card."""


def applies(request: Request) -> bool:
    """True for a job on a family of which no member is named."""
    is_open = "model" in request.ambiguities and request.slots.params_b is None
    return is_open and request.intent in _COUNTED and bool(members(request))


def members(request: Request) -> tuple[str, ...]:
    """Registry names that the family's name may mean."""
    from tools.models import find_family

    family = find_family(request.slots.model or "")
    return family.candidates if family is not None else ()


def told(request: Request, rest: Rest) -> Plan:
    """The answer for the usual member, led by what the other sizes change.

    Args:
        request: Of a family.
        rest: Composes the answer to a request that names a model.
    """
    names = members(request)
    usual = _usual(names)
    draft = Draft(request.model_copy(update={"corrections": (), "clarifying_question": None}))
    sizes: list[_Size] = []
    if request.intent in _BY_SIZE:
        sizes = yield from _counted_all(draft, names[:_MOST])
    is_open = len({size.report.verdict for size in sizes}) > 1
    answer: Answer = yield from rest(_counted(request, usual, asks=is_open))
    _tell(draft, usual, names, sizes, leads=is_open)
    return _joined(request, answer, draft.finish(answer.verdict), leads=is_open)


def _usual(names: tuple[str, ...]) -> str:
    from tools.models import usual_member

    return usual_member(names)


def _counted_all(
    draft: Draft, names: tuple[str, ...]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], list[_Size]]:
    """Every member as the answer for one counts it: sharded where a whole replica is too much."""
    slots = draft.request.slots
    results = yield tuple(_call(slots, name) for name in names)
    draft.use(*results)
    reports = [r.report for r in results if isinstance(r.report, MemoryReport)]
    if slots.task != "train" or not scheme_is_open(slots):
        return [_Size(report) for report in reports]
    short = [r for r in reports if r.verdict == "does_not_fit" and r.gpu_count > 1]
    results = yield tuple(_call(slots, report.model, zero_stage=3) for report in short)
    draft.use(*results)
    shards = [r.report for r in results if isinstance(r.report, MemoryReport)]
    by_model = {shard.model: _Size(shard, is_sharded=True) for shard in shards}
    return [by_model.get(report.model, _Size(report)) for report in reports]


def _call(slots: Slots, name: str, **changes: Any) -> Call:
    method = slots.method
    if slots.task == "train" and method is None:  # as the answer for one of them counts it
        method = "lora" if is_language_model(name) else "full"
    return Call("estimate_memory", memory_arguments(slots, model=name, method=method, **changes))


def _counted(request: Request, usual: str, *, asks: bool) -> Request:
    """The request about one member; the question which is meant stays where it decides."""
    return request.model_copy(update={
        "slots": request.slots.model_copy(update={"model": usual, "params_b": _billions(usual)}),
        "ambiguities": tuple(word for word in request.ambiguities if word != "model"),
        "clarifying_question": request.clarifying_question if asks else None,
    })  # fmt: skip


def _billions(name: str) -> float | None:
    from tools.models import find_model

    try:
        return round(find_model(name).spec.params_total / 1e9, 4)
    except UserInputError:
        return None


def _tell(
    draft: Draft,
    usual: str,
    names: tuple[str, ...],
    sizes: list[_Size],
    *,
    leads: bool,
) -> None:
    why = "no size of the family was said; a common one"
    draft.assume([AssumptionOut(name="model", value=usual, unit="1", why=why)])
    told = {size.report.model: size for size in sizes}
    lines = [_size_line(draft, told[name]) for name in names if name in told]
    if leads:
        draft.bullets(lines, title=draft.phrase("families.by_size"), importance=HEAD)
    others = joined(draft, (name.rpartition("/")[2] for name in names if name != usual))
    draft.say("families.usual", model=usual.rpartition("/")[2], others=others, importance=BODY)


def _size_line(draft: Draft, size: _Size) -> str:
    """One size: its need, on each card where they share it, and whether it fits."""
    report = size.report
    key = "size_sharded" if size.is_sharded else "size_each" if report.gpu_count > 1 else "size"
    return draft.phrase(f"families.{key}", name=report.model.rpartition("/")[2],
                        need=gib(report.process_bytes), count=report.gpu_count,
                        outcome=_outcome(draft, report))  # fmt: skip


def _outcome(draft: Draft, report: MemoryReport) -> str:
    if report.verdict is None:
        return ""
    return draft.phrase("families.outcome", outcome=outcome(draft, report))


def _joined(request: Request, answer: Answer, about: Answer, *, leads: bool) -> Answer:
    """Both texts: sizes come first where they decide, else behind the first paragraph."""
    given = {"model": request.slots.model, "params_b": request.slots.params_b}
    return in_front(
        about, answer, behind_first=not leads,
        verdict="depends" if leads else answer.verdict, request={**answer.request, **given},
    )  # fmt: skip
