"""Which kind of question it is: a sum of weights over features (tables: cues.yaml, intents.yaml).

Features beside the cue groups: ``model``, ``params``, ``method``, ``train``, ``infer``, ``card``,
``cards2`` (two different cards), ``many_cards`` (2+), ``very_many_cards`` (16+), ``memory_gb``,
``instance``, ``instances2``, ``goal_*`` (an inverse question), ``catalog_type`` (instance without
a job), ``cpu_instance``, ``provider``,
``providers2``, ``many_nodes``, ``concurrency``, ``rate``, ``batch``, ``length``, ``samples``,
``epochs``, ``step_s``, ``hours``, ``price``, ``budget``, ``spot_billing``, ``ckpt``, ``storage``,
``workers``, ``util``, ``img_rate``, ``bandwidth``, ``rows``, ``small_model``, ``small_net``,
``file_size``, ``no_gpu``, ``tp``, ``rl``, ``mtbf``, ``huge_model``, ``topic``, ``nothing``, and
``pasted_*``; ``asks_pictures`` (a rate of pictures); ``busbw`` (a measured bus bandwidth).
"""

from __future__ import annotations

import re
from functools import cache
from typing import cast

from agent.answer import Intent
from agent.understanding.data import load
from agent.understanding.kinds.evidence import RULES_COUNT, evidence
from agent.understanding.lexicon.phrases import tables
from agent.understanding.settling.resolution import Resolution
from tools.models import SMALL_KINDS

_SLOT_FEATURES = {
    "model": "model", "params_b": "params", "method": "method", "gpu": "card",
    "gpu_mem_gb": "memory_gb", "instances": "instances2", "instance": "instance",
    "provider": "provider",
    "providers": "providers2", "gpus": "cards2", "concurrency": "concurrency",
    "request_rate_per_s": "rate", "batch": "batch", "tokens": "tokens", "seq_len": "length",
    "samples": "samples",
    "epochs": "epochs", "step_s": "step_s", "hours": "hours", "price": "price",
    "budget": "budget", "ckpt_minutes": "ckpt", "ckpt_interval_minutes": "ckpt_interval",
    "storage": "storage", "num_workers": "workers",
    "gpu_util_pct": "util", "gpu_img_s": "img_rate", "bandwidth_gbps": "bandwidth",
    "rows": "rows", "model_size_mb": "file_size", "need_gb": "need", "tp": "tp",
    "latency_s": "latency", "mtbf_hours": "mtbf", "img_kb": "img_file",
    "throughput_mb_s": "throughput", "busbw_gb_s": "busbw",
}  # fmt: skip
_HUGE_B = 100.0
_FEW = 4
"""Requests at once up to which they are a setting and not the question."""
_FAINT = 0.5
"""Below this no kind of question was recognised; without a job it is about a concept."""
_JOB = {"model", "params", "card", "memory_gb", "method", "memory"}
_DURATIONS = {
    "duration_s": re.compile(r"\d\s?(?:秒|seconds?(?![a-z])|secs?(?![a-z])|s(?![a-z0-9/]))"),
    "duration_long": re.compile(
        r"\d\s?(?:分钟|个?小时|hours?(?![a-z])|hrs?(?![a-z])|min(?:utes?|s)?(?![a-z]))"
    ),
}


def features_of(text: str, out: Resolution, extra: set[str]) -> set[str]:
    """Every feature that holds for a text and its slots."""
    features = set(extra)
    for name, cue_table in tables("cues").items():
        if cue_table.has(text):
            features.add(name)
    features |= {name for slot, name in _SLOT_FEATURES.items() if out.get(slot) is not None}
    features |= _derived(out)
    if out.get("gpu") == "none":
        features.discard("card")
    features |= {name for name, pattern in _DURATIONS.items() if pattern.search(text)}
    return features


def _derived(out: Resolution) -> set[str]:
    get = out.get
    count, nodes = get("gpu_count") or 1, get("nodes") or 1
    rules = {
        "train": get("task") == "train",
        "infer": get("task") == "infer",
        "many_cards": count > 1,
        "unnamed_cards": count > 1
        and get("gpu") is None
        and get("gpus") is None
        and get("gpu_mem_gb") is None,
        "very_many_cards": count >= 16,
        "many_nodes": nodes > 1,
        "few_at_once": 0 < (get("concurrency") or 0) <= _FEW,
        "spot_billing": get("billing") == "spot",
        "no_gpu": get("gpu") == "none",
        "rl": str(get("method") or "").split("+")[0] in ("ppo", "grpo"),
        "small_net": getattr(out.spec, "kind", None) in SMALL_KINDS,
        "huge_model": (get("params_b") or 0) >= _HUGE_B,
        "provider_any": bool(get("provider") or get("providers")),
        "catalog_type": get("instance") is not None
        and get("params_b") is None
        and get("task") is None,
    }
    features = {name for name, holds in rules.items() if holds}
    if out.is_classic:
        features.add("small_model")
    return features


def frame_features(asked: frozenset[str]) -> set[str]:
    """Features of the frames that stand in a text: its own, and the cue group of its name."""
    features = {f"asks_{kind}" for kind in asked} | asked
    return features | ({"asks_any"} if asked else set())


@cache
def _weights() -> tuple[
    tuple[str, tuple[tuple[tuple[str, ...], tuple[str, ...], float], ...]], ...
]:
    out = []
    for intent, rows in load("intents").items():
        parsed = []
        for condition, weight in (rows or {}).items():
            names = [name.strip() for name in condition.split("&")]
            wanted = tuple(name for name in names if not name.startswith("!"))
            barred = tuple(name[1:] for name in names if name.startswith("!"))
            parsed.append((wanted, barred, float(weight)))
        out.append((intent, tuple(parsed)))
    return tuple(out)


def scores_of(features: set[str]) -> dict[str, float]:
    """Sum of weights for every intent."""
    return {
        intent: sum(
            weight
            for wanted, barred, weight in rows
            if all(name in features for name in wanted)
            and not any(name in features for name in barred)
        )
        for intent, rows in _weights()
    }


_FRAMES = (
    "memory", "recommend", "cost", "time", "cpu_or_gpu", "catalog", "compare", "diagnose", "multi",
    "serving", "io", "network", "spot", "probe", "fit", "define",
)  # fmt: skip


def has_frame(text: str) -> bool:
    """Whether a text asks a kind of question of its own."""
    return any(tables("cues")[name].has(text) for name in _FRAMES)


_OF_A_LOG = ("pasted_", "error_")


def choose_intent(features: set[str], signed: str = "") -> Intent:
    """The intent with the highest score; the order of intents.yaml breaks ties.

    Args:
        features: Features that hold.
        signed: Folded text with signs for names; its words weigh as evidence.json says, unless
            a log or a configuration stands among them.
    """
    scores = scores_of(features)
    best = max(scores, key=lambda intent: scores[intent])
    if scores[best] < _FAINT and not features & _JOB:
        return "concept"
    if signed and not any(name.startswith(_OF_A_LOG) for name in features):
        learned = evidence(signed, features)
        totals = {
            intent: RULES_COUNT * score + learned[intent]
            for intent, score in scores.items()
            if intent in learned
        }
        best = max(totals, key=lambda intent: totals[intent]) if totals else best
    return cast(Intent, best)
