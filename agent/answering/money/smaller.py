"""The sum of the turn before for a type of the same family with fewer cards."""

from __future__ import annotations

from agent.answering.money import cost
from agent.answering.money.factors import factors_of, product, record
from agent.answering.money.spans import Span, a_month
from agent.answering.money.sums import INTENTS, is_of_another
from agent.answering.money.type_price import cheapest, look_up, priced_type
from agent.answering.plan import Context, Plan
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.machines import short_line
from agent.answering.telling.numbers import money
from agent.request import Request
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut

_INTENTS = (*INTENTS, "concept")
"""Kinds that "the single card one?" may be taken for."""
_KEPT = ("hours", "provider", "region", "instance_count", "runs", "discount")


def applies(request: Request, context: Context) -> bool:
    """True where the instance and hours of the sum before are meant with fewer cards."""
    slots = request.slots
    is_sum = request.intent in _INTENTS and slots.budget is None and slots.step_s is None
    if not is_sum or not context.earlier or not request.says("money.smaller"):
        return False
    last = context.earlier[-1]
    is_named = slots.instance not in (None, last.slots.instance)
    was_sum = last.intent == "cost_estimate" and last.slots.instance is not None
    return was_sum and not is_named and not slots.has_model and not is_of_another(request)


def compose(request: Request, context: Context) -> Plan:
    """The smaller type's total, beside that of the one before."""
    before = context.earlier[-1]
    cleared = request.model_copy(update={"clarifying_question": None})
    draft = Draft(_on_terms_of(cleared, before))
    slots = draft.request.slots
    row = yield from priced_type(draft, before.slots.instance)
    if row is None:
        return (yield from cost.machine(draft))
    (found,) = yield (look_up(draft, row.family),)
    draft.use(found)
    wanted = slots.gpu_count if (slots.gpu_count or 0) < (row.gpu_count or 0) else 1
    smaller = _with_cards(found.report, row, wanted or 1)
    if smaller is None or smaller.price is None:
        draft.say("cost.none_dated", name=row.family, importance=HEAD)
        return draft.finish("not_applicable", intent="cost_estimate")
    span = a_month() if slots.hours is None else Span(slots.hours, "hours")
    factors = factors_of(draft, span, of_machine=True)
    total = record(draft, factors, float(smaller.price.amount), smaller.price.currency)
    draft.offer([smaller.as_offer()])
    draft.say("sums.sibling", hours=f"{span.hours:g}", cards=smaller.gpu_count,
              cost=money(total, smaller.price.currency, draft.language),
              line=short_line(draft, smaller), importance=HEAD)  # fmt: skip
    if row.price is not None:
        was = float(row.price.amount) * product(factors)
        draft.figure("cost_before", round(was, 4), row.price.currency, formula="price * hours")
        draft.say("sums.sibling_before", instance=row.instance_type, cards=row.gpu_count,
                  cost=money(was, row.price.currency, draft.language))  # fmt: skip
    draft.say("cost.excludes", importance=DETAIL)
    return draft.finish("not_applicable", intent="cost_estimate",
                        slots={"instance": smaller.instance_type})  # fmt: skip


def _on_terms_of(request: Request, before: Request) -> Request:
    """The request with the hours, cloud and count of the turn before where it says none."""
    filled = {
        slot: getattr(before.slots, slot) for slot in _KEPT if getattr(request.slots, slot) is None
    }
    return request.model_copy(update={"slots": request.slots.model_copy(update=filled)})


def _with_cards(report: object, row: InstanceOut, cards: int) -> InstanceOut | None:
    """The cheapest type of a family with so many whole cards."""
    rows = report.instances if isinstance(report, InstancesReport) else ()
    return cheapest(
        r for r in rows
        if r.gpu_count == cards and r.category == "gpu" and r.instance_type != row.instance_type
        and r.gpu == row.gpu
    )  # fmt: skip
