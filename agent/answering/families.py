"""A family named without a size: counted for a usual member, with the other sizes beside it."""

from __future__ import annotations

from collections.abc import Callable

from agent.answer import Answer, AssumptionOut
from agent.answering.draft import BODY, HEAD, Draft
from agent.answering.numbers import gib
from agent.answering.plan import Call, Plan
from agent.answering.run_words import joined, memory_arguments, outcome
from agent.request import Request
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
    reports: list[MemoryReport] = []
    if request.intent in _BY_SIZE:
        results = yield tuple(_call(request, name) for name in names[:_MOST])
        draft.use(*results)
        reports = [r.report for r in results if isinstance(r.report, MemoryReport)]
    is_open = len({report.verdict for report in reports}) > 1
    answer: Answer = yield from rest(_counted(request, usual, asks=is_open))
    _tell(draft, usual, names, reports, leads=is_open)
    return _joined(request, answer, draft.finish(answer.verdict), leads=is_open)


def _usual(names: tuple[str, ...]) -> str:
    from tools.models import usual_member

    return usual_member(names)


def _call(request: Request, name: str) -> Call:
    return Call("estimate_memory", memory_arguments(request.slots, model=name))


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
    reports: list[MemoryReport],
    *,
    leads: bool,
) -> None:
    why = "no size of the family was said; a common one"
    draft.assume([AssumptionOut(name="model", value=usual, unit="1", why=why)])
    told = {report.model: report for report in reports}
    lines = [
        draft.phrase("families.size", name=name.rpartition("/")[2],
                     need=gib(told[name].process_bytes), outcome=_outcome(draft, told[name]))
        for name in names
        if name in told
    ]  # fmt: skip
    if leads:
        draft.bullets(lines, title=draft.phrase("families.by_size"), importance=HEAD)
    others = joined(draft, (name.rpartition("/")[2] for name in names if name != usual))
    draft.say("families.usual", model=usual.rpartition("/")[2], others=others, importance=BODY)


def _outcome(draft: Draft, report: MemoryReport) -> str:
    if report.verdict is None:
        return ""
    return draft.phrase("families.outcome", outcome=outcome(draft, report))


def _joined(request: Request, answer: Answer, about: Answer, *, leads: bool) -> Answer:
    """Both texts: sizes come first where they decide, else behind the first paragraph."""
    first, _, rest = answer.text.partition("\n\n")
    lines = [about.text, answer.text] if leads else [first, about.text, rest]
    given = {"model": request.slots.model, "params_b": request.slots.params_b}
    return answer.model_copy(update={
        "text": "\n\n".join(line for line in lines if line),
        "verdict": "depends" if leads else answer.verdict,
        "request": {**answer.request, **given},
        "assumptions": (*about.assumptions, *answer.assumptions),
        "figures": (*about.figures, *answer.figures),
        "tool_calls": (*about.tool_calls, *answer.tool_calls),
    })  # fmt: skip
