"""Money: budgets, prices seen, discounts."""

from __future__ import annotations

import re
from itertools import islice
from typing import Literal, NamedTuple

from agent.request import Money, Period
from agent.understanding.lexicon.numerals import DIGITS, HAN, parse_number
from agent.understanding.lexicon.phrases import table
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_MOST = 60
"""Matches of one pattern that are looked at."""
_START = r"(?<!\d)"
_AMOUNT = rf"(?:{DIGITS}|{HAN}{{1,9}})(?:\s?(?:[kw](?![a-z0-9])|[万千]))?"
_FRONT = re.compile(
    rf"(?P<currency>usd|us\$|cny|rmb|\$|¥|€|人民币|美元|美金)\s?-?(?P<amount>{_AMOUNT})"
)
_BACK = re.compile(
    rf"(?<![a-z0-9.])(?P<amount>{_AMOUNT})\s?(?P<currency>grand|usd|cny|rmb|dollars?|bucks|yuan|\$|¥"
    r"|块钱|元钱|元|刀|美元|美金|人民币|大洋|块(?=一|每|/|钱|够|能|可以|行不|搞|\s?(?:per|an?)|以内|左右|的?预算|$|[\s,。?!]))(?![a-z0-9])"
)
_BUDGET = re.compile(
    r"(?:预算|budget)[^\d零一二两三四五六七八九十百千万\n]{0,10}?"
    rf"(?:(?:一个?月|每个?月|一小时|每小时|一天|每天)[^\d\n]{{0,4}})?(?P<amount>{_AMOUNT})(?!\s?(?:x|张|卡|gb?|个|b)(?![a-z]))"
)
_LIMIT = re.compile(
    r"(?:一天|每天|一小时|每小时|一个?月|每个?月)[^\d\n]{0,4}(?:不超过|最多|低于|不高于)\s?"
    rf"(?P<amount>{_AMOUNT})(?!\s?(?:x|张|卡|gb?|个|b|人|并发)(?![a-z]))"
)
_PER = re.compile(
    r"\s{0,2}(?:块钱?|元|钱)?\s{0,2}(?:的)?(?:预算|budget)?\s{0,2}(?:/\s{0,2}|(?:per|an?|each)(?![a-z])\s{0,2}|(?:每|一个?)\s{0,2})"
    r"(?:(?:gpu|card|[张块]?显?卡)[- ]?(?:/\s?|(?:per|an?)\s|每|一)?(?=[a-z小时个]))?"
    r"(?P<unit>hours?|hrs?|h|个?小时|时|months?|mo|个?月|weeks?|周|星期|days?|d|天|分钟|minutes?|min|years?|年)(?![a-z])"
)
_LEAD = re.compile(
    r"(?P<unit>每个?月|一个?月|月|每小时|一小时|小时|每天|一天|monthly|hourly|daily|weekly|每周|一周|按月|按小时|按天|每卡时)"
)
_OF_A_SPAN = re.compile(r"(?:monthly|weekly|daily|hourly|每周|每个?月|每天|每日|每小时)\s?的?\Z")
"""In front of "budget": the span that it is for."""
_CURRENCY_BEHIND = re.compile(
    r"\s?(?P<currency>usd|us\$|cny|rmb|dollars?|bucks|yuan|\$|¥|€|元|块|刀|美元|美金|人民币)"
)
_DISCOUNT = re.compile(
    rf"(?P<tenths>{DIGITS}|[一二三四五六七八九])\s?折(?!交叉|cv|验证)"
    rf"|(?P<off>{DIGITS})\s?%\s?(?:off|cheaper|discount|less|lower|saving)"
    rf"|(?P<share>{DIGITS})\s?%\s?of (?:the )?(?:\w+ )?(?:on-demand|on demand|price|list"
    rf"|full price|cost)"
    rf"|(?:按量|原价|标价|目录价)(?:价格?)?的\s?(?:(?P<share2>{DIGITS})\s?%|百分之(?P<share3>{HAN}{{1,3}})|(?P<cheng>[一二三四五六七八九])成)"
)
_PIECES = re.compile(
    rf"(?<![a-z0-9.])(?P<whole>\d{{1,4}}|{HAN}{{1,4}})块(?P<tenths>\d|[一二三四五六七八九])"
    r"(?!\d|(?![一每])[\u3400-\u9fff]|\s?(?:张|卡|gpu))"
)
"""Yuan with a tenth behind: 4块2, 三块五."""
_HOUR = r"(?:个?小时|钟头|(?:hours?|hrs?|h)(?![a-z0-9]))"
_PLAIN = rf"{_START}(?P<amount>\d{{1,3}}(?:\.\d{{1,3}})?)"
_BARE = rf"(?<![a-z0-9.:/x*]){_PLAIN}"
_BARE_RATES = (
    re.compile(
        rf"{_BARE}\s?(?:/\s?|per\s|an?\s|each\s|每个?|一个?)(?:(?:gpu|card)[- ]?|卡)?{_HOUR}"
    ),
    re.compile(
        rf"(?:每个?|一个?|per\s|an?\s|each\s){_HOUR}\s?(?:才|只要|只|要|是|大概|大约|约|差不多|收|卖|is|for|at|:|=)?\s?"
        rf"{_PLAIN}(?![\d.])"
        r"(?=\s*(?:[,。;!?\n)]|$)|\s+(?![张个条次台份\d])|的?[跑挂开租用连训烧包买])"
    ),
)
"""A rate that is only a number beside an hour: "1.88 一小时", "2.1/h"."""
_RENTED = ("card", "provider", "instance_mention")
_REFUSED = re.compile(
    rf"(?:超过|超了|高于|贵于|大于|多于|over|above|more than)\s?\$?(?P<amount>{_AMOUNT})"
    r"\s?(?P<currency>usd|dollars?|bucks|\$|元|块|刀)?"
    r"(?:钱)?\s?(?:的)?(?:就|都|我|我们)?\s?(?:不考虑|不要|不行|免谈|算了|不干|不租|买不起"
    r"|租不起|受不了|is too much|is out|is a no)"
)
"""A price that is refused: what may be spent."""
_NEGATIVE = re.compile(r"(?:预算|budget|usd|cny|rmb|[$¥€])\s?(?:of|is|是|为|[:=])?\s?-\Z")
"""In front of an amount that is signed: "$-50", "budget: -50"."""
_GRAND = 1000
_DOLLARS = {"grand", "usd", "us$", "$", "dollar", "dollars", "bucks", "刀", "美元", "美金"}


class _Span(NamedTuple):
    """A span of time that a price is said for, and how its amount is kept."""

    name: Period | Literal["hour", "month"]
    per: Literal["hour", "month"]
    factor: float


_SPANS = (
    (re.compile(r"天|^d(?:ay|ays|aily)?$"), _Span("day", "hour", 1 / 24)),
    (re.compile(r"周|星期|^week"), _Span("week", "hour", 1 / 168)),
    (re.compile(r"分|^min"), _Span("minute", "hour", 60.0)),
    (re.compile(r"年|^year"), _Span("year", "month", 1 / 12)),
    (re.compile(r"月|^mo"), _Span("month", "month", 1.0)),
)
_AN_HOUR = _Span("hour", "hour", 1.0)


def read_money(document: Document, board: Board) -> None:
    """Note budgets, prices and discounts."""
    text = document.text
    _read_pieces(document, board)
    for found in (*_BUDGET.finditer(text), *_LIMIT.finditer(text), *_REFUSED.finditer(text)):
        currency = None if text.isascii() else "CNY"
        if "$" in found[0]:
            currency = "USD"
        named = _CURRENCY_BEHIND.match(text, found.end("amount"))
        if named is not None:
            currency = _currency(named["currency"])
        adjective = _OF_A_SPAN.search(text[max(0, found.start() - 8) : found.start()])
        before = text[max(0, found.start() - 4) : found.start("amount")]
        _note(document, board, "budget", found, currency, adjective[0] if adjective else before)
    for pattern in (_FRONT, _BACK):
        for found in islice(pattern.finditer(text), _MOST):
            near = text[max(0, found.start() - 14) : found.end() + 8]
            slot = "budget" if table("money", "budget").has(near) else "price"
            before = text[max(0, found.start() - 6) : found.start()]
            _note(document, board, slot, found, _currency(found["currency"]), before)
    _read_bare_rates(document, board)
    for found in islice(_DISCOUNT.finditer(text), _MOST):
        share = found["share"] or found["share2"] or found["share3"]
        value = parse_number(found["tenths"] or found["off"] or share or found["cheng"])
        if value is not None and 0 < value < 100:
            factor = 1 - value / 100 if found["off"] else value / (10 if value < 10 else 100)
            factor = value / 100 if share else factor
            board.add("discount", round(factor, 4), found.start(), found.end())
            document.take(found.start(), found.end())
    _read_fraction(document, board)


_FRACTIONS = {"half": 0.5, "third": 1 / 3, "two thirds": 2 / 3, "quarter": 0.25}
_FRACTION = re.compile(
    r"(?:(?<![a-z])(?P<word>half|two[- ]thirds|(?:a|one)[- ](?:third|quarter))\s(?:of\s)?"
    r"(?:(?:that|it|the|this|on[- ]demand)(?![a-z])|price|cost|rate)"
    r"|(?P<zh>半价|对折|(?:价格?|价钱|便宜|是它|是按量)的?(?:一半|1/2)|(?:便宜|省)(?:了|掉)?一半))"
)


def _read_fraction(document: Document, board: Board) -> None:
    """Note "half of that" and "半价" of a price as what is left to pay."""
    text = document.text
    found = _FRACTION.search(text)
    is_money = table("cues", "cost").has(text) or table("cues", "spot").has(text)
    if found is None or board.has("discount") or not is_money:
        return
    word = (found["word"] or "half").replace("-", " ").removeprefix("a ").removeprefix("one ")
    board.add("discount", round(_FRACTIONS[word], 4), found.start(), found.end())


def _read_bare_rates(document: Document, board: Board) -> None:
    """Note the hourly price of what is rented, where only a number says it."""
    text = document.text
    clouds = table("money", "dollar_clouds").has(text)
    names = clouds or table("money", "yuan_clouds").has(text) or table("money", "rented").has(text)
    if not (names or any(board.has(slot) for slot in _RENTED)):
        return
    if any(reading.value.per == "hour" for reading in board.of("price")):
        return
    for pattern in _BARE_RATES:
        for found in islice(pattern.finditer(text), _MOST):
            amount = parse_number(found["amount"])
            if not amount or not document.is_free(*found.span("amount")):
                continue
            currency = "USD" if clouds or text.isascii() else "CNY"
            price = Money(amount=amount, currency=currency, per="hour")
            board.add("price", price, found.start(), found.end())
            document.take(found.start(), found.end())
        if board.has("price"):
            return


def _read_pieces(document: Document, board: Board) -> None:
    """Note "4块2": four yuan twenty."""
    for found in islice(_PIECES.finditer(document.text), _MOST):
        whole, tenths = parse_number(found["whole"]), parse_number(found["tenths"])
        if whole is None or tenths is None or not document.is_free(found.start(), found.end()):
            continue
        before = document.text[max(0, found.start() - 16) : found.start()]
        lead = _leads(before)
        behind = _PER.match(document.text, found.end())
        unit = behind["unit"] if behind else lead[-1]["unit"] if lead else None
        near = document.text[max(0, found.start() - 14) : found.end() + 8]
        slot = "budget" if table("money", "budget").has(near) else "price"
        money = _paid(round(whole + tenths / 10, 2), "CNY", unit)
        board.add(slot, money, found.start(), found.end())
        document.take(found.start(), behind.end() if behind else found.end())


def _leads(before: str) -> list[re.Match[str]]:
    """Spans of time named in front of an amount, in the same clause."""
    return list(_LEAD.finditer(re.split(r"[,。;\n?!]", before)[-1]))


def _currency(written: str) -> str:
    if written in _DOLLARS:
        return "USD"
    return "EUR" if written == "€" else "CNY"


def _note(
    document: Document,
    board: Board,
    slot: str,
    found: re.Match[str],
    currency: str | None,
    before: str,
) -> None:
    start, end = found.span("amount")
    amount = parse_number(found["amount"])
    if amount is None or not document.is_free(start, end):
        return
    if "grand" in found[0]:
        amount *= _GRAND
    if slot == "budget" and _NEGATIVE.search(document.text[max(0, start - 12) : start]):
        amount = -amount
    named = _CURRENCY_BEHIND.match(document.text, end)
    end = max(found.end(), named.end() if named is not None else 0)
    behind = _PER.match(document.text, end)
    lead = _LEAD.search(before)
    unit = behind["unit"] if behind else lead["unit"] if lead else None
    last = behind.end() if behind else end
    first = found.start()
    if lead is not None and behind is None:
        first = max(document.text.rfind(lead["unit"], 0, start), 0)
    board.add(slot, _paid(amount, currency, unit), first, last)
    document.take(found.start(), last)


def _paid(amount: float, currency: str | None, unit: str | None) -> Money:
    """The amount as one an hour, a month or in all, with the span said where it is another."""
    if unit is None:
        return Money(amount=amount, currency=currency, per="total")
    span = next((span for words, span in _SPANS if words.search(unit)), _AN_HOUR)
    kept = amount if span.factor == 1 else round(amount * span.factor, 6)
    said = span.name if span.name != span.per else None
    return Money(amount=kept, currency=currency, per=span.per, period=said)
