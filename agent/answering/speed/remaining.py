"""Time that is left from a measured step, and the rate that a deadline asks for."""

from __future__ import annotations

import math
from collections.abc import Generator

from agent.answer import Answer
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.numbers import count, duration, hourly, money, usual_currency, whole
from agent.request import Request
from agent.toolbox import ToolResult
from tools.units import format_significant

Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True for a run whose pace and steps are known, and for items that are due by a time."""
    slots = request.slots
    if slots.steps is not None and _pace(request) is not None:
        is_whole = slots.steps_done is None and slots.step_s is None
        return is_whole or (slots.steps_done is not None and slots.steps_done < slots.steps)
    return _is_due(request)


def _pace(request: Request) -> float | None:
    """Seconds of one step, as measured."""
    slots = request.slots
    if slots.step_s is not None:
        return slots.step_s
    return 1 / slots.steps_per_s if slots.steps_per_s else None


def _is_due(request: Request) -> bool:
    """Items to run through a model by a time that was said."""
    slots = request.slots
    is_inference = slots.task != "train" and slots.method is None and slots.epochs is None
    is_open = slots.hours and is_inference and slots.price is None and slots.budget is None
    is_by_then = request.says("speed.deadline", "speed.due") and request.says("speed.how_fast")
    return bool(is_open and is_by_then and (slots.samples or slots.rows))


def compose(request: Request, context: Context) -> Plan:
    """Steps left times the pace; or items over time, and the cards for it."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    if request.slots.steps is not None and _pace(request) is not None:
        return _left(draft)
        yield  # one shape for every composer
    return (yield from _due(draft))


def _left(draft: Draft) -> Answer:
    slots = draft.request.slots
    pace = _pace(draft.request)
    assert pace is not None
    assert slots.steps is not None
    done = slots.steps_done or 0
    left = slots.steps - done
    hours, spent, whole = (n * pace / 3600 for n in (left, done, slots.steps))
    share = done / slots.steps
    draft.figure("steps", slots.steps, "1", sources=("user:steps",))
    draft.figure("steps_done", done, "1", sources=("user:steps_done",))
    draft.figure("steps_left", left, "1", formula="steps - steps_done")
    draft.figure("step", round(pace, 6), "s", sources=("user:step_s",))
    draft.figure("share_done", round(share, 4), "1", formula="steps_done / steps")
    for name, value in (("hours_left", hours), ("hours_spent", spent), ("hours_in_all", whole)):
        draft.figure(name, round(value, 4), "h", formula="steps * step / 3600")
    if done:
        draft.say("remaining.head", left=_exact(hours, draft), steps=f"{left:,}",
                  total=f"{slots.steps:,}", done=f"{done:,}", share=f"{share * 100:.0f}%",
                  step=f"{pace:.3g}", importance=HEAD)  # fmt: skip
        draft.say("remaining.spent", spent=duration(spent, draft.language),
                  whole=_exact(whole, draft))  # fmt: skip
    else:
        draft.figure("seconds_in_all", round(whole * 3600), "s", formula="steps * step")
        draft.say("remaining.whole", whole=_exact(whole, draft), steps=f"{slots.steps:,}",
                  step=f"{pace:.3g}", seconds=f"{whole * 3600:,.0f}",
                  importance=HEAD)  # fmt: skip
    price = slots.price[0] if isinstance(slots.price, tuple) and slots.price else slots.price
    if price and not isinstance(price, tuple) and price.per == "hour":
        currency = price.currency or usual_currency(draft.language)
        draft.figure("price", price.amount, f"{currency}/h", sources=("user:price",))
        draft.figure("cost_left", round(price.amount * hours, 4), currency, formula="price * hours")
        draft.say("remaining.cost", cost=money(price.amount * hours, currency, draft.language),
                  price=hourly(price.amount, currency, draft.language),
                  importance=HEAD)  # fmt: skip
    draft.say("remaining.trust", importance=DETAIL)
    return draft.finish("not_applicable", intent="time_estimate")


def _exact(hours: float, draft: Draft) -> str:
    """A sum of measured numbers: three digits, not the two of an estimate."""
    if not 1 <= hours < 48:
        return duration(hours, draft.language)
    return f"{format_significant(hours, 3)} {'小时' if draft.language == 'zh' else 'hours'}"


# ---- a deadline


def _due(draft: Draft) -> Steps:
    slots = draft.request.slots
    said = slots.samples or slots.rows or 0
    amount, hours = float(said), slots.hours or 1.0
    rate = amount / (hours * 3600)
    is_image = draft.request.says("speed.images")
    unit = draft.phrase("remaining.unit_image" if is_image else "remaining.unit_row")
    draft.figure("items", amount, "1", sources=("user:samples",))
    draft.figure("seconds", hours * 3600, "s", formula="hours * 3600")
    draft.figure("hours", hours, "h", sources=("user:hours",))
    draft.figure("rate_needed", round(rate, 4), "1/s", formula="items / seconds")
    draft.say("remaining.rate", rate=format_significant(rate, 3), unit=unit,
              amount=count(amount, draft.language), hours=duration(hours, draft.language),
              seconds=f"{hours * 3600:,.0f}", importance=HEAD)  # fmt: skip
    each = slots.gpu_img_s or slots.request_rate_per_s
    if each is not None:
        cards = math.ceil(rate / each)
        draft.figure("rate_of_a_card", each, "1/s", sources=("user:gpu_img_s",))
        draft.figure("cards", cards, "1", formula="rate_needed / rate_of_a_card, rounded up")
        draft.say("remaining.rate_given", each=f"{each:g}", unit=unit, cards=cards,
                  importance=HEAD)  # fmt: skip
    else:
        is_told = yield from _cards(draft, rate)
        if not is_told:
            draft.say("remaining.rate_open", importance=HEAD)
    draft.say("remaining.rate_mind", importance=DETAIL)
    return draft.finish("depends", intent="time_estimate")


def _cards(draft: Draft, rate: float) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], bool]:
    """Cards for a rate from the card's own speed; False where that cannot be computed."""
    from agent.toolbox.items import ItemReport

    slots = draft.request.slots
    if slots.model is None or not slots.has_card:
        return False
    arguments = {"model": slots.model, "gpu": slots.gpu, "params_b": slots.params_b,
                 "precision": slots.precision, "image_px": slots.img_size,
                 "item": "image" if draft.request.says("speed.images") else None,
                 }  # fmt: skip
    results = yield (Call("item_speed", {k: v for k, v in arguments.items() if v is not None}),)
    report = results[0].report
    if not isinstance(report, ItemReport):
        return False
    draft.use(*results)
    each = report.per_s
    cards = math.ceil(rate / each.value)
    few, many = math.ceil(rate / each.high), math.ceil(rate / each.low)
    for name, value in (("cards", cards), ("cards_low", few), ("cards_high", many)):
        draft.figure(name, value, "1", formula="rate_needed / images per s, rounded up")
    draft.assume(report.assumptions)
    draft.say("remaining.rate_estimated", gpu=slots.gpu, each=whole(each.value),
              low=whole(each.low), high=whole(each.high),
              cards=cards, few=few, many=many, importance=HEAD)  # fmt: skip
    return True
