"""Reads one card at a position of folded text: its key, then what is written around it.

Behind the key may follow a memory size, a form factor, a slice, a total of a log in brackets,
and words that say nothing (maker, memory kind); before it a size and a count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from tools.folding import touches
from tools.gpus.index import gpu_index
from tools.gpus.vocabulary import vocabulary

_WINDOW = 32
"""Characters looked at before a card's name."""
_GAP = r"[ \-_]{0,2}"
_SIZE = r"(?P<size>\d{1,4}(?:\.\d+)?)[ \-]?g(?:i?b|igs?)?(?![a-wyz0-9]|x(?! ?\d))"
_JOINED_NUMBER = re.compile(r"-(\d{2,3})(?![a-z0-9]|\.\d)")
_MAYBE_HOST = re.compile(r" *(?:的)?(?:内存|memory of the host|host memory)")
_TAIL_SIZE = re.compile(_GAP + r"[,(]?(?:各|每张|每卡|each )?[(]?" + _SIZE + r"\)?")
_TAIL_TOTAL = re.compile(
    r" ?[(,] ?(?P<total>\d{1,3}(?:\.\d+)?) ?(?P<unit>gib|mib)? ?(?:torch )?total[^)]{0,20}\)?"
)
_TAIL_TOTAL_MIB = re.compile(r" ?[(,|]? ?(?:\d{1,6} ?mib ?/ ?)?(?P<mib>\d{4,6}) ?mib\b\)?")
"""`23028MiB`, or the second figure of `21340MiB / 23028MiB`."""
_TAIL_MIG = re.compile(r"[ \-_(]{0,2}(?:mig[ \-_]?)?(?P<mig>(\d)g\.(\d{1,3})gb)(?:\+me)?\)?")
_TAIL_VGPU = re.compile(r"-(?P<vgpu>(\d{1,3})[qcba])(?![a-z0-9])")
_TAIL_CORES = re.compile(r"[ \-]?\d{1,3}[ \-]?core(?![a-z])")
_GLUED = re.compile(
    r"(?:ti|super)(?![a-z0-9])|x\d{1,3}(?![a-z0-9])|s(?![a-z0-9])|\d{1,3}g(?:i?b)?(?![a-z0-9])"
)
_VARIANTS = frozenset({"ti", "super", "nano", "nx"})
"""Words that name another card: where no row has it, the name is questioned."""
_GLUED_SIZE = re.compile(_SIZE)
_IDENTIFIER = re.compile(r"[\-_]([a-z]{3,})")
_INSTANCE_TAIL = re.compile(r"_v\d|\.[a-z0-9]")
_PIECES = r"块(?! ?\d?[一每] ?个?(?:小时|钟头)(?! ?(?:要|得|是|大概)?[多几]))"
"""Pieces of cards; in front of an hour it is money: "4090 2块一小时"."""
_COUNT_AFTER = re.compile(
    r"(?: ?[x*] ?(?P<times>\d{1,4})(?![a-z0-9]|\.\d| ?gi?b?\b)"
    rf"| ?(?P<digits>\d{{1,3}}) ?(?:张|{_PIECES}|卡|片|颗|cards?(?![a-z])|gpus?(?![a-z]))"
    rf"| ?(?P<word>[一二两三四五六七八九十单双]{{1,3}}) ?(?:张|{_PIECES}|卡|片|颗))"
)


@dataclass(slots=True)
class Reading:
    """A card as read, before its row is chosen."""

    key: str
    start: int
    end: int
    size_gb: float | None = None
    count: int | None = None
    count_from: int | None = None
    """Where a count with a measure word begins behind the name: it may be the next card's."""
    mig: tuple[str, int, int] | None = None
    """Profile name, compute slices, GB."""
    vgpu: tuple[str, int] | None = None
    """Profile suffix and GB."""
    total_mib: int | None = None
    unknown_form: str | None = None
    """A word that belongs to the name but leads to no card (`4090 Ti`)."""
    words: list[str] = field(default_factory=list)


class _Step(NamedTuple):
    end: int
    kept: bool
    """Whether the step belongs to the mention, or is a word without meaning."""


def read_card(text: str, start: int) -> Reading | None:
    """The card whose key begins at `start` of folded text, or None."""
    hits = gpu_index().trie.hits(text, start)
    for hit in reversed(hits):
        if _ends_here(text, hit.end, hit.key):
            reading = Reading(hit.key, start, hit.end)
            read_tail(text, reading)
            return reading
    return None


def _ends_here(text: str, end: int, key: str) -> bool:
    if _INSTANCE_TAIL.match(text, end):
        return False
    if not touches(text, end):
        return not (len(key) <= 3 and _continues_as_identifier(text, end))
    glued = _GLUED.match(text, end)
    if glued is None:
        return False
    return not glued[0][0].isdigit() or not key[-1].isdigit()


def _continues_as_identifier(text: str, end: int) -> bool:
    """`a2-highgpu-1g` is an instance type, `a2-16g` and `a10-pcie` are cards."""
    found = _IDENTIFIER.match(text, end)
    if found is None:
        return False
    known = vocabulary()
    return found[1] not in known.forms | known.ignored | known.laptop | {"gpu", "mig"}


def read_tail(text: str, reading: Reading) -> None:
    """Reads what follows a card from `reading.end` on: size, form, slice, total, count."""
    at = reading.end
    while at < len(text):
        step = _step(text, at, reading)
        if step is None:
            break
        at = step.end
        if step.kept:
            reading.end = at
    count = _COUNT_AFTER.match(text, reading.end) or _COUNT_AFTER.match(text, at)
    if count is not None:
        reading.count = _count_of(count["times"] or count["digits"] or count["word"])
        reading.count_from = reading.end if count["times"] is None else None
        reading.end = count.end()


def _step(text: str, at: int, reading: Reading) -> _Step | None:
    for read in (_mig, _vgpu, _total, _size, _form):
        end = read(text, at, reading)
        if end is not None:
            return _Step(end, True)
    cores = _TAIL_CORES.match(text, at)
    if cores is not None:
        return _Step(cores.end(), False)
    word = ignored_word().match(text, at)
    return _Step(word.end(), False) if word is not None and word.end() > at else None


def _mig(text: str, at: int, reading: Reading) -> int | None:
    found = _TAIL_MIG.match(text, at)
    if found is None or reading.mig is not None:
        return None
    reading.mig = (found["mig"].removesuffix("+me"), int(found[2]), int(found[3]))
    return found.end()


def _vgpu(text: str, at: int, reading: Reading) -> int | None:
    found = _TAIL_VGPU.match(text, at)
    if found is None or at != reading.end:
        return None
    reading.vgpu = (found["vgpu"].upper(), int(found[2]))
    return found.end()


def _total(text: str, at: int, reading: Reading) -> int | None:
    found = _TAIL_TOTAL.match(text, at)
    if found is not None:
        value = float(found["total"])
        reading.total_mib = round(value if found["unit"] == "mib" else value * 1024)
        return found.end()
    found = _TAIL_TOTAL_MIB.match(text, at)
    if found is None or reading.total_mib is not None:
        return None
    reading.total_mib = int(found["mib"])
    return found.end()


def _size(text: str, at: int, reading: Reading) -> int | None:
    if reading.size_gb is not None:
        return None
    found = _TAIL_SIZE.match(text, at)
    if found is None and text[at - 1].isalpha():
        found = _GLUED_SIZE.match(text, at)
    if found is None:
        return _bare_size(text, at, reading)
    rest = text[found.end() : found.end() + 12].lstrip(" -")
    if rest.startswith(vocabulary().not_memory_of_the_card):
        return None
    size = float(found["size"])
    is_each = "各" in found[0] or "每" in found[0]
    if _MAYBE_HOST.match(text, found.end()) and not is_each:
        if size not in gpu_index().sizes(reading.key):
            return None
    reading.size_gb = size
    return found.end()


def _bare_size(text: str, at: int, reading: Reading) -> int | None:
    """A number joined to the name that is a size of this card: A100-40, V100-32."""
    found = _JOINED_NUMBER.match(text, at)
    if found is None or float(found[1]) not in gpu_index().sizes(reading.key):
        return None
    reading.size_gb = float(found[1])
    return found.end()


def _form(text: str, at: int, reading: Reading) -> int | None:
    """A word that makes another card of it: a form factor, laptop, Ti, SUPER, Ada."""
    found = _form_word().match(text, at)
    if found is None:
        return None
    word = "laptop" if found[1] in vocabulary().laptop else found[1].replace("-", "")
    longer = reading.key + word
    if gpu_index().knows(longer) or longer in vocabulary().ask:
        reading.key = longer
        return found.end()
    if word in _VARIANTS and at == reading.end:
        reading.unknown_form = word
        return found.end()
    return None


@cache
def _form_word() -> re.Pattern[str]:
    known = vocabulary()
    words = sorted(known.forms | known.laptop, key=len, reverse=True)
    ascii_words = "|".join(re.escape(word) for word in words if word.isascii())
    other = "|".join(re.escape(word) for word in words if not word.isascii())
    return re.compile(rf"{_GAP}\(?((?:{ascii_words})(?![a-z0-9])|{other})\)?")


@cache
def ignored_word() -> re.Pattern[str]:
    """A word beside a name that says nothing about which card it is."""
    words = sorted(vocabulary().ignored, key=len, reverse=True)
    ascii_words = "|".join(re.escape(word) for word in words if word.isascii())
    other = "|".join(re.escape(word) for word in words if not word.isascii())
    return re.compile(rf"[ \-_]{{0,2}}(?:(?:{ascii_words})(?![a-z0-9])|{other})")


@cache
def _before() -> re.Pattern[str]:
    """What may stand between a count or a size and the name, up to the name."""
    words = "|".join(sorted(map(re.escape, vocabulary().ignored), key=len, reverse=True))
    return re.compile(rf"(?:[ \-_]*(?:{words}))+[ \-_]*$")


_SIZE_BEFORE = re.compile(r"(?<![a-z0-9.])(\d{1,3})[ \-]?g(?:i?b)?[ \-]?(?:显存|vram)? ?的? ?$")
_DIGIT_COUNT = re.compile(
    r"(?<![a-z0-9.第\-])(?<!\d,)(\d{1,4}) ?(张|块|卡|片|颗|枚|个|x|\*)? ?的? ?$"
)
_WORD_BEFORE = re.compile(r"([a-z]+|[\u4e00-\u9fff]|[^\s]) ?$")


_LAPTOP_BEFORE = re.compile(r"(?:(?<![a-z])(?:laptop|notebook)|笔记本(?:电脑)?)(?:的|上的|上)? ?$")


def read_front(text: str, reading: Reading, *, floor: int) -> None:
    """Reads the size and the count before a card; `floor` is where the card before ended."""
    low = max(floor, reading.start - _WINDOW)
    front = text[low : reading.start]
    if _LAPTOP_BEFORE.search(front) and gpu_index().knows(f"{reading.key}laptop"):
        reading.key = f"{reading.key}laptop"
    front = _before().sub("", front)
    if reading.size_gb is None:
        found = _SIZE_BEFORE.search(front)
        if found is not None:
            reading.size_gb = float(found[1])
            front = front[: found.start()]
            reading.start = low + found.start()
    front = _before().sub("", front)
    if reading.count is None or (reading.count_from is not None and _is_measured(front)):
        count, begin = _count_before(front)
        if count is not None:
            if reading.count_from is not None:  # "两张3090一张4090"
                reading.end = reading.count_from
            reading.count = count
            reading.start = low + begin


def _is_measured(front: str) -> bool:
    """Whether a count with a measure word stands right in front: it is surely the card's own."""
    digits, word = _DIGIT_COUNT.search(front), _count_word().search(front)
    return bool(digits and digits[2]) or bool(word and word["zh"])


def _count_before(front: str) -> tuple[int | None, int]:
    found = _DIGIT_COUNT.search(front)
    if found is not None:
        value = int(found[1])
        if found[2] or _free_standing(front, found):
            return (value if value > 0 else None), found.start()
        return None, 0
    word = _count_word().search(front)
    if word is not None:
        return _count_of(word["zh"] or word["en"]), word.start()
    return None, 0


_SETTING_BEFORE = re.compile(
    r"(?:[=:]|(?:长度|序列|上下文|批大小|批次|批量|截断|输入|输出|尺寸|分辨率|步数|步长|轮数|并发|秩)"
    r"[为是到]?) ?$"
)
"""What takes a number of its own: `长度64 A10`, `batch=8 A5000`."""


def _free_standing(front: str, found: re.Match[str]) -> bool:
    """`8 A100` is a count at the start or behind a word of the list, not in `llama 2 A100`."""
    if not front.endswith(" ") or int(found[1]) > 64:
        return False
    if _SETTING_BEFORE.search(front[: found.start()]):
        return False
    before = _WORD_BEFORE.search(front[: found.start()])
    if before is None:
        return True
    word = before[1]
    return not (word.isascii() and word.isalnum()) or word in vocabulary().before_count | {"x"}


@cache
def _count_word() -> re.Pattern[str]:
    words = vocabulary().count_words
    chinese = "|".join(sorted((w for w in words if not w.isascii()), key=len, reverse=True))
    english = "|".join(w for w in words if w.isascii() and w != "a")
    bare = r"(?<=双)路?|(?<=[俩两])(?<![我你他她咱们][俩两])"
    counted = rf"(?P<zh>{chinese}) ?(?:张|块|卡|片|颗|枚|个|{bare})(?:的)?"
    return re.compile(rf"(?:{counted}|(?<![a-z])(?P<en>{english})(?:-| x)?) ?$")


def _count_of(written: str) -> int | None:
    value = vocabulary().count_words.get(written)
    if value is None and written.isdigit():
        value = int(written)
    return value if value else None
