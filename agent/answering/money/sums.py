"""Money as a product: a price that was said, or that of a type, times hours, machines and runs."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from agent.answer import Answer
from agent.answering.money import cost
from agent.answering.money.factors import Factor, factors_of, product, say_sum
from agent.answering.money.recurring import say_recurring
from agent.answering.money.spans import Span, a_month, span_of
from agent.answering.money.type_price import at_one_place, priced_type, undated_price
from agent.answering.money.versus import say_versus
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.machines import short_line
from agent.answering.telling.numbers import hourly, money, usual_currency
from agent.request import Money, Request
from agent.toolbox import ToolResult
from agent.toolbox.offers import InstanceOut, PriceOut

INTENTS = ("cost_estimate", "spot_checkpoint", "catalog_lookup", "time_estimate",
           "recommend_instance")  # fmt: skip
"""Kinds of questions that a sum may be asked as."""
_REMEMBERED = 3
"""Turns back to which "it" reaches."""
_OF_ANOTHER = ("model", "params_b", "gpu", "samples", "tokens")
"""Slots that a question which leans on an earlier machine does not give itself."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True for a sum whose factors are all given or stand in the catalog."""
    slots, span = request.slots, span_of(request)
    is_asked = request.intent in INTENTS or _is_of_cards_alone(request)
    if not is_asked or slots.budget is not None or slots.step_s is not None:
        return False
    if slots.samples is not None or slots.tokens is not None or span is None:
        return False
    if _hourly_price(request, span) is not None:
        return True
    if len(slots.instances or ()) > 1 or machine_meant(request, context) is None:
        return False
    is_versus = request.says("money.versus")
    if slots.billing == "spot" and not is_versus:
        return False
    is_lookup = request.intent == "catalog_lookup" and span.key == "hours"
    is_money = request.intent == "cost_estimate" or is_versus or slots.runs is not None
    return is_money or is_lookup


def _is_of_cards_alone(request: Request) -> bool:
    """Whether cards, hours and a price are told, and nothing that runs on them."""
    slots = request.slots
    is_plan = request.intent == "multi_gpu_plan" and slots.first_price is not None
    return is_plan and not slots.has_model and slots.method is None


def compose(request: Request, context: Context) -> Plan:
    """The product, each factor told."""
    update = {"clarifying_question": None, "marks": _marks_with_price(request, context)}
    draft = Draft(request.model_copy(update=update))
    request, span = draft.request, span_of(request) or a_month()
    price = _hourly_price(request, span)
    if price is None:
        return (yield from _of_type(draft, machine_meant(request, context), span))
    cards = yield from _cards_rented(draft)
    return _of_price(draft, price, span, cards)


def _marks_with_price(request: Request, context: Context) -> tuple[str, ...]:
    """What is said, and that a price taken over from an earlier turn is one card's."""
    if "price" not in request.inherited:
        return request.marks
    said = next((r for r in reversed(context.earlier) if "price" in r.spans
                 and "price" not in r.inherited), None)  # fmt: skip
    each = said is not None and said.says("money.per_card")
    return (*request.marks, "money.per_card") if each else request.marks


def _hourly_price(request: Request, span: Span) -> Money | None:
    """The price an hour that was said; beside a month's rent it is one of two that are compared."""
    price = request.slots.first_price
    is_one = span.key == "hours" or not isinstance(request.slots.price, tuple)
    return price if price is not None and price.per == "hour" and is_one else None


def machine_meant(request: Request, context: Context) -> str | None:
    """The type that is named, or that was spoken of when a month of "it" is asked for."""
    if request.slots.instance is not None:
        return request.slots.instance
    span = span_of(request)
    if span is None or span.key == "hours" or is_of_another(request):
        return None
    recent = reversed(context.earlier[-_REMEMBERED:])
    return next((r.slots.instance for r in recent if r.slots.instance is not None), None)


def is_of_another(request: Request) -> bool:
    """Whether a question brings a job or a card of its own."""
    taken_over = (*request.inherited, *request.inferred)
    return any(
        getattr(request.slots, slot) is not None and slot not in taken_over for slot in _OF_ANOTHER
    )


def _cards_rented(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], int]:
    """Cards of the machine whose price was said, where the hours are those of its cards; else 1."""
    request, slots = draft.request, draft.request.slots
    if not slots.card_hours or request.says("money.per_card"):
        return 1
    if slots.instance is None:
        return slots.gpu_count or 1
    row = yield from priced_type(draft, slots.instance)
    return (row.gpu_count if row is not None else None) or slots.gpu_count or 1


def _of_price(draft: Draft, price: Money, span: Span, cards: int) -> Answer:
    """A price that was said; of hours of cards, the machine's own are told first."""
    currency = price.currency or usual_currency(draft.language)
    if cards > 1:
        hours = span.hours / cards
        draft.figure("card_hours", span.hours, "h", sources=("user:hours",))
        draft.figure("cards", cards, "1", formula="cards of the machine")
        draft.figure("machine_hours", hours, "h", formula="card_hours / cards")
        draft.say("sums.card_hours", hours=f"{span.hours:g}", cards=cards, each=f"{hours:g}")
        span = Span(hours, "hours")
    draft.figure("price", price.amount, f"{currency}/h", sources=("user:price",))
    factors = factors_of(draft, span)
    say_sum(draft, factors, price.amount, currency)
    if cards == 1:
        _say_of_each(draft, factors, price.amount, currency)
    if draft.request.slots.billing == "spot":
        draft.say("sums.versus_mind")
    draft.say("cost.excludes", importance=DETAIL)
    return draft.finish("not_applicable", intent="cost_estimate")


def _say_of_each(draft: Draft, factors: Sequence[Factor], price: float, currency: str) -> None:
    """What it comes to where the price is one card's, which was not said of several cards."""
    slots = draft.request.slots
    counted = {factor.key for factor in factors}
    if not slots.gpu_count or slots.gpu_count < 2 or counted & {"cards", "machines"}:
        return
    if slots.instance is not None or slots.card_hours:
        return
    cost = price * product(factors) * slots.gpu_count
    draft.figure("cards", slots.gpu_count, "1", sources=("user:gpu_count",))
    draft.figure("cost_of_all", round(cost, 4), currency, formula="cost * cards")
    draft.say("sums.if_each", cards=slots.gpu_count, cost=money(cost, currency, draft.language))


def _of_type(draft: Draft, name: str | None, span: Span) -> Steps:
    """A type's price in the catalog, on demand and, where asked, beside spot."""
    row = yield from priced_type(draft, name)
    if row is None:
        return (yield from cost.machine(draft))
    draft.offer([row.as_offer()])
    factors = factors_of(draft, span, of_machine=True)
    if row.price is None:
        _say_without_date(draft, row, span, factors)
    else:
        if draft.request.slots.billing == "subscription":
            cost.say_subscription(draft, row)
        row = yield from _say_priced(draft, row, row.price, factors)
    say_recurring(draft)
    draft.add(short_line(draft, row))
    if row.price is not None or undated_price(row) is not None:
        draft.say("cost.excludes", importance=DETAIL)
    return draft.finish("not_applicable", intent="cost_estimate")


def _say_priced(
    draft: Draft, row: InstanceOut, price: PriceOut, factors: Sequence[Factor]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], InstanceOut]:
    """The total, or both totals where spot is set against on demand; gives the type as priced."""
    if draft.request.says("money.versus"):
        row = yield from at_one_place(draft, row)
        price = row.price or price
        if row.spot is not None and row.spot.currency == price.currency:
            say_versus(draft, price, row.spot, factors)
            return row
    say_sum(draft, factors, float(price.amount), price.currency)
    _say_each_card(draft, row, price)
    return row


def _say_without_date(
    draft: Draft, row: InstanceOut, span: Span, factors: Sequence[Factor]
) -> None:
    """A total by an undated price, marked as such; else how to make one."""
    undated = undated_price(row)
    if undated is not None:
        say_sum(draft, factors, float(undated.amount), undated.currency)
        _say_each_card(draft, row, undated)
        draft.say("sums.undated")
        return
    times = "".join(draft.phrase("sums.times", value=f.told) for f in factors[1:])
    draft.figure("hours", span.hours, "h", sources=(span.source,))
    draft.say("sums.no_price", name=row.instance_type, hours=f"{span.hours:g}", times=times,
              importance=HEAD)  # fmt: skip


def _say_each_card(draft: Draft, row: InstanceOut, price: PriceOut) -> None:
    """The price of one card's hour, where a machine has several."""
    cards = row.gpu_count or 0
    if cards < 2 or price.per != "hour":
        return
    each = float(price.amount) / cards
    draft.figure("cards_of_a_machine", cards, "1", sources=(row.source,))
    draft.figure("price_of_a_card", round(each, 4), f"{price.currency}/h", formula="price / cards")
    draft.say("sums.each_card", cards=cards,
              each=hourly(each, price.currency, draft.language))  # fmt: skip
