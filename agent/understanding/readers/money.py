"""Money: budgets, prices seen, discounts."""

from __future__ import annotations

import re
from itertools import islice
from typing import Literal, NamedTuple

from agent.request import Money
from agent.understanding.numerals import DIGITS, HAN, parse_number
from agent.understanding.phrases import table
from agent.understanding.readings import Board
from agent.understanding.text import Document

_MOST = 60
"""Matches of one pattern that are looked at."""
_AMOUNT = rf"(?:{DIGITS}|{HAN}{{1,9}})(?:\s?(?:[kw](?![a-z0-9])|[万千]))?"
_FRONT = re.compile(
    rf"(?P<currency>usd|us\$|cny|rmb|\$|¥|€|人民币|美元|美金)\s?(?P<amount>{_AMOUNT})"
)
_BACK = re.compile(
    rf"(?<![a-z0-9.])(?P<amount>{_AMOUNT})\s?(?P<currency>usd|cny|rmb|dollars?|bucks|yuan|\$|¥"
    r"|块钱|元钱|元|刀|美元|美金|人民币|大洋|块(?=一|每|/|钱|\s?(?:per|an?)|以内|左右|的?预算|$|[\s,。?!]))(?![a-z0-9])"
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
    r"\s{0,2}(?:块钱?|元|钱)?\s{0,2}(?:/|per|an?|每|一个?|each)\s{0,2}"
    r"(?P<unit>hours?|hrs?|h|个?小时|时|months?|mo|个?月|weeks?|周|星期|days?|d|天|分钟|minutes?|min|years?|年)(?![a-z])"
)
_LEAD = re.compile(
    r"(?P<unit>每个?月|一个?月|月|每小时|一小时|小时|每天|一天|monthly|hourly|daily|weekly|每周|一周|按月|按小时|按天)"
)
_CURRENCY_BEHIND = re.compile(
    r"\s?(?P<currency>usd|us\$|cny|rmb|dollars?|bucks|yuan|\$|¥|€|元|块|刀|美元|美金|人民币)"
)
_DISCOUNT = re.compile(
    rf"(?P<tenths>{DIGITS}|[一二三四五六七八九])\s?折(?!交叉|cv|验证)"
    rf"|(?P<off>{DIGITS})\s?%\s?(?:off|cheaper|discount|less|lower|saving)"
)
_DOLLARS = {"usd", "us$", "$", "dollar", "dollars", "bucks", "刀", "美元", "美金"}
Per = Literal["hour", "month", "total"]


class _Rate(NamedTuple):
    amount: float
    per: Per


def read_money(document: Document, board: Board) -> None:
    """Note budgets, prices and discounts."""
    text = document.text
    for found in (*_BUDGET.finditer(text), *_LIMIT.finditer(text)):
        currency = None if text.isascii() else "CNY"
        named = _CURRENCY_BEHIND.match(text, found.end("amount"))
        if named is not None:
            currency = _currency(named["currency"])
        before = text[max(0, found.start() - 4) : found.start("amount")]
        _note(document, board, "budget", found, currency, before)
    for pattern in (_FRONT, _BACK):
        for found in islice(pattern.finditer(text), _MOST):
            near = text[max(0, found.start() - 14) : found.end() + 8]
            slot = "budget" if table("money", "budget").has(near) else "price"
            before = text[max(0, found.start() - 6) : found.start()]
            _note(document, board, slot, found, _currency(found["currency"]), before)
    for found in islice(_DISCOUNT.finditer(text), _MOST):
        value = parse_number(found["tenths"] or found["off"])
        if value is not None and 0 < value < 100:
            factor = 1 - value / 100 if found["off"] else value / (10 if value < 10 else 100)
            board.add("discount", round(factor, 4), found.start(), found.end())
            document.take(found.start(), found.end())


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
    behind = _PER.match(document.text, found.end())
    lead = _LEAD.search(before)
    unit = behind["unit"] if behind else lead["unit"] if lead else None
    rate = _rate(amount, unit)
    last = behind.end() if behind else found.end()
    first = found.start()
    if lead is not None and behind is None:
        first = max(document.text.rfind(lead["unit"], 0, start), 0)
    board.add(slot, Money(amount=rate.amount, currency=currency, per=rate.per), first, last)
    document.take(found.start(), last)


def _rate(amount: float, unit: str | None) -> _Rate:
    """Amount a hour or a month; days and minutes become hours, years months."""
    if unit is None:
        return _Rate(amount, "total")
    if "天" in unit or unit in ("d", "day", "days", "daily"):
        return _Rate(round(amount / 24, 6), "hour")
    if "周" in unit or "星期" in unit or unit.startswith("week"):
        return _Rate(round(amount / 168, 6), "hour")
    if "分" in unit or unit.startswith("min"):
        return _Rate(amount * 60, "hour")
    if "年" in unit or unit.startswith("year"):
        return _Rate(round(amount / 12, 6), "month")
    if "月" in unit or unit.startswith("mo"):
        return _Rate(amount, "month")
    return _Rate(amount, "hour")
