"""How long before a spot machine is taken each cloud says so, and what can be saved in it."""

from __future__ import annotations

import re
from collections.abc import Generator

from agent.answer import Answer
from agent.answering.draft import BODY, HEAD, Draft
from agent.answering.machines import provider_name
from agent.answering.plan import Call, Context, Plan
from agent.answering.run_words import joined
from agent.answering.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.spot import SpotReport, SpotTerms
from tools.units import format_significant

_NOTICE = re.compile(
    r"(?:how (?:long|much|many)|when)[^.?]{0,40}(?:warning|notice|heads[- ]?up)"
    r"|(?:warning|notice|heads[- ]?up)[^.?]{0,40}(?:long|time|before|spot|preempt|reclaim|get)"
    r"|提前(?:多久|多长|几分钟|几秒)"
    r"|(?:通知|预警|提醒|警告)[^。?]{0,12}(?:多久|多长|几分钟|几秒|时间)"
    r"|(?:多久|几分钟|多长时间)[^。?]{0,10}(?:通知|预警|提醒)",
    re.IGNORECASE,
)
_SPOT = re.compile(r"spot|preempt|抢占|竞价|回收|reclaim|evict|yank", re.IGNORECASE)
_RATE_MB_S, _BYTES_OF_A_BILLION = 350.0, 14e9
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True for the warning before a spot machine is taken."""
    text = request.search_query
    return _NOTICE.search(text) is not None and _SPOT.search(text) is not None


def compose(request: Request, context: Context) -> Plan:
    """The notice of every cloud asked about, else of all that publish one."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    asked = slots.providers or ((slots.provider,) if slots.provider else ())
    results = yield (Call("spot_plan", {}), guidance_call(request, k=2, topic="spot"))
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, SpotReport):
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("not_applicable")
    terms = {row.provider: row for row in report.terms if row.notice_minutes is not None}
    shown = [terms[name] for name in asked if name in terms] or list(terms.values())
    draft.say("spot_notice.head", items=joined(draft, [_item(draft, row) for row in shown]),
              importance=HEAD)  # fmt: skip
    for name in asked:
        if name is not None and name not in terms:
            draft.say("spot_notice.unknown", provider=provider_name(draft, name), importance=HEAD)
    _say_catch(draft, min(row.notice_minutes or 0 for row in shown))
    say_cited(draft, passages_in(results)[:2])
    return draft.finish("not_applicable", intent="spot_checkpoint")


def _time(draft: Draft, minutes: float) -> str:
    if minutes < 1:
        return draft.phrase("spot_notice.seconds", value=f"{minutes * 60:g}")
    return draft.phrase("spot_notice.minutes", value=f"{minutes:g}")


def _item(draft: Draft, row: SpotTerms) -> str:
    minutes = row.notice_minutes or 0
    draft.figure(f"{row.provider}: notice", minutes * 60, "s", sources=(row.source,))
    key = "item_both" if 1 <= minutes < 5 else "item"
    return draft.phrase(f"spot_notice.{key}", provider=provider_name(draft, row.provider),
                        notice=_time(draft, minutes), seconds=f"{minutes * 60:g}")  # fmt: skip


def _say_catch(draft: Draft, minutes: float) -> None:
    """What fits into the shortest notice at a cloud disk's rate."""
    written = minutes * 60 * _RATE_MB_S * 1e6
    billions = written / _BYTES_OF_A_BILLION
    draft.figure("shortest_notice", minutes * 60, "s", formula="least of the clouds")
    draft.figure("bytes_of_a_billion", _BYTES_OF_A_BILLION, "B", formula="14 B a parameter")
    draft.figure("rate", _RATE_MB_S, "MB/s", sources=("data:storage.json#essd-pl1",))
    draft.figure("written", written, "B", formula="notice * rate")
    draft.figure("params_saved", billions * 1e9, "param", formula="written / 14 B")
    draft.say("spot_notice.catch", shortest=_time(draft, minutes), rate=f"{_RATE_MB_S:g}",
              written=f"{written / 1e9:,.1f} GB", importance=BODY,
              params=f"{format_significant(billions, 2)}B")  # fmt: skip
