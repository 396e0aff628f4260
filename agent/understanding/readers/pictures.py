"""张 that counts pictures and no cards: pictures to be made or worked off, pictures a second."""

from __future__ import annotations

import re
from itertools import islice

from agent.understanding.lexicon.numerals import DIGITS, parse_number
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document
from tools.models import DENOISER_KINDS, SEEING_KINDS

_MOST = 20
_FEW = 64
"""Up to so many 张 in front of a card are cards, unless a verb says that they are made."""
_OF_PICTURES = (*DENOISER_KINDS, *SEEING_KINDS)
"""Kinds of models whose work is counted in pictures."""
_MADE = re.compile(
    rf"(?P<verb>出图|出|生成|画|绘制|渲染|生图|跑图|推理|识别|检测|处理|做)?(?:了|个|一共|大概|约|共)?\s?"
    rf"(?<![\d.a-z])(?P<n>{DIGITS}\s?[万千kw]?)\s?(?:多|来)?张(?!卡|显卡|/|每|一批)"
    r"(?:图片?|照片|图像|海报|插画|样图)?"
)
_SIDE = re.compile(
    r"(?<![\d.x*a-z])(?P<behind>224|256|320|384|448|512|576|640|768|896|1024|1152|1280|1536|2048)"
    r"\s?(?:的)?(?:小|大|方)?(?:图|尺寸|分辨率|px(?![a-z]))"
    r"|(?<![a-z])(?:at|@)\s?(?P<at>224|256|320|384|448|512|576|640|768|896|1024|1152|1280|1536|2048)"
    r"(?![\d.x*]|\s?[x*]|\s?(?:tokens?|images?|img|steps?|batch|samples?|users?|usd|yuan|元|\$))"
)
"""A usual side of a picture beside its word, or behind "at": "512 图", "at 1024"."""
_BATCH = re.compile(r"(?:一次|每次|每批|一批)[^\d,。;]{0,4}\Z")
_AT_ONCE = re.compile(
    r"(?:一次|每次|每批|一批|批量|batch|同时|并发|每卡|单卡|每张卡|每秒|一秒|用|租|有)[^\d,。;]{0,4}\Z"
)
"""In front of a count: pictures of one batch, of a second, or cards that are used."""
_ASKED = re.compile(
    r"(?:每|一|1)\s?(?:秒钟?|分钟|个?小时|天)[^,。;?!\d\n]{0,10}?(?P<asked>(?:几|多少)\s?张)"
    r"(?!卡|显卡|gpu|\s?[a-z]{0,4}\d)"
    r"|(?P<before>(?:几|多少)\s?张)\s?(?:图片?|照片|图像)?\s?(?:/|每|一|per\s)\s?(?:秒|分钟|s(?![a-z]))"
)


def read_pictures_made(document: Document, board: Board) -> None:
    """Note pictures that a model makes or works off ("出图 1000 张 4090"), before cards are read.

    A rate that is asked for ("每秒多少张") is set apart, so that no cards are counted by it.
    """
    for found in islice(_ASKED.finditer(document.text), _MOST):
        group = "asked" if found["asked"] else "before"
        board.add("quiet", True, *found.span(group))
        board.add("asks_pictures", True, *found.span())
        document.take(*found.span(group))
    kinds = {match.value.spec.kind for match in board.of("model_match")}
    if not kinds & set(_OF_PICTURES):
        return
    _read_sides(document, board)
    for found in islice(_MADE.finditer(document.rest()), _MOST):
        value = parse_number(found["n"])
        if value is None or value != int(value) or (value <= _FEW and not found["verb"]):
            continue
        before = document.text[max(0, found.start("n") - 10) : found.start("n")]
        is_batch = _BATCH.search(before) is not None
        if _AT_ONCE.search(before) and not is_batch:
            continue
        slot = "batch" if is_batch else "samples"
        board.add(slot, int(value), found.start("n"), found.end())
        document.take(found.start("n"), found.end())


def _read_sides(document: Document, board: Board) -> None:
    """Note "512 图" and "at 1024" as the side of a picture."""
    for found in islice(_SIDE.finditer(document.rest()), _MOST):
        group = "behind" if found["behind"] else "at"
        board.add("img_size", int(found[group]), *found.span(group))
        document.take(*found.span())
