"""What a machine must have, read out of a question (data/machine_need.yaml).

What is not wanted is read first and taken out, then money, then the amounts.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from itertools import islice
from typing import Any

from agent.request import MachineNeed, Money, Slots
from agent.understanding.data import load
from agent.understanding.lexicon.numerals import DIGITS, parse_number
from agent.understanding.lexicon.phrases import Hit, PhraseTable, phrase_pattern, table
from agent.understanding.lexicon.text import blanked
from agent.understanding.readers.claims import Place
from agent.understanding.readers.need_amounts import (
    holes,
    read_cards_counted,
    read_least_amounts,
    without_counts,
)

_FILE = "machine_need"
_MORE_WORDS = 1
"""Words, or pairs of Chinese characters, that a list of conditions may have beside them."""
_WORD = re.compile(r"[a-z]+|[\u3400-\u9fff]{1,2}")
_MOST = 20
_RDMA_KINDS = {"erdma", "rdma", "roce", "infiniband", "efa"}


def read_machine_need(
    text: str, slots: Slots, *, inferred: frozenset[str], budget: Place | None
) -> MachineNeed | None:
    """The need of a text, out of its words and its slots; None where it looks for no machine.

    Args:
        text: Folded; orders, log lines and settings blank.
        slots: Settled.
        inferred: Slots that were not said.
        budget: Where the budget stands.
    """
    asks_cards = _table("cards_asked").has(text)
    if not asks_cards and not _table("machines").has(text) and not _is_bare_list(text, slots):
        return None
    points: dict[str, Any] = {}
    rest = _without_denied(text, points)
    price = _price_said(rest)
    rest = holes(rest, [place for place in (budget, *_prices(rest)) if place is not None])
    rest = _read_amounts(_read_share(rest, points), points)
    for hit in _table("features").every(rest):
        points.setdefault(hit.value, "only" if hit.value == "slices" else True)
    if "slices" not in points and _table("whole").has(rest):
        points["slices"] = "none"
    _read_place(text, rest, slots, inferred, points)
    money = slots.budget if slots.budget and slots.budget.per in ("hour", "month") else price
    if money is not None:
        points |= {"max_price": money, "max_price_of_card": _table("price_of_card").has(text)}
    points = {name: value for name, value in points.items() if value is not None}
    if not points:
        return None
    return MachineNeed(**points, asks_cards=asks_cards, is_list=_is_list(rest))


def _is_list(rest: str) -> bool:
    """Whether a text without its amounts is little more than a list of conditions."""
    from tools.catalog import scan_providers
    from tools.gpus import scan_gpus

    rest = without_counts(rest)
    names = [(m.start, m.end) for m in scan_gpus(rest)]
    names += [(m.start, m.end) for m in scan_providers(rest)]
    rest = blanked(rest, names)
    for group in ("features", "machines", "cards_asked", "whole", "small_words"):
        rest = blanked(rest, [(hit.start, hit.end) for hit in _table(group).every(rest)])
    return len(_WORD.findall(rest)) <= _MORE_WORDS


def _table(name: str) -> PhraseTable:
    return table(_FILE, name)


# ---- what is not wanted


_LONGEST_LIST = 80
"""Characters of a text that is nothing but a list of conditions."""


_OTHER_CONDITIONS = 2
"""Features, price and place that make a list of cards counted or sized one that is looked for."""


def _is_bare_list(text: str, slots: Slots) -> bool:
    """Whether a short text lists what a machine has and nothing else: cards, NVLink, RDMA."""
    if len(text) > _LONGEST_LIST or _table("asks_else").has(text) or slots.nodes is not None:
        return False
    features = {hit.value for hit in _table("features").every(text)}
    is_sized = slots.gpu_mem_gb is not None or (slots.gpu_count or 1) > 1
    if len(features) > 1 and is_sized:
        return True
    is_priced = slots.budget is not None and slots.budget.per in ("hour", "month")
    others = len(features) + is_priced + (slots.region is not None)
    if others < _OTHER_CONDITIONS or slots.has_model or slots.task == "train":
        return False
    return is_sized or _sizes_cards(text)


def _sizes_cards(text: str) -> bool:
    """Whether several cards, or memory of one, are what a text asks for."""
    amounts, rest = read_least_amounts(text)
    counted = read_cards_counted(rest)
    return "min_gpu_memory_gb" in amounts or (counted is not None and counted[0] > 1)


def _without_denied(text: str, points: dict[str, Any]) -> str:
    """The text without what is said not to be wanted, which is noted."""
    places: list[Place] = []
    for negation in _table("negations").find(text):
        if negation.value == "asks":
            continue
        start = _between().match(text, negation.end)
        begin = start.end() if start is not None else negation.end
        end = _denied_feature(text, begin, negation, points) or _denied_names(text, begin, points)
        if end is not None:
            places.append((negation.start, end))
    return holes(text, places)


def _denied_feature(text: str, begin: int, negation: Hit, points: dict[str, Any]) -> int | None:
    """Notes a feature that stands here as not wanted; gives where it ends."""
    hits = [hit for hit in _table("features").every(text) if hit.start == begin]
    shares = [hit for hit in _table("shares").every(text) if hit.start == begin]
    hits += [hit._replace(value="slices") for hit in shares if hit.value != "1"]
    if not hits:
        return None
    said = max(hits, key=lambda hit: hit.end)
    is_open = negation.value == "open" or _either_way().match(text, said.end) is not None
    if said.value == "slices":
        points["slices"] = "none"
    else:
        points[said.value] = None if is_open else False
    return said.end


def _denied_names(text: str, begin: int, points: dict[str, Any]) -> int | None:
    """Notes the cards and clouds of a list that begins here; gives where it ends."""
    from tools.catalog import scan_providers
    from tools.gpus import scan_gpus

    clause = re.split(r"[。;!?\n]", text[begin:])[0][:60]
    named = [(m.start, m.end, "exclude_gpus", m.match.spec.name) for m in scan_gpus(clause)]
    named += [(m.start, m.end, "exclude_providers", m.provider) for m in scan_providers(clause)]
    end = 0
    for start, stop, key, name in sorted(named):
        if _also().fullmatch(clause[end:start]) is None:
            break
        points[key] = tuple(dict.fromkeys((*points.get(key, ()), name)))
        end = stop
    return begin + end if end else None


def _either(name: str) -> str:
    ordered = sorted(map(str, load(_FILE)[name]), key=len, reverse=True)
    return "|".join(phrase_pattern(phrase) for phrase in ordered)


@cache
def _between() -> re.Pattern[str]:
    return re.compile(rf"(?:[\s\-]?(?:{_either('between')}))?[\s\-]{{0,2}}")


@cache
def _also() -> re.Pattern[str]:
    return re.compile(rf"\s?(?:(?:{_either('also')})\s?){{0,2}}(?:{_either('between')})?\s?|s?\s?")


@cache
def _either_way() -> re.Pattern[str]:
    return re.compile(rf"\s?的?\s?(?:{_either('either_way')})")


# ---- amounts and money


def _read_amounts(text: str, points: dict[str, Any]) -> str:
    """Notes least amounts and the number of cards; gives the text without the amounts."""
    amounts, rest = read_least_amounts(text)
    if "min_rdma_gbps" in amounts:
        points["rdma"] = True
    if "min_vcpu" in amounts:
        points["min_vcpu"] = int(amounts.pop("min_vcpu"))
    points |= amounts
    counted = read_cards_counted(rest)
    if counted is not None:
        points["min_gpu_count"], points["exact_count"] = counted
    return rest


@cache
def _rate() -> re.Pattern[str]:
    """A price of an hour, also of one card, that the budget's reader did not take."""
    words = load(_FILE)["currency"]
    sign = r"(?P<sign>[$¥])?\s?"
    named = "".join(rf"|(?P<{code}>{'|'.join(said)})(?![a-z])" for code, said in words.items())
    card = r"(?:(?:/|per|an?|each|每)?\s?(?:gpu|card|张卡|卡))?[ -]?"
    hour = r"(?:/|per|an?|each|每|一)\s?(?:h(?:ou)?r?s?(?![a-z])|个?小?时)|hourly"
    return re.compile(
        rf"{sign}(?<![\d.])(?P<amount>{DIGITS})\s?(?:{named[1:]})?\s?(?:以内|以下)?\s?{card}(?:{hour})"
    )


def _rates(text: str) -> list[tuple[re.Match[str], str]]:
    """Prices of an hour with the currency that they name."""
    found = []
    for hit in islice(_rate().finditer(text), _MOST):
        signed = {"$": "USD", "¥": "CNY"}.get(hit["sign"] or "")
        currency = signed or next((code for code in ("USD", "CNY") if hit[code]), None)
        if currency is not None:
            found.append((hit, currency))
    return found


def _prices(text: str) -> list[Place]:
    return [hit.span() for hit, _ in _rates(text)]


def _price_said(text: str) -> Money | None:
    for hit, currency in _rates(text):
        amount = parse_number(hit["amount"])
        if amount:
            return Money(amount=amount, currency=currency, per="hour")
    return None


# ---- cards, clouds and places


def _read_share(text: str, points: dict[str, Any]) -> str:
    """Notes the share of a card of "half an A10", "1/4 张卡", "a whole one"; the rest is given."""
    starts = _ends_of_shares(text)
    found = [(hit.value, hit.start, hit.end) for hit in _table("shares").find(text)]
    found += [(hit.value, hit.start, hit.end) for hit in _table("share_words").every(text)
              if _reaches(text, hit.end, starts)]  # fmt: skip
    found += [(hit["share"], *hit.span()) for hit in _FRACTION.finditer(text)
              if _reaches(text, hit.end(), starts)]  # fmt: skip
    if found:
        share = float(Fraction(found[0][0]))
        points |= {"gpu_share": share, "slices": "only" if share < 1 else "none"}
    return holes(text, [(start, end) for _, start, end in found])


_FRACTION = re.compile(
    r"(?<![\d.])(?P<share>1/[1-9]\d?|0?\.\d{1,3})(?![\d.])(?:\s?(?:of an?|of|an?|个)(?![a-z]))?"
)


def _ends_of_shares(text: str) -> set[int]:
    """Where a card, or a word for one, begins."""
    from tools.gpus import scan_gpus

    words = {hit.start for hit in _table("share_ends").every(text)}
    return words | {mention.start for mention in scan_gpus(text)}


def _reaches(text: str, end: int, starts: set[int]) -> bool:
    return end in starts or (text.startswith(" ", end) and end + 1 in starts)


def _read_place(
    text: str, rest: str, slots: Slots, inferred: frozenset[str], points: dict[str, Any]
) -> None:
    from tools.catalog import scan_providers

    kinds = {rest[hit.start : hit.end] for hit in _table("features").find(rest)}
    is_guess = "provider" in inferred or len(kinds & _RDMA_KINDS) > 1
    clouds = tuple(dict.fromkeys(mention.provider for mention in scan_providers(rest)))
    known = slots.providers or ((slots.provider,) if slots.provider else ())
    left_out = points.get("exclude_providers", ())
    if not clouds and not is_guess:
        clouds = tuple(cloud for cloud in known if cloud not in left_out)
    named = slots.gpus or ((slots.gpu,) if slots.has_card and slots.gpu else ())
    cards = tuple(card for card in named if card not in points.get("exclude_gpus", ()))
    if clouds:
        points["providers"] = clouds
    if cards:
        points["gpus"] = cards
    if slots.region is not None:
        points["region"] = slots.region
