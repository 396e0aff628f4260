"""Closed vocabularies: method, precision, quantisation, framework, provider, billing ..."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.understanding.data import load
from agent.understanding.lexicon.phrases import Hit, PhraseTable, table
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document, blanked
from agent.understanding.readers.cache_width import cache_widths

_PLAIN = (
    "framework",
    "optimizer",
    "gradient_checkpointing",
    "attention",
    "strategy",
    "storage",
    "os",
    "billing",
    "region",
)
"""Slots whose phrases can be taken as they stand."""


_BARE_FULL = re.compile(
    r"(?<![a-z\-])full(?=\s*(?:[?!,。;)]|\Z|(?:zero|deepspeed|fsdp|ft|tuning|sft|param|\d{1,3}(?:\.\d)?b(?![a-z])"
    r"|(?:on|with|using|and|\+)\s(?:cpu|nvme|optimi[sz]er|params?|zero)[ -]?(?:3\s)?offload)))"
)
"""A bare "full" at the end of a clause or before a training word: full fine-tuning."""


_SIZED_FULL = re.compile(
    r"(?:(?<=\db )|(?<=\db, )|(?<=\d b ))full"
    r"(?=,?\s(?:adam|adafactor|sgd|lion|muon|galore|pure|mixed|amp|bf16|fp16|on|with|in|at|and|vs|or|batch|bs|seq|using|\d{1,4}\s?x|[abhlvt]\d))"
)
"""A "full" between a size and a setting: how it is trained, where training is spoken of."""
_SPEAKS_OF_TRAINING = ("optimizer", "zero_stage", "strategy", "grad_accum", "epochs")


_NOT = ("不", "没", "无", "别", "w/o ")
"""Right in front of a word: it is not done."""


def words(name: str) -> PhraseTable:
    """A table of data/words.yaml."""
    return table("words", name)


def read_words(document: Document, board: Board, *, names: Sequence[tuple[int, int]] = ()) -> None:
    """Note the closed-vocabulary slots.

    Args:
        document: The text.
        board: Where readings go.
        names: Spans of models, cards and instances: words inside them are theirs.
    """
    whole = blanked(document.text, names)
    text = blanked(whole, [(reading.start, reading.end) for reading in board.of("quiet")])
    _read_plain(document, board, text)
    for hit in cache_widths(document.text):
        if not _is_off(document.text, hit):
            board.add("kv_cache_dtype", hit.value, hit.start, hit.end)
    _read_methods(whole, board)
    _read_quantization(text, board)
    for slot in ("library", "apple"):
        for hit in words(slot).find(text):
            board.add(slot, hit.value, hit.start, hit.end)
    _read_providers(text, board)
    _read_precision(text, board)


def _read_plain(document: Document, board: Board, text: str) -> None:
    """Settings whose words are the value, and switches."""
    for slot in _PLAIN:
        for hit in words(slot).find(text):
            value = _OFF_VALUE.get(slot, hit.value) if _is_off(text, hit) else hit.value
            if value is not None:
                board.add(slot, value, hit.start, hit.end)
    _read_mode(text, board)
    for hit in words("fused_ce").find(text):
        board.add("fused_ce", not _is_off(text, hit), hit.start, hit.end)
    for hit in words("zero_stage").find(text):
        board.add("zero_stage", int(hit.value), hit.start, hit.end)
    for hit in words("offload").find(text):
        if not _is_off(text, hit):
            board.add("offload", True, hit.start, hit.end)
    for hit in words("layers_split").find(document.text):
        board.add("layers_split", True, hit.start, hit.end)
    for hit in words("one_at_a_time").find(text):
        board.add("concurrency", 1, hit.start, hit.end)
    for hit in words("no_gpu").find(text):
        board.add("gpu_none", True, hit.start, hit.end)


def _read_mode(text: str, board: Board) -> None:
    """Pure or mixed precision; where both are set against each other, neither."""
    modes = {hit.value: hit for hit in words("precision_mode").find(text)}
    if len(modes) == 1:
        mode, hit = next(iter(modes.items()))
        board.add("precision_mode", mode, hit.start, hit.end)


_OFF_VALUE: dict[str, str | None] = {
    "gradient_checkpointing": "none", "strategy": None, "attention": None,
}  # fmt: skip
"""What is left of a setting that is turned off; slots that are not here cannot be."""


def _is_off(text: str, hit: Hit) -> bool:
    """Whether a setting is said to be off: in front of its words or right behind them."""
    before = re.split(r"[,。;\n?!:]", text[max(0, hit.start - 16) : hit.start])[-1]
    behind = re.split(r"[,。;\n?!]", text[hit.end : hit.end + 20])[0]
    if table("resolve", "negation").has(before[-10:]) or before.endswith(_NOT):
        return not table("resolve", "negation_lifted").has(before)
    off = table("resolve", "turned_off").find(before)
    if off and len(before.rstrip()) - off[-1].end <= 1:
        return True
    return any(other.start <= 3 for other in table("resolve", "off_behind").find(behind))


def read_programs(document: Document, board: Board) -> None:
    """Note programs that carry a model's name in theirs (llama.cpp, LLaMA-Factory)."""
    for hit in words("framework").find(document.text):
        if "llama" in document.text[hit.start : hit.end]:
            board.add("framework", hit.value, hit.start, hit.end)
            document.take(hit.start, hit.end)


def _read_providers(text: str, board: Board) -> None:
    from tools.catalog import scan_providers

    for mention in scan_providers(text):
        board.add("provider", mention.provider, mention.start, mention.end)
    for hit in words("provider_products").find(text):
        board.add("provider", hit.value, hit.start, hit.end, weight=0.5)
    for hit in words("provider_terms").find(text) if not board.has("provider") else ():
        board.add("provider", hit.value, hit.start, hit.end, weight=0.5)


def _read_precision(text: str, board: Board) -> None:
    """Precisions, and the one that is left when half precision is turned down."""
    shares = [(hit.start, hit.end) for hit in words("no_precision").find(text)]
    formats = [
        other.end for name in ("precision", "quantization") for other in words(name).find(text)
    ]
    for hit in words("precision").find(blanked(text, shares)):
        near = [end for end in formats if end <= hit.start]  # "不用fp8 直接bf16" denies fp8
        before = text[max(0, hit.start - 14, *near) : hit.start]
        if table("resolve", "states_behind").has(text[hit.end : hit.end + 18]):
            continue  # "fp32 states": of the optimizer, not of the arithmetic
        asks = table("conversation", "not_negators").has(before)  # "要不要用fp16"
        if asks or not table("resolve", "negation").has(before):
            board.add("precision", hit.value, hit.start, hit.end)
        elif hit.value == "fp16":
            board.add("precision", "fp32", hit.start, hit.end, weight=2.0)


_DENIED = re.compile(
    r"(?:不是|并非|非|不用|不走|没用|没开|not|no|without|isn't|instead of)\s?(?:a |the )?\Z"
)
_ASKED_IF = re.compile(r"(?:是不是|要不要|用不用|why not|or not)\s?\Z")
_TOOL_BEHIND = re.compile(r"[-_](?:scripts?|trainer|gui|easy|toolkit)")


def _is_denied(text: str, hit: Hit) -> bool:
    """Whether a method is said not to be the one: "(不是lora)"."""
    before = text[max(0, hit.start - 12) : hit.start]
    return _DENIED.search(before) is not None and _ASKED_IF.search(before) is None


def _is_not_meant(text: str, hit: Hit) -> bool:
    """A method that is denied, or part of a program's name (lora-scripts)."""
    is_tool = _TOOL_BEHIND.match(text, hit.end) is not None
    return is_tool or (hit.value in ("lora", "qlora") and _is_denied(text, hit))


def _read_methods(text: str, board: Board) -> None:
    hits = words("method_scale").find(text)
    kept = [hit for hit in hits if not _is_not_meant(text, hit)]
    for hit in kept:
        board.add("method_scale", hit.value, hit.start, hit.end)
    denied = [hit for hit in hits if hit.value in ("lora", "qlora") and _is_denied(text, hit)]
    if denied and all(hit.value == "full" for hit in kept):
        board.add("method_scale", "full", denied[0].start, denied[0].end)
    for bare in _BARE_FULL.finditer(text):
        board.add("method_scale", "full", bare.start(), bare.end())
    for sized in _SIZED_FULL.finditer(text) if _is_of_training(text, board) else ():
        board.add("method_scale", "full", sized.start(), sized.end())
    for hit in words("method_goal").find(text):
        board.add("method_goal", hit.value, hit.start, hit.end)
    for hit in words("task").find(text):
        board.add("task_cue", hit.value, hit.start, hit.end)


def _is_of_training(text: str, board: Board) -> bool:
    """Whether a text speaks of training: by its words, or by a setting that only training has."""
    is_said = any(hit.value == "train" for hit in words("task").find(text))
    return is_said or any(board.has(slot) for slot in _SPEAKS_OF_TRAINING)


def _read_quantization(text: str, board: Board) -> None:
    dropped = words("not_quantized").find(text)
    cache = cache_widths(text)
    optimizer = words("optimizer").find(text)
    for hit in dropped:
        board.add("not_quantized", True, hit.start, hit.end)
    for hit in words("quantization").find(text):
        if not any(other.start <= hit.start < other.end for other in (*cache, *optimizer)):
            board.add("quantization", hit.value, hit.start, hit.end)
    for hit in words("quantized_some").find(text):
        if not any(other.start <= hit.start < other.end for other in dropped):
            board.add("quantized_some", True, hit.start, hit.end)


def known_values(slot: str) -> tuple[str, ...]:
    """Values of a closed vocabulary."""
    return tuple(load("words")[slot])
