"""What the environment explains, whatever the model: an unseen device, /dev/shm, the cache."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from agent.answering.draft import BODY, HEAD, Draft
from agent.answering.plan import Context, Plan
from agent.answering.sources import guidance_call
from agent.request import Request

_INTENTS = ("oom_diagnosis", "probe_local", "io_bottleneck", "concept", "network_distributed",
            "fit_check")  # fmt: skip
_SHM_MB = 64
"""Size of /dev/shm in a container where none is given, by Docker's documentation."""
_WITH_FIGURE = "shared_memory"


class _Reading(NamedTuple):
    """One kind of trouble and the words that show it."""

    key: str
    every: tuple[re.Pattern[str], ...]


@cache
def _readings() -> tuple[_Reading, ...]:
    text = files("agent.answering").joinpath("data/environment.toml").read_text("utf-8")
    return tuple(
        _Reading(row["key"], tuple(re.compile(p, re.IGNORECASE) for p in row["every"]))
        for row in tomllib.loads(text)["reading"]
    )


def _found(request: Request) -> str | None:
    """Key of the first kind whose words all stand in the question."""
    text = request.search_query
    return next((r.key for r in _readings() if all(p.search(text) for p in r.every)), None)


def applies(request: Request, context: Context) -> bool:
    """True for such words without a model whose memory would be the question."""
    slots = request.slots
    is_run = slots.model is not None or slots.params_b is not None
    is_pasted = any(p.kind == "cuda_oom" for p in request.pasted)
    return request.intent in _INTENTS and not (is_run or is_pasted) and _found(request) is not None


def compose(request: Request, context: Context) -> Plan:
    """What the reading means, then what to look at and to change."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    key = _found(request)
    results = yield (guidance_call(request, k=1),)
    draft.use(*results)
    default = f"{_SHM_MB} MB"
    if key == _WITH_FIGURE:
        draft.figure("default_shm", _SHM_MB, "MB", sources=("guide:docker-run",))
    draft.say(f"environment.{key}_head", default=default, importance=HEAD)
    items = draft.phrase(f"environment.{key}_items").split("\n")
    draft.bullets(items, title=draft.phrase(f"environment.{key}_title"), importance=BODY)
    return draft.finish("not_applicable")
