"""Electricity of a machine of one's own: power times hours times the price of a kilowatt-hour."""

from __future__ import annotations

from agent.answer import AssumptionOut
from agent.answering.money.spans import a_month, span_of
from agent.answering.plan import Context, Plan
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.numbers import money, usual_currency
from agent.request import Request
from tools.errors import AdvisorError
from tools.units import format_significant

_BESIDE_CARDS_W = 200
"""Watts that processor, memory, fans and losses of the power supply add to the cards of a box."""
_CENTS = 0.01
_LEFT_ALONE = ("out_of_scope", "invalid_input")


def applies(request: Request, context: Context) -> bool:
    """True where the price of electricity, or the bill for it, is spoken of beside a machine."""
    if request.intent in _LEFT_ALONE or not request.says("money.electricity"):
        return False
    return _watts(request) is not None


def _said(request: Request, name: str, factor: float = 1.0) -> float | None:
    values = request.amounts.get(name, ())
    return values[0] * factor if values else None


def _watts(request: Request) -> float | None:
    """Power of the box: as said, else that of its cards and what is beside them."""
    said = _said(request, "money.watts") or _said(request, "money.kilowatts", 1000)
    if said is not None:
        return said
    card = _card_watts(request)
    return None if card is None else card * (request.slots.gpu_count or 1) + _BESIDE_CARDS_W


def _card_watts(request: Request) -> float | None:
    from tools.gpus import find_gpu

    if not request.slots.has_card:
        return None
    try:
        return find_gpu(str(request.slots.gpu)).spec.tdp_w
    except AdvisorError:
        return None


def _price(request: Request) -> tuple[float, str] | None:
    """Price of a kilowatt-hour and its currency."""
    paid = request.slots.first_price
    cents = _said(request, "money.cents_per_kwh", _CENTS)
    amount = cents or _said(request, "money.per_kwh") or (paid.amount if paid else None)
    if amount is None:
        return None
    currency = paid.currency if paid and paid.currency else usual_currency(request.language)
    if request.says("money.in_euros"):
        return amount, "EUR"
    return amount, "USD" if cents else currency


def compose(request: Request, context: Context) -> Plan:
    """Kilowatt-hours, and what they cost; the assumed power where none was said."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    span, watts, price = span_of(request) or a_month(), _watts(request), _price(request)
    assert watts is not None
    energy = watts / 1000 * span.hours
    draft.figure("power", round(watts), "W", sources=("user:watts",))
    draft.figure("power_kw", round(watts / 1000, 3), "kW", formula="W / 1000")
    draft.figure("hours", span.hours, "h", sources=(span.source,))
    told = format_significant(energy, 3)
    draft.figure("energy", float(told), "kWh", formula="kW * hours")
    values = {"watts": f"{watts:,.0f}", "kw": f"{watts / 1000:.3g}", "kwh": told,
              "hours": f"{span.hours:,.4g}"}  # fmt: skip
    if price is None:
        draft.say("electricity.energy", importance=HEAD, **values)
    else:
        amount, currency = price
        draft.figure("price_of_kwh", amount, currency, sources=("user:price",))
        bill = draft.about_money("bill", energy * amount, currency, formula="kWh * price")
        draft.say("electricity.bill", importance=HEAD, bill=bill,
                  price=money(amount, currency, draft.language), **values)  # fmt: skip
    _say_power(draft)
    return draft.finish("not_applicable", intent="cost_estimate")
    yield ()


def _say_power(draft: Draft) -> None:
    """Where the power is from, and that a bill goes by what is drawn."""
    request, card = draft.request, _card_watts(draft.request)
    if request.amounts.get("money.watts") or request.amounts.get("money.kilowatts"):
        draft.say("electricity.drawn", importance=BODY)
        return
    if card is None:
        return
    draft.figure("power_of_card", card, "W", formula="the card's rated power")
    draft.figure("power_beside", _BESIDE_CARDS_W, "W", formula="assumed")
    why = "processor, memory, fans and losses of the power supply"
    draft.assume([AssumptionOut(name="power_beside", value=_BESIDE_CARDS_W, unit="W", why=why)])
    count = request.slots.gpu_count or 1
    draft.say("electricity.assumed", importance=BODY, card=f"{card:g}", count=count,
              beside=_BESIDE_CARDS_W, gpu=request.slots.gpu)  # fmt: skip
