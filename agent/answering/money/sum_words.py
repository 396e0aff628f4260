"""What a question says about a sum of money: hours, a price, a discount, spot beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.request import Money, Request

HOURS_OF_MONTH = 730.0
"""8,760 hours of a year over twelve months."""
HOURS_OF_WEEK = 168.0
_HOURS_OF_WORKING_MONTH = 30
"""Days that "every day for a month" is read as."""
_CARD_HOURS = re.compile(
    r"\d\s?个?(?:gpu|card)[- ]?(?:hours?|hrs?|h(?![a-z]))|\d\s?个?(?:卡时|(?:gpu|卡)\s?小时)"
    r"|\d(?:\s?[个张]\s?|\s)(?:rtx\s)?[a-z]{0,5}\d{2,4}[a-z]{0,3}\s?"
    r"(?:(?:gpu|card)[- ]?h(?:ou)?rs?|hours?|卡时|卡?小时)(?![a-z])",
    re.IGNORECASE,
)
_SPOT = r"(?:spot|抢占式?|竞价|preempt\w*|低优先级)"
_DEMAND = r"(?:on[- ]?demand|pay[- ]as[- ]you[- ]go|payg|按量|按需|正价|regular price)"
_VERSUS = re.compile(
    rf"{_DEMAND}.{{0,24}}{_SPOT}|{_SPOT}.{{0,24}}{_DEMAND}"
    rf"|(?:省|便宜|差)(?:下|了)?多少.{{0,20}}{_SPOT}|{_SPOT}.{{0,30}}(?:省|便宜)(?:下|了)?多少"
    rf"|sav(?:e|es|ing|ings).{{0,30}}{_SPOT}|{_SPOT}.{{0,40}}sav(?:e|es|ing|ings)",
    re.IGNORECASE | re.DOTALL,
)
_CHECKPOINTS = re.compile(
    r"(?<![a-z])sav(?:e|es|ing|ed)\s(?:(?:a|an|the|one|each|every|my|our|its|full|all|model)\s){0,3}"
    r"(?:checkpoints?|ckpts?|states?|weights|models?|progress|takes?|costs?|time|intervals?)"
    r"|(?<![a-z])(?:how (?:often|frequently)|when|every)[^?,.;。]{0,40}?(?<![a-z])sav(?:e|ing|es)"
    r"|(?<![a-z])sav(?:e|es|ing|ed) (?:every|each|once|it to|to (?:s3|disk|nfs|oss|nas))",
    re.IGNORECASE,
)
"""Saving that is no money: a checkpoint is written."""
_MONTH = re.compile(
    r"24\s?/\s?7|24x7|(?:a|per|each|every|one|/)\s?mo(?:nth)?(?![a-z])|monthly|around the clock"
    r"|7\s?[x*×]\s?24|24\s?小时(?:不关|开|跑|运行)|(?:一个?|每个?|整|包)月|不关机|一直开着?",
    re.IGNORECASE,
)
_WEEK = re.compile(
    r"(?:a|per|each|every|one|1|/)[ -]?week(?!s)|weekly|(?:一|每|整)个?(?:周|星期|礼拜)",
    re.IGNORECASE,
)
_HOURS_A_DAY = re.compile(
    r"(?P<h>\d{1,2}(?:\.\d)?)\s?(?:h(?:ours?|rs?)?)(?:\s?/\s?|\s(?:a|per|each|every)\s)(?:work(?:ing)?\s?)?day"
    r"|(?:每天|每日|每个?工作日|一天)[^,，。;；\d]{0,12}(?P<z>\d{1,2}(?:\.\d)?)\s?个?(?:小时|钟头)",
    re.IGNORECASE,
)
_DAYS = re.compile(
    r"(?<![\d.])(?P<n>\d{1,3})\s?(?:个?工作日|天|(?:work(?:ing)?\s?|business\s)?days?(?![a-z]))",
    re.IGNORECASE,
)
_AFTER_DISCOUNT = re.compile(
    r"折(?:之)?后|打(?:完|了)?[\d.一二两三四五六七八九]{1,3}折(?:后|之后|下来)"
    r"|after (?:the |a )?(?:\d+\s?% )?discount|discounted (?:price|rate)",
    re.IGNORECASE,
)
_PER_CARD = re.compile(
    r"(?:per|a|each|/)\s?(?:gpu|card)(?:[- ]?(?:h|hour))?|每(?:张|块)?卡"
    r"|一?张卡(?:每|一)|卡时|单卡.{0,4}价|单(?:卡|张)[^\d\n]{0,4}[\d.]+\s?(?:元|块|美元|刀|/)",
    re.IGNORECASE,
)
_MINUTES = re.compile(
    r"(?:each|every|per|a|one|每个?|一个?|一)\s?(?:run|fold|seed|trial|experiment|次|折|组|轮|个)?[^\d.。;]"
    r"{0,16}(?P<n>\d{1,4})\s?(?:minutes|mins?|分钟)"
    r"|(?P<m>\d{1,4})\s?(?:minutes|mins?|分钟)\s?(?:per|each|a|every|一次|一折|一组)",
    re.IGNORECASE,
)
_CARD_HOUR = re.compile(
    r"(?:per|a|/)\s?(?:gpu|card)[- /]?(?:h(?![a-z])|hours?|hr)|卡时|每?卡(?:每|一)?小时",
    re.IGNORECASE,
)
_DAY = 24.0
"""Hours of "24 hours a day"."""
_DAYS_OF_MONTH = 720.0
"""Hours that "24/7 for a month" is read as."""


def with_minutes(request: Request) -> Request:
    """The request with the minutes of a run as its hours, where only those were said."""
    found = _MINUTES.search(request.search_query)
    if found is None or request.slots.hours is not None or request.slots.runs is None:
        return request
    hours = float(found["n"] or found["m"]) / 60
    slots = request.slots.model_copy(update={"hours": round(hours, 6)})
    return request.model_copy(update={"slots": slots})


def with_days(request: Request) -> Request:
    """The request with all hours of a span, where hours a day and days, or a week, were said."""
    slots, text = request.slots, request.search_query
    a_day, days = _HOURS_A_DAY.search(text), _DAYS.search(text)
    hours = slots.hours
    if a_day is not None and days is not None:
        each = float(a_day["h"] or a_day["z"])
        if hours in (None, each, each * _HOURS_OF_WORKING_MONTH):
            hours = each * float(days["n"])
    elif hours is None and _WEEK.search(text) is not None:
        hours = HOURS_OF_WEEK
    if hours == slots.hours:
        return request
    return request.model_copy(update={"slots": slots.model_copy(update={"hours": hours})})


def price_said(request: Request) -> Money | None:
    """The price in the question; of several the first. That of a card hour is one an hour."""
    price = request.slots.price
    first = (price[0] if price else None) if isinstance(price, tuple) else price
    if first is not None and first.per != "hour" and _CARD_HOUR.search(request.search_query):
        return first.model_copy(update={"per": "hour"})
    return first


def is_per_card(request: Request) -> bool:
    """Whether the price that was said is that of one card."""
    return _PER_CARD.search(_CARD_HOURS.sub(" ", request.search_query)) is not None


def is_month(request: Request) -> bool:
    """Whether a month around the clock is meant."""
    is_open = request.slots.hours in (None, _DAYS_OF_MONTH, _DAY)
    return is_open and _MONTH.search(request.search_query) is not None


def is_versus(request: Request) -> bool:
    """Whether spot is set against on demand."""
    return _VERSUS.search(_CHECKPOINTS.sub(" ", request.search_query)) is not None


def are_card_hours(request: Request, earlier: Sequence[Request] = ()) -> bool:
    """Whether the hours that were said, now or before, are those of all cards together."""
    said = [request, *(r for r in earlier[-2:] if "hours" in request.inherited)]
    return any(_CARD_HOURS.search(r.search_query) is not None for r in said)


def is_after_discount(request: Request) -> bool:
    """Whether the price that was said is the one after the discount."""
    return _AFTER_DISCOUNT.search(request.search_query) is not None
