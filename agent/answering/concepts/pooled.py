"""Several cards taken for one large card: what a program sees, and how a model is put on them."""

from __future__ import annotations

from agent.answer import Correction
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox.registries import GpuReport

_KINDS = ("pooled_memory", "pooled_phrase")
"""Rows of premises.yaml that keep cards apart."""
_ELSEWHERE = ("recommend_instance", "cost_estimate", "gpu_compare", "catalog_lookup")


def _is_of_pool(correction: Correction) -> bool:
    """Whether a correction says that cards stay apart, in general or with their sum."""
    return correction.kind in _KINDS


def applies(request: Request, context: Context) -> bool:
    """True where nothing but the pooling of memory is asked: no model, need, choice or failure."""
    slots = request.slots
    has_model = slots.has_model
    if slots.gpus is not None or slots.need_gb is not None or slots.instance is not None:
        return False  # something else is asked, and the correction goes with its answer
    is_pooled = any(_is_of_pool(correction) for correction in request.corrections)
    return is_pooled and not has_model and not request.pasted and request.intent not in _ELSEWHERE


def compose(request: Request, context: Context) -> Plan:
    """Separate devices, what to split with, and the link between the cards."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    calls = [guidance_call(request, k=1)]
    if slots.has_card:
        calls.append(Call("find_gpu", {"name": slots.gpu}))
    results = yield tuple(calls)
    draft.use(*results)
    card = next((r.report for r in results if isinstance(r.report, GpuReport)), None)
    for correction in draft.corrections:
        if _is_of_pool(correction):
            draft.tell_correction(correction)
    _say_devices(draft, card)
    draft.say("pooled.how", importance=HEAD)
    if card is not None:
        _say_link(draft, card)
    say_cited(draft, passages_in(results)[:1])
    return draft.finish("not_applicable", intent="multi_gpu_plan")


def _say_devices(draft: Draft, card: GpuReport | None) -> None:
    """How many devices there are, and what each holds."""
    count = draft.request.slots.gpu_count or 1
    each = card.memory_label_gb if card is not None else None
    if card is None or not each or count < 2:
        draft.say("pooled.devices", importance=HEAD)
        return
    total = each * count
    draft.figure("cards", count, "1", sources=("user:gpu_count",))
    draft.figure("memory_of_a_card", each, "GB", sources=(card.source,))
    draft.figure("memory_in_all", total, "GB", formula="cards * memory_of_a_card")
    draft.say("pooled.devices_counted", count=count, last=f"cuda:{count - 1}", each=f"{each:g}",
              total=f"{total:g}", gpu=card.name, importance=HEAD)  # fmt: skip


def _say_link(draft: Draft, card: GpuReport) -> None:
    """NVLink or PCIe: it sets how fast a split model runs, not how much memory it has."""
    if card.nvlink and card.nvlink_total_gbs:
        draft.figure("nvlink", card.nvlink_total_gbs, "GB/s", sources=(card.source,))
        draft.say("pooled.nvlink", gpu=card.name, rate=f"{card.nvlink_total_gbs:g}",
                  importance=BODY)  # fmt: skip
    elif card.nvlink is False:
        draft.say("pooled.pcie", gpu=card.name, importance=BODY)
