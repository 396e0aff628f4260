"""Asks the advisor through a scripted endpoint: rows of the suites `faults` and `grounding`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.endpoint import running
from evals.sample import Row
from tools.units import GIB

_PATIENCE_S = 60.0
JsonAnswer = dict[str, Any]


def through_endpoint(row: Row, embedded: JsonAnswer) -> dict[str, Any]:
    """The answer to a row's question when an endpoint plays the row's script.

    Args:
        row: A case with `steps`, or with one sentence that the endpoint `says` below the embedded
            answer's own text.
        embedded: The embedded backend's answer to the same question.

    Returns:
        `answer`, `embedded` (verdict, memory, text), `told` (what the endpoint said last),
        `requests` (count) and `elapsed_s`.
    """
    from agent import Advisor, Settings

    steps = [_filled(step, embedded) for step in steps_of(row)]
    limit_s = float(row.get("read_timeout_s", _PATIENCE_S))
    with running(steps) as endpoint, tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            backend="openai_compatible",
            base_url=endpoint.url,
            model="scripted",
            api_key="scripted",
            state_dir=Path(folder),
            read_timeout_s=limit_s,
            answer_budget_s=max(limit_s, float(row.get("budget_s", _PATIENCE_S))),
            breaker_failures=50,
        )
        started = time.perf_counter()
        with Advisor(settings) as advisor:
            answer = advisor.ask(str(row["question"]))
        elapsed_s = time.perf_counter() - started
    return {
        "answer": answer.model_dump(mode="json"),
        "embedded": {key: embedded[key] for key in ("text", "verdict", "memory", "language")},
        "told": str(steps[-1].get("text", "")),
        "sentence": str(row.get("says", "")).format(**numbers(embedded)),
        "requests": len(endpoint.requests),
        "elapsed_s": elapsed_s,
    }


def steps_of(row: Row) -> Sequence[Mapping[str, Any]]:
    """The script of a row."""
    if "says" in row:
        return [{"text": "{text}\n\n" + str(row["says"])}]
    steps: Sequence[Mapping[str, Any]] = row["steps"]
    return steps


def _filled(step: Mapping[str, Any], embedded: JsonAnswer) -> dict[str, Any]:
    if "text" not in step:
        return dict(step)
    return {**step, "text": str(step["text"]).format(text=embedded["text"], **numbers(embedded))}


def numbers(answer: JsonAnswer) -> dict[str, Any]:
    """Values that sentences of a script are made of, out of the embedded answer.

    Sizes in GiB unless they end in `_gb`; `wrong_*` are the same far off, for lies.
    """
    found: dict[str, Any] = {}
    memory = answer.get("memory")
    if memory:
        need = next(
            float(f["value"])
            for f in answer["figures"]
            if f["name"] == "process" and memory["low_bytes"] <= f["value"] <= memory["high_bytes"]
        )
        found["need"], found["need_gb"] = need / GIB, need / 1e9
        found["low"], found["high"] = memory["low_bytes"] / GIB, memory["high_bytes"] / GIB
        if memory["usable_bytes"]:
            found["usable"] = memory["usable_bytes"] / GIB
            found["usable_mib"] = memory["usable_bytes"] // 2**20
    for offer in answer.get("offers") or []:
        if offer["price"] is not None:
            found["price"], found["type"] = float(offer["price"]), offer["instance_type"]
            found["day"], found["dated"] = found["price"] * 24, offer["priced_on"]
            break
    wrong = {f"wrong_{k}": v * 0.57 for k, v in found.items() if isinstance(v, float)}
    return found | wrong
