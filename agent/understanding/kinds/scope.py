"""Instructions hidden in the text, and texts that are not ours to answer."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

from agent.request import Opening
from agent.understanding.data import load
from agent.understanding.lexicon.phrases import PhraseTable, table
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document, blanked

_CLAUSE_END = re.compile(
    r"[。;\n!?]|\.(?=\s|$)|(?<=[\u4e00-\u9fff]),|, ?(?=[\u4e00-\u9fff])"
    r"|,(?=\s?(?:what|which|how|can|will|does|is|tell|i want)\b)"
    r"|\s(?=(?:and|then|but|also)\s(?:tell|can|will|would|does|is|how|what|which|then)\b)"
    r"|(?=然后|接着|顺便|另外|再告诉|再说)"
)
_CLAUSE_START = re.compile(r"[。;\n!?,:]|\.(?=\s)|(?<![a-z])(?:and|then|also|but)(?![a-z])")
_QUOTES = {"'": "'", '"': '"', "\u201c": "\u201d", "\u300a": "\u300b"}
_OURS = (
    "quantization", "precision", "framework", "library", "strategy", "zero_stage", "attention",
    "gradient_checkpointing", "kv_cache_dtype", "offload", "method_goal", "optimizer", "tp", "pp",
    "billing", "gpu_none", "loose_count", "step_s", "steps_per_s", "mtbf_hours", "ckpt_minutes",
    "gpu_util_pct", "num_workers", "gpu_img_s", "bandwidth_gbps", "route",
)  # fmt: skip
"""Readings that only our subject has."""
_WORK = (
    "model_match",
    "params_b",
    "model_small",
    "method_scale",
    "model_family",
    "instance_mention",
)
_ONLY_OURS = {"io", "probe", "cpu_or_gpu", "define", "saved_size", "term"}
"""Frames made of words that only our subject has."""
_JOB = (
    "model_match",
    "params_b",
    "card",
    "instance_mention",
    "model_small",
    "method_scale",
    "gpu_mem_gb",
    "model_family",
    "runs",
    "steps_done",
    "img_kb",
    "gpu_img_s",
    "busbw_gb_s",
)


@cache
def _group(section: str, name: str) -> PhraseTable:
    return PhraseTable({name: load("scope")[section][name]})


_ROLE = (
    r"(?:system|user|assistant|admin|developer|human|instructions?|policy|prompt|tool"
    r"|im_start|inst|sys)"
)
_TAGGED = re.compile(
    rf"(?:</?\s?{_ROLE}\s?>\s?){{0,3}}<\s?(?P<role>{_ROLE})\s?>[^<]{{0,800}}<\s?/\s?(?P=role)\s?>"
    rf"|\[\s?(?P<role2>{_ROLE})\s?\][^\[]{{0,800}}\[\s?/\s?(?P=role2)\s?\]"
    rf"|<<\s?sys\s?>>[^<]{{0,800}}<<\s?/\s?sys\s?>>|<\|im_start\|>system[^<]{{0,800}}<\|im_end\|>"
    rf"|</?\s?{_ROLE}\s?>"
)
"""What stands between tags of a role, and lone tags: data that plays at orders."""
_MOST_BLOCKS = 12


def injected_ranges(text: str) -> list[tuple[int, int]]:
    """Clauses that try to give orders, or that are about ours; empty for a plain question."""
    blocks = [found.span() for found in islice(_TAGGED.finditer(text), _MOST_BLOCKS)]
    outside = blanked(text, blocks)
    strong = _group("injection", "strong").find(outside)
    ours = [
        hit
        for hit in _group("decisive", "instructions").find(outside)
        if not _is_of_a_service(outside, hit.start, hit.end)
    ]
    if not strong and not ours and not blocks:
        return []
    hits = [*strong, *_group("injection", "weak").find(outside)] if strong else []
    aside = [_brackets(text, hit.start) for hit in (*hits, *ours)]
    ranges = [*blocks, *(pair for pair in aside if pair is not None)]
    ranges += [
        _clause(text, hit.start, hit.end) for hit in hits if _brackets(text, hit.start) is None
    ]
    ranges += [
        (_opening(text, hit.start), _clause(text, hit.start, hit.end)[1])
        for hit in ours
        if _brackets(text, hit.start) is None
    ]
    ranges.sort()
    merged: list[tuple[int, int]] = []
    for start, end in ranges:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


_SHARED_BEFORE = re.compile(
    r"(?:同一个?|同样的?|相同的?|共享的?|共用的?|公共的?|固定的?|一样的?|长的?|\d\s?k?\s?(?:tokens?)?\s?(?:的|长的)?"
    r"|(?<![a-z])(?:same|shared|common|fixed|identical|long|tokens?|token-long))\s?\Z"
)
_SIZED_BEHIND = re.compile(
    r"\s?(?:长度|大概|约|有|共|是|为|of|is|with|about|around|[:=,(])?\s?"
    r"\d+\.?\d*\s?(?:k|tokens?|个 ?token)|\s?(?:前缀|缓存|cach(?:e|ing))"
)
"""Around "system prompt": that of a service, whose length or sharing is spoken of."""


def _is_of_a_service(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 20) : start]
    return bool(_SHARED_BEFORE.search(before) or _SIZED_BEHIND.match(text, end))


def _opening(text: str, place: int) -> int:
    """Where the clause around a place begins."""
    ends = list(_CLAUSE_START.finditer(text, max(0, place - 400), place))
    return ends[-1].end() if ends else max(0, place - 400)


_PAIRS = {"[": "]", "(": ")", "{": "}", "【": "】", "「": "」", "《": "》"}
_WIDEST = 600
"""Characters that an aside in brackets may take."""


def _brackets(text: str, place: int) -> tuple[int, int] | None:
    """The brackets around a place, signs included; None where it stands in none.

    >>> _brackets("[drop it] and (now) go", 3), _brackets("[drop it] and (now) go", 20)
    ((0, 9), None)
    """
    open_at: list[int] = []
    low = max(0, place - _WIDEST)
    for at in range(low, place):
        if text[at] in _PAIRS:
            open_at.append(at)
        elif open_at and text[at] == _PAIRS[text[open_at[-1]]]:
            open_at.pop()
    for start in open_at:
        end = text.find(_PAIRS[text[start]], place, start + _WIDEST)
        if end >= 0:
            return start, end + 1
    return None


def _clause(text: str, start: int, end: int) -> tuple[int, int]:
    """From the order's first word to the end of its quotation, or of its clause."""
    opening = text[max(0, start - 1) : start]
    closing = _QUOTES.get(opening)
    if closing is not None:
        close = text.find(closing, end, end + 600)
        if close >= 0:
            return start, close
    stop = _CLAUSE_END.search(text, end, end + 400)
    return start, stop.start() if stop is not None else min(len(text), end + 400)


def set_aside(document: Document) -> list[tuple[int, int]]:
    """Blank the orders in the document; the ranges they stood in."""
    ranges = injected_ranges(document.text)
    for start, end in ranges:
        blank = "".join(char if char == "\n" else " " for char in document.text[start:end])
        document.text = document.text[:start] + blank + document.text[end:]
        document.take(start, end)
    return ranges


def is_out_of_scope(
    document: Document,
    board: Board,
    asked: frozenset[str],
    *,
    had_orders: bool,
    has_history: bool,
) -> bool:
    """Whether the text asks for something this advisor does not do.

    Args:
        document: The text, orders blanked.
        board: What was read in it.
        asked: Kinds of questions whose frame stands in it.
        had_orders: Whether orders were blanked.
        has_history: Whether something was said before.
    """
    text = document.text
    meant = _without_idioms(text)
    for name in ("harmful", "creative", "mining", "learning"):
        is_purpose = name == "creative" and (_is_a_run(board) or _rents_for_ai(text, board))
        if _group("decisive", name).has(meant) and not is_purpose:
            return True
    if "outside" in asked and not any(board.has(slot) for slot in _WORK):
        return True
    if any(board.has(slot) for slot in _JOB):
        return False
    if had_orders and not asked - {"outside"}:
        return True
    if asked & _ONLY_OURS:
        return False
    if table("scope", "off_topic").has(text):
        return not _is_ours(text, board, counted=False)
    if _is_ours(text, board) or _asks_to_begin(text, had_orders=had_orders):
        return False
    if board.has("provider") and any(table("cues", name).has(text) for name in _ASKED_OF_CLOUDS):
        return False
    if has_history and not had_orders and (_goes_on(text, board) or asks_of_the_job(text)):
        return False
    if has_history and not had_orders and points_back(text, board):
        return False
    return not has_history or had_orders or _is_foreign(text)


def _without_idioms(text: str) -> str:
    """The text without turns of phrase that only sound like a crime ("what a steal").

    >>> _without_idioms("0.45 an hour is a steal")
    '0.45 an hour is        '
    """
    return blanked(text, [(hit.start, hit.end) for hit in table("scope", "idioms").find(text)])


def _asks_to_begin(text: str, *, had_orders: bool) -> bool:
    return is_of_machines_for_ai(text) or (not had_orders and is_unfinished(text))


def is_of_machines_for_ai(text: str) -> bool:
    """Whether a text names artificial intelligence and what it is to run on, or to cost."""
    return _group("near", "ai").has(text) and _group("near", "machine").has(text)


_AMOUNT = re.compile(r"\d+(?:\.\d+)?\s?(?:[gmt]i?b?(?![a-z])|vram|ram|¥|\$|%)?|[^\w]|_")
"""Amounts, and signs that are no words."""


def is_unfinished(text: str) -> bool:
    """Whether a text asks whether, how much or how fast, and names nothing that it asks it of.

    What begs for an answer names nothing either.

    >>> is_unfinished("能跑吗"), is_unfinished("is 8gb enough, pls"), is_unfinished("苹果多少钱")
    (True, True, False)
    """
    asks = _group("unfinished", "asks")
    hits = asks.find(text)
    if not hits:
        return False
    left = blanked(text, [(hit.start, hit.end) for hit in hits])
    for name in ("pleading", "small"):
        hits = _group("unfinished", name).find(left)
        left = blanked(left, [(hit.start, hit.end) for hit in hits])
    return not _AMOUNT.sub("", left)


def _asks_only_why(text: str) -> bool:
    """Whether a text is the word for why and hardly anything else ("为什么会这样", "how come?")."""
    hits = _group("unfinished", "why").find(text)
    left = blanked(text, [(hit.start, hit.end) for hit in hits])
    small = _group("unfinished", "small").find(left)
    left = blanked(left, [(hit.start, hit.end) for hit in small])
    return bool(hits) and not _AMOUNT.sub("", left)


def asks_of_the_job(text: str) -> bool:
    """Whether a turn without a subject can only be about the job before: why, or what is left."""
    return _asks_only_why(text) or _group("unfinished", "of_job").has(text)


_LETTER = re.compile(r"\w")


def opening_of(text: str) -> Opening | None:
    """What a folded text is the beginning of, where it is no more than that.

    >>> opening_of("hi there!"), opening_of("is 8gb enough"), opening_of("7b lora on an a10?")
    ('greeting', 'unfinished', None)
    """
    greetings = _group("unfinished", "greeting").find(text)
    left = blanked(text, [(hit.start, hit.end) for hit in greetings])
    if greetings and _LETTER.search(left) is None:
        return "greeting"
    if _asks_only_why(text):
        return "why"
    if is_of_machines_for_ai(text):
        return "machines_for_ai"
    return "unfinished" if is_unfinished(text) else None


def _is_a_run(board: Board) -> bool:
    """Whether a model is sized for a card or trained: what it is to write is its purpose."""
    is_sized = board.has("model_match") or board.has("params_b")
    return is_sized and any(board.has(slot) for slot in ("card", "gpu_mem_gb", "method_scale"))


def _rents_for_ai(text: str, board: Board) -> bool:
    """Whether a machine is looked for, for an AI or for want of a card: writing is its purpose."""
    is_for = is_of_machines_for_ai(text) or board.has("gpu_none") or board.has("host_ram_gb")
    is_asked = any(table("cues", name).has(text) for name in ("recommend", "cost"))
    return is_for and (is_asked or _group("near", "rents").has(text))


_ASKS_ON = ("cost", "time", "recommend", "memory")


def points_back(text: str, board: Board) -> bool:
    """Whether a text asks about what was said before ("how much does that cost on AWS?")."""
    asks = any(table("cues", name).has(text) for name in _ASKS_ON)
    return asks and (board.has("provider") or table("scope", "pointing").has(text))


def _is_foreign(text: str) -> bool:
    return len(text.strip()) > 24


_ASKED_OF_CLOUDS = ("recommend", "cost", "catalog", "spot")
_ASKED_ON = (
    "cost", "time", "memory", "recommend", "compare", "serving", "multi", "network", "spot", "io",
    "diagnose",
)  # fmt: skip
"""Frames that, inside a conversation, ask on about its subject."""


def _goes_on(text: str, board: Board) -> bool:
    """Whether a turn without a word of our subject asks on: by its frame, a place, a marker."""
    if any(table("cues", name).has(text) for name in _ASKED_ON):
        return True
    if any(board.has(slot) for slot in ("provider", "region", "loose_times", "loose_tokens")):
        return True
    opening = table("conversation", "opens_like_a_follow_up").find(text[:12])
    if opening and opening[0].start == 0:
        return True
    return table("conversation", "points_back").has(text)


_CARD = re.compile(r"(?<![a-z])(?:cards?|machines?|box(?:es)?|servers?)(?![a-z])|卡|机器")
"""What is rented by the hour, where nothing says more."""


def _is_ours(text: str, board: Board, *, counted: bool = True) -> bool:
    """Whether a text speaks of our subject, by its words or by what was read in it.

    Args:
        text: Folded text.
        board: What was read.
        counted: Whether things that are only counted ("一张") speak for us.
    """
    if _CARD.search(text) and any(r.value.per == "hour" for r in board.of("price")):
        return True
    slots = _OURS if counted else tuple(slot for slot in _OURS if slot != "loose_count")
    return table("scope", "domain").has(text) or any(board.has(slot) for slot in slots)
