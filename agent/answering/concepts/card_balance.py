"""Whether a card leans to compute or to bandwidth: operations for every byte it can read."""

from __future__ import annotations

import re

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.request import Request
from agent.toolbox.registries import GpuReport

_SIDE = re.compile(
    r"偏(?:向|重)?(?:哪|算力|带宽|计算|什么|prefill|decode)|属于哪|算哪|(?:适合|擅长|强在|胜在|弱在|更适合)\s?"
    r"(?:哪|做?哪|什么|prefill|decode|预填充|解码)|哪(?:边|头|方面|一?种|一?个)\s?(?:强|更强|好|合适)|瓶颈在哪"
    r"|which (?:side|of the two|one|phase|end)|(?<![a-z])leans?(?![a-z])"
    r"|(?:better|good|best|strong(?:er)?|suited|made|built) (?:at|for|in)\b"
    r"|compute[- ](?:or|vs)|bandwidth[- ](?:or|vs)",
    re.IGNORECASE,
)
_COMPUTE = re.compile(r"算力|计算|prefill|预填充|compute|flops", re.IGNORECASE)
_RATE = re.compile(r"带宽|访存|decod|解码|逐字|bandwidth|memory[- ]bound", re.IGNORECASE)
_PHASES = re.compile(
    r"(?:prefill|预填充).{0,12}(?:decod|解码)|(?:decod|解码).{0,12}(?:prefill|预填充)",
    re.IGNORECASE,
)
"""Both phases of inference, named beside each other."""
_INTENTS = ("concept", "gpu_compare", "fit_check", "serving_plan", "catalog_lookup",
            "network_distributed")  # fmt: skip
_REFERENCES = ("NVIDIA A100 SXM4 80GB", "NVIDIA H100 SXM5 80GB")
"""Cards that most know, to hold a card against."""
_LEAN = 1.3
"""Times the first reference's operations a byte from which a card leans to one side."""
_MOST = 3


def applies(request: Request, context: Context) -> bool:
    """True where compute and bandwidth are spoken of and a card is to be put on a side."""
    slots, text = request.slots, request.search_query
    is_kind = request.intent in _INTENTS or _PHASES.search(text) is not None
    if not is_kind or not _cards(request) or _SIDE.search(text) is None:
        return False
    if slots.has_model or slots.method is not None:
        return False
    before = context.earlier[-1].search_query if context.earlier else ""
    spoken = f"{before} {text}"
    return _COMPUTE.search(spoken) is not None and _RATE.search(spoken) is not None


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
