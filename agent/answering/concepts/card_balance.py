"""Whether a card leans to compute or to bandwidth: operations for every byte it can read."""

from __future__ import annotations

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.request import Request
from agent.toolbox.registries import GpuReport

_INTENTS = ("concept", "gpu_compare", "fit_check", "serving_plan", "catalog_lookup",
            "network_distributed")  # fmt: skip
_REFERENCES = ("NVIDIA A100 SXM4 80GB", "NVIDIA H100 SXM5 80GB")
"""Cards that most know, to hold a card against."""
_LEAN = 1.3
"""Times the first reference's operations a byte from which a card leans to one side."""
_MOST = 3


def applies(request: Request, context: Context) -> bool:
    """True where compute and bandwidth are spoken of and a card is to be put on a side."""
    slots = request.slots
    is_kind = request.intent in _INTENTS or request.says("concepts.both_phases")
    if not is_kind or not _cards(request) or not request.says("concepts.puts_on_a_side"):
        return False
    if slots.has_model or slots.method is not None:
        return False
    spoken = (request, *context.earlier[-1:])
    return all(any(said.says(mark) for said in spoken) for mark in _BOTH)


_BOTH = ("concepts.work_of_cards", "concepts.rate_of_memory")


def _cards(request: Request) -> tuple[str, ...]:
    slots = request.slots
    named = slots.gpus or ((slots.gpu,) if slots.has_card else ())
    return tuple(str(name) for name in named)[:_MOST]


def compose(request: Request, context: Context) -> Plan:
    """Each card's operations a byte beside those of well-known cards, and what follows."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    names = tuple(dict.fromkeys((*_cards(request), *_REFERENCES)))
    results = yield tuple(Call("find_gpu", {"name": name}) for name in names)
    draft.use(*results)
    cards = [r.report for r in results if isinstance(r.report, GpuReport)]
    known = {card.name: card for card in cards if _operations(card) is not None}
    references = [known[name] for name in _REFERENCES if name in known]
    for name in _cards(request):
        if name in known and references:
            _say(draft, known[name], references)
    if not draft.has_text:
        draft.say("card_balance.unknown", name=names[0], importance=HEAD)
    draft.say("card_balance.why", importance=DETAIL)
    return draft.finish("not_applicable", intent="concept")


def _operations(card: GpuReport) -> float | None:
    """Dense BF16 operations for every byte read from memory."""
    if not card.bf16_tflops or not card.mem_bandwidth_gbs:
        return None
    return card.bf16_tflops * 1e3 / card.mem_bandwidth_gbs


def _say(draft: Draft, card: GpuReport, references: list[GpuReport]) -> None:
    own, usual = _operations(card) or 0.0, _operations(references[0]) or 1.0
    side = "bandwidth" if own * _LEAN < usual else "compute" if own > usual * _LEAN else "even"
    others = []
    for other in references:
        if other.name != card.name:
            value = _operations(other) or 0.0
            draft.figure(f"operations a byte: {other.name}", value, "1", formula="TFLOPS / TB/s")
            others.append(f"{other.name} {value:.0f}")
    draft.figure(f"operations a byte: {card.name}", own, "1", formula="TFLOPS / TB/s")
    draft.figure("bf16_dense", card.bf16_tflops or 0, "TFLOPS", sources=("data:gpus.csv",))
    draft.figure("bandwidth", card.mem_bandwidth_gbs or 0, "GB/s", sources=("data:gpus.csv",))
    draft.say(f"card_balance.{side}", name=card.name, tflops=f"{card.bf16_tflops:g}",
              rate=f"{card.mem_bandwidth_gbs:,.0f}", own=f"{own:.0f}",
              others="、".join(others) if draft.language == "zh" else ", ".join(others),
              importance=HEAD)  # fmt: skip
