"""Two numbers that are read together: width and height, batch and length in shorthand."""

from __future__ import annotations

import re
from itertools import islice

from agent.understanding.lexicon.numerals import HAN, parse_number
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_MOST = 20
_SIDES = re.compile(
    r"(?<![a-z0-9.,])(?P<width>\d{2,5})\s?[x*]\s?(?P<height>\d{2,5})"
    r"(?:\s?[x*]\s?\d{1,3})?(?![\d.]|\s?(?:gi?b|mib|b(?![a-z])|b?it|张|块|卡|核|core))"
)
_SHORTEST, _LONGEST = 32, 16_384
_BATCH_AND_LENGTH = re.compile(
    r"(?<![a-z0-9])b(?:s|sz)?\s?(?P<batch>\d{1,4})\s?[,/]?\s?(?:s|l|seq|len)\s?(?P<length>\d{2,6}k?)"
    r"(?![a-z0-9])"
)


def read_resolutions(document: Document, board: Board) -> None:
    """Note "1024x1024" and "1920*1080" as the longer side of an image, in pixels."""
    for found in islice(_SIDES.finditer(document.rest()), _MOST):
        sides = int(found["width"]), int(found["height"])
        if min(sides) < _SHORTEST or max(sides) > _LONGEST:
            continue
        board.add("img_size", max(sides), found.start(), found.end(), weight=3.0)
        document.take(found.start(), found.end())


_SCREEN = re.compile(
    r"(?<![a-z0-9.])(?P<k>[248])\s?k[ \-]?(?=(?:分辨率|超清|高清)?的?(?:图|照片|画面|视频|影像)"
    r"|(?:resolution )?(?:images?|photos?|pictures?|frames?|videos?|footage|resolution|uhd)"
    r"(?![a-z]))"
)
_THOUSANDS = re.compile(r"(?:images|photos|pictures|frames|videos)(?![a-z])|的?(?:图|照片)")
"""What a small k counts: a name of a size is written with a capital."""
_WIDTHS = {"2": 2560, "4": 3840, "8": 7680}
"""Pixels across a screen of that name: QHD, UHD (3840x2160), UHD-2."""


def read_screens(document: Document, board: Board) -> None:
    """Note "4K images" by the longer side of a picture of that name, 3840x2160, in pixels."""
    for found in islice(_SCREEN.finditer(document.rest()), _MOST):
        counted = _THOUSANDS.match(document.text, found.end())
        if counted and "K" not in document.span(found.start(), found.end()).text:
            continue  # "2k images": two thousand
        width = _WIDTHS[found["k"]]
        board.add("img_size", width, found.start(), found.end(), weight=3.0)
        document.take(found.start(), found.end())


_PATCHES = re.compile(
    r"(?<![\d.])(?P<count>\d{2,6})\s?[x*]\s?(?P<side>14|16|28|32)\s?[x*]\s?(?P=side)(?!\d)"
)


def read_patches(document: Document, board: Board) -> None:
    """Note "1280*28*28" pixels as the side of a square image of so many patches."""
    for found in islice(_PATCHES.finditer(document.rest()), _MOST):
        side = int(found["side"])
        pixels = round((int(found["count"]) * side * side) ** 0.5)
        board.add("img_size", pixels, found.start(), found.end(), weight=3.0)
        document.take(found.start(), found.end())


_PEOPLE = re.compile(
    rf"(?P<n>\d{{1,6}}|{HAN}{{1,5}})\s?(?:多|来|几)?\s?(?:个|名|位)(?![卡张小月可不能要])[\u3400-\u9fff]{{1,4}}?(?:一起|同时|都|共同|来)?(?:用|使用|访问|提问|并发)(?!的?是|途)"
)


def read_people(document: Document, board: Board) -> None:
    """Note "二十来个医生用": whoever they are, so many use it."""
    for found in islice(_PEOPLE.finditer(document.rest()), _MOST):
        value = parse_number(found["n"])
        if value is not None and value >= 1 and value == int(value):
            board.add("concurrency", int(value), found.start(), found.end(), weight=0.8)
            document.take(found.start("n"), found.end("n"))


_TOKENS = r"\d{1,6}(?:\.\d)?\s?k?"
_IN_AND_OUT = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<![a-z])in(?:put)?\s?[=:]?\s?(?P<input>{_TOKENS})\s?(?:tokens?|tok)?\s?[,/+&]?\s?(?:and\s)?"
        rf"out(?:put)?\s?[=:]?\s?(?P<output>{_TOKENS})(?![a-z0-9.])",
        rf"(?<![\w.])(?P<input>{_TOKENS})\s?(?:tokens?|tok)?\s?(?:in|input|prompt)\s?[,/+&]?\s?(?:and\s)?"
        rf"(?P<output>{_TOKENS})\s?(?:tokens?|tok)?\s?(?:out|output|generated|gen)(?![a-z])",
        rf"(?<![a-z])in(?:put)?\s?/\s?out(?:put)?\s?[=:]?\s?(?P<input>{_TOKENS})\s?/\s?"
        rf"(?P<output>{_TOKENS})(?![a-z0-9.])",
        rf"(?<![\w.])(?P<input>{_TOKENS})\s?/\s?(?P<output>{_TOKENS})\s?(?:in\s?/\s?out|input\s?/\s?output)",
        rf"输入\s?/\s?输出\s?(?:是|为|[=:])?\s?(?P<input>{_TOKENS})\s?/\s?(?P<output>{_TOKENS})(?![a-z0-9.])",
        rf"(?<![\w.])(?P<input>{_TOKENS})\s?(?:进|入)\s?[,/]?\s?(?P<output>{_TOKENS})\s?出",
    )
)


def read_in_and_out(document: Document, board: Board) -> None:
    """Note "2k in / 500 out" and "输入/输出 2k/512": tokens of the prompt and of the answer."""
    for pattern in _IN_AND_OUT:
        for found in islice(pattern.finditer(document.rest()), _MOST):
            values = [
                parse_number(found[n].replace(" ", ""), kibi=True) for n in ("input", "output")
            ]
            if any(value is None or value < 1 or value != int(value) for value in values):
                continue
            for slot, value, name in zip(
                ("input_len", "output_len"), values, ("input", "output"), strict=True
            ):
                assert value is not None
                board.add(slot, int(value), found.start(name), found.end(name), weight=3.0)
            document.take(found.start(), found.end())


def read_shorthand(document: Document, board: Board) -> None:
    """Note "b1 s1024" and "bs2/l4k": batch and sequence length in two letters."""
    for found in islice(_BATCH_AND_LENGTH.finditer(document.rest()), _MOST):
        length = found["length"]
        tokens = int(length[:-1]) * 1024 if length.endswith("k") else int(length)
        board.add("batch", int(found["batch"]), found.start(), found.end("batch"), weight=3.0)
        board.add("seq_len", tokens, found.end("batch"), found.end(), weight=3.0)
        document.take(found.start(), found.end())
