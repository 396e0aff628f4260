"""How many cards, when the count does not stand beside a card's name; nodes times cards."""

from __future__ import annotations

import re
from itertools import islice

from agent.understanding.lexicon.numerals import HAN, english_words, parse_number
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document
from agent.understanding.readers.hosts import PROCESSOR

_WORDS = "|".join(sorted(english_words(), key=len, reverse=True))
_COUNT = rf"(?P<n>\d{{1,5}}|{HAN}{{1,4}}|(?<![a-z])(?:{_WORDS}))"
_CARDS = re.compile(
    rf"(?:(?<![a-z0-9.第])|(?<=[a-z])(?={HAN})){_COUNT}\s?-?\s?(?:x\s?)?(?:张|块|片|个)?"
    r"(?:gpus?(?![a-z])(?! ?(?:hours?|小时|时))|显卡|卡(?!住|死|顿|在|时)|cards?(?![a-z])"
    r"|张(?=[^图照网片])|块(?!钱|\s?\d?[一每]\s?个?(?:小时|钟头)(?!\s?(?:要|得|是|大概)?[多几])|/)|devices(?![a-z]))"
)
_SINGLE = re.compile(
    r"单卡(?!的?\s?(?:micro )?(?:batch|bs|批)|的?(?:显存|内存)?(?:是|有|能)?(?:多少|多大|几g))"
    r"|单张|单块|单gpu|(?<![a-z])single(?![a-z])"
    r"|(?<![a-z])one gpu"
)
_JUST_ONE = re.compile(
    r"(?<![a-z])(?:just|only|down to|left with|have|get) (?:a single |the )?(?:one|1)"
    r"(?= (?:of|with|then|enough|ok|fine|left|instead)(?![a-z])|\s*(?:[,;.?!]|\Z))"
)
_DUAL = re.compile(
    r"双卡|两卡|(?<![a-z])dual(?![a-z])"
    rf"(?![ -]?(?:socket|cpu|channel|processor|rank|(?:amd |intel )?(?:{PROCESSOR})))"
)
_NODES = rf"(?P<nodes>\d{{1,4}}|{HAN}{{1,3}}|(?<![a-z])(?:{_WORDS}))"
_PER_NODE = re.compile(
    rf"{_NODES}\s?(?:个)?(?:台|机|节点|nodes?|machines?|servers?|boxes)\s?(?:的)?(?:机器|服务器)?"
    r"\s?(?:of|x|\*|with|,|每台|每节点|每个节点|每机|每台机器|各|each with|each)?"
    rf"\s?(?P<per>\d{{1,2}}|{HAN}{{1,2}})\s?(?:x|\*|卡|张|块| |-gpu)"
)
_BEHIND_PER_NODE = re.compile(
    rf"{_NODES}\s?(?:个)?(?:台|机|节点|nodes?)\s?(?:的)?(?:机器|服务器)?\s?[,x*]?\s?\Z"
)


_EACH_NODE = re.compile(
    rf"(?:每机|每台(?:机器|服务器)?|每个?节点)\s?(?:有|带|配|是|装|插|上|各)?\s?(?P<per>\d{{1,2}}|{HAN}{{1,2}})\s?(?:张|卡|块)"
    r"|(?P<per2>\d{1,2})\s?(?:gpus?|cards)?\s?(?:per|a|each|in each|on each)\s(?:node"
    r"|machine|server|box|host)"
)
_MOST_MATCHES = 50
_MOST_IN_A_NODE = 8
_MOST_BARE = 64
"""Above this "1000张" counts pictures."""


_NO_CARDS = re.compile(
    r"(?<![\d.a-z])(?P<n>0|零|-\d{1,3})\s?(?:张|块|卡|gpus?(?![a-z])|x\s?(?=[a-z]))"
)


_NO_COUNT = re.compile(
    r"(?:(?<![a-z])(?:on|using|with|rent|buy|have)\s|[在用租买])\s?"
    r"(?P<n>0|-\d{1,4}|[1-9]\d{0,3}\.\d{1,3})\s?(?:x|张|块|片)?\s?\Z"
)
"""In front of a card: none of it, fewer than none, or a card and a piece of another."""


def read_impossible_counts(document: Document, board: Board) -> None:
    """Note "on 0 A10", "on -3 A10" and "on 1.5 A10": counts that no machine has."""
    text = document.text
    for card in board.of("card"):
        found = _NO_COUNT.search(text[max(0, card.start - 20) : card.start])
        count = float(found["n"]) if found is not None else 1.0
        place = card.start - len(found[0]) if found is not None else 0
        if count != int(count):
            board.add("not_whole", ("gpu_count", count), place, card.start)
        elif count <= 0:
            board.add("impossible_count", int(count), place, card.start)


_OWNS_NONE = re.compile(
    r"(?:我|我们|手里|手头|手上|家里|机器|电脑|服务器|现有|这里|这边|上面?)[^\d,。;\n]{0,4}(?:有|是|装了?|插了?)?\s?\Z|有\s?\Z"
    r"|(?<![a-z])(?:have|has|got|with|own|owning|having|there are|exactly)\s(?:exactly\s)?\Z"
)


def read_counts(document: Document, board: Board) -> None:
    """Note card counts said without a card's name ("双卡", "8 gpus", "两张卡呢")."""
    _read_impossible(document, board)
    text = document.rest()
    if _ASKS_COUNT.search(text):
        board.add("asks_count", True)
    for found in islice(_CARDS.finditer(text), _MOST_MATCHES):
        value = parse_number(found["n"])
        if value is None:
            value = english_words().get(found["n"])
        is_bare = found[0][-1] in "张块"
        if value is not None and 1 <= value == int(value) and not (is_bare and value > _MOST_BARE):
            board.add("loose_count", int(value), found.start(), found.end())
    _read_pictures(text, board)
    for found in islice(_OF_THEM.finditer(text), _MOST_MATCHES):
        some = _whole(found["n"] or found["m"])
        if some:
            board.add("loose_count", some, found.start(), found.end(), weight=3.0)
    if _LAUNCHED.search(text):
        for found in islice(_PROCESSES.finditer(text), _MOST_MATCHES):
            board.add("loose_count", int(found["n"]), found.start(), found.end(), weight=1.5)
    for pattern, count in ((_SINGLE, 1), (_JUST_ONE, 1), (_DUAL, 2)):
        for found in islice(pattern.finditer(text), _MOST_MATCHES):
            board.add("loose_count", count, found.start(), found.end(), weight=0.9)
    _drop_priced_card(text, board)


_PRICE_REACH = 2
"""Characters between a price and the card that it is for."""


def _drop_priced_card(text: str, board: Board) -> None:
    """Forget the one card of "3.2 an hour a card" where another count says how many there are."""
    counts = board.of("loose_count")
    if not any(reading.value > 1 for reading in counts):
        return
    prices = [reading for reading in board.readings if reading.slot == "price"]
    for reading in counts:
        for price in prices:
            first, last = sorted((reading, price), key=lambda r: r.start)
            gap = text[first.end : last.start]
            if reading.value == 1 and len(gap) <= _PRICE_REACH and not gap.strip():
                board.readings = [r for r in board.readings if r is not reading]


def _read_impossible(document: Document, board: Board) -> None:
    """Note counts that cannot be, and "I have 0 cards", which means that there is no GPU."""
    for found in islice(_NO_CARDS.finditer(document.text), _MOST_MATCHES):
        count = 0 if found["n"] == "零" else int(found["n"])
        if count == 0 and _OWNS_NONE.search(
            document.text[max(0, found.start() - 12) : found.start()]
        ):
            if not re.match(r"\s?[a-z]{0,4}\d{2,4}", document.text[found.end() :]):
                board.add("gpu_none", True, found.start(), found.end())  # "我有0张显卡"
                document.take(found.start(), found.end())
                continue
        board.add("impossible_count", count, found.start(), found.end())


_LAUNCHED = re.compile(r"(?<![a-z])(?:accelerate|torchrun|fsdp|ddp|deepspeed|mpirun)(?![a-z])")
_PROCESSES = re.compile(
    r"(?<![a-z0-9.])(?P<n>\d{1,3})\s?(?:gpu )?(?:process(?:es)?|ranks|进程|个进程)(?![a-z])"
)
_OF_THEM = re.compile(
    rf"(?:just|only|with|on|to|have|get|keep|left)\s{_COUNT}\s(?:of\s(?:them|em|these|those)|cards)(?![a-z])"
    rf"|(?:只用|只上|就用|用其中){_COUNT.replace('<n>', '<m>')}\s?(?:张|块)"
)
_PICTURES = re.compile(
    r"(?<![a-z0-9.])(?P<n>\d{1,9}(?:\.\d{1,3})?\s?[万kw千]|\d{4,9})\s?(?:多|来)?张(?!卡|显卡|\s?[a-z]?\d{2,4})"
)


def _read_pictures(text: str, board: Board) -> None:
    """Note "10万张": so many are pictures and no cards."""
    for found in islice(_PICTURES.finditer(text), _MOST_MATCHES):
        value = parse_number(found["n"])
        if value is not None and value == int(value):
            board.add("samples", int(value), found.start(), found.end(), weight=0.5)


_CLASS = re.compile(
    rf"(?<![a-z0-9.])(?:(?P<n>\d{{1,3}}|{HAN}{{1,2}})\s?(?:[x*]|张|块|卡|片)\s?(?P<gb>\d{{1,3}})\s?gi?b?|"
    r"(?P<gb2>\d{1,3})\s?gi?b?\s?[x*]\s?(?P<n2>\d{1,3}))"
    r"(?![a-z0-9])"
)


def read_classes(document: Document, board: Board) -> None:
    """Note "4 x 16G" and "80GB*4": cards known by their memory only."""
    for found in islice(_CLASS.finditer(document.rest()), _MOST_MATCHES):
        count, size = found["n"] or found["n2"], found["gb"] or found["gb2"]
        behind = document.text[found.end() : found.end() + 4].lstrip()
        cards = _whole(count)
        if behind.startswith(("内存", "ram", "ssd", "硬盘", "nvme")) or not cards:
            continue
        board.add("loose_count", cards, found.start(), found.end(), weight=2.0)
        board.add("gpu_mem_gb", float(size), found.start(), found.end())
        document.take(found.start(), found.end())


_VGPU = re.compile(r"vgpu[ \-_]?(?P<gb>\d{1,3})\s?gb?(?![a-z0-9])")


def read_vgpu(document: Document, board: Board) -> None:
    """Note "vGPU-32G": a slice of a card that is not named."""
    for found in _VGPU.finditer(document.rest()):
        board.add("gpu_mem_gb", float(found["gb"]), found.start(), found.end())
        document.take(found.start(), found.end())


_ASKS_COUNT = re.compile(r"几张|几块卡|几卡|多少张|多少块卡|how many (?:gpus|cards)|number of gpus")
_ROUND_THE_CLOCK = re.compile(r"(?<!\d)(?:7\s?[x*/]\s?24|24\s?[x*/]\s?7)(?!\d)(?:\s?小时|\s?h)?")
_HOURS_OF_A_MONTH = 720


def read_round_the_clock(document: Document, board: Board) -> None:
    """Note "7x24": all hours of a month of thirty days."""
    for found in _ROUND_THE_CLOCK.finditer(document.text):
        board.add("hours", float(_HOURS_OF_A_MONTH), found.start(), found.end(), weight=5.0)
        document.take(found.start(), found.end())


_BARE_TIMES = re.compile(
    r"(?<![a-z0-9.])(?:x\s?(?P<m>[1-9]\d{0,2})|(?P<n>[1-9]\d{0,2})\s?x)(?![a-z0-9])"
)
_OF_THEM = re.compile(
    rf"(?<![a-z0-9.])(?P<n>\d{{1,3}}|{_WORDS})\s(?:of )?(?:them|those|these)(?![a-z])"
)
_BARE_TOKENS = re.compile(r"(?<![a-z0-9.])(?P<n>\d{1,4})\s?k(?![a-z0-9])")
_WRITTEN_OUT = re.compile(
    r"(?:(?<![a-z])(?:at|@)\s?(?P<at>512|1024|1536|2048|3072|4096|8192|16384|32768|65536|131072)"
    r"(?=\s*(?:[?,;:!.()/]|\Z|(?:on|with|and|using|in|for|or|to|bs|batch|能|吗|会|要|够|可以|用)(?![a-z])))"
    r"|(?<![\w.*/-])(?P<bare>2048|4096|8192|16384|32768|65536|131072)(?=\s*(?:[?,;!()]|\.(?!\d)|\Z)))"
)
"""A length in whole powers of two, with nothing beside it that says what it is."""


def read_loose_tokens(document: Document, board: Board) -> None:
    """Note a bare "8k" or "2048" (a length) or "2x" (a count): what is meant the job says."""
    rest = document.rest()
    for found in islice(_BARE_TIMES.finditer(rest), _MOST_MATCHES):
        board.add("loose_times", int(found["n"] or found["m"]), found.start(), found.end())
    for found in islice(_OF_THEM.finditer(rest), _MOST_MATCHES):
        count = english_words().get(found["n"], found["n"])
        board.add("loose_times", int(count), found.start(), found.end())
    for found in islice(_BARE_TOKENS.finditer(rest), _MOST_MATCHES):
        value = parse_number(found[0], kibi=True)
        if value is not None:
            board.add("loose_tokens", int(value), found.start(), found.end())
    for found in islice(_WRITTEN_OUT.finditer(rest), _MOST_MATCHES):
        value, weight = int(found["at"] or found["bare"]), 2.0 if found["at"] else 1.0
        board.add("loose_tokens", value, found.start(), found.end(), weight=weight)


_NO_TRAIT = (
    r"(?:on|with|at|and|or|for|in|per|each|a|model|models|params?|parameters?|using|vs|to|of|lora"
    r"|qlora|full|sft|dense|moe)(?![a-z])"
)
"""Words that part a size from tokens behind it: others say what the tokens are."""
_TOTAL_TOKENS = re.compile(
    r"(?<![a-z0-9.])(?P<n>\d{1,6}(?:\.\d{1,3})?)\s?(?P<scale>bn|billion|b|trillion|t)"
    r"(?:(?![a-z])|(?=tok))\s?(?:个|的)?"
    rf"(?:(?!{_NO_TRAIT})[a-z\-]+\s){{0,3}}\s?(?:tokens?|toks?)(?![a-z])"
)


def read_token_totals(document: Document, board: Board) -> None:
    """Note "30B tokens" and "1.5T token": an amount of data, no model of that size."""
    for found in islice(_TOTAL_TOKENS.finditer(document.text), _MOST_MATCHES):
        if not document.is_free(*found.span("n")):
            continue  # "39B per token"
        factor = 1e12 if found["scale"].startswith("t") else 1e9
        value = int(round(float(found["n"]) * factor))
        board.add("tokens", value, found.start(), found.end(), weight=3.0)
        document.take(found.start(), found.end())


def read_node_products(document: Document, board: Board) -> None:
    """Note "3台8卡" and "2 nodes x 2 A10" as nodes times cards a node."""
    for found in islice(_PER_NODE.finditer(document.text), _MOST_MATCHES):
        nodes, per = _whole(found["nodes"]), _whole(found["per"])
        each = _EACH_NODE.search(document.text)
        if each is not None and nodes:  # "两机八卡每机4张": eight in all
            per = _whole(each["per"] or each["per2"])
        if nodes and per and per > _MOST_IN_A_NODE and per % nodes == 0:  # "两机16卡": 16 in all
            board.add("nodes", nodes, found.start(), found.end(), weight=3.0)
        elif nodes and per:
            board.add("nodes", nodes, found.start(), found.end(), weight=3.0)
            board.add("per_node", per, found.start(), found.end())


def node_count_before(text: str, start: int) -> int | None:
    """Nodes said right in front of a card that carries its own count ("两台 H100*8")."""
    found = _BEHIND_PER_NODE.search(text[max(0, start - 16) : start])
    return _whole(found["nodes"]) if found is not None else None


def _whole(written: str) -> int | None:
    value = parse_number(written)
    if value is None:
        value = english_words().get(written)
    return int(value) if value is not None and value == int(value) and value >= 1 else None
