"""Memory sizes: of a card, of the host, of the need, of a data set (GB as written)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice

from agent.understanding.lexicon.numerals import DIGITS
from agent.understanding.lexicon.phrases import PhraseTable, table
from agent.understanding.lexicon.readings import Board, Reading
from agent.understanding.lexicon.text import Document

_MOST = 60
"""Matches of one pattern that are looked at."""
_SIZE = re.compile(
    rf"(?<![a-z0-9.\-])(?P<number>{DIGITS})\s?(?:个\s?)?(?P<unit>gib|gi|gigabytes?|gigs?|gb|g|tib|tb|t|mib|mb)(?P<plus>\+)?(?![a-z0-9/])"
)
_OWN_MEMORY = re.compile(r"\s?(?:的)?(?:内存|memory)")
_FACTOR = {
    "gib": 1.0,
    "gi": 1.0,
    "gb": 1.0,
    "g": 1.0,
    "gig": 1.0,
    "gigs": 1.0,
    "gigabyte": 1.0,
    "gigabytes": 1.0,
    "tib": 1000.0,
    "tb": 1000.0,
    "t": 1000.0,
    "mib": 1 / 1024,
    "mb": 1e-3,
}
_FREE = "free"
"""No slot: what is free now, or a disk."""
_LARGEST_CARD_GB = 400


@dataclass(frozen=True, slots=True)
class Amount:
    """A memory size in the text."""

    gb: float
    start: int
    end: int
    unit: str


def _table(name: str) -> PhraseTable:
    return table("amounts", name)


def find_amounts(document: Document) -> list[Amount]:
    """Memory sizes that no other reader took."""
    found = []
    for hit in islice(_SIZE.finditer(document.text), _MOST):
        if document.is_free(hit.start(), hit.end()):
            value = float(hit["number"].replace(",", "").replace("_", "")) * _FACTOR[hit["unit"]]
            found.append(Amount(round(value, 6), hit.start(), hit.end(), hit["unit"]))
    return found


_UNITLESS = re.compile(
    r"(?P<what>显存|内存)(?:只有|有|大小|是|为)?\s?[:=]?\s?(?P<number>\d{1,4})(?![\d.]|\s?[a-z%条张核])"
)


def _read_unitless(document: Document, board: Board) -> None:
    """Note "显存24" and "内存64": GB goes without saying."""
    for found in _UNITLESS.finditer(document.rest()):
        slot = "gpu_mem_gb" if found["what"] == "显存" else "host_ram_gb"
        board.add(slot, float(found["number"]), found.start(), found.end())
        document.take(found.start("number"), found.end("number"))


def read_amounts(document: Document, board: Board) -> None:
    """Give every size the slot that its neighbours name."""
    _read_unitless(document, board)
    for amount in find_amounts(document):
        slot = _slot_of(document.text, amount, board)
        if slot == _FREE:
            document.take(amount.start, amount.end)
            continue
        if slot is None or (slot == "need_gb" and amount.unit.endswith("ib")):
            board.add("loose_gb", amount.gb, amount.start, amount.end)
            continue
        if slot == "host_ram_gb" and amount.unit == "mb" and amount.gb < 1:
            board.add("mb_for_gb", round(amount.gb * 1000), amount.start, amount.end)
            amount = replace(amount, gb=amount.gb * 1000)
        value: float | str = round(amount.gb * (1000 if slot == "model_size_mb" else 1), 6)
        if slot == "dataset":
            value = document.text[amount.start : amount.end]
        board.add(slot, value, amount.start, amount.end)
        document.take(amount.start, amount.end)


def _slot_of(text: str, amount: Amount, board: Board) -> str | None:
    before = re.split(r"[,。;\n?!]", text[max(0, amount.start - 16) : amount.start])[-1]
    behind = re.split(r"[,。;\n?!]", text[amount.end : amount.end + 16])[0]
    close = text[max(0, amount.start - 4) : amount.start], text[amount.end : amount.end + 10]
    own = _NEXT_SIZE.split(behind)[0][:12]
    for name in ("dataset", "disk"):
        if _table(f"{name}_behind").has(own) or _table(f"{name}_before").has(before):
            return "dataset" if name == "dataset" else _FREE
    if _table("free_before").has(before[-6:]) or _table("free_behind").has(behind[:12]):
        return None if "卡" in behind[:6] else _FREE
    if _OWN_MEMORY.match(behind):
        return _either_memory(text, amount, board)
    if amount.unit in ("mb", "mib") and _table("model_file").has(before + " | " + behind):
        return "model_size_mb"
    if not board.has("card") and _COMPUTER.match(behind):
        return "host_ram_gb"
    if _table("card_behind").has(close[1]) or _table("card_before").has(_of_cards(before)[-8:]):
        return "gpu_mem_gb" if amount.gb <= _LARGEST_CARD_GB else "total_mem_gb"
    if _table("host_behind").has(_OF.sub("", behind)[:14]) or _table("host_before").has(
        before[-12:]
    ):
        return "host_ram_gb"
    if _table("total").has(before[-10:] + " | " + behind[:8]):
        return _slot_of_total(amount, board)
    if _table("memory").has(behind[:5]) or _table("memory").has(before[-5:]):
        return _either_memory(text, amount, board)
    if _PLACE.search(before) and amount.gb <= _LARGEST_CARD_GB:
        return "gpu_mem_gb"
    return _slot_of_need(before, behind)


def _of_cards(before: str) -> str:
    """What stands in front of a size behind the words that there is no card."""
    ends = [hit.end for hit in table("words", "no_gpu").find(before)]
    return before[max(ends, default=0) :]


def _slot_of_need(before: str, behind: str) -> str | None:
    """A size that is asked for ("至少 24G", "24G 就够"), no size that there is."""
    is_asked = _ASKED_BEHIND.match(behind) is not None
    is_behind = _table("need_behind").has(behind[:8]) and not is_asked
    return "need_gb" if _table("need").has(before[-9:]) or is_behind else None


def _slot_of_total(amount: Amount, board: Board) -> str:
    """A total is that of all cards; beside what is in use it is that of one."""
    is_one = board.has("gpu_mem_used_mib") and amount.gb <= _LARGEST_CARD_GB
    return "gpu_mem_gb" if is_one else "total_mem_gb"


_NEXT_SIZE = re.compile(r"\d{1,5}\s?[gt]i?b?(?![a-z])")
"""Where the words behind a size are those of another one ("32gb 512gb ssd")."""
_COMPUTER = re.compile(
    r"\s?(?:的)?(?:laptop|notebook|pc|desktop|macbook|computer|笔记本|电脑|台式机?|轻薄本|小主机|迷你主机)"
    r"(?![a-z])(?!\s?的?(?:显卡|gpu))"
)
"""Behind a size: a computer's memory, where no card is named."""
_OF = re.compile(r"\A\s?(?:of|的)(?![a-z])\s?")
_ASKED_BEHIND = re.compile(
    r"\s?(?:显存|内存)?(?:上|下)?(?:的话)?能(?:不能)?(?:训|跑)[^,。;!\n]{0,4}(?:吗|么|不|[?])"
)
"""Behind a size: whether something runs is asked, so the size is what there is ("8G 能跑吗")."""
_PLACE = re.compile(
    r"(?<![a-z])(?:on|into|onto|fit in|fits in|within)\s(?:an?\s|just\s|only\s|my\s)?\Z"
)
"""In front of a size that something is to run on: a card's."""
_BESIDE = 8
"""Characters between a card and a size that may be its memory."""
_ADDED = re.compile(r"(?:加上?|配|外加|和|\+|plus|with|and)\s?(?:内存|memory)?\s?\Z")


def _is_apart(text: str, amount: Amount, card: Reading) -> bool:
    """True when a size beside a card is the host's: added to it, or more than the card has."""
    if _ADDED.search(text[card.end : amount.start]):
        return True
    largest = max([card.value.spec.memory_label_gb or 0, *_other_sizes(card.value.also)])
    return bool(largest) and amount.gb > largest


def _other_sizes(names: tuple[str, ...]) -> list[float]:
    """Memory of other rows that a bare name could mean, GB."""
    from tools.gpus import get_gpu

    return [get_gpu(name).memory_label_gb or 0 for name in names]


def _either_memory(text: str, amount: Amount, board: Board) -> str:
    """内存 or memory: of the card beside it, else of the host when one is spoken of."""
    around = text[max(0, amount.start - 30) : amount.end + 20]
    if _table("host_words").has(around) or amount.gb > 200:
        return "host_ram_gb"
    cards = board.of("card")
    beside = [card for card in cards if abs(amount.start - card.end) <= _BESIDE]
    if beside and not any(_is_apart(text, amount, card) for card in beside):
        return "gpu_mem_gb"
    return "host_ram_gb" if "内存" in around else "gpu_mem_gb"
