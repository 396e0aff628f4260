"""Why decoding is as fast as it is: bytes a token, bandwidth, ceiling."""

from __future__ import annotations

from agent.answering.draft import BODY, DETAIL, Draft
from agent.answering.numbers import gib, whole
from agent.toolbox.timing import TimeReport
from tools.units import format_significant

_SINGLE = 4
"""Streams up to which the weights, not arithmetic or the cache, bound the speed."""


def say_ceiling(draft: Draft, report: TimeReport, concurrency: int) -> None:
    """The ceiling that memory bandwidth sets, beside the speed that was told."""
    bound, stream = report.bound, report.stream_tokens_per_s
    if bound is None or stream is None or concurrency > _SINGLE:
        return
    share = stream.value / bound.tokens_per_s
    draft.figures(bound.figures())
    draft.figure("read_per_token_gb", bound.read_bytes / 1e9, "GB", formula="read_per_token / 1e9")
    draft.figure("share_of_ceiling", round(share, 3), "1", formula="speed / ceiling")
    gpu = draft.request.slots.gpu or report.gpu or ""
    draft.say(
        "decode.why", read=gib(bound.read_bytes), read_gb=format_significant(
            bound.read_bytes / 1e9, 3), gpu=f"{report.gpu_count}×{gpu}" if report.gpu_count > 1
        else gpu, bandwidth=f"{bound.bandwidth_gb_s:,.0f}",
        ceiling=whole(bound.tokens_per_s), share=f"{share * 100:.0f}%",
        importance=BODY,
    )  # fmt: skip
    draft.say("decode.better", importance=DETAIL)
