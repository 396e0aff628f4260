"""What is left on a card beside the job that was sized, or how its need comes about."""

from __future__ import annotations

from agent.answering.fitting.serving import serving
from agent.answering.fitting.training import training
from agent.answering.plan import Context, Plan
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.found import settled
from agent.answering.telling.numbers import gib, gib_range
from agent.answering.telling.parts import PARTS, say_parts
from agent.answering.telling.run_words import joined, run_text
from agent.request import Request
from agent.toolbox.memory import MemoryReport

_TOLD = ("weights", "gradients", "optimizer", "kv", "activations", "overhead")
_SMALL = 0.02
"""Share of the need below which a part is left out of the sum."""


def applies(request: Request, context: Context) -> bool:
    """True for a follow-up about a sized job that asks what is left, or only why."""
    slots = request.slots
    is_of_job = bool({"model", "params_b"} & set(request.inherited)) and slots.has_model
    is_sized = slots.has_card or slots.gpu_mem_gb is not None
    return is_of_job and is_sized and _kind(request) is not None


def _kind(request: Request) -> str | None:
    if request.says("fitting.asks_left"):
        return "left"
    return "why" if request.opening == "why" else None


def compose(request: Request, context: Context) -> Plan:
    """The room beside the need, and the parts that make the need up."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    side = Draft(request.model_copy(update={"corrections": (), "clarifying_question": None}))
    found = yield from training(side) if request.slots.task == "train" else serving(side)
    report = found.report
    if report is None or report.usable_bytes is None:
        return side.finish(found.verdict, memory=found.memory)
    draft.use_report(report)
    if _kind(request) == "left":
        _say_room(draft, report)
    draft.say("left_over.sum", parts=_sum(draft, report), need=gib(report.process_bytes),
              importance=HEAD)  # fmt: skip
    if _kind(request) == "why":
        _say_room(draft, report)
    if report.task == "infer" and report.pool_bytes is not None:
        draft.say("left_over.engine", importance=BODY)
    say_parts(draft, report)
    say_assumptions(draft, report)
    draft.say("left_over.measure", importance=BODY)
    return draft.finish(found.verdict, memory=found.memory, intent="fit_check",
                        slots=settled(found))  # fmt: skip


def _say_room(draft: Draft, report: MemoryReport) -> None:
    """What is left at the estimate, and between the ends of its interval."""
    usable = report.usable_bytes or 0
    rooms = [usable - size for size in (report.process_bytes, report.high_bytes, report.low_bytes)]
    for name, room in zip(("room", "room_least", "room_most"), rooms, strict=True):
        draft.figure(name, abs(room), "B", formula="usable - need")
    values = {"what": run_text(draft, report), "usable": gib(usable),
              "need": gib(report.process_bytes), "room": gib(abs(rooms[0])),
              "range": gib_range(report.low_bytes, report.high_bytes)}  # fmt: skip
    key = "room" if rooms[0] >= 0 else "none"
    draft.say(f"left_over.{key}", importance=HEAD, **values)
    if rooms[0] >= 0 and rooms[1] < 0:
        draft.say("left_over.may_be_none", importance=HEAD, short=gib(-rooms[1]))


def _sum(draft: Draft, report: MemoryReport) -> str:
    """The larger parts, the largest first."""
    sizes = {name: report.part(*PARTS[name]) for name in _TOLD}
    for name, size in sizes.items():
        draft.figure(f"part: {name}", size, "B", formula=" + ".join(PARTS[name]))
    large = sorted(((s, n) for n, s in sizes.items() if s > _SMALL * report.process_bytes),
                   reverse=True)  # fmt: skip
    return joined(draft, [f"{draft.phrase(f'memory.part_{name}')} {gib(s)}" for s, name in large])
