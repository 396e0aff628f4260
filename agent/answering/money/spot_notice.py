"""How long before a spot machine is taken each cloud says so, and what can be saved in it."""

from __future__ import annotations

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.machines import provider_name
from agent.answering.telling.numbers import duration
from agent.answering.telling.run_words import joined
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox.spot import USUAL_DISK, SpotReport, SpotTerms
from tools.units import format_significant

_CLOSE = 0.25
"""Share by which a time may be off and still be the same notice."""
_BYTES_OF_A_BILLION = 14e9
"""A full checkpoint: weights, and fp32 states and master weights, of a billion parameters."""


def applies(request: Request, context: Context) -> bool:
    """True for the warning before a spot machine is taken."""
    if not request.says("money.taken_away"):
        return False
    is_asked = request.says("money.asks_notice", "money.saves_on_notice")
    return is_asked or minutes_claimed(request) is not None


def minutes_claimed(request: Request) -> float | None:
    """The notice that a question takes for granted, in minutes; None where it claims none."""
    slots = request.slots
    is_sum = slots.ckpt_minutes is not None or slots.mtbf_hours is not None
    if is_sum or slots.price is not None or not request.says("money.of_notice"):
        return None
    minutes = request.amounts.get("money.notice_minutes", ())
    seconds = request.amounts.get("money.notice_seconds", ())
    return next(iter((*minutes, *(value / 60 for value in seconds))), None)


def compose(request: Request, context: Context) -> Plan:
    """The notice of every cloud asked about, else of all that publish one."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    asked = slots.providers or ((slots.provider,) if slots.provider else ())
    is_small = (slots.method or "").endswith("lora")
    saved = {} if is_small or not slots.params_b else {"params_b": slots.params_b}
    saved = {**saved, "checkpoint_minutes": slots.ckpt_minutes} if slots.ckpt_minutes else saved
    results = yield (Call("spot_plan", saved), guidance_call(request, k=2, topic="spot"))
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, SpotReport):
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("not_applicable")
    terms = {row.provider: row for row in report.terms if row.notice_minutes is not None}
    named = [terms[name] for name in asked if name in terms]
    shown = named or list(terms.values())
    _put_right(draft, named)
    draft.say("spot_notice.head", items=joined(draft, [_item(draft, row) for row in shown]),
              importance=HEAD)  # fmt: skip
    if request.says("money.saves_on_notice") and (saved or is_small):
        _say_in_time(draft, report, min(row.notice_minutes or 0 for row in shown), bool(saved))
    for name in asked:
        if name is not None and name not in terms:
            draft.say("spot_notice.unknown", provider=provider_name(draft, name), importance=HEAD)
    _say_catch(draft, min(row.notice_minutes or 0 for row in shown))
    say_cited(draft, passages_in(results)[:2])
    return draft.finish("not_applicable", intent="spot_checkpoint")


def _put_right(draft: Draft, rows: list[SpotTerms]) -> None:
    """A notice said of a cloud that gives another one."""
    claimed = minutes_claimed(draft.request)
    if claimed is None:
        return
    draft.figure("notice_said", claimed * 60, "s", sources=("user:notice",))
    if rows and all(_is_close(row.notice_minutes or 0, claimed) for row in rows):
        names = joined(draft, [provider_name(draft, row.provider) for row in rows])
        draft.say("spot_notice.right", provider=names, importance=HEAD)
    for row in rows:
        real = row.notice_minutes or 0
        if _is_close(real, claimed):
            continue
        values = {"provider": provider_name(draft, row.provider), "notice": _time(draft, real),
                  "claimed": _time(draft, claimed)}  # fmt: skip
        draft.correct(draft.phrase("spot_notice.premise", **values),
                      draft.phrase("spot_notice.fact", **values), row.source)  # fmt: skip


def _say_in_time(draft: Draft, report: SpotReport, notice: float, is_full: bool) -> None:
    """Whether a save that begins with the notice ends before the machine is gone."""
    if not is_full:
        draft.lead("spot_notice.adapter", notice=_time(draft, notice))
        return
    save = report.checkpoint_minutes
    draft.figure("save", save, "min", sources=("rule:checkpoint",))
    key = "late" if save > notice else "in_time"
    draft.lead(f"spot_notice.{key}", notice=_time(draft, notice),
               save=duration(save / 60, draft.language))  # fmt: skip


def _is_close(real: float, claimed: float) -> bool:
    return abs(real - claimed) <= _CLOSE * max(real, claimed)


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
    from tools.speed import storage_limit

    rate = storage_limit(USUAL_DISK).mb_s
    written = minutes * 60 * rate * 1e6
    billions = written / _BYTES_OF_A_BILLION
    draft.figure("shortest_notice", minutes * 60, "s", formula="least of the clouds")
    draft.figure("bytes_of_a_billion", _BYTES_OF_A_BILLION, "B", formula="14 B a parameter")
    draft.figure("rate", rate, "MB/s", sources=(f"data:storage.json#{USUAL_DISK}",))
    draft.figure("written", written, "B", formula="notice * rate")
    draft.figure("params_saved", billions * 1e9, "param", formula="written / 14 B")
    draft.say("spot_notice.catch", shortest=_time(draft, minutes), rate=f"{rate:g}",
              written=f"{written / 1e9:,.1f} GB", importance=BODY,
              params=f"{format_significant(billions, 2)}B")  # fmt: skip
