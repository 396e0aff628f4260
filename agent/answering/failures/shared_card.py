"""A card that an engine has taken for its cache: a second service fails, or the use looks wrong."""

from __future__ import annotations

import math
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from agent.answering.failures.symptoms import pasted
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.parts import say_parts
from agent.answering.telling.run_words import memory_arguments, short_model
from agent.request import Request
from agent.toolbox.memory import MemoryReport
from tools.memory.tables import table
from tools.units import GIB

_SECOND = re.compile(
    r"第[二三四2-4]个|再(?:起|开|跑|加载|部署|启动|挂)|又(?:起|开|跑)|另(?:外)?一个|同一张|同一块|一起跑|共用|共享一张"
    r"|second|another|same (?:card|gpu)|alongside|next to it"
    r"|(?<![a-z])two (?:models|services|servers)",
    re.IGNORECASE,
)
_FAILS = re.compile(
    r"oom|爆|不足|不够|起不来|失败|报错|挂了|崩"
    r"|out of memory|fails?(?![a-z])|crash|won'?t start|not enough",
    re.IGNORECASE,
)
_HELD = re.compile(
    r"(?:占|吃|用)(?:了|掉|去|着|满)*\s?(?:到)?(?:\d+\s?多?\s?g|\d+\s?%|满|光|完|几乎|接近|快满)"
    r"|显存.{0,6}(?:占|吃|用)(?:满|光)"
    r"|(?:uses?|using|takes?|taking|holds?|eats?|occup\w+)\s(?:up\s)?"
    r"(?:about |around |almost |nearly )?(?:\d+\s?gi?b?|all|the whole|everything)",
    re.IGNORECASE,
)
_ODD = re.compile(
    r"正常|为什么|为啥|怎么|咋|不是才|才\d+|why|normal|expected|how come", re.IGNORECASE
)
_FREE_SHARE = 0.2
"""Share of the free memory that leaves most of a card to others."""
_ROOM = 1.25
"""Times the need of one request that lets a service take several at once."""


class _Pool(NamedTuple):
    """What an engine takes when nothing is set."""

    name: str
    flag: str
    share: float
    is_of_free: bool
    """True for a share of what the weights leave, False for one of the card."""
    source: str


@cache
def _pools() -> dict[str, _Pool]:
    written = files("agent.answering").joinpath("data/engine_pools.toml").read_text("utf-8")
    pools = {}
    for engine, row in tomllib.loads(written).items():
        known = table("engines").get(engine) or table("engines")["vllm"]
        free = known.get("pool_free_share")
        share = float(free or known["pool_share"])
        pools[engine] = _Pool(row["name"], row["flag"], share, free is not None, known["source"])
    return pools


def applies(request: Request, context: Context) -> bool:
    """True for a second service beside an engine with a pool, and for a pool that looks too big."""
    slots, text = request.slots, request.search_query
    if slots.framework not in _pools() or slots.task == "train":
        return False
    if pasted(request, "cuda_oom") is not None or (slots.gpu_count or 1) > 1:
        return False
    if slots.gpu_memory_utilization is not None:
        return False
    if not slots.has_card and slots.gpu_mem_gb is None:
        return False
    is_second = _SECOND.search(text) is not None and _FAILS.search(text) is not None
    return is_second or is_odd(request)


def is_odd(request: Request) -> bool:
    """Whether a service's use of memory is asked about, and no failure."""
    text = request.search_query
    return _HELD.search(text) is not None and _ODD.search(text) is not None


def compose(request: Request, context: Context) -> Plan:
    """What the engine set aside, what is left, and the setting that gives it back."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    known = slots.has_model
    size = dict[str, Any]() if known else {"params_b": 1.0}
    results = yield (Call("estimate_memory", memory_arguments(
        slots, task="infer", gpu_memory_utilization=None, **size)),)  # fmt: skip
    report = results[0].report
    if not isinstance(report, MemoryReport) or report.usable_bytes is None:
        return draft.finish("depends")
    if known:
        draft.use(*results)
    _say_pool(draft, report, known=known)
    if known:
        say_parts(draft, report)
    return draft.finish("depends" if not is_odd(request) else "not_applicable")


def _say_pool(draft: Draft, report: MemoryReport, *, known: bool) -> None:
    pool = _pools()[draft.request.slots.framework or ""]
    usable = report.usable_bytes or 0
    need = report.process_bytes - report.kv_cache_bytes if known else 0
    taken = (usable - need) * pool.share if pool.is_of_free else usable * pool.share
    left = usable - taken - (need if pool.is_of_free else 0)
    draft.figure("pool_share", pool.share, "1", sources=(pool.source,))
    draft.figure("usable", usable, "B", sources=(f"data:gpus.csv#{report.gpu}",))
    draft.figure("weights_and_overhead", need, "B", formula="process - cache")
    draft.figure("pool", taken, "B", formula="usable (or free) * share")
    draft.figure("left", left, "B", formula="usable - taken")
    weights = (
        draft.phrase("shared_card.weights", weights=gib(report.weights_bytes)) if known else ""
    )
    key = "of_free" if pool.is_of_free else "of_card"
    draft.say(f"shared_card.{key}", engine=pool.name, flag=_setting(pool.flag), weights=weights,
              share=f"{pool.share:g}", usable=gib(usable), need=gib(need), pool=gib(taken),
              left=gib(left), importance=HEAD)  # fmt: skip
    if is_odd(draft.request) and not _FAILS.search(draft.request.search_query):
        draft.say("shared_card.normal", importance=HEAD)
    _say_setting(draft, report, pool, need=need, known=known)


def _setting(flag: str) -> str:
    """A command-line flag under the name that messages and documents give it."""
    return flag.removeprefix("--").replace("-", "_")


def _say_setting(
    draft: Draft, report: MemoryReport, pool: _Pool, *, need: int, known: bool
) -> None:
    usable = report.usable_bytes or 0
    if not known:
        draft.say("shared_card.set_open", flag=pool.flag, importance=HEAD)
        return
    if pool.is_of_free:
        share = _FREE_SHARE
        taken = need + (usable - need) * share
    else:
        wanted = report.process_bytes + max(report.kv_cache_bytes, GIB) * (_ROOM - 1)
        share = math.ceil(wanted * _ROOM / usable * 20) / 20
        taken = usable * share
    if share >= pool.share:
        draft.say("shared_card.set_open", flag=pool.flag, importance=HEAD)
        return
    draft.figure("share_to_set", share, "1", formula="need with room for several requests / usable")
    draft.figure("taken", taken, "B", formula="usable * share_to_set")
    draft.figure("room", usable - taken, "B", formula="usable - taken")
    draft.figure("context", GIB, "B", formula="a CUDA context and its libraries, at most")
    draft.say("shared_card.set", flag=pool.flag, set=f"{share:g}", what=short_model(report),
              taken=gib(taken), room=gib(usable - taken), importance=HEAD)  # fmt: skip
