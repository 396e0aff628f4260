"""Exchange rates: dated, from a data file, and replaceable by the caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache

from tools.catalog import table
from tools.catalog.loader import DATA, RATES_FILE, read_sources
from tools.catalog.table import Column
from tools.errors import BadQuantityError
from tools.provenance import Source

_COLUMNS = (
    Column("currency", table.text, required=True),
    Column("per_eur", table.money, required=True),
    Column("as_of", date.fromisoformat, required=True),
    Column("source", table.text, required=True),
)
_WORDS = {
    "cny": "CNY", "rmb": "CNY", "¥": "CNY", "￥": "CNY", "元": "CNY", "人民币": "CNY", "块": "CNY",
    "usd": "USD", "$": "USD", "美元": "USD", "美金": "USD", "刀": "USD", "eur": "EUR", "€": "EUR",
    "欧元": "EUR", "hkd": "HKD", "港币": "HKD", "gbp": "GBP", "£": "GBP", "jpy": "JPY",
    "日元": "JPY", "sgd": "SGD",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExchangeRates:
    """Units of each currency for one euro, on one day."""

    per_eur: Mapping[str, Decimal]
    as_of: date
    source: Source

    def convert(self, amount: Decimal, *, given: str, wanted: str) -> Decimal:
        """Amount in another currency, unrounded.

        Raises:
            BadQuantityError: If there is no rate for one of the currencies.
        """
        if given == wanted:
            return amount
        return amount / self._rate(given) * self._rate(wanted)

    def _rate(self, currency: str) -> Decimal:
        if currency not in self.per_eur:
            known = ", ".join(sorted(self.per_eur))
            raise BadQuantityError(field="currency", given=currency, allowed=known)
        return self.per_eur[currency]


@cache
def exchange_rates() -> ExchangeRates:
    """The rates that ship with the catalog (European Central Bank reference rates)."""
    rows = table.read_rows(table.read_text(DATA / RATES_FILE), columns=_COLUMNS, file=RATES_FILE)
    cells = [row for _, row in rows]
    as_of: date = min(row[2] for row in cells)
    source = read_sources()[cells[0][3]]
    return ExchangeRates(
        {row[0]: row[1] for row in cells},
        as_of,
        Source(f"data:{RATES_FILE}#{as_of}", "vendor", source.locator, as_of),
    )


def rates_from(*, per_usd: Mapping[str, Decimal], as_of: date) -> ExchangeRates:
    """Rates of the caller's own, as units of a currency for one US dollar."""
    rates = {"USD": Decimal(1), **per_usd}
    return ExchangeRates(rates, as_of, Source("user:exchange_rates", "user", "setting", as_of))


def currency_code(written: str) -> str:
    """ISO code of a currency written as a word or sign.

    Raises:
        BadQuantityError: If the currency is not known.

    >>> currency_code("元"), currency_code("$")
    ('CNY', 'USD')
    """
    found = _WORDS.get(written.strip().lower())
    if found is None:
        known = ", ".join(sorted(set(_WORDS.values())))
        raise BadQuantityError(field="currency", given=written, allowed=known)
    return found
