"""Several cards of which some are in use: the run against the one that is free."""

from __future__ import annotations

from typing import NamedTuple

from agent.answering.failures.symptoms import pasted
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.found import Found, settled
from agent.answering.telling.numbers import gib
from agent.answering.telling.parts import say_parts, say_why
from agent.answering.telling.run_words import memory_arguments, memory_range, outcome, run_text
from agent.request import Request
from agent.toolbox.memory import MemoryReport
from tools.memory import likely
from tools.units import MIB

_IDLE_SHARE = 0.15
"""Share of a card in use up to which it counts as free: a desktop, a context."""
_BUSY_SHARE = 0.3
_METHOD = "lora"


class _State(NamedTuple):
    """One card as the paste shows it."""

    place: int
    used: int
    total: int

    @property
    def free(self) -> int:
        return max(self.total - self.used, 0)


def _states(request: Request) -> list[_State]:
    found = pasted(request, "nvidia_smi")
    if found is None or not found.fields.get("used_mib"):
        return []
    pairs = zip(found.fields["used_mib"], found.fields["total_mib"], strict=True)
    return [_State(index, used, total) for index, (used, total) in enumerate(pairs)]


def applies(request: Request, context: Context) -> bool:
    """True for a paste that shows a busy card and a free one, or is asked about by itself."""
    slots, states = request.slots, _states(request)
    has_model = slots.has_model
    if not has_model:
        return bool(states) and request.intent in ("probe_local", "oom_diagnosis")
    shares = [state.used / max(state.total, 1) for state in states]
    is_mixed = bool(shares) and min(shares) <= _IDLE_SHARE and max(shares) >= _BUSY_SHARE
    is_split = (slots.tp or slots.pp or slots.nodes or 1) > 1 or slots.strategy is not None
    wants_all = is_split or request.says("failures.all_cards")
    return has_model and is_mixed and not wants_all and slots.zero_stage is None


def compose(request: Request, context: Context) -> Plan:
    """The free card first, then the run on it, then what each card has left."""
    draft = Draft(request)
    slots, states = request.slots, _states(request)
    best = max(states, key=lambda state: state.free)
    _say_states(draft, states)
    if not slots.has_model:
        key = "free_alone" if best.used <= _IDLE_SHARE * best.total else "free_none"
        share = f"{best.used / best.total:.0%}"
        draft.lead(f"symptoms.{key}", index=best.place, free=best.free,
                   free_gib=gib(best.free * MIB), share=share)  # fmt: skip
        draft.figure("used_share", best.used / best.total, "1", formula="used / total")
        draft.say("symptoms.free_ask")
        return draft.finish("not_applicable")
    method = (slots.method or _METHOD) if slots.task == "train" else None
    results = yield (
        Call("estimate_memory", memory_arguments(slots, method=method, gpu_count=1)),
    )  # fmt: skip
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, MemoryReport):
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("not_applicable")
    usable = min(best.free * MIB, report.usable_bytes or best.free * MIB)
    verdict = likely(report.process_bytes, high_bytes=report.high_bytes, usable_bytes=usable)
    draft.figure("usable", usable, "B", formula="min(free, usable of the card)")
    told = report.model_copy(update={"verdict": verdict, "usable_bytes": usable})
    draft.lead("symptoms.free_card", index=best.place, free=best.free,
               free_gib=gib(best.free * MIB), what=run_text(draft, report),
               need=gib(report.process_bytes), outcome=outcome(draft, told))  # fmt: skip
    draft.say("symptoms.free_apart", index=best.place)
    say_why(draft, report)
    say_parts(draft, report)
    say_assumptions(draft, report)
    request_card = {"gpu_count": 1}
    answer = draft.finish(verdict, memory=memory_range(told),
                          slots=settled(Found(verdict, None, report)))  # fmt: skip
    return answer.model_copy(update={"request": {**answer.request, **request_card}})


def _say_states(draft: Draft, states: list[_State]) -> None:
    """What each card has in use and free."""
    for state in states:
        draft.figure("index", state.place, "1", sources=("user:nvidia-smi",))
        for name in ("used", "total", "free"):
            draft.figure(f"card {state.place}: {name}", getattr(state, name), "MiB",
                         sources=("user:nvidia-smi",))  # fmt: skip
    rows = [
        draft.phrase("symptoms.free_row", index=s.place, used=s.used, total=s.total, free=s.free)
        for s in states
    ]
    draft.bullets(rows[:8], importance=BODY)
