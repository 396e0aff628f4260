"""The catalog tab: instance types by provider, card, memory, links and price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

from tools.units import format_significant
from ui.markup import tag, text
from ui.render import sortable_table
from ui.wording import Language, cards_shown, provider_labels, say, say_or

if TYPE_CHECKING:
    from tools.catalog import InstanceOffer, Price

FLAGS = ("nvlink", "rdma", "priced", "whole", "for_sale")


@dataclass(frozen=True, slots=True)
class Filters:
    """What a row must meet; empty or None = not asked for."""

    providers: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    min_memory_gb: float | None = None
    """Label memory of one GPU, GB; a slice's where it is one."""
    min_count: int | None = None
    max_price: float | None = None
    """Per hour, in `currency`, for the whole instance."""
    currency: str = "CNY"
    flags: tuple[str, ...] = ()
    name: str = ""

    @classmethod
    def from_values(cls, values: Mapping[str, str]) -> Filters:
        """Filters from a query; lists are parted by commas, what is malformed is not asked for."""

        def words(name: str) -> tuple[str, ...]:
            return tuple(w for w in values.get(name, "").split(",") if w)

        def number(name: str) -> float | None:
            try:
                value = float(values.get(name, ""))
            except ValueError:
                return None
            return value if 0 < value < 1e9 else None

        count = number("min_count")
        return cls(
            providers=words("providers"), gpus=words("gpus"), flags=words("flags"),
            min_memory_gb=number("min_memory_gb"), max_price=number("max_price"),
            min_count=int(count) if count else None, name=values.get("name", ""),
            currency=values.get("currency") or "CNY",
        )  # fmt: skip


@cache
def priced_offers() -> tuple[tuple[InstanceOffer, Price | None], ...]:
    """Every GPU instance type with the price to show: the lowest dated one, else an undated one."""
    from tools.catalog import catalog, cheapest, prices_of

    rows = []
    for offer in catalog().offers:
        if offer.is_gpu:
            price = cheapest(offer)
            if price is None:
                undated = prices_of(offer, billing="on_demand")
                price = undated[0] if undated else None
            rows.append((offer, price))
    return tuple(rows)


@cache
def providers() -> tuple[tuple[str, str], ...]:
    """(label, id) of the providers that have rows."""
    from tools.catalog import all_providers, covered_providers

    covered = set(covered_providers())
    return tuple(
        (f"{row.name_en} {row.name_zh}", row.provider)
        for row in all_providers()
        if row.provider in covered
    )


@cache
def gpu_names() -> tuple[str, ...]:
    """Cards that some instance type carries."""
    return tuple(sorted({o.gpu_label for o, _ in priced_offers() if o.gpu_label}, key=str.lower))


@cache
def namesakes() -> dict[str, tuple[str, ...]]:
    """Family names that several providers use, and by whom."""
    from tools.catalog import catalog

    users: dict[str, set[str]] = {}
    for offer in catalog().offers:
        for name in {offer.instance_type, offer.family, offer.family.rpartition(".")[2]}:
            users.setdefault(name.lower(), set()).add(offer.provider)
    return {name: tuple(sorted(found)) for name, found in users.items() if len(found) > 1}


def in_currency(price: Price, currency: str) -> Decimal | None:
    """Price per hour in another currency; None when there is no rate."""
    from tools.catalog import exchange_rates
    from tools.errors import BadQuantityError

    try:
        return exchange_rates().convert(price.per_hour, given=price.currency, wanted=currency)
    except BadQuantityError:
        return None


def meets(offer: InstanceOffer, price: Price | None, filters: Filters) -> bool:
    """True when the row meets every filter; the unknown meets none."""
    flags = filters.flags
    return (
        (not filters.providers or offer.provider in filters.providers)
        and (not filters.gpus or offer.gpu_label in filters.gpus)
        and _at_least(offer.gpu_memory_gb, filters.min_memory_gb)
        and _at_least(offer.gpu_count, filters.min_count)
        and ("nvlink" not in flags or offer.nvlink is True)
        and ("rdma" not in flags or offer.rdma is True)
        and ("priced" not in flags or price is not None)
        and ("whole" not in flags or not offer.is_slice)
        and ("for_sale" not in flags or offer.status in ("current", "previous-gen"))
        and filters.name.strip().lower() in offer.instance_type.lower()
        and _cheap_enough(price, filters)
    )


def _at_least(value: float | None, wanted: float | None) -> bool:
    return not wanted or (value is not None and value >= wanted)


def _cheap_enough(price: Price | None, filters: Filters) -> bool:
    if not filters.max_price:
        return True
    converted = None if price is None else in_currency(price, filters.currency)
    return converted is not None and converted <= Decimal(str(filters.max_price))


_HEADS = (
    "col_provider", "col_instance", "col_gpu", "col_count", "col_memory", "col_price", "col_dated",
    "col_region", "col_vcpu", "col_ram", "col_network", "col_nvlink", "col_rdma", "col_status",
)  # fmt: skip


def catalog_html(filters: Filters, language: Language) -> str:
    """The rows that meet the filters, as a sortable table, with what to know about them."""
    rows = [(o, p) for o, p in priced_offers() if meets(o, p, filters)]
    rows.sort(key=lambda row: _cheapest_first(*row))
    count = say("catalog_count", language, shown=len(rows), total=len(priced_offers()))
    parts = [tag("p", text(count), role="status", class_="xk-count")]
    same = _namesake_note(filters.name, language)
    if same:
        parts.append(tag("p", text(same), class_="xk-clarify"))
    if rows:
        heads = [say(key, language) for key in _HEADS]
        cells = [_cells(o, p, filters.currency, language) for o, p in rows]
        numeric = (3, 4, 5, 8, 9, 10)
        title = say("tab_catalog", language)
        parts.append(sortable_table(heads, cells, caption=title, numeric=numeric))
    else:
        parts.append(tag("p", text(say("catalog_none", language)), class_="xk-empty"))
    parts.append(tag("p", text(say("catalog_prices_note", language)), class_="xk-dim"))
    return tag("div", *parts, class_="xk-catalog", lang=language)


def _cheapest_first(offer: InstanceOffer, price: Price | None) -> tuple[bool, Decimal, str, str]:
    per_hour = None if price is None else in_currency(price, "CNY")
    return (per_hour is None, per_hour or Decimal(0), offer.provider, offer.instance_type)


def _namesake_note(name: str, language: Language) -> str:
    wanted = name.strip().lower()
    if len(wanted) < 2:
        return ""
    found = {n: users for n, users in namesakes().items() if n.startswith(wanted)}
    if not found:
        return ""
    labels = provider_labels(language)
    shown = [
        f"{n} ({', '.join(labels.get(u, u) for u in users)})" for n, users in sorted(found.items())
    ]
    return say("catalog_collision", language, names="; ".join(shown[:6]))


def _cells(
    offer: InstanceOffer, price: Price | None, currency: str, language: Language
) -> Sequence[tuple[str, str]]:
    converted = None if price is None else in_currency(price, currency)
    shown_price = say("no_price", language)
    dated = ""
    if price is not None:
        shown_price = f"{format_significant(float(price.per_hour), 4)} {price.currency}"
        dated = price.priced_on.isoformat() if price.priced_on else say("undated", language)
    memory = offer.gpu_memory_gb
    return (
        _plain(provider_labels(language).get(offer.provider, offer.provider)),
        _plain(offer.instance_type),
        _plain(offer.gpu_label or say("unknown", language)),
        _cards(offer.card_count, language),
        _number(memory, language),
        (shown_price, "" if converted is None else f"{converted:f}"),
        _plain(dated),
        _plain((price.region or "") if price else ""),
        _number(offer.vcpu_count, language),
        _number(offer.memory_gib, language),
        _number(offer.network_gbps, language),
        _flag(offer.nvlink, language),
        _flag(offer.rdma, language),
        _plain(say_or(f"status_{offer.status}", language, offer.status)),
    )


def _plain(shown: str) -> tuple[str, str]:
    return shown, shown


def _number(value: float | None, language: Language) -> tuple[str, str]:
    if value is None:
        return say("unknown", language), ""
    return format_significant(value, 4), str(value)


def _cards(count: float | None, language: Language) -> tuple[str, str]:
    return _number(None, language) if count is None else (cards_shown(count), str(count))


def _flag(value: bool | None, language: Language) -> tuple[str, str]:
    if value is None:
        return say("unknown", language), ""
    return say("yes" if value else "no", language), "1" if value else "0"
