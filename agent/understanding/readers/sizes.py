"""Parameter counts: ``7b``, ``70亿``, ``8x7B``, ``30B-A3B``, ``124M params``; needs of them."""

from __future__ import annotations

import re
from itertools import islice

from agent.understanding.lexicon.numerals import DIGITS, HAN, parse_number
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_MOST = 60
"""Matches of one pattern that are looked at."""
_SIGNED = r"\s=:：(（,，是为到至"
"""What stands before a minus; a hyphen after anything else joins a name to its size."""
_LEFT = rf"(?:(?<![a-z0-9.\-])|(?<=[^a-z0-9.\-{_SIGNED}]-))"
_SIGN = rf"(?:(?<![^{_SIGNED}])-)?"
_ADJECTIVES = (
    r"(?:[ \-](?!images?|samples?|rows?|tokens?|context|ctx|docs?|documents?|records?|requests?"
    r"|users?|pairs?|steps?|lines?|queries|vectors?|items?|photos?|pictures?|videos?|clips?)"
    r"[a-z\-]{2,16}){1,2}"
)
"""Between a size and "model": "650M protein language model", not "10M images model"."""
_SIZE = re.compile(
    rf"{_LEFT}(?P<low>{_SIGN}{DIGITS})\s?-\s?(?P<high>{DIGITS})\s?b(?![a-z0-9])"  # 33-34b
    rf"|(?<![a-z0-9.])(?P<experts>\d{{1,3}})\s?x\s?(?P<each>{DIGITS})\s?b(?![a-z0-9])"
    rf"|(?<![a-z0-9.])(?P<total>{DIGITS})b-?a(?P<active>{DIGITS})b(?![a-z0-9])"  # 30B-A3B
    rf"|(?<![a-z0-9.])(?P<total2>{DIGITS})ba(?P<active2>\d{{1,2}})(?![a-z0-9])"  # 30BA3
    rf"|{_LEFT}(?P<number>{_SIGN}{DIGITS})\s?-?\s?(?P<unit>b|bn|billion)(?![a-z0-9/])"
    rf"|(?<![a-z0-9.])(?P<han>{DIGITS}|{HAN}{{1,9}})\s?(?P<yi>百亿|千亿|万亿|亿)(?!\s?个(?!参|模)|\s?个?(?:token|条|样本|数据|字|次|行|元|块|张))(?:的)?(?:参数|模型|规模|大模型|参)?"
    rf"|(?:(?<![a-z])[a-z]{{0,5}}(?:gpt(?:[ \-]?[23])?|bert|llama|transformer|mamba|rwkv|t5|vit|net"
    rf"|llm|former|model|moe)|模型)[ \-]?(?P<small>{DIGITS})\s?m(?![a-z0-9])"
    rf"(?!\s?(?:个|tokens?|samples?|rows|images|docs|pairs|steps|条|张|样本|数据))"  # nanoGPT 124M
    rf"|(?<![a-z0-9.])(?P<other>{DIGITS})\s?(?P<scale>[mt]|million|trillion)\s?(?=的?(?:参数|规模|个参数|模型|大模型|param|parameter|model|gpt|bert|vit|llm)|{_ADJECTIVES}\s(?:models?|encoders?|transformers?|networks?|lms?|backbones?)(?![a-z]))"
)
_EXPERT_SHARE = 0.835
"""Of k experts times their nominal size, what is left when the shared layers are counted once
(Mixtral 8x7B: 46.7 of 56; 8x22B: 140.6 of 176)."""
_YI = {"亿": 0.1, "百亿": 10.0, "千亿": 100.0, "万亿": 1000.0}


def read_sizes(document: Document, board: Board) -> None:
    """Note parameter counts (billions) that stand outside a model's name."""
    for found in islice(_SIZE.finditer(document.text), _MOST):
        if not document.is_free(found.start(), found.end()):
            continue
        read = _billions(found)
        if read is None:
            continue
        value, active = read
        board.add("params_b", value, found.start(), found.end())
        if active is not None:
            board.add("active_b", active, found.start(), found.end())
        document.take(found.start(), found.end())


_ACTIVE = re.compile(
    rf"激活(?:参数)?(?:只有|只|约|大概)?\s?(?P<a>{DIGITS})\s?b|(?P<b>{DIGITS})\s?b active"
)


def read_active(document: Document, board: Board) -> None:
    """Note "激活4B" and "3B active" before plain sizes are read."""
    for found in islice(_ACTIVE.finditer(document.text), _MOST):
        board.add("active_b", _number(found["a"] or found["b"]), found.start(), found.end())
        document.take(found.start(), found.end())


def _billions(found: re.Match[str]) -> tuple[float, float | None] | None:
    group = found.groupdict()
    if group["low"]:
        return parse_number(group["low"]) or 0.0, None
    if group["experts"]:
        return round(int(group["experts"]) * _number(group["each"]) * _EXPERT_SHARE, 3), None
    if group["total"]:
        return _number(group["total"]), _number(group["active"])
    if group["total2"]:
        return _number(group["total2"]), _number(group["active2"])
    if group["number"]:
        return _number(group["number"]), None
    if group["han"]:
        value = parse_number(group["han"])
        return None if value is None else (round(value * _YI[group["yi"]], 6), None)
    if group["small"]:
        return round(_number(group["small"]) * 1e-3, 6), None
    scale = {"m": 1e-3, "million": 1e-3, "t": 1e3, "trillion": 1e3}[group["scale"]]
    return round(_number(group["other"]) * scale, 6), None


def _number(written: str) -> float:
    return parse_number(written) or 0.0


_N = r"\d{1,5}(?:\.\d{1,3})?"
_PRODUCT = re.compile(
    rf"(?<![a-z0-9.])(?P<size>{_N})\s?b?\s?[x*]\s?(?P<width>0\.5|1|2|4|16|18)\s?(?:bytes?|字节|b(?![a-z]))?"
    rf"\s?(?:=|就是|等于|is)\s?(?:about\s|约\s?)?(?P<need>{_N})\s?(?:gib|gb|g)(?![a-z])"
)
_PER_TOKEN = re.compile(
    rf"(?<![a-z0-9.\-]){_N}\s?b(?= (?:params? |parameters )?(?:per|a|each) token)"
)
_SLACK = 0.06


def read_products(document: Document, board: Board) -> None:
    """Note the need that is a size of the text times bytes; parameters per token are no tokens."""
    text = document.text
    for found in islice(_PRODUCT.finditer(text), _MOST):
        size, width, need = (float(found[name]) for name in ("size", "width", "need"))
        is_size = re.search(rf"(?<![\d.]){re.escape(found['size'])}\s?b(?![a-z])", text)
        if is_size is not None and abs(size * width - need) <= _SLACK * need:
            board.add("need_gb", need, *found.span("need"))
            document.take(found.start(), found.end())
    for found in islice(_PER_TOKEN.finditer(text), _MOST):
        document.take(found.start(), found.end())
