"""Work that a question names in other terms: a public data set, or requests a day."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from agent.request import Request

_DAY_S = 86_400
_IN_ALL = re.compile(
    r"几天|多久|多长时间|what (?:would|will) .{0,20}cost|how (?:long|many days)", re.IGNORECASE
)
_OF_MEMORY = re.compile(
    r"显存|放得下|装得下|够不?够|vram|memory|(?<![a-z])(?:fit|oom)|能训|训得|能跑|batch",
    re.IGNORECASE,
)


class DataSet(NamedTuple):
    """A public data set: what names it, its training images, who says so."""

    words: re.Pattern[str]
    samples: int
    source: str


@cache
def _sets() -> tuple[DataSet, ...]:
    text = files("agent.answering").joinpath("data/data_sets.toml").read_text("utf-8")
    return tuple(
        DataSet(re.compile(rf"(?<![a-z]){row['words']}", re.IGNORECASE), row["samples"],
                row["source"])
        for row in tomllib.loads(text)["set"]
    )  # fmt: skip


def data_set_of(request: Request) -> DataSet | None:
    """The public data set that a training question names, where it gives no count itself."""
    slots = request.slots
    if slots.task != "train" or slots.samples is not None or slots.epochs is None:
        return None
    return next((s for s in _sets() if s.words.search(request.search_query)), None)


def is_time_of_set(request: Request) -> bool:
    """Epochs over such a set on a card, with no word of memory: its time is asked for."""
    is_set = data_set_of(request) is not None
    return is_set and _OF_MEMORY.search(request.search_query) is None


def is_daily(request: Request) -> bool:
    """Whether a count is one of requests a day, to be kept up with rather than worked off."""
    slots, text = request.slots, request.search_query
    amount, rate = slots.samples or slots.rows, slots.request_rate_per_s
    is_mean = amount is not None and rate is not None and abs(amount / rate - _DAY_S) < 1
    return is_mean and slots.task != "train" and _IN_ALL.search(text) is None


def completed(request: Request) -> Request:
    """The request with the images of a data set, or the mean rate of a daily count."""
    slots = request.slots
    known = data_set_of(request)
    if known is not None:
        changed: dict[str, object] = {"samples": known.samples}
    elif is_daily(request):
        changed = {"samples": None, "rows": None}
    else:
        return request
    return request.model_copy(update={"slots": slots.model_copy(update=changed)})
