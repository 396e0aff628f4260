"""What a machine must have, read out of a question: cards, memory, links, cores, price.

Amounts are read one kind after the other, and what one kind has read the next does not see, so
that 100G in front of RDMA is a link's speed and 24G behind two cards is memory.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import Any, NamedTuple

from agent.request import Money, Request
from tools.catalog import currency_code, scan_providers
from tools.gpus import scan_gpus

_HOURS_PER_MONTH = 730
_N = r"(?P<n>\d{1,5}(?:\.\d{1,2})?)"
_LEAST = (
    r"(?:至少|最少|起码|不低于|不少于|不小于|大于等于|大于|超过|高于|要|为|是|>=|≥|>|of|with|at\s?least"
    r"|no\s?less\s?than|minimum(?:\s?of)?|min|over|above|more\s?than|:)?\s?"
)
_OR_MORE = (
    r"\s?(?:\+|及?以上|或以上|起步?|or\s(?:more|larger|better|higher|above)|and\s(?:up|above))?"
)
_G = r"\s?\+?\s?g(?:i?b)?(?![a-z])"
_BPS = r"\s?\+?\s?g(?:bps|bit/s|bits?|b/s|be)?(?![a-z])"
_RDMA = r"(?:erdma|rdma|roce(?:\s?v2)?|infiniband|(?<![a-z])ib(?![a-z])|(?<![a-z])efa(?![a-z]))"
_NET = r"(?:网络|带宽|内网|网卡|网(?!盘)|以太网?|network(?:ing)?|bandwidth|ethernet|nic|link)"
_VRAM = (
    r"(?:显存|vram|video\s?memory|gpu\s?(?:memory|ram|mem)|单卡|每卡|每张卡?|每块卡?|per\s(?:gpu|card)"
    r"|each(?:\s(?:gpu|card))?|a\s(?:gpu|card))"
)
_TOTAL = r"(?:总显存|显存(?:总共|合计|总计|总量)|合计显存|total\s(?:vram|gpu\smemory|gpu\sram))"
_RAM = (
    r"(?:主机内存|系统内存|内存|(?:host|system|cpu|main)\s(?:memory|ram)|(?<![a-z])(?<!gpu\s)ram)"
)
_COUNT_UNIT = r"(?:张|块|卡|片|×|x(?=\s)|gpus?|cards?|way)"
_DIGITS = {"一": 1, "单": 1, "两": 2, "二": 2, "双": 2, "三": 3, "四": 4, "八": 8, "十六": 16}

_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("min_rdma_gbps", (
        rf"{_N}{_BPS}{_OR_MORE}\s?(?:的|of)?\s?{_RDMA}",
        rf"{_RDMA}\s?(?:{_NET})?\s?{_LEAST}{_N}{_BPS}{_OR_MORE}",
    )),
    ("min_network_gbps", (
        rf"{_N}{_BPS}{_OR_MORE}\s?(?:的|of)?\s?{_NET}",
        rf"{_NET}\s?(?:带宽|bandwidth|speed)?\s?{_LEAST}{_N}{_BPS}{_OR_MORE}",
        rf"{_N}\s?g(?:bps|bit/s|b/s|be){_OR_MORE}",
    )),
    ("min_total_gpu_memory_gb", (
        rf"{_TOTAL}\s?{_LEAST}{_N}{_G}",
        rf"{_N}{_G}{_OR_MORE}\s?(?:的|of)?\s?{_TOTAL}",
    )),
    ("min_memory_tib", (
        rf"{_RAM}\s?{_LEAST}{_N}\s?ti?b?(?![a-z])",
        rf"{_N}\s?ti?b?{_OR_MORE}\s?(?:的|of)?\s?{_RAM}",
    )),
    ("min_memory_gib", (
        rf"{_RAM}\s?{_LEAST}{_N}{_G}{_OR_MORE}(?!\s?的?\s?{_VRAM})",
        rf"{_N}{_G}{_OR_MORE}\s?(?:的|of)?\s?{_RAM}",
    )),
    ("min_vcpu", (
        rf"{_N}\s?(?:个)?\s?{_OR_MORE}\s?(?:v\s?cpus?|v?核|(?:cpu\s)?cores?|cpus?)(?![a-z])",
        rf"(?:v\s?cpus?|cpu\s?核数?|核数|cores)\s?{_LEAST}{_N}",
    )),
    ("min_gpu_memory_gb", (
        rf"{_VRAM}\s?{_LEAST}{_N}{_G}{_OR_MORE}",
        rf"{_N}{_G}{_OR_MORE}\s?(?:的|of)?\s?{_VRAM}",
        rf"{_COUNT_UNIT}\s?(?:带|有)?\s?{_LEAST}{_N}{_G}{_OR_MORE}",
        rf"(?<![\d.]){_LEAST}{_N}{_G}{_OR_MORE}",
    )),
)  # fmt: skip
_COUNT = re.compile(
    rf"(?P<least>至少|最少|不少于|不低于|at\s?least|>=|≥)?\s?(?:(?P<n>(?<![\d.a-z])\d{{1,2}})|"
    rf"(?P<han>十六|[一单两二双三四八]))\s?(?P<more>\+|or\smore|个?以上)?\s?[- ]?"
    rf"(?P<unit>{_COUNT_UNIT})(?![a-z])"
    r"\s?(?P<more2>及?以上|或以上|or\smore)?"
)
_OF_EACH = re.compile(r"1/\d|半张|每$")
_NO = r"(?:不要|不用|不需要|不带|不含|不考虑|排除|除了|除|不支持|别(?:给|用|推荐)?|(?<!有)没有|无需|无|非|except(?:\sfor)?|excluding|exclude|without|other\sthan|but\snot|not|no|non)"  # noqa: E501
_EXCLUDED = re.compile(rf"(?<![a-z]){_NO}[\s-]?(?P<what>[^,。;；!！?？]{{1,40}})")
_FEATURES: tuple[tuple[str, str], ...] = (
    ("nvlink", r"nv\s?link|nvswitch"),
    ("rdma", _RDMA),
    ("bare_metal", r"裸金属|裸机|物理机|神龙|bare[\s-]?metal"),
    ("bf16", r"bf16|bfloat16"),
    ("fp8", r"fp8"),
    ("slices", r"vgpu|切片|分片|半张|1/\d\s?张|共享型|fraction(?:al|s)?|slices?(?![a-z])"),
)
_AND_ALSO = re.compile(r"\s?(?:、|,|/|和|或者?|与|及|跟|or|and|nor)?\s?")
_NOT_NEEDED = re.compile(r"不需要|无需|not\sneed|no\sneed|不用")
_EITHER_WAY = re.compile(r"\s?(?:也行|也可以?|也成|都行|都可以|无所谓|is\s(?:ok|fine))")
_PRICE = re.compile(
    r"(?P<sign>[$¥￥])?\s?(?P<n>\d{1,5}(?:\.\d{1,2})?)\s?"
    r"(?P<word>usd|dollars?|美元|美金|刀|元|块|rmb|cny)?\s?(?:以内|以下)?\s?"
    r"(?:(?:/|per|an?|each|每)?\s?(?:gpu|card|张卡|卡))?[ -]?(?:/|per|an?|each|每)\s?"
    r"(?:h(?:ou)?r?(?![a-z])|小?时)"
)
"""A price of an hour, also of one card, that the budget's reader did not take."""
_WHOLE = re.compile(
    r"整卡|整张|独占|whole\s(?:gpu|card)s?|full\s(?:gpu|card)s?|dedicated\s(?:gpu|card)"
)
_OF_A_CARD = re.compile(
    r"(?:每|单)(?:张|块)?卡\s?(?:每|一)?\s?小?时|每小?时\s?每(?:张|块)?卡"
    r"|(?:/|per|a|each)\s?(?:gpu|card)(?![a-z])[ -]?(?:per\s|an\s|/)?h|gpu[-\s]?hour|卡时"
)


class Amount(NamedTuple):
    """One thing asked for: the argument of `find_instances`, and its value."""

    name: str
    value: Any


class MachineNeed(NamedTuple):
    """What is asked of a machine."""

    points: dict[str, Any]
    """Arguments of `find_instances`."""
    exact_count: bool
    """The number of cards was said without "at least"."""

    @property
    def hard(self) -> tuple[str, ...]:
        """Points beyond the card, its cloud and its place."""
        soft = ("gpu", "gpus", "provider", "region", "in_region", "min_gpu_count",
                "max_price_currency", "max_price_of_card", "min_gpu_memory_gb")  # fmt: skip
        return tuple(name for name in self.points if name not in soft)


def read_need(request: Request) -> MachineNeed:
    """The need of a question, out of its words and its slots."""
    text = unicodedata.normalize("NFKC", request.search_query).casefold()
    points: dict[str, Any] = {}
    excluded, rest = _without_excluded(text, points)
    rest = _without_price(request, rest)
    for name, patterns in _KINDS:
        rest = _read_amount(name, patterns, rest, points)
    if "min_memory_tib" in points:
        points["min_memory_gib"] = points.pop("min_memory_tib") * 1024
    least = _read_count(rest, points)
    if "min_gpu_count" not in points:
        _read_count_of_cards(rest, points)
    _read_features(text, excluded, points)
    _read_place(request, rest, points)
    _read_cards(request, excluded, points)
    _read_budget(request, text, points)
    return MachineNeed(points, exact_count="min_gpu_count" in points and not least)


def _read_amount(name: str, patterns: tuple[str, ...], text: str, points: dict[str, Any]) -> str:
    """Reads one kind of amount; gives the text back without it."""
    for pattern in patterns:
        found = re.search(pattern, text)
        if found is None:
            continue
        value = float(found["n"])
        points[name] = int(value) if name == "min_vcpu" else value
        if name == "min_rdma_gbps":
            points["rdma"] = True
        keeps_count = name == "min_gpu_memory_gb" and pattern.startswith(_COUNT_UNIT)
        start = found.start("n") if keeps_count else found.start()
        return f"{text[:start]} , {text[found.end() :]}"
    return text


def _read_count(text: str, points: dict[str, Any]) -> bool:
    """Reads the number of cards; True where it is a least one."""
    for found in _COUNT.finditer(text):
        if _OF_EACH.search(text[max(0, found.start() - 2) : found.end()]):
            continue
        value = int(found["n"]) if found["n"] else _DIGITS[found["han"]]
        if value < 1:
            continue
        points["min_gpu_count"] = value
        return bool(found["least"] or found["more"] or found["more2"])
    return False


def _read_count_of_cards(text: str, points: dict[str, Any]) -> None:
    """Reads a number in front of a card's name: 8 L4 GPUs, 4x A10."""
    for mention in scan_gpus(text):
        before = re.search(r"(?<![\d.])(\d{1,2})\s?([x×*]?)\s?$", text[: mention.start])
        is_counted = re.match(r"\s?(?:gpus?|cards?|卡)(?![a-z])", text[mention.end :])
        if before is not None and (before[2] or is_counted) and int(before[1]) > 0:
            points["min_gpu_count"] = int(before[1])
            return


def _without_excluded(text: str, points: dict[str, Any]) -> tuple[list[str], str]:
    """What is said not to be wanted, and the text without it."""
    told: list[str] = []
    start = 0
    while (found := _EXCLUDED.search(text, start)) is not None:
        end = found.start("what") + _take(found, told, points)
        if end == found.start("what"):
            start = end
        else:
            text = f"{text[: found.start()]} , {text[end:]}"
            start = found.start()
    return told, text


def _take(found: re.Match[str], told: list[str], points: dict[str, Any]) -> int:
    """Reads the feature, or the cards and clouds, that a fragment begins with; gives its end."""
    what = found["what"]
    for name, words in _FEATURES:
        said = re.match(rf"\s?(?:{words})", what)
        if said is None:
            continue
        told.append(name)
        is_open = _NOT_NEEDED.search(found[0]) or _EITHER_WAY.match(what, said.end())
        if name == "slices":
            points[name] = "none"
        elif not is_open:
            points[name] = False
        return said.end()
    return _take_names(what, points)


def _take_names(what: str, points: dict[str, Any]) -> int:
    """Reads the cards and clouds that a fragment begins with; gives where they end."""
    named = [(m.start, m.end, "exclude_gpus", m.match.spec.name) for m in scan_gpus(what)]
    named += [(m.start, m.end, "exclude_providers", m.provider) for m in scan_providers(what)]
    end = 0
    for start, stop, key, name in sorted(named):
        if _AND_ALSO.fullmatch(what[end:start]) is None:
            break
        points[key] = tuple(dict.fromkeys((*points.get(key, ()), name)))
        end = stop
    return end


def _without_price(request: Request, text: str) -> str:
    """The text without the budget's words, so that its number is no size."""
    span = request.spans.get("budget")
    said = unicodedata.normalize("NFKC", span.text).casefold() if span is not None else ""
    text = text.replace(said, " , ") if said else text
    return _PRICE.sub(lambda m: " , " if m["sign"] or m["word"] else m[0], text)


def _read_features(text: str, excluded: list[str], points: dict[str, Any]) -> None:
    for name, words in _FEATURES:
        if name in points or name in excluded or re.search(words, text) is None:
            continue
        points[name] = "only" if name == "slices" else True
    if _WHOLE.search(text):
        points["slices"] = "none"


def _read_place(request: Request, text: str, points: dict[str, Any]) -> None:
    named = tuple(dict.fromkeys(m.provider for m in scan_providers(text)))
    left_out = points.get("exclude_providers", ())
    slots = request.slots
    kinds = {found[0] for found in re.finditer(_RDMA, text)}
    is_guess = "provider" in request.inferred or len(kinds) > 1
    said = named or tuple(
        p
        for p in (slots.providers or (slots.provider,))
        if p is not None and p not in left_out and not is_guess
    )
    if said:
        points["provider"] = said
    if slots.region is not None:
        points["region"] = slots.region
        points["in_region"] = True


def _read_cards(request: Request, excluded: list[str], points: dict[str, Any]) -> None:
    left_out = points.get("exclude_gpus", ())
    slots = request.slots
    named = slots.gpus or ((slots.gpu,) if slots.has_card else ())
    kept = tuple(card for card in named if card not in left_out)
    if kept:
        points["gpus"] = kept


def _read_budget(request: Request, text: str, points: dict[str, Any]) -> None:
    budget: Money | None = request.slots.budget
    if budget is None or budget.per in (None, "total"):
        budget = _price_said(text)
    if budget is None:
        return
    hours = {"hour": 1, "month": _HOURS_PER_MONTH}.get(budget.per or "")
    if hours is None:
        return
    points["max_price"] = (Decimal(str(budget.amount)) / hours).quantize(Decimal("0.0001"))
    points["max_price_currency"] = budget.currency or ("CNY" if request.language == "zh" else "USD")
    if _OF_A_CARD.search(text):
        points["max_price_of_card"] = True


def _price_said(text: str) -> Money | None:
    """A price of an hour or of a card's hour in the text."""
    for found in _PRICE.finditer(text):
        if found["sign"] or found["word"]:
            currency = currency_code(found["sign"] or found["word"])
            return Money(amount=float(found["n"]), currency=currency, per="hour")
    return None
