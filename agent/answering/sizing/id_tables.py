"""Embedding tables of a recommender: rows times width, where they live, and what training adds."""

from __future__ import annotations

from agent.answer import Verdict
from agent.answering.hosts.cpu_or_gpu import data_gb
from agent.answering.plan import Context, Plan
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.request import Request
from tools.units import GB, gb_from_bytes

_LARGEST_CARD = 80 * GB
_ADAM_COPIES = 3
"""The table itself and two moments, in the table's width."""


def applies(request: Request, context: Context) -> bool:
    """True for tables of ids whose size is said or follows from rows and width."""
    return request.slots.params_b is None and _size(request) is not None


def _rows_and_width(request: Request) -> tuple[int, int] | None:
    said = request.id_table
    if said is None or said.rows is None or said.width is None:
        return None
    return said.rows, said.width


def _size(request: Request) -> float | None:
    """Bytes of the tables: rows x width x bytes of an entry, else the size that was said."""
    if request.id_table is None:
        return None
    shape = _rows_and_width(request)
    if shape is not None:
        return shape[0] * shape[1] * _entry_bytes(request)
    said = data_gb(request.slots.dataset)
    return said * GB if said is not None else None


def _entry_bytes(request: Request) -> int:
    return 2 if request.slots.precision in ("fp16", "bf16") else 4


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
