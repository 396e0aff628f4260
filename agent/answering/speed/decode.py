"""Whether speed or fit is asked for; why decoding is as fast as it is: bytes over bandwidth."""

from __future__ import annotations

import re

from agent.answering.telling.draft import BODY, DETAIL, Draft
from agent.answering.telling.numbers import gib, whole
from agent.request import Request
from agent.toolbox.timing import TimeReport
from tools.units import format_significant

_SINGLE = 4
"""Streams up to which the weights, not arithmetic or the cache, bound the speed."""


_SPEED = re.compile(
    r"tok(?:en)?s?\s?(?:/|per|a)\s?s|(?<![a-z])t/s|decode speed"
    r"|每秒(?:多少|几|大概|能)?.{0,6}(?:token|字)"
    r"|how (?:fast|quick)|(?:token|字)/秒"
    r"|(?<!下载)(?<!加载)(?<!读取)(?<!读盘)(?<!网络)(?<!磁盘)(?<!硬盘)(?<!传输)(?<!启动)(?<!通信)速度"
    r"|多快|快不快|首字|首个? ?token|吞吐|throughput|延迟"
    r"|(?:每|一)(?:秒|分钟)[^,。;?!\d]{0,10}(?:张|条|帧|个)|(?:秒|s)/(?:张|图)"
    r"|(?<![a-z])(?:fps|it/s|s/it)(?![a-z])"
    r"|(?<![a-z])(?:sec(?:ond)?s?|s|minutes?)\s?(?:per|/|an?|each|for one)\s?"
    r"(?:image|img|picture|clip|video)"
    r"|(?:images?|imgs?|pictures|frames|texts|items)\s?(?:per|/|an?)\s?"
    r"(?:s(?:ec(?:ond)?)?|min(?:ute)?)(?![a-z])"
    r"|(?<![a-z])(?<!network )(?<!disk )(?<!link )(?<!download )(?<!loading )(?<!read )"
    r"(?:ttft|latency|speed|tps)(?![a-z])",
    re.IGNORECASE,
)
_FIT = re.compile(
    r"(?<![a-z])(?:fits?|enough|oom|can (?:i|it|we|a|this)|will (?:it|this)|possible|hold)(?![a-z])"
    r"|放得?下|放不放|装得下|能跑|能不能|能放|能上|够|跑得(?:动|起|了)|带得动|行不|行吗|可以吗|会爆",
    re.IGNORECASE,
)


def asks_speed(request: Request) -> bool:
    """Whether tokens per second, or the wait for the first, are asked for on a card."""
    has_card = request.slots.has_card
    return has_card and _SPEED.search(request.search_query) is not None


def asks_training_speed(request: Request) -> bool:
    """Whether the speed of a training run is asked for, and not if it fits."""
    is_run = request.slots.task == "train" and request.slots.model is not None
    return is_run and asks_speed(request) and not asks_fit(request)


def asks_fit(request: Request) -> bool:
    """Whether it is asked too if the run fits."""
    return _FIT.search(request.search_query) is not None


def say_ceiling(
    draft: Draft, report: TimeReport, concurrency: int, *, importance: int = BODY
) -> None:
    """The ceiling that memory bandwidth sets, beside the speed that was told."""
    bound, stream = report.bound, report.stream_tokens_per_s
    if bound is None or stream is None or concurrency > _SINGLE:
        return
    share = stream.value / bound.tokens_per_s
    if share > 1:
        return  # speculation, or weights that are not all read
    draft.figures(bound.figures())
    draft.figure("read_per_token_gb", bound.read_bytes / 1e9, "GB", formula="read_per_token / 1e9")
    draft.figure("share_of_ceiling", round(share, 3), "1", formula="speed / ceiling")
    gpu = draft.request.slots.gpu or report.gpu or ""
    draft.say(
        "decode.why", read=gib(bound.read_bytes), read_gb=format_significant(
            bound.read_bytes / 1e9, 3), gpu=f"{report.gpu_count}×{gpu}" if report.gpu_count > 1
        else gpu, bandwidth=f"{bound.bandwidth_gb_s:,.0f}",
        ceiling=whole(bound.tokens_per_s), share=f"{share * 100:.0f}%",
        importance=importance,
    )  # fmt: skip
    draft.say("decode.better", importance=DETAIL)
