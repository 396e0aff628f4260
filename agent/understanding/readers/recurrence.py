"""Use that comes back: so many hours on so many days of every week."""

from __future__ import annotations

import re
from typing import NamedTuple

from agent.understanding.lexicon.numerals import HAN, english_words, parse_number
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document
from tools.units import HOURS_PER_MONTH

_WORDS = "|".join(sorted(english_words(), key=len, reverse=True))
_N = rf"(?<![\d.a-z])(?:\d{{1,3}}(?:\.\d{{1,2}})?|{HAN}{{1,3}}|(?:{_WORDS}))"
_HOURS = r"\s?-?(?:(?:个)?(?:小时|钟头)|(?:hours?|hrs?|h)(?![a-z]))"
_DAY_NAMES = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?(?![a-z])"
_AND = r"\s?(?:,|/|&|and|\+)\s?"
_NAMED = rf"{_DAY_NAMES}(?:{_AND}(?:and\s)?(?:on\s)?{_DAY_NAMES})*"
_WORKDAY = r"(?:week[- ]?day|work(?:ing)?[- ]?day|business[- ]day)s?(?![a-z])"
_WEEKENDS = r"week[- ]?ends?(?:\sdays?)?(?![a-z])"
_WEEK = r"(?:每个?周|一周|每个?星期|一个?星期|每个?礼拜|一个?礼拜)"
_DAILY = r"(?:每天|每日|一天|天天|每晚|每夜|每次|每个?工作日|工作日)"
_EVERY = r"(?:every|each|per|an?|on|/)"
_FILLER = r"(?:\s(?!cost|price|bill)[a-z0-9.\-]+){0,5}?"
_FROM_TO = (
    r"周一[到至\-~]周?[五5]|星期一[到至\-~]星期五|礼拜一[到至\-~]礼拜五"
    r"|mon(?:day)?\s?(?:-|to|through|thru|till|until)\s?fri(?:day)?(?![a-z])"
)
_COUNTED = re.compile(
    rf"{_WEEK}[^\d,。;\n]{{0,6}}?(?P<zh>{_N})\s?(?:个)?(?:天|日|次|晚|回|趟)(?!前|后|内)"
    rf"|(?P<en>{_N})\s?(?:days|nights|evenings|times|runs|sessions)\s?"
    rf"(?:a|per|each|every|/|of the)\s?(?:work(?:ing)?\s)?week(?![a-z])"
    rf"|(?P<once>once|twice)\s(?:a|per|each|every)\sweek(?![a-z])"
)
"""How many days of a week: "每周 5 天", "5 days a week", "twice a week"."""
_NAMED_ZH = re.compile(
    r"(?:每个?周|每个?星期|每个?礼拜)(?P<days>[一二三四五六日天末](?:[、,和]?[一二三四五六日天])*)(?!次|回|趟|跑|用|开)"
)
_NAMED_EN = re.compile(
    rf"(?:every|each|on)\s(?P<days>{_NAMED})|(?P<plural>(?:mon|tues|wednes|thurs|fri|satur|sun)days)(?![a-z])"
)
_WORKDAYS = re.compile(rf"{_FROM_TO}|每个?工作日|工作日|{_WORKDAY}")
_WEEKEND = re.compile(rf"周末|双休日|{_WEEKENDS}")
_OF_A_WEEK = re.compile(
    rf"{_WEEK}[^\d,。;\n天日]{{0,8}}?(?P<zh>{_N}){_HOURS}"
    rf"|(?P<en>{_N}){_HOURS}{_FILLER}\s?(?:a|per|each|every|/)\s?week(?![a-z])"
    rf"|(?P<of>{_N}){_HOURS}\s(?:weekly|(?:of [a-z0-9 ]{{1,16}} )?weekly)(?![a-z])"
)
"""Hours of a week in all: "每周 20 小时", "20 hours a week"."""
_ONE_DAY = rf"(?:day|night|evening|session|time|run|{_WORKDAY}|{_WEEKENDS}|{_NAMED})"
_OF_A_DAY = re.compile(
    rf"(?:{_DAILY}|{_FROM_TO}|周末|每个?周[一二三四五六日天末])[^\d,。;\n]{{0,10}}?(?P<zh>{_N}){_HOURS}"
    rf"|(?P<en>{_N}){_HOURS}{_FILLER}\s?{_EVERY}\s?(?:single\s|full\s)?{_ONE_DAY}"
    rf"|(?:every|each|on)\s(?:{_ONE_DAY})\s?,?\s(?:for\s)?(?:about\s|around\s)?(?P<after>{_N}){_HOURS}"
    rf"|(?P<daily>{_N}){_HOURS}\s(?:daily|nightly)(?![a-z])"
)
"""Hours of one day: "每天 10 小时", "3 hours of H100 every weekday"."""
_PLAIN_HOURS = re.compile(rf"(?P<n>{_N}){_HOURS}")
_SPANS = (
    (re.compile(rf"(?P<n>{_N})\s?-?(?:个)?(?:月|months?(?![a-z]))(?!初|底)"), 1.0),
    (re.compile(r"(?P<one>半年|half a year)"), 6.0),
    (re.compile(rf"(?P<n>{_N})\s?-?(?:年(?!代)|years?(?![a-z]))"), 12.0),
    (re.compile(r"(?P<one>一个?季度|a quarter|quarterly)"), 3.0),
    (
        re.compile(
            r"(?P<one>全年|每年|年费|(?:a|per|each|every|the|whole) year|yearly|annual(?:ly)?)"
        ),
        12.0,
    ),
)
"""Spans that the use goes on for, in months."""
_WEEKS = re.compile(
    rf"(?P<n>{_N})\s?-?(?:(?:个)?(?:星期|礼拜)|周|weeks(?![a-z]))(?!\s?[一二三四五六日天末])"
)
_A_WEEK_ASKED = re.compile(
    r"(?:一周|每周|一个星期|每个?星期)(?:下来|大概|大约|要|得|总共|一共|的)*(?:多少钱|几块|花|费用|成本)"
    r"|(?:weekly|cost (?:a|per|each) week|per week cost|a week cost)\s?"
    r"(?:cost|bill|price|spend)?\s?(?:\?|$)"
)
WEEKS_OF_MONTH = float(HOURS_PER_MONTH) / 168
_DAYS_OF_WEEK = {"twice": 2.0, "once": 1.0}
_WORKDAYS_OF_WEEK, _WEEKEND_DAYS, _WHOLE_WEEK, _DAY_H = 5.0, 2.0, 7.0, 24.0


_OF_EVERY_DAY = re.compile(
    rf"(?:每天|每日|一天|天天|每晚|每夜)[^\d,。;\n]{{0,10}}?(?P<zh>{_N}){_HOURS}"
    rf"|(?P<en>{_N}){_HOURS}\s?(?:(?:an?|per|each|every|/)\s?(?:single\s)?(?:day|night)|daily|nightly)(?![a-z])"
)
_SUBSCRIBED = re.compile(
    r"包[月年]|年付|月付|预留|节省计划|(?<![a-z])(?:reserv(?:e|ed|ation|ations)|savings plans?"
    r"|subscription|committed|cuds?|monthly plan|yearly plan)(?![a-z])"
)
"""Billing by the month, beside which hours of a day are those of every day of it."""
_DAYS_SAID = re.compile(
    rf"{_N}\s?-?(?:个)?(?:(?:工作|交易)?[天日]|(?:work(?:ing)?\s?|business\s|week)?days?(?![a-z]))"
)
"""A number of days in all."""


class Use(NamedTuple):
    """Hours of one day of use, and on how many days of a week; where the words stand."""

    each: float
    days: float
    places: tuple[tuple[int, int], ...]


def read_recurrence(document: Document, board: Board) -> None:
    """Note the hours of a month, or of the span said, of use that comes back every week."""
    text = document.rest()
    use = _use_of(text)
    if use is None:
        return
    weeks, place = _weeks(holes(text, use.places))
    start, end = use.places[0]
    days = use.days * weeks
    board.add("hours", round(use.each * days, 1), start, end, weight=6.0)
    board.add("hours_per_day", use.each, start, end, weight=2.0)
    board.add("days", round(days, 1), start, end, weight=2.0)
    for begin, last in (*use.places, *(place or ())):
        document.take(begin, last)


def holes(text: str, places: tuple[tuple[int, int], ...]) -> str:
    """The text with these places blank."""
    for start, end in places:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _use_of(text: str) -> Use | None:
    of_week = _OF_A_WEEK.search(text)
    if of_week is not None:
        hours = _value(next(g for g in of_week.groups() if g))
        is_week = hours is not None and 0 < hours <= _WHOLE_WEEK * _DAY_H
        return Use(hours, 1.0, (of_week.span(),)) if is_week and hours else None
    days = _days_of_week(text)
    if days is None:
        return _every_day(text)
    of_day = _OF_A_DAY.search(text)
    if of_day is None and days[2] is not None:
        of_day = _PLAIN_HOURS.search(holes(text, (days[1],)))
    each = None if of_day is None else _value(next(g for g in of_day.groups() if g))
    if of_day is None or each is None or not 0 < each <= _DAY_H:
        return None
    return Use(each, days[0], (of_day.span(), days[1]))


def _every_day(text: str) -> Use | None:
    """Hours of every day, where billing by the month is spoken of and no number of days."""
    found = _OF_EVERY_DAY.search(text) if _SUBSCRIBED.search(text) else None
    if found is None or _DAYS_SAID.search(holes(text, (found.span(),))):
        return None
    each = _value(found["zh"] or found["en"])
    return Use(each, _WHOLE_WEEK, (found.span(),)) if each and each <= _DAY_H else None


def _days_of_week(text: str) -> tuple[float, tuple[int, int], str | None] | None:
    """Days of a week, where they are said, and the words if they are days by name."""
    counted = _COUNTED.search(text)
    if counted is not None:
        once = counted["once"]
        said = _DAYS_OF_WEEK[once] if once else _value(counted["zh"] or counted["en"])
        if said is None or not 0 < said <= _WHOLE_WEEK:
            return None
        return said, counted.span(), None if not once and "天" in counted[0] else counted[0]
    named = _NAMED_ZH.search(text)
    if named is not None:
        weekdays = len(re.findall("[一二三四五六日天]", named["days"])) + 2 * named["days"].count(
            "末"
        )
        return float(weekdays), named.span(), named["days"]
    work, weekend = _WORKDAYS.search(text), _WEEKEND.search(text)
    found = work or weekend
    if found is not None and (work is None or weekend is None):
        if _DAYS_SAID.search(text):
            return None
        count = _WORKDAYS_OF_WEEK if work is not None else _WEEKEND_DAYS
        return count, found.span(), found[0]
    english = _NAMED_EN.search(text)
    if english is not None:
        named_days = len(re.findall(_DAY_NAMES, english["days"] or english["plural"]))
        return float(named_days), english.span(), english[0]
    return None


def _weeks(text: str) -> tuple[float, tuple[tuple[int, int], ...] | None]:
    """Weeks that the use goes on for: those said, else those of a month."""
    if (asked := _A_WEEK_ASKED.search(text)) is not None:
        return 1.0, (asked.span(),)
    said = _WEEKS.search(text)
    if said is not None and (count := _value(said["n"])):
        return count, (said.span(),)
    for pattern, months in _SPANS:
        found = pattern.search(text)
        if found is None:
            continue
        count = _value(found["n"]) if "n" in pattern.groupindex else 1.0
        if count:
            return months * count * WEEKS_OF_MONTH, (found.span(),) if months * count > 1 else None
    return WEEKS_OF_MONTH, None


def _value(written: str) -> float | None:
    value = parse_number(written)
    return english_words().get(written) if value is None else value
