"""Numbers whose slot follows from the words beside them (table: data/quantities.yaml)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from agent.understanding.data import load
from agent.understanding.lexicon.numerals import number_pattern, parse_number
from agent.understanding.lexicon.phrases import (
    compiled,
    gram_of,
    grams_of,
    phrase_key,
    phrase_pattern,
)
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document
from agent.understanding.readers.claims import Place, shared_out

_NUMBER = number_pattern()
_WORDED = number_pattern(words=True)
_MOST = 50
"""Matches of one rule that are looked at."""
_VERBS = (
    "就 已经 只 能 只能 只能开 最多 最多开 能开 都 都是 用 要 开 设 设成 设为 "
    "设到 调到 改成 改到 是 为 到 开到 降成 减成 减到 缩到 缩成 缩短到 缩短成 砍到 砍成 压到 压成 "
    "调成 调低到 调小到 调大到 调高到 改小到 改大到 变成 换成 提到 加到 升到 截到 截成 裁到 "
    "每卡 每张卡 单卡 每块卡 填 填了 设了 设置 设置为 掉到 降到 涨到 拉到 控制在 "
    "限制在 只有 有 才 共 分别 "
    "写 写成 写成了 填成 填成了 打成 打成了 弄成 弄成了 误写成 错写成 配成 配成了 给成 传成 设成了 "
    "of is set to at under over"
)
_SLIPS = "我不小心 我手滑 被我 给我 我 不小心 一不小心 手滑 手抖 误 不慎 accidentally mistakenly"
_NEARLY = "大概 大约 约 差不多 估计 的估计 的大概 也就 顶多 about around up only roughly"
_LINK = (
    rf"\s{{0,3}}(?:(?:{'|'.join(_SLIPS.split())})\s{{0,2}}){{0,2}}"
    rf"(?:(?:{'|'.join(_VERBS.split())})\s{{0,2}})?[=:~≈<>≥≤(]{{0,2}}\s{{0,3}}"
    rf"(?:(?:{'|'.join(_NEARLY.split())})\s{{0,2}})?(?:to\s)?"
)
_TAIL = r"\s{0,2}(?:-|~|多|来|个|左右|full|的)?\s{0,2}"
_EXPLICIT = re.compile(r"[=:]\s{0,3}-?[\d零一二两三四五六七八九十百千半]")
_NUMBER_BEFORE = re.compile(r"\d\s?[kwm]?\s?[个条张]?\s?\Z")
_SOUGHT = re.compile(
    r"(?:多少|几个?|最大|最多|最高|how many|how much|max|maximum|most)\s?"
    r"(?:concurrent|simultaneous|parallel|active|个|路|人|同时)?\s?\Z"
)
"""In front of a word: its number is asked for, so one behind it is likely another's."""
_SCALED = re.compile(r"\d\s?[kw]\Z")
_OWN_NUMBER = re.compile(r"\s?[=:]?\s?\d")


@dataclass(frozen=True, slots=True)
class _Rule:
    slot: str
    kind: str
    before: str | None
    after: str | None
    keys: tuple[str, ...]
    grams: frozenset[str]
    units: dict[str, float]
    low: float
    high: float
    unless_behind: tuple[str, ...]
    weak: tuple[str, ...]
    """Words in front that stand before many things; they claim a number that nothing else does."""
    leads: bool
    """Whether the words in front never belong to a number in front of them ("batch 2 累积 4")."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    rule: _Rule
    found: re.Match[str]
    score: float

    @property
    def place(self) -> Place:
        """Where number and words stand."""
        return self.found.span()

    @property
    def number(self) -> Place:
        """Where the number stands."""
        return self.found.span("number")

    @property
    def word(self) -> Place:
        """Where the words stand that claim the number."""
        start, end = self.number
        if start - self.found.start() >= self.found.end() - end:
            return self.found.start(), start
        return end, self.found.end()


def _either(phrases: list[str], *, leading: bool) -> str:
    """Alternation, longest first; the words may touch the number: bs1, tp2, 3epochs."""
    ordered = sorted(phrases, key=len, reverse=True)
    return "|".join(phrase_pattern(p, open_end=leading, open_start=not leading) for p in ordered)


@cache
def _rules() -> tuple[_Rule, ...]:
    return rules_of(load("quantities"))


def rules_of(rows: dict[str, dict[str, Any]]) -> tuple[_Rule, ...]:
    """Rules of a table in the format of data/quantities.yaml."""
    return tuple(_rule(slot, row) for slot, row in rows.items())


def stated(text: str, rules: Sequence[_Rule]) -> dict[str, tuple[float, ...]]:
    """Numbers that each rule finds in a text, in order; one number may serve several rules."""
    found: dict[str, tuple[float, ...]] = {}
    for rule in rules:
        by_place = {
            candidate.found.span("number"): value
            for candidate in _candidates(rule, text)
            if not _is_figure_of_speech(text, *candidate.found.span("number"))
            and (value := _value(rule, candidate.found)) is not None
        }
        if by_place:
            found[rule.slot] = tuple(by_place[span] for span in sorted(by_place))
    return found


def _rule(slot: str, row: dict[str, Any]) -> _Rule:
    weak = [str(p) for p in row.get("weak", ())]
    before, after = [*map(str, row["before"]), *weak], [str(p) for p in row["after"]]
    units = {str(k): float(v) for k, v in row.get("unit_after", {}).items()}
    number = rf"(?P<number>[\-负]?{_NUMBER})"
    unit = rf"\s?(?P<unit>{_either(list(units), leading=False)})" if units else ""
    percent = r"\s?%" if row.get("percent") else ""
    return _Rule(
        slot,
        row["kind"],
        rf"(?:{_either(before, leading=True)}){_LINK}{number}{unit}{percent}" if before else None,
        (
            rf"(?:(?<![a-z0-9.])(?<!\d:)|(?<=[\u3400-\u9fff]x)|(?<=[a-z0-9])(?=[一二两三四五六七八九]))(?P<number>-?{_WORDED}){_TAIL}"
            rf"(?:{_either(after, leading=False)})"
        )
        if after
        else None,
        keys := tuple({phrase_key(p) for p in (*before, *after)}),
        frozenset(map(gram_of, keys)),
        units,
        float(row.get("min", -1e18)),
        float(row.get("max", 1e22)),
        tuple(row.get("unless_behind", ())),
        tuple(weak),
        bool(row.get("leads")),
    )


def _candidates(rule: _Rule, text: str) -> Iterator[_Candidate]:
    if not rule.grams & grams_of(text) or not any(key in text for key in rule.keys):
        return
    if rule.before is not None:
        for found in islice(compiled(rule.before).finditer(text), _MOST):
            if text.startswith(rule.unless_behind or "\0", found.end()):
                continue
            yield _Candidate(rule, found, _leading_score(rule, found, text))
    if rule.after is not None:
        for found in islice(compiled(rule.after).finditer(text), _MOST):
            if not text.startswith(rule.unless_behind or "\0", found.end()):
                yield _Candidate(rule, found, _trailing_score(rule, found))


def _trailing_score(rule: _Rule, found: re.Match[str]) -> float:
    """A word behind binds strongly where a hyphen ties it to the number ("4k-token").

    It leaves thousands alone where a number of its own stands behind it ("16k 并发8").
    """
    is_length = rule.kind == "int" and _SCALED.search(found["number"]) is not None
    if is_length and _OWN_NUMBER.match(found.string, found.end()):
        return 0.25
    return 2.2 if found.string.startswith("-", found.end("number")) else 1.0


def _leading_score(rule: _Rule, found: re.Match[str], text: str) -> float:
    """A word in front binds strongest with = or :, weakest when it closes an earlier number.

    It binds weakly as well where its own number is asked for ("多少并发 32k 上下文"), where it
    is a common verb ("支持 32k 上下文"), and where few things are counted in thousands.
    """
    if _EXPLICIT.search(found[0]):
        return 4.0
    before = text[max(0, found.start() - 20) : found.start()]
    closes = not rule.leads and _NUMBER_BEFORE.search(before) is not None
    if closes or _SOUGHT.search(before):
        return 0.5
    if rule.kind == "int" and _SCALED.search(found["number"]):
        return 0.5
    return 0.5 if found[0].startswith(rule.weak) else 2.0


def read_quantities(document: Document, board: Board) -> None:
    """Note every number that its neighbours give a slot.

    Several rules may claim one number, and one word may claim the numbers on both its sides
    ("长度4096 并发2", "4k ctx 32 users"): of all ways to share them out the strongest counts.
    """
    text = document.rest()
    found = [
        candidate
        for rule in _rules()
        for candidate in _candidates(rule, text)
        if not _is_figure_of_speech(text, *candidate.found.span("number"))
        and _value(rule, candidate.found) is not None
    ]
    _note_fractions(document, board, text)
    for candidate in shared_out(found):
        match, rule = candidate.found, candidate.rule
        value = _value(rule, match)
        board.add(rule.slot, value, match.start(), match.end(), weight=candidate.score)
        document.take(*match.span("number"))


_WHOLE = ("batch", "grad_accum", "lora_rank", "seq_len", "tp", "pp")
"""Slots beside whose words a bare fraction can mean nothing else."""
_CLAUSE_ENDS = re.compile(
    r"\s*(?:[,;?!)\n]|\Z|(?:on|with|and|at|in|seq|能|吗|会|行|可以)(?![a-z]))"
)


def _note_fractions(document: Document, board: Board, text: str) -> None:
    """Note "batch 0.5": a fraction of what is counted in whole numbers."""
    for rule in _rules():
        if rule.slot not in _WHOLE or rule.before is None or not rule.grams & grams_of(text):
            continue
        for found in islice(compiled(rule.before).finditer(text), _MOST):
            value = parse_number(found["number"], kibi=rule.kind == "tokens")
            if value is None or value == int(value) or not _CLAUSE_ENDS.match(text, found.end()):
                continue
            board.add("not_whole", (rule.slot, value), found.start(), found.end())
            document.take(*found.span("number"))


_SPEECH_BEHIND = tuple("样般致起直定下些点旦切律")
_SPEECH = ("千万", "十分", "百分", "万一")


def _is_figure_of_speech(text: str, start: int, end: int) -> bool:
    """Whether Chinese numerals are no number: 一样, 十分, 千万."""
    if text[start : start + 1].isascii():
        return text.startswith("点几", end)  # "才1点几"
    return text.startswith(_SPEECH_BEHIND, end) or text.startswith(_SPEECH, start)


def _value(rule: _Rule, found: re.Match[str]) -> float | int | None:
    written = found["number"]
    is_negative = written.startswith("负") or (
        written.startswith("-") and not found.string[: found.start("number")][-1:].isalnum()
    )
    value = parse_number(written.lstrip("-负"), kibi=rule.kind == "tokens")
    if is_negative and value is not None:
        value = -value
    if value is None:
        return None
    if rule.units:
        value *= rule.units.get(found.groupdict().get("unit") or "", 1.0)
    if not rule.low <= value <= rule.high:
        return None
    if rule.kind == "float":
        return round(value, 6)
    return int(value) if value == int(value) else None
