"""Is a text grounded: does each number, name, date, citation and claim in it have an origin?"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from agent.grounding.evidence import Evidence
from agent.grounding.names import blank, cards_in, instances_in, is_real_instance
from agent.grounding.quantities import Quantity, dates, quantities
from tools.gpus import get_gpu

Kind = Literal[
    "number", "price", "count", "date", "card", "instance", "citation", "capability", "verdict"
]
_ROUNDING = 0.004
"""Relative slack: a figure may be told with three significant digits."""
_ROUGHLY = 0.02
"""Relative slack after a word such as "about"."""
_OTHER_UNIT = {"GB": "GiB", "GiB": "GB", "MB": "MiB", "MiB": "MB", "TB": "TiB", "TiB": "TB"}
"""The unit that a size is most easily mistaken for."""
_CALENDAR_S = {3600.0, 24 * 3600.0, 7 * 86400.0, 30 * 86400.0, 365 * 86400.0, 730 * 3600.0}
"""An hour, a day, a week, a month, a year: units of a price rather than findings."""
_CITATION = re.compile(r"\[((?:guide|vendor|paper|hf|data|rule|doc|user):[^\]\s]+)\]")
_LINK = re.compile(r"https?://[^\s)\]>,。,;]+|arXiv:\s?\d{4}\.\d{4,5}", re.IGNORECASE)
_TITLE = re.compile(r"《([^《》]{2,80})》")
_CLAUSES = re.compile(r"[。!?!?;;\n]|(?<=[^\d])[,,、](?=\D)|\.(?=\s|$)|(?<!\d),\s| - ")
_SENTENCES = re.compile(r"[。!?!?;;\n]|\.(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Problem:
    """A piece of text without an origin."""

    kind: Kind
    text: str
    """As written."""
    reason: str
    """In English, for the model that wrote it."""


@cache
def _claims() -> Any:
    return tomllib.loads(files("agent.grounding").joinpath("data/claims.toml").read_text("utf-8"))


def problems(text: str, evidence: Evidence) -> tuple[Problem, ...]:
    """Everything in `text` that no evidence stands behind, in reading order of the kinds."""
    found = [
        *_numbers(text, evidence),
        *_dates(text, evidence),
        *_cards(text, evidence),
        *_instances(text, evidence),
        *_citations(text, evidence),
        *_capabilities(text),
        *_verdicts(text, evidence),
    ]
    return tuple(dict.fromkeys(found))


def orphan_numbers(text: str, evidence: Evidence) -> tuple[Problem, ...]:
    """Numbers with a unit, prices and dates that no evidence stands behind."""
    return tuple(dict.fromkeys([*_numbers(text, evidence), *_dates(text, evidence)]))


def _numbers(text: str, evidence: Evidence) -> Iterator[Problem]:
    for quantity in quantities(blank(text)):
        slip = _OTHER_UNIT.get(quantity.unit)
        is_ours = (quantity.number, quantity.unit) in evidence.written
        if (
            slip is not None
            and "." in quantity.number
            and not is_ours
            and (quantity.number, slip) in evidence.written
        ):
            yield Problem("number", quantity.text, f"{quantity.text!r}: the unit is {slip}")
            continue
        if _is_trivial(quantity) or _is_held(quantity, evidence):
            continue
        kind: Kind = "number"
        if quantity.dimension.startswith("money:"):
            kind = "price"
        elif quantity.dimension in ("cards", "nodes"):
            kind = "count"
        yield Problem(kind, quantity.text, f"{quantity.text!r} is in no tool result or passage")


def _is_trivial(quantity: Quantity) -> bool:
    """One card, one machine, a month, 100 %: ways of speaking, not findings."""
    if quantity.dimension in ("cards", "nodes", "cores"):
        return quantity.value == 1
    if quantity.dimension == "time":
        return quantity.value in _CALENDAR_S
    return quantity.dimension == "share" and quantity.value == 1.0


def _is_held(quantity: Quantity, evidence: Evidence) -> bool:
    share = _ROUGHLY if quantity.is_approximate else _ROUNDING
    exact = quantity.dimension in ("cards", "nodes", "cores")
    slack = 0.0 if exact else max(quantity.half_step, share * abs(quantity.value))
    slack *= 1 + 1e-9
    return evidence.holds(quantity.dimension, quantity.value - slack, quantity.value + slack)


def _dates(text: str, evidence: Evidence) -> Iterator[Problem]:
    for iso, written in dates(text):
        if not any(known.startswith(iso) for known in evidence.dates):
            yield Problem("date", written, f"the date {written} is in no tool result or passage")


def _cards(text: str, evidence: Evidence) -> Iterator[Problem]:
    for name in cards_in(text):
        if name.name not in evidence.cards:
            written = text[name.start : name.end]
            yield Problem("card", written, f"the card {written} is in no tool result or passage")


def _instances(text: str, evidence: Evidence) -> Iterator[Problem]:
    for name in instances_in(text):
        written = text[name.start : name.end]
        if name.name in evidence.instances:
            continue
        reason = "was not found by a tool" if is_real_instance(written) else "does not exist"
        yield Problem("instance", written, f"the instance {written} {reason}")


def _citations(text: str, evidence: Evidence) -> Iterator[Problem]:
    for found in _CITATION.finditer(text):
        if found[1] not in evidence.citations:
            yield Problem("citation", found[0], f"{found[0]} was not retrieved")
    for found in _LINK.finditer(text):
        if not evidence.says(found[0].rstrip(".")):
            yield Problem("citation", found[0], f"{found[0]} is in no retrieved passage")
    for found in _TITLE.finditer(text):
        title = found[1].strip()
        known = any(title.casefold() in t.casefold() for t in evidence.citations.values())
        if not known and not evidence.says(title):
            yield Problem(
                "citation", found[0], f"{found[0]} is not the title of a retrieved passage"
            )


def _capabilities(text: str) -> Iterator[Problem]:
    claims = _claims()
    for clause in _CLAUSES.split(text):
        named = cards_in(clause)
        if not named:
            continue
        folded = clause.casefold().replace("*", "")
        if _contains(folded, claims["polarity"]["open"]):
            continue
        is_mixed = len({n.name for n in named}) > 1 and _contains(
            folded, claims["polarity"]["denies"]
        )
        for capability in claims["capability"]:
            word = claims["capability"][capability]["words"][0]
            said = _said_capability(folded, capability)
            for name in {n.name for n in named}:
                truth = getattr(get_gpu(name), capability)
                if truth is False and said is True and not is_mixed:
                    yield Problem("capability", clause.strip(), f"{name} has no {word}")
                elif truth is True and said is False and len(named) == 1:
                    yield Problem("capability", clause.strip(), f"{name} has {word}")


@cache
def _capability_patterns(capability: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """(denial, claim) of a capability, as patterns around its words."""
    claims = _claims()
    words = "|".join(re.escape(w) for w in claims["capability"][capability]["words"])
    denies = "|".join(re.escape(w) for w in claims["polarity"]["denies"])
    holds = "|".join(re.escape(w) for w in claims["polarity"]["holds"])
    after = "|".join(re.escape(w) for w in claims["polarity"]["denies_after"])
    denial = rf"(?:{denies}).{{0,14}}?(?:{words})|(?:{words}).{{0,8}}?(?:{after})"
    claim = rf"(?:{holds}).{{0,16}}?(?:{words})|(?:{words}).{{0,4}}?(?:可用|没问题|works)"
    return re.compile(denial), re.compile(claim)


def _said_capability(folded: str, capability: str) -> bool | None:
    """True for "has it", False for "lacks it", None where neither is said."""
    denial, claim = _capability_patterns(capability)
    if denial.search(folded):
        return False
    return True if claim.search(folded) else None


def _contains(folded: str, words: list[str]) -> bool:
    return any(word in folded for word in words)


def _verdicts(text: str, evidence: Evidence) -> Iterator[Problem]:
    claims = _claims()
    for number, sentence in enumerate(s for s in _SENTENCES.split(text) if s.strip()):
        folded = sentence.casefold()
        said = _said_verdict(folded, claims["fit"])
        if said is None or _contains(folded, claims["polarity"]["open"]):
            continue
        method = _method_of(folded, claims["method"])
        truth = evidence.method_verdicts.get(method) if method else None
        if truth is None:
            conditional = _contains(folded, claims["fit"]["conditional"])
            if number > 1 or conditional or method is not None:
                continue
            truth = evidence.verdict
        contradicts = (said and truth == "does_not_fit") or (
            not said and truth in ("fits", "tight")
        )
        if contradicts:
            yield Problem("verdict", sentence.strip(), f"the tools' verdict is {truth}")


def _said_verdict(folded: str, words: Any) -> bool | None:
    """True for "it fits", False for "it does not", None for neither or for both."""
    is_negative = _contains(folded, words["negative"])
    rest = folded
    for word in words["negative"]:
        rest = rest.replace(word, " ")
    is_positive = _contains(rest, words["positive"])
    return None if is_positive == is_negative else is_positive


def _method_of(folded: str, methods: dict[str, list[str]]) -> str | None:
    """The one training method that a sentence is about; None for none or several."""
    rest = folded
    found = []
    for method, words in methods.items():
        if _contains(rest, words):
            found.append(method)
            for word in words:
                rest = rest.replace(word, " ")
    return found[0] if len(found) == 1 else None
