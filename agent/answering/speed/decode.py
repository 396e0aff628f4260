"""Whether speed or fit is asked for; why decoding is as fast as it is: bytes over bandwidth."""

from __future__ import annotations

from agent.answering.telling.draft import BODY, DETAIL, Draft
from agent.answering.telling.numbers import gib, whole
from agent.request import Request
from agent.toolbox.timing import TimeReport
from tools.units import format_significant

_SINGLE = 4
"""Streams up to which the weights, not arithmetic or the cache, bound the speed."""


def asks_speed(request: Request) -> bool:
    """Whether tokens per second, or the wait for the first, are asked for on a card."""
    is_rate = request.says("speed.rate") or "speed.tokens_per_s" in request.amounts
    return request.slots.has_card and is_rate


def asks_training_speed(request: Request) -> bool:
    """Whether the speed of a training run is asked for, and not if it fits."""
    is_run = request.slots.task == "train" and request.slots.model is not None
    return is_run and asks_speed(request) and not asks_fit(request)


def asks_fit(request: Request) -> bool:
    """Whether it is asked too if the run fits."""
    return request.says("speed.fit")


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
