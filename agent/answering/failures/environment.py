"""What the environment explains, whatever the model: an unseen device, /dev/shm, the cache."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from agent.answer import Correction
from agent.answering.concepts.premise_claims import worded
from agent.answering.plan import Context, Plan
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.sources import guidance_call
from agent.request import Request
from tools.units import GIB

_INTENTS = ("oom_diagnosis", "probe_local", "io_bottleneck", "concept", "network_distributed",
            "fit_check")  # fmt: skip
_NOT_OF_CARD = ("shared_memory", "no_driver", "driver", "no_device", "no_kernel")
_LISTED = re.compile(r"lspci|3d controller|vga compatible", re.IGNORECASE)
_OF_CARD = ("no_driver",)
_OF_LOG = ("reserved",)
"""Kinds about figures that stand in a memory error itself."""
_WANTS_LARGER = re.compile(
    r"(?:bigger|larger|more|another|better|beefier|different|newer)\s(?:\w+\s)?"
    r"(?:gpus?|cards?|vram|gpu memory)|more vram|upgrade"
    r"|(?:not enough|insufficient|too little|out of|lack\w*)\s(?:vram|gpu memory)"
    r"|vram too (?:small|low)"
    r"|gpus? (?:is |are )?too small"
    r"|显存(?:是不是)?(?:太|不)(?:小|够|足)"
    r"|(?:换|加|买|上|租)(?:一?张|个|块)?(?:更?大|更?好|高)[^,。?]{0,6}(?:卡|显存|gpu)"
    r"|(?:换|加)(?:大)?(?:显存|显卡|卡)",
    re.IGNORECASE,
)
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
    is_run = slots.has_model
    key = _found(request)
    is_pasted = any(p.kind == "cuda_oom" for p in request.pasted)
    is_pasted = is_pasted and key not in _OF_LOG
    return request.intent in _INTENTS and not (is_run or is_pasted) and key is not None


def _blames_card(request: Request, key: str | None) -> tuple[Correction, ...]:
    """The wish for a larger card, where the card's memory has no part in the failure."""
    if key not in _NOT_OF_CARD or _WANTS_LARGER.search(request.search_query) is None:
        return ()
    return (worded(request, f"larger_{key}", f"rule:{key}"),)


def _of_log(draft: Draft, key: str | None) -> dict[str, str]:
    """Figures of a pasted failure that the sentence names."""
    if key not in _OF_LOG:
        return {}
    log = next((p.fields for p in draft.request.pasted if p.kind == "cuda_oom"), {})
    held = log.get("reserved_unallocated_bytes")
    if held:
        draft.figure("log: reserved_unallocated_bytes", held, "B", sources=("user:log",))
    told = f"({held / GIB:.2f} GiB)" if held else ""
    return {"held": f" {told}" if told and draft.language == "en" else told}


def compose(request: Request, context: Context) -> Plan:
    """What the reading means, then what to look at and to change."""
    key = _found(request)
    blamed = _blames_card(request, key)
    draft = Draft(request.model_copy(update={
        "clarifying_question": None, "corrections": request.corrections + blamed}))  # fmt: skip
    results = yield (guidance_call(request, k=1),)
    draft.use(*results)
    default = f"{_SHM_MB} MB"
    if key == _WITH_FIGURE:
        draft.figure("default_shm", _SHM_MB, "MB", sources=("guide:docker-run",))
    draft.say(f"environment.{key}_head", default=default, importance=HEAD, **_of_log(draft, key))
    if key in _OF_CARD and request.slots.has_card:
        shown = "card" if _LISTED.search(request.search_query) else "said"
        draft.say(f"environment.{key}_{shown}", gpu=request.slots.gpu, importance=HEAD)
    items = draft.phrase(f"environment.{key}_items").split("\n")
    draft.bullets(items, title=draft.phrase(f"environment.{key}_title"), importance=BODY)
    return draft.finish("not_applicable")
