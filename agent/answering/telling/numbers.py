"""How numbers are written: never more precise than known, always with their unit."""

from __future__ import annotations

import re
from decimal import Decimal

from agent.answer import Language
from tools.units import GIB, format_significant

_CURRENCY_WORDS = {"CNY": ("元", "CNY"), "USD": ("美元", "USD")}
_MARKUP = re.compile(r"[\\`*_\[\]()#|<>&~!]")
_LONGEST_ECHO = 60


def gib(size_bytes: float) -> str:
    """Size in GiB: one decimal below 100, none above.

    >>> gib(16.04 * 2**30), gib(1234.4 * 2**30), gib(0.12 * 2**30)
    ('16.0 GiB', '1,234 GiB', '0.12 GiB')
    """
    value = size_bytes / GIB
    if value >= 99.95:
        return f"{value:,.0f} GiB"
    return f"{value:.1f} GiB" if value >= 0.95 else f"{format_significant(value, 2)} GiB"


def gib_range(low_bytes: float, high_bytes: float) -> str:
    """Interval in GiB, as one number where both ends read alike.

    >>> gib_range(16.04 * 2**30, 18.5 * 2**30), gib_range(2**30, 2**30)
    ('16.0–18.5 GiB', '1.0 GiB')
    """
    low, high = gib(low_bytes), gib(high_bytes)
    return low if low == high else f"{low.removesuffix(' GiB')}–{high}"


def usual_currency(language: Language) -> str:
    """Currency in which readers of a language count, where none is said.

    >>> usual_currency("zh"), usual_currency("en")
    ('CNY', 'USD')
    """
    return "CNY" if language == "zh" else "USD"


_EXACT = 1e-4
"""Share of an amount up to which rounding is none: 49.9992 is 50, 2.0008 is 2.00."""


def money(amount: Decimal | float, currency: str, language: Language, *, per: str = "") -> str:
    """Amount of money, at most two decimals below 1,000.

    >>> money(Decimal("11.63"), "CNY", "zh", per="/小时"), money(2.5, "USD", "en", per="/h")
    ('11.63 元/小时', '2.5 USD/h')
    """
    word = _CURRENCY_WORDS.get(currency, (currency, currency))[0 if language == "zh" else 1]
    value = float(amount)
    if value >= 1000:
        text = f"{value:,.0f}"
    elif value >= 0.1:
        text = f"{value:.2f}"
        if abs(float(text) - value) < _EXACT * value:  # 2.5 as it is, 2.0008 as 2.00
            text = text.rstrip("0").rstrip(".")
    else:
        text = format_significant(value, 2)
    return f"{text} {word}{per}"


def hourly(amount: Decimal | float, currency: str, language: Language) -> str:
    """An amount of money an hour.

    >>> hourly(11.63, "CNY", "zh"), hourly(2.5, "USD", "en")
    ('11.63 元/小时', '2.5 USD/h')
    """
    return money(amount, currency, language, per="/小时" if language == "zh" else "/h")


def about_money(amount: Decimal | float, currency: str, language: Language) -> str:
    """An estimated amount of money: three digits.

    >>> about_money(816.75, "CNY", "zh"), about_money(1271.4, "USD", "en")
    ('817 元', '1,270 USD')
    """
    return money(float(format_significant(float(amount), 3)), currency, language)


def rate(value: float, digits: int = 3) -> str:
    """A rate with its digits that are known, in groups of three.

    >>> rate(14234.0), rate(31.24, 2), rate(0.0123, 2)
    ('14,200', '31', '0.012')
    """
    text = format_significant(value, digits)
    return f"{float(text):,.0f}" if value >= 1000 else text


def count(value: float, language: Language) -> str:
    """A large count as people write it.

    >>> count(5_500_000, "en"), count(5_000_000, "zh"), count(2048, "zh"), count(7e9, "en")
    ('5.5 million', '500 万', '2048', '7 billion')
    >>> count(50_000, "en")
    '50,000'
    """
    if language == "zh":
        for size, word in ((1e8, "亿"), (1e4, "万")):
            if value >= size:
                return f"{format_significant(value / size, 3)} {word}"
    else:
        for size, word in ((1e9, "billion"), (1e6, "million")):
            if value >= size:
                return f"{format_significant(value / size, 3)} {word}"
    told = format_significant(value, 6)
    return f"{float(told):,.0f}" if value >= 10_000 else told


_YEAR = 8760
"""Hours of a year."""
_YEARS_FROM = 2 * _YEAR


def whole(value: float) -> str:
    """A figure that stands alone: two digits, and all those before the point.

    >>> whole(186.6), whole(33.4), whole(0.123)
    ('187', '33', '0.12')
    """
    return f"{value:.0f}" if value >= 100 else format_significant(value, 2)


def duration(hours: float, language: Language) -> str:
    """A span of time in the unit people would use.

    >>> duration(0.5, "zh"), duration(3.3, "en"), duration(100, "en")
    ('30 分钟', '3.3 hours', '100 hours (4.2 days)')
    >>> duration(1 / 60, "en"), duration(1, "en")
    ('1 minute', '1 hour')
    >>> duration(2.2e6, "en")
    '250 years'
    """
    if hours < 1 / 60:
        return f"{format_significant(hours * 3600, 2)} {'秒' if language == 'zh' else 'seconds'}"
    if hours < 1:
        return _spelt(format_significant(hours * 60, 2), "分钟", "minute", language)
    if hours < 48:
        return _spelt(format_significant(hours, 2), "小时", "hour", language)
    if hours >= _YEARS_FROM:
        years = f"{float(format_significant(hours / _YEAR, 2)):,.0f}"
        return f"{years} 年" if language == "zh" else f"{years} years"
    days = f"{format_significant(hours / 24, 2 if hours < 2400 else 3)}"
    days = f"{days} {'天' if language == 'zh' else 'days'}"
    if hours >= 480:
        return days
    told = format_significant(hours, 2 if hours < 100 else 3)
    return f"{told} 小时（{days}）" if language == "zh" else f"{told} hours ({days})"


def _spelt(value: str, zh: str, en: str, language: Language) -> str:
    """A number with its unit; one of it is singular."""
    if language == "zh":
        return f"{value} {zh}"
    return f"{value} {en}" if value == "1" else f"{value} {en}s"


def quoted(text: str) -> str:
    """Words of the asker, short and without markup, to be shown as they are.

    >>> quoted("<b>A10</b>")
    'bA10/b'
    """
    if text.startswith("config.json{"):
        return "config.json"
    plain = _MARKUP.sub("", " ".join(text.split()))
    return plain if len(plain) <= _LONGEST_ECHO else plain[: _LONGEST_ECHO - 1] + "…"
