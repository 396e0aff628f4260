"""The sizes of one card: its label, the total of nvidia-smi, that of a process; which counts."""

from __future__ import annotations

from agent.answering.failures.logged_card import say_slice, sliced_card, total_row
from agent.answering.failures.symptoms import pasted
from agent.answering.plan import Context, Plan
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox.totals import CardTotal, card_total
from tools.errors import UserInputError
from tools.gpus import GpuSpec
from tools.units import MIB

_INTENTS = ("concept", "probe_local", "catalog_lookup", "fit_check", "oom_diagnosis", "gpu_compare")
_LEAST = 0.85
"""Share of a card's label that any total of it is at least."""
_SOURCES = ("failures.total_of_smi", "failures.total_of_torch", "failures.total_of_label")


def applies(request: Request, context: Context) -> bool:
    """True where two of the three sizes are set against each other, and no run is asked about."""
    slots = request.slots
    is_run = slots.has_model or slots.instance is not None or pasted(request, "cuda_oom")
    is_asked = request.says("failures.total_that_counts") and request.intent in _INTENTS
    sources = sum(request.says(mark) for mark in _SOURCES)
    found = _row(request) if is_asked and sources > 1 and not is_run else None
    if found is None:
        return False
    if _slice_mib(request) is not None:
        return True
    sizes = _sizes(request, found[0])
    return sizes > 1 or (sizes == 1 and request.says("failures.total_of_label"))


def _slice_mib(request: Request) -> float | None:
    """A total that was shown, MiB, which can only be that of a part of the card named."""
    shown = request.amounts.get("failures.shown_mib", ())
    parts = [mib for mib in shown if sliced_card(request, mib) is not None]
    return parts[0] if len(parts) == 1 else None


def _sizes(request: Request, spec: GpuSpec) -> int:
    """Numbers of the question that can be the card's own."""
    label = spec.memory_label_gb or 0
    shown = request.amounts.get("failures.shown_mib", ())
    return sum(_LEAST * label <= mib / 1024 <= label for mib in shown)


def _row(request: Request) -> tuple[GpuSpec, CardTotal | None] | None:
    """The card that was named, else the nearest of those that show one of the totals."""
    named = _named(request)
    if named is not None:
        return named, None
    shown = (card_total(mib) for mib in request.amounts.get("failures.shown_mib", ()))
    known = sorted((t for t in shown if t is not None), key=lambda t: t.is_of_process)
    return (known[0].cards[0], known[0]) if known else None


def _named(request: Request) -> GpuSpec | None:
    from tools.gpus import find_gpu

    try:
        spec = find_gpu(str(request.slots.gpu)).spec if request.slots.has_card else None
    except UserInputError:
        return None
    return spec if spec is not None and spec.memory_usable_mib and spec.memory_label_gb else None


def compose(request: Request, context: Context) -> Plan:
    """What counts, then where each of the sizes comes from."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    found = _row(request)
    assert found is not None, "applies asks for it"
    spec, known = found
    part = _slice_mib(request)
    if part is not None:
        say_slice(draft, round(part * MIB))
        return draft.finish("not_applicable", intent="oom_diagnosis")
    results = yield (guidance_call(request, k=1),)
    draft.use(*results)
    usable = (spec.memory_usable_mib or 0) * MIB
    source = (f"data:gpus.csv#{spec.name}",)
    draft.figure("usable", usable, "B", sources=source)
    draft.figure("label", spec.memory_label_gb or 0, "GB", sources=source)
    draft.say("symptoms.sizes_head", usable=gib(usable), importance=HEAD)
    lines = [draft.phrase("symptoms.sizes_label", label=f"{spec.memory_label_gb:g}")]
    if spec.memory_smi_mib is not None:
        smi = spec.memory_smi_mib * MIB
        draft.figure("smi", smi, "B", sources=source)
        draft.figure("smi_mib", spec.memory_smi_mib, "MiB", sources=source)
        lines.append(draft.phrase("symptoms.sizes_smi", mib=f"{spec.memory_smi_mib:,}",
                                  smi=gib(smi)))  # fmt: skip
    lines.append(draft.phrase("symptoms.sizes_torch", usable=gib(usable)))
    draft.bullets(lines, title=draft.phrase("symptoms.sizes_title", card=spec.name),
                  importance=HEAD)  # fmt: skip
    if known is not None and known.is_of_process:
        total_row(draft, known, usable)
    draft.say("symptoms.sizes_context", importance=BODY)
    say_cited(draft, passages_in(results)[:1])
    return draft.finish("not_applicable", intent="concept")
