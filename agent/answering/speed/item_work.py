"""Work that a question names in other terms: a public data set, requests a day, texts of each."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import count
from agent.request import Request
from agent.toolbox.items import kind_of
from tools.units import format_significant

_DAY_S = 86_400


class DataSet(NamedTuple):
    """A public data set: its training images, and who says so."""

    samples: int
    source: str


@cache
def _sets() -> dict[str, DataSet]:
    text = files("agent.answering").joinpath("data/data_sets.toml").read_text("utf-8")
    rows = tomllib.loads(text)["set"]
    return {row["name"]: DataSet(row["samples"], row["source"]) for row in rows}


def data_set_of(request: Request) -> DataSet | None:
    """The public data set that a training question names, where it gives no count itself."""
    slots = request.slots
    if slots.task != "train" or slots.samples is not None or slots.epochs is None:
        return None
    return _sets().get(request.data_set or "")


def is_time_of_set(request: Request) -> bool:
    """Epochs over such a set on a card, with no word of memory: its time is asked for."""
    return data_set_of(request) is not None and not request.says("speed.of_memory")


def is_daily(request: Request) -> bool:
    """Whether a count is one of requests a day, to be kept up with rather than worked off."""
    slots = request.slots
    amount, rate = slots.samples or slots.rows, slots.request_rate_per_s
    is_mean = amount is not None and rate is not None and abs(amount / rate - _DAY_S) < 1
    return is_mean and slots.task != "train" and not request.says("speed.in_all")


def is_daily_audio(request: Request) -> bool:
    """Whether so many hours of audio come in a day, to be transcribed."""
    slots = request.slots
    is_audio = slots.hours is not None and slots.model is not None and slots.task != "train"
    return is_audio and request.says("renting.a_day") and kind_of(str(slots.model)) == "speech"


def load(request: Request) -> float | None:
    """Items a second: the requests, times what each of them asks for."""
    slots = request.slots
    if slots.request_rate_per_s is None:
        return None
    return slots.request_rate_per_s * (slots.items_per_request or 1)


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


def record_load(draft: Draft, asked: Request) -> str | None:
    """Records and says what makes a load a rate of items; the rate as told, None without one.

    Args:
        draft: The answer in the making.
        asked: The request as it was read, with its daily count.
    """
    slots, rate = asked.slots, load(asked)
    if rate is None or slots.request_rate_per_s is None:
        return None
    told = format_significant(rate, 3)
    draft.figure("requests_per_s", rate, "1/s", sources=("user:request_rate_per_s",))
    if slots.items_per_request:
        draft.figure("items_per_request", slots.items_per_request, "1",
                     sources=("user:items_per_request",))  # fmt: skip
        draft.figure("asked_per_s", slots.request_rate_per_s, "1/s",
                     sources=("user:request_rate_per_s",))  # fmt: skip
        draft.say("placement.pairs", rate=told, each=slots.items_per_request,
                  asked=f"{slots.request_rate_per_s:g}", importance=HEAD)  # fmt: skip
    elif is_daily(asked):
        amount = slots.samples or slots.rows or 0
        draft.figure("requests_a_day", amount, "1", sources=("user:samples",))
        draft.figure("seconds_of_a_day", _DAY_S, "s", formula="24 * 3600")
        draft.figure("mean_rate", rate, "1/s", formula="requests_a_day / seconds_of_a_day")
        draft.say("items.daily", amount=count(amount, draft.language), rate=told,
                  importance=HEAD)  # fmt: skip
    return told
