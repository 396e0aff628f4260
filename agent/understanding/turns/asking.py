"""The one question worth asking back: only where the answer would flip with it."""

from __future__ import annotations

from agent.answer import Intent, Language
from agent.understanding.data import load
from agent.understanding.settling.resolution import Resolution

_SIZED = (
    "fit_check",
    "recommend_instance",
    "serving_plan",
    "multi_gpu_plan",
    "cost_estimate",
    "time_estimate",
)


def clarifying_question(out: Resolution, intent: Intent, language: Language) -> str | None:
    """At most one question, most decisive first; None where assumptions serve as well."""
    kind = _missing(out, intent)
    if kind is None:
        return None
    text: str = load("asking")[kind][language]
    names = out.card_candidates if kind == "card" else out.model_candidates
    candidates = ", ".join(name.rsplit("/", 1)[-1] for name in names[:6])
    return text.format(
        model=out.get("model") or "", candidates=candidates, gpu=out.get("gpu") or ""
    )


def _missing(out: Resolution, intent: Intent) -> str | None:
    has_model = (
        any(out.get(s) is not None for s in ("params_b", "model_size_mb")) or out.spec is not None
    )
    if intent in ("fit_check", "recommend_instance") and not has_model and out.get("model") is None:
        if intent == "recommend_instance" and (out.get("budget") or out.get("instance")):
            return None
        if out.get("need_gb"):
            return None
        return "job" if out.get("task") is None else "model"
    if intent in _SIZED and "model" in out.ambiguities and out.model_candidates:
        return "size"
    if intent in _SIZED and out.card_candidates:
        return "card"
    unified = out.get("gpu") == "Apple Silicon" or (out.cards and out.cards[0].spec.is_unified)
    if intent == "fit_check" and unified and not (out.get("host_ram_gb") or out.get("gpu_mem_gb")):
        return "unified_memory"
    return None
