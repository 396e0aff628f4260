"""Texts of one request through an encoder or reranker on a processor: seconds, and on a card."""

from __future__ import annotations

from typing import Any

from agent.answer import AssumptionOut
from agent.answering.plan import Call, Context, Plan
from agent.answering.speed.times import cannot
from agent.answering.telling.draft import HEAD, Draft
from agent.request import Request
from agent.toolbox.items import ItemReport, kind_of
from agent.toolbox.placement import PlacementReport
from tools.placement import MOST_VCPU_PER_REQUEST, cpu_spread
from tools.units import format_significant

_VCPU, _TOKENS = 8, 512
"""A small machine and a passage, where neither was said."""
_MOST_ITEMS, _MOST_TOKENS = 1000, 8192
"""More texts are a pile to work off; more tokens are those of all of them."""
_QUICK_S, _PATIENT_S = 0.5, 3.0
"""Seconds that nobody notices, and that people at a page wait."""
_CARD = "Tesla T4"


def applies(request: Request, context: Context) -> bool:
    """True where so many texts a request go through an encoder on a processor."""
    slots = request.slots
    if slots.model is None or slots.task == "train" or slots.request_rate_per_s is not None:
        return False
    if slots.gpu not in (None, "none") or slots.instance is not None or slots.gpu_mem_gb:
        return False
    is_on_cpu = slots.gpu == "none" or request.says("hosts.on_cpu", "hosts.no_card")
    return is_on_cpu and _items(request) is not None and kind_of(slots.model) == "text"


def compose(request: Request, context: Context) -> Plan:
    """Seconds of a request, the same on a small card, and what makes it lighter."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots, items = request.slots, _items(request) or 1
    tokens, vcpu = _tokens(draft), _vcpu(draft)
    results = yield (
        Call("placement", {"action": "infer", "model": slots.model, "tokens": tokens,
                           "vcpu": vcpu}),
        Call("item_speed", {"model": slots.model, "gpu": _CARD, "precision": "fp16",
                            "tokens": tokens, "batch": items}),
    )  # fmt: skip
    draft.use(*results)
    placed, on_card = (result.report for result in results)
    if not isinstance(placed, PlacementReport):
        return cannot(draft, results[0])
    each = next((r.values["cpu_request_seconds"] for r in placed.reasons
                 if "cpu_request_seconds" in r.values), None)  # fmt: skip
    if each is None:
        return cannot(draft, results[0])
    seconds = items * each * min(vcpu, MOST_VCPU_PER_REQUEST) / vcpu
    low, high = (seconds * factor for factor in cpu_spread())
    told: dict[str, Any] = {"items": items, "tokens": tokens, "vcpu": vcpu,
            "model": slots.model.rsplit("/", 1)[-1] if slots.model else ""}  # fmt: skip
    for name, value in (("value", seconds), ("low", low), ("high", high)):
        told[name] = format_significant(value, 2)
        draft.figure(f"seconds of a request: {name}", float(told[name]), "s",
                     formula="texts * FLOP of one / (vCPU * FLOP/s of a vCPU)")  # fmt: skip
    for name, value in (("texts", items), ("tokens of a text", tokens), ("vCPU", vcpu)):
        draft.figure(name, value, "1", sources=("user:request",))
    level = "fast" if high <= _QUICK_S else "slow" if seconds > _PATIENT_S else "maybe"
    draft.say(f"encoder_on_cpu.{level}", importance=HEAD, **told)
    if isinstance(on_card, ItemReport):
        card = format_significant(items / on_card.per_s.value, 2)
        draft.figure("seconds on a card", float(card), "s", formula="texts / texts per second")
        draft.say("encoder_on_cpu.card", card="T4", seconds=card, importance=HEAD)
    if level != "fast":
        draft.say("encoder_on_cpu.lighter")
    draft.say("encoder_on_cpu.queue")
    return draft.finish("fits" if level == "fast" else "depends")


def _items(request: Request) -> int | None:
    """Texts of one request; None where none were said, or a pile that is worked off."""
    slots = request.slots
    said = slots.items_per_request or slots.samples
    return int(said) if said is not None and 1 < said <= _MOST_ITEMS else None


def _tokens(draft: Draft) -> int:
    slots = draft.request.slots
    said = slots.tokens_per_sample or slots.seq_len or slots.tokens
    if said is not None and said <= _MOST_TOKENS:
        return int(said)
    why = "no length was said; a usual passage"
    draft.assume([AssumptionOut(name="tokens", value=_TOKENS, unit="token", why=why)])
    return _TOKENS


def _vcpu(draft: Draft) -> int:
    """Threads where they were said, else cores or vCPUs."""
    threads = max(draft.request.amounts.get("hosts.threads", (0.0,)))
    said = max(int(threads), draft.request.slots.vcpu or 0)
    if said:
        return said
    why = "no processor was said; a desktop or a small machine"
    draft.assume([AssumptionOut(name="vcpu", value=_VCPU, unit="1", why=why)])
    return _VCPU
