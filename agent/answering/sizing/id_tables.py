"""Embedding tables of a recommender: rows times width, where they live, and what training adds."""

from __future__ import annotations

import re

from agent.answer import Verdict
from agent.answering.hosts.cpu_or_gpu import data_gb
from agent.answering.plan import Context, Plan
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.request import Request
from agent.understanding.numerals import number_pattern, parse_number
from tools.units import GB, gb_from_bytes

_TABLES = re.compile(
    r"embedding[ -]?(?:tables?|表|层|参数)|(?:嵌入|稀疏|特征|id)\s?表"
    r"|emb(?:edding)?s? (?:are|is|of|take)"
    r"|稀疏(?:特征|参数|embedding)|sparse (?:features|embeddings|tables)",
    re.IGNORECASE,
)
_N = number_pattern()
_ROWS_BY_WIDTH = re.compile(
    rf"(?P<rows>{_N})\s?(?:个|条|行)?\s?(?:不同的?|unique|distinct)?\s?"
    r"(?:用户|商品|物品|特征|ids?|items?|users?|rows|entities|entries|行|sku|key|keys)?"
    r"[^\d\n]{0,16}?(?P<width>\d{1,4})\s?(?:维|dims?(?:ensions?)?|-?d(?![a-z])|wide)",
    re.IGNORECASE,
)
_HALF = re.compile(r"fp16|bf16|half|半精度|float16", re.IGNORECASE)
_LARGEST_CARD = 80 * GB
_ADAM_COPIES = 3
"""The table itself and two moments, in the table's width."""


def applies(request: Request, context: Context) -> bool:
    """True for tables of ids whose size is said or follows from rows and width."""
    text = request.search_query
    has_job = request.slots.params_b is not None
    return not has_job and _TABLES.search(text) is not None and _size(request) is not None


def _rows_and_width(request: Request) -> tuple[float, int] | None:
    for found in _ROWS_BY_WIDTH.finditer(request.search_query.casefold()):
        rows = parse_number(found["rows"].strip())
        if rows and rows >= 1000 and int(found["width"]) >= 2:
            return rows, int(found["width"])
    return None


def _size(request: Request) -> float | None:
    """Bytes of the tables: rows x width x bytes of an entry, else the size that was said."""
    shape = _rows_and_width(request)
    if shape is not None:
        return shape[0] * shape[1] * _entry_bytes(request)
    said = data_gb(request.slots.dataset)
    return said * GB if said is not None else None


def _entry_bytes(request: Request) -> int:
    return 2 if _HALF.search(request.search_query) else 4


def compose(request: Request, context: Context) -> Plan:
    """The size with its factors, the states of training, and where it can live."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    size, shape = _size(request), _rows_and_width(request)
    assert size is not None
    is_training = request.slots.task != "infer"
    draft.figure("tables", round(size), "B", formula="rows * width * bytes of an entry")
    told = _gb(size)
    if shape is not None:
        each = _entry_bytes(request)
        draft.figure("rows", shape[0], "1", sources=("user:rows",))
        draft.figure("width", shape[1], "1", sources=("user:width",))
        draft.figure("entry_bytes", each, "B", formula="4 in fp32, 2 in 16 bit")
        draft.say("id_tables.product", rows=f"{shape[0]:,.0f}", width=shape[1], bytes=each,
                  importance=HEAD, size=told)  # fmt: skip
    whole = size * _ADAM_COPIES if is_training else size
    draft.figure("tables_with_states", round(whole), "B", formula="tables * 3 with Adam")
    draft.figure("largest_common_card", _LARGEST_CARD, "B", sources=("data:gpus.csv",))
    cards = -(-int(whole * 1.2) // _LARGEST_CARD)
    draft.figure("cards", cards, "1", formula="tables with states * 1.2 / 80 GB, rounded up")
    is_small = whole * 1.2 <= _LARGEST_CARD / 2
    key = "small" if is_small else "large"
    draft.say(f"id_tables.{key}", importance=HEAD, size=told)
    if is_training:
        draft.say("id_tables.states", whole=_gb(whole), size=told)
    draft.say("id_tables.shard", cards=cards, whole=_gb(whole))
    draft.say("id_tables.serving", importance=DETAIL)
    verdict: Verdict = "depends"
    return draft.finish(verdict)
    yield  # one shape for every composer


def _gb(size: float) -> str:
    return f"{gb_from_bytes(round(size)):,.3g} GB"
