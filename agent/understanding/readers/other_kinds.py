"""Models that write no text: contrastive training, image pipelines on small cards, beams."""

from __future__ import annotations

import re
from itertools import islice

from agent.understanding.lexicon.phrases import PhraseTable, table
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_MOST = 4
_BEAMS = re.compile(
    r"(?<![a-z])(?:beam[ _-]?size|num[ _-]?beams|beams?|束宽|束搜索|波束)\s?(?:=|:|为|是|of)?\s?"
    r"(?P<behind>\d{1,2})(?![\d.])"
    r"|(?<![\d.])(?P<before>\d{1,2})\s?(?:beams?(?![a-z])|束搜索|个束)"
)
_CLIP = re.compile(
    r"每(?:条|段|个|句|份)(?:音频|语音|录音|样本|数据)?(?:长|约|大概|平均|是|为|都是)*\s?(?P<zh>\d{1,3})\s?(?:秒|s(?![a-z]))"
    r"|(?P<zh2>\d{1,3})\s?秒(?:的|长的)?(?:音频|语音|录音|片段)"
    r"|(?<![\d.])(?P<en>\d{1,3})[ -]?(?:s|secs?|seconds?)[ -](?:audio|clip|utterance|segment)"
)
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_ROWS = re.compile(
    r"(?<![\d.,])(?P<n>\d{1,4}(?:\.\d{1,3})?)\s?(?P<scale>thousand|million|billion)\s(?:rows|records)"
)
_GREEDY = re.compile(r"(?<![a-z])greedy(?![a-z])|贪心解码|贪婪解码")


def _words(name: str) -> PhraseTable:
    return table("other_kinds", name)


def read_other_kinds(document: Document, board: Board) -> None:
    """Note contrastive training, offload and VAE settings of pipelines, and beams."""
    for hit in _words("contrastive").find(document.text):
        board.add("method_goal", "contrastive", hit.start, hit.end)
        board.add("task_cue", "train", hit.start, hit.end)
    for hit in _words("pipeline_offload").find(document.text):
        board.add("pipeline_offload", hit.value, hit.start, hit.end)
    for slot in ("vae_slicing", "vae_tiling"):
        for hit in _words(slot).find(document.text):
            board.add(slot, True, hit.start, hit.end)
    for found in islice(_BEAMS.finditer(document.rest()), _MOST):
        group = "behind" if found["behind"] else "before"
        if int(found[group]) >= 1:
            board.add("beams", int(found[group]), found.start(), found.end())
            document.take(found.start(group), found.end(group))
    _read_video(document, board)
    for found in islice(_CLIP.finditer(document.text), 1):
        seconds = int(found["zh"] or found["zh2"] or found["en"])
        if seconds >= 1:
            board.add("clip_s", seconds, found.start(), found.end())
    for found in islice(_ROWS.finditer(document.text), 1):
        board.add("rows", round(float(found["n"]) * _SCALES[found["scale"]]), *found.span())
    for found in islice(_GREEDY.finditer(document.text), 1):
        board.add("beams", 1, found.start(), found.end(), weight=0.5)


_HEIGHT = re.compile(r"(?<![\d.])(?P<height>480|540|720|1080)p(?![a-z0-9])")
_FRAMES = re.compile(
    r"(?<![\d.])(?P<frames>\d{1,3})\s?(?:帧|frames?(?![a-z]))(?!\s?(?:/|每|per|a\s))"
)
_WIDE = 16 / 9


def _read_video(document: Document, board: Board) -> None:
    """Note "720p" and "81 frames" of a model that makes videos; a camera's 1080p is no input."""
    mentions = board.of("model_match")
    if not any(reading.value.spec.kind == "dit" for reading in mentions):
        return
    for found in islice(_HEIGHT.finditer(document.text), 1):
        side = round((int(found["height"]) ** 2 * _WIDE) ** 0.5)
        board.add("img_size", side, found.start(), found.end())
    for found in islice(_FRAMES.finditer(document.text), 1):
        if int(found["frames"]) >= 1:
            board.add("frames", int(found["frames"]), found.start(), found.end())
