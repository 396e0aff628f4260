"""A card that an engine has taken for its cache: a second service fails, or the use looks wrong."""

from __future__ import annotations

import math
from typing import Any

from agent.answer import Answer
from agent.answering.failures.symptoms import pasted
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.parts import say_parts
from agent.answering.telling.run_words import memory_arguments, short_model
from agent.request import Request
from agent.toolbox.memory import MemoryReport
from tools.memory.pools import CachePool, known_pool
from tools.units import GIB

_FREE_SHARE = 0.2
"""Share of the free memory that leaves most of a card to others."""
_ROOM = 1.25
"""Times the need of one request that lets a service take several at once."""


def _pool(request: Request) -> CachePool | None:
    """What the engine that was named sets aside; None for one without a pool of its own."""
    pool = known_pool(request.slots.framework)
    return pool if pool is not None and pool.is_reserved else None


def applies(request: Request, context: Context) -> bool:
    """True for a second service beside an engine with a pool, and for a pool that looks too big."""
    slots = request.slots
    if _pool(request) is None or slots.task == "train":
        return False
    if pasted(request, "cuda_oom") is not None or (slots.gpu_count or 1) > 1:
        return False
    if slots.gpu_memory_utilization is not None:
        return False
    troubles = ("failures.fails", "failures.takes_all")
    is_second = request.says("failures.second_service") and request.says(*troubles)
    return is_second or is_odd(request)


def is_odd(request: Request) -> bool:
    """Whether a service's use of memory is asked about, and no failure."""
    held = ("failures.held_gb", "failures.held_pct")
    is_held = request.says("failures.takes_all") or any(name in request.amounts for name in held)
    return is_held and request.says("failures.odd")


def compose(request: Request, context: Context) -> Plan:
    """What the engine set aside, what is left, and the setting that gives it back."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    known = slots.has_model
    size = dict[str, Any]() if known else {"params_b": 1.0}
    results = yield (Call("estimate_memory", memory_arguments(
        slots, task="infer", gpu_memory_utilization=None, **size)),)  # fmt: skip
    report, pool = results[0].report, _pool(request)
    assert pool is not None, "applies asks for it"
    if not isinstance(report, MemoryReport) or report.usable_bytes is None:
        return _without_card(draft, pool)
    if known:
        draft.use(*results)
    _say_pool(draft, report, pool, known=known)
    if known:
        say_parts(draft, report)
    return draft.finish("depends" if not is_odd(request) else "not_applicable")


def _without_card(draft: Draft, pool: CachePool) -> Answer:
    """The rule alone, where no card tells how much it comes to."""
    draft.figure("pool_share", pool.share, "1", sources=(pool.source,))
    draft.figure("context", GIB, "B", formula="a CUDA context and its libraries, at most")
    key = "of_free" if pool.of == "free" else "of_card"
    draft.say(f"shared_card.{key}_open", engine=pool.title, flag=pool.flag,
              share=f"{pool.share:g}", importance=HEAD)  # fmt: skip
    if is_odd(draft.request):
        draft.say("shared_card.normal", importance=HEAD)
    draft.say("shared_card.set_open", flag=pool.option, importance=HEAD)
    return draft.finish("depends" if not is_odd(draft.request) else "not_applicable")


def _say_pool(draft: Draft, report: MemoryReport, pool: CachePool, *, known: bool) -> None:
    of_free = pool.of == "free"
    usable = report.usable_bytes or 0
    need = report.process_bytes - report.kv_cache_bytes if known else 0
    taken = (usable - need) * pool.share if of_free else usable * pool.share
    left = usable - taken - (need if of_free else 0)
    draft.figure("pool_share", pool.share, "1", sources=(pool.source,))
    draft.figure("usable", usable, "B", sources=(f"data:gpus.csv#{report.gpu}",))
    draft.figure("weights_and_overhead", need, "B", formula="process - cache")
    draft.figure("pool", taken, "B", formula="usable (or free) * share")
    draft.figure("left", left, "B", formula="usable - taken")
    weights = (
        draft.phrase("shared_card.weights", weights=gib(report.weights_bytes)) if known else ""
    )
    key = "of_free" if of_free else "of_card"
    draft.say(f"shared_card.{key}", engine=pool.title, flag=pool.flag, weights=weights,
              share=f"{pool.share:g}", usable=gib(usable), need=gib(need), pool=gib(taken),
              left=gib(left), importance=HEAD)  # fmt: skip
    if is_odd(draft.request) and not draft.request.says("failures.fails"):
        draft.say("shared_card.normal", importance=HEAD)
    _say_setting(draft, report, pool, need=need, known=known)


def _say_setting(
    draft: Draft, report: MemoryReport, pool: CachePool, *, need: int, known: bool
) -> None:
    draft.figure("context", GIB, "B", formula="a CUDA context and its libraries, at most")
    usable = report.usable_bytes or 0
    if not known:
        draft.say("shared_card.set_open", flag=pool.option, importance=HEAD)
        return
    if pool.of == "free":
        share = _FREE_SHARE
        taken = need + (usable - need) * share
    else:
        wanted = report.process_bytes + max(report.kv_cache_bytes, GIB) * (_ROOM - 1)
        share = math.ceil(wanted * _ROOM / usable * 20) / 20
        taken = usable * share
    if share >= pool.share:
        draft.say("shared_card.set_open", flag=pool.option, importance=HEAD)
        return
    draft.figure("share_to_set", share, "1", formula="need with room for several requests / usable")
    draft.figure("taken", taken, "B", formula="usable * share_to_set")
    draft.figure("room", usable - taken, "B", formula="usable - taken")
    draft.say("shared_card.set", flag=pool.option, set=f"{share:g}", what=short_model(report),
              taken=gib(taken), room=gib(usable - taken), importance=HEAD)  # fmt: skip
