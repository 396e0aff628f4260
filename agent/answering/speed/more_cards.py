"""Whether more cards of a kind make a training faster in proportion."""

from __future__ import annotations

from agent.answer import AssumptionOut
from agent.answering.plan import Call, Context, Plan
from agent.answering.speed.times import time_arguments
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.numbers import rate
from agent.request import Request
from agent.toolbox.timing import TimeReport

_EXAMPLE_B = 7.0
"""Size that stands in where no model is named."""
_TOKENS = 10_000_000
"""Work that both counts are timed at; their ratio does not depend on it."""
_MACHINE = 8
_INTENTS = ("concept", "multi_gpu_plan", "time_estimate", "gpu_compare", "fit_check",
            "network_distributed")  # fmt: skip


def applies(request: Request, context: Context) -> bool:
    """True for a card of which more are to shorten a training in proportion."""
    slots = request.slots
    if request.intent not in _INTENTS or not slots.has_card or slots.task == "infer":
        return False
    if slots.bandwidth_gbps is not None:
        return False
    is_more = request.says("speed.doubled") or "speed.cards_before" in request.amounts
    return is_more and request.says("speed.halves_time") and (slots.nodes or 1) == 1


def _counts(request: Request) -> tuple[int, int]:
    """Cards before and after; of one count alone, it and twice as many."""
    count = request.slots.gpu_count or 1
    before = int(request.amounts.get("speed.cards_before", (0,))[0])
    after = int(request.amounts.get("speed.cards_after", (count,))[0])
    return (before, after) if 0 < before < after else (count, 2 * count)


def compose(request: Request, context: Context) -> Plan:
    """The ratio of both speeds beside that of the cards, and what it hangs on."""
    draft = Draft(request)
    slots, (before, after) = request.slots, _counts(request)
    changes = {"task": "train", "method": slots.method or "lora", "tokens": _TOKENS, "epochs": 1,
               "params_b": slots.params_b or _EXAMPLE_B, "batch": None}  # fmt: skip
    results = yield tuple(
        Call("estimate_time_and_cost", time_arguments(draft, gpu_count=n, **changes))
        for n in (before, after)
    )
    draft.use(*results)
    first, second = (r.report for r in results)
    times = after / before
    draft.figure("cards before", before, "1", sources=("user:gpu_count",))
    draft.figure("cards after", after, "1", sources=("user:gpu_count",))
    draft.figure("ratio of cards", round(times, 2), "1", formula="after / before")
    if isinstance(first, TimeReport) and isinstance(second, TimeReport):
        if first.tokens_per_s is not None and second.tokens_per_s is not None:
            gain = min(second.tokens_per_s.value / first.tokens_per_s.value, times)
            draft.figure("ratio of speeds", round(gain, 2), "1", formula="after / before")
            draft.say("more_cards.head", before=before, after=after, gpu=slots.gpu,
                      gain=f"{gain:.2f}", times=f"{times:.3g}", importance=HEAD)  # fmt: skip
            draft.say("more_cards.rates", slow=rate(first.tokens_per_s.value), before=before,
                      fast=rate(second.tokens_per_s.value), after=after,
                      model=f"{changes['params_b']:g}B")  # fmt: skip
    if not slots.has_model:
        why = "no model was named; an example"
        draft.assume([AssumptionOut(name="params_b", value=_EXAMPLE_B, unit="1e9", why=why)])
    draft.say("more_cards.mind", importance=HEAD)
    if after > _MACHINE:
        draft.figure("cards of a machine", _MACHINE, "1", formula="the usual most")
        draft.say("more_cards.machines", most=_MACHINE, importance=HEAD)
    draft.say("more_cards.money", times=f"{times:.3g}", importance=BODY)
    return draft.finish("depends")
