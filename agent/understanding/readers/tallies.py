"""Counts that multiply a sum: runs of a sweep, machines of a type, copies kept; steps done."""

from __future__ import annotations

import re
from itertools import islice
from math import prod

from agent.understanding.lexicon.numerals import DIGITS, HAN, english_words, parse_number
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_MOST = 20
_WORDS = "|".join(sorted(english_words(), key=len, reverse=True))
_START = r"(?<![\d,_])"
"""A number begins here: a wall of digits is tried once, not at every digit."""
_N = rf"(?P<n>{_START}{DIGITS}k?|{HAN}{{1,4}}|(?<![a-z])(?:{_WORDS}))"
_LIKE = r"(?:different|random|separate|independent|more|full|不同的?|独立的?)?\s?"
_KINDS = {
    "run": rf"{_N}\s?(?:组|次|个|遍|套)?{_LIKE}(?:超参|超参数|参数组合|配置|实验|试验|消融|trials?"
    r"|experiments?|ablations?|configs?|configurations?|sweeps?|hyper-?param[a-z]*"
    r"(?:\s(?:settings?|sets?|combinations?|configs?))?|runs|(?:training|fine-?tuning)\sruns?"
    r"|fine-?tunes?|training jobs?|jobs)(?![a-z])",
    "group": rf"(?:扫|搜|试|跑)(?:了|一共|个)?\s?{_N}\s?(?:组|套)(?![a-z])",
    "times": rf"(?:跑|训|重复|做|训练)(?:了|个|它)?\s?{_N}\s?次(?!/|每)",
    "seed": rf"{_N}\s?(?:个|组)?{_LIKE}(?:随机种子|种子|seeds?)(?![a-z])",
    "rate": rf"{_N}\s?(?:个|种|组)?{_LIKE}(?:学习率|learning rates?|lrs?(?![a-z]))"
    r"(?!\s?(?:of\s|是|为)?[=:]?\s?\d)",
    "rank": rf"{_N}\s?(?:(?:个|种){_LIKE}(?:rank|秩)|{_LIKE}(?:lora )?ranks(?![a-z]))",
    "fold": rf"{_N}\s?-?(?:折(?:交叉|cv|验证)|folds?(?![a-z]))",
}
_FACTORS = {kind: re.compile(pattern) for kind, pattern in _KINDS.items()}
_MOST_RUNS = 10_000
_PROGRESS = re.compile(
    rf"(?P<done>{_START}{DIGITS}k?)\s?/\s?(?P<total>{DIGITS}k?)\s?\[\d"
    rf"|(?:steps?|iter(?:ation)?s?|步)\s?:?\s?(?P<done2>{DIGITS}k?)\s?(?:/|of|out of|\(共)\s?"
    rf"(?P<total2>{DIGITS}k?)"
    rf"|(?P<done3>{_START}{DIGITS}k?)\s?(?:/|of|out of)\s?(?P<total3>{DIGITS}k?)"
    r"\s?(?:steps?|iters?|步|(?=[\s,\[(|<:?.\d]{0,24}(?:s/(?:it|step)|(?:it|step)s?/s|秒/(?:步|it))))"
)
_DONE = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:(?:at|on|reached|past|passed|finished|completed|done)\s)(?:step|iter(?:ation)?)s?\s?"
        rf"(?:number|#)?\s?{_N}(?!\s?(?:steps?\s)?total)",
        rf"{_N}\s?(?:steps?|iter(?:ation)?s?)?\s?(?:are\s|is\s)?(?:already\s)?"
        r"(?:done|in already|completed|finished|so far|behind us|elapsed)(?![a-z])",
        rf"(?:已经?|现在|目前|当前|才|刚|只)?(?:跑|训|训练|走|做|完成|进行)(?:到|了|完了?|至)"
        rf"\s?(?:(?:第)?\s?{_N}\s?(?:步|step)|(?:step|iter)s?\s?{_N.replace('<n>', '<m>')})",
        rf"(?:现在|目前|当前|到|在)(?:第|step|是|到)+\s?{_N}\s?(?:步|step)?(?![\d个小分天])",
    )
)
_MINUTES_OF_A_RUN = re.compile(
    rf"(?:each|every|per|a|one|每个?|一个?|一)\s?(?:run|fold|seed|trial|experiment|job|次|折|组|轮|个)?"
    rf"[^\d.。;\n]{{0,16}}{_N}\s?-?(?:minutes|mins?|分钟)"
    rf"|{_N.replace('<n>', '<m>')}\s?(?:minutes|mins?|分钟)\s?"
    r"(?:per|each|apiece|a|every|一次|一折|一组|一个|每次|每个)"
)
_LEAST = 0.2
"""Weight of the minutes of a run beside hours that were said."""
_COPIES = re.compile(
    rf"(?:save_total_limit|max_to_keep|keep_last_n?)\s?[=:]?\s?(?P<limit>\d{{1,3}})"
    rf"|(?:留|保留|存|保存|备|keep(?:ing)?|retain(?:ing)?|store|storing|save)\s?(?:住|着|了|the\s)?"
    rf"(?:last|latest|newest|most recent|最近|最新|最后)?(?:的)?\s?{_N}\s?"
    r"(?:份|个|版|of them|checkpoints?|ckpts?|copies|saves|snapshots)(?![a-z])"
)
_BEFORE_TYPE = re.compile(
    rf"{_N}\s?(?:x|\*|台|个|块|instances?(?: of)?|machines? of|units? of)?\s?\Z"
)
_AFTER_TYPE = re.compile(
    rf"\s?(?:实例|机器|规格|的)?\s?(?:x|\*)\s?{_N}(?![\w.]|\s?(?:h|小时|元|hours))"
    rf"|\s?(?:实例|机器|规格|的)?[,\s]{{0,2}}{_N.replace('<n>', '<m>')}"
    r"\s?(?:台|instances|machines)(?![a-z])"
)


_BESIDE_ZH = re.compile(
    r"(?<![\d.第])(?P<n>\d{1,2}|[两二三四五六七八])\s?(?:个|份|套)(?!月|小时|人|用户|并发|请求)"
    r"[^\d,。;!?\n]{0,8}(?:\d{1,3}(?:\.\d{1,2})?\s?b(?![a-z]))?[^,。;!?\n]{0,18}?"
    r"(?:模型|实例|副本|服务)(?!大小|参数|上)"
)
_BESIDE_EN = re.compile(
    rf"(?<![\w.])(?P<n>\d{{1,2}}|{_WORDS})\s(?:(?!\d+(?:\s|x))[a-z0-9.\-/]+\s){{0,4}}?"
    r"(?:models|copies|instances|replicas)(?![a-z])"
)
"""Models that are to run beside each other: "3 个 7B 模型", "two copies of an 8B"."""
_MOST_BESIDE = 16


def _read_beside(document: Document, board: Board) -> None:
    for pattern in (_BESIDE_ZH, _BESIDE_EN):
        for found in islice(pattern.finditer(document.text), _MOST):
            count = _value(found["n"])
            if count is not None and 1 < count <= _MOST_BESIDE:
                board.add("side_by_side", count, found.start(), found.end())
                return


def _value(written: str | None) -> int | None:
    """A whole count of one or more."""
    if written is None:
        return None
    value = english_words().get(written) or parse_number(written)
    return int(value) if value is not None and value >= 1 and value == int(value) else None


_LINKS = {"百兆": 0.1, "千兆": 1.0, "双万兆": 20.0, "万兆": 10.0}
_WORDED_LINK = re.compile(
    r"(双万兆|万兆|千兆|百兆)(?:以太)?(?:网卡|网络|网口|内网|网|带宽|光纤|口|电口|光口)?"
)
_LISTED = re.compile(r"(?:^|\n|\s)gpu (?P<n>\d{1,2}):[^\n]{0,80}?\(uuid")
"""A line of `nvidia-smi -L`: one card each."""


def read_tallies(document: Document, board: Board) -> None:
    """Note runs, steps done with their total, copies kept, and machines beside a type's name."""
    listed = {found["n"] for found in islice(_LISTED.finditer(document.text), _MOST)}
    if len(listed) > 1:
        board.add("loose_count", len(listed), weight=3)
    for found in islice(_WORDED_LINK.finditer(document.rest()), _MOST):
        board.add("bandwidth_gbps", _LINKS[found[1]], found.start(), found.end())
        document.take(found.start(), found.end())
    _read_runs(document, board)
    _read_progress(document, board)
    for found in islice(_COPIES.finditer(document.rest()), _MOST):
        copies = _value(found["limit"] or found["n"])
        if copies is not None:
            board.add("copies", copies, found.start(), found.end())
    _read_machines(document, board)
    _read_beside(document, board)


def _read_runs(document: Document, board: Board) -> None:
    """Runs: kinds that stand beside each other multiply (3 learning rates x 5 seeds)."""
    counts: dict[str, int] = {}
    places: list[tuple[int, int]] = []
    for kind, pattern in _FACTORS.items():
        for found in islice(pattern.finditer(document.rest()), _MOST):
            value = _value(found["n"])
            if value is not None and value > 1 and kind not in counts:
                counts[kind] = value
                places.append((found.start(), found.end()))
    named = [counts[kind] for kind in ("seed", "rate", "rank", "fold") if kind in counts]
    plain = [counts[kind] for kind in ("run", "group", "times") if kind in counts]
    total = prod(named) if named and (not plain or prod(named) >= max(plain)) else 0
    total = total or max(plain, default=0) * prod(named)
    if not 1 < total <= _MOST_RUNS:
        return
    start, end = min(p[0] for p in places), max(p[1] for p in places)
    board.add("runs", total, start, end)
    for low, high in places:
        document.take(low, high)
    each = _MINUTES_OF_A_RUN.search(document.rest())
    minutes = _value(each["n"] or each["m"]) if each is not None else None
    if each is not None and minutes is not None:
        board.add("hours", round(minutes / 60, 6), each.start(), each.end(), weight=_LEAST)


def _read_progress(document: Document, board: Board) -> None:
    text = document.rest()
    for found in islice(_PROGRESS.finditer(text), _MOST):
        written = found["done"] or found["done2"] or found["done3"]
        done = 0 if parse_number(written) == 0 else _value(written)
        total = _value(found["total"] or found["total2"] or found["total3"])
        if done is not None and total is not None and done < total:
            board.add("steps_done", done, found.start(), found.end(), weight=4)
            board.add("steps", total, found.start(), found.end(), weight=4)
            document.take(found.start(), found.end())
            return
    for pattern in _DONE:
        for found in islice(pattern.finditer(text), _MOST):
            done = _value(found["n"] or found.groupdict().get("m"))
            if done is not None:
                board.add("steps_done", done, found.start(), found.end())
                document.take(found.start(), found.end())
                return


def _read_machines(document: Document, board: Board) -> None:
    """Machines of a type that is named: "4 x g5.12xlarge", "gn7i-c8g1.2xlarge 三台"."""
    text = document.text
    for mention in board.of("instance_mention"):
        before = _BEFORE_TYPE.search(text[max(0, mention.start - 24) : mention.start])
        after = _AFTER_TYPE.match(text[mention.end : mention.end + 24])
        written = before["n"] if before is not None else None
        if written is None and after is not None:
            written = after["n"] or after["m"]
        count = _value(written)
        if count is not None and 1 < count <= _MOST_RUNS:
            board.add("instance_count", count, mention.start, mention.end, weight=2)
