"""An error that FlashAttention raises on a card older than Ampere: no matter of memory."""

from __future__ import annotations

from collections.abc import Generator

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.run_words import joined
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.registries import GpuReport

_NEWER = {"alibaba": "gn7i", "aws": "g5", "tencent": "PNV4", "gcp": "g2"}
"""The cheapest family with an Ampere or Ada card of the same class, by cloud."""


def applies(request: Request, context: Context) -> bool:
    """True for the message, pasted whole or in part."""
    messages = {p.fields.get("message") for p in request.pasted if p.kind == "error_message"}
    return "flash_attention_unsupported" in messages


def compose(request: Request, context: Context) -> Plan:
    """The card's compute capability, the switches that avoid it, and cards that have it."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    card = yield from _card(draft)
    if card is not None and card.compute_capability is not None:
        draft.figure("compute_capability", card.compute_capability, "1",
                     sources=(f"data:gpus.csv#{card.name}",))  # fmt: skip
        is_old = card.compute_capability < 8
        draft.say(
            "flash_error.card" if is_old else "flash_error.newer_card",
            card=card.name,
            cc=f"{card.compute_capability:.1f}",
            arch=card.architecture,
            importance=HEAD,
        )
    else:
        draft.say("flash_error.unknown_card", importance=HEAD)
    draft.say("flash_error.fix", importance=HEAD)
    family = _NEWER.get(request.slots.provider or "alibaba")
    if family is not None:
        results = yield (
            Call(
                "find_instances",
                {"name": family, "limit": 50, "provider": request.slots.provider or "alibaba"},
            ),
        )
        draft.use(*results)
        _say_newer(draft, family, results[0].report)
    return draft.finish("not_applicable", intent="oom_diagnosis")


def _card(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], GpuReport | None]:
    """The card that was named, or that the type carries."""
    slots = draft.request.slots
    name = slots.gpu if slots.gpu != "none" else None
    if name is None and slots.instance is not None:
        found = yield (
            Call(
                "find_instances",
                {
                    "name": slots.instance,
                    "limit": 50,
                    "provider": draft.request.cloud,
                },
            ),
        )
        draft.use(*found)
        report = found[0].report
        rows = report.instances if isinstance(report, InstancesReport) else ()
        name = next((row.gpu for row in rows if row.gpu), None)
    if name is None:
        return None
    results = yield (Call("find_gpu", {"name": name}),)
    draft.use(*results)
    card = results[0].report
    return card if isinstance(card, GpuReport) else None


def _say_newer(draft: Draft, family: str, report: object) -> None:
    rows = report.instances if isinstance(report, InstancesReport) else ()
    cards = list(dict.fromkeys(row.gpu for row in rows if row.gpu))
    if cards:
        draft.say("flash_error.newer", family=family, cards=joined(draft, cards))
