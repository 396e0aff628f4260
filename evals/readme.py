"""Writes the table and the example answer of README.md between their markers.

The table comes from the baselines, so that it says what the last kept run measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evals.store import baseline_path, read_baseline
from evals.suites import SUITES
from tools.errors import UserInputError

QUESTION = "7B 微调能在 A10 上跑吗?"
"""The question that README's first command asks."""
_SHOWN: Mapping[str, tuple[tuple[str, str], ...]] = {
    "questions": (
        ("pass_rate", "pass"), ("must_pass_rate", "of traps, refusals, injections"),
        ("best_verdict_rate", "best verdict"), ("slot_f1", "slots F1"),
    ),
    "conversation": (("turn_rate", "turns right"),),
    "memory": (
        ("simulated_median_error", "simulated steps, median error"),
        ("training_median_error", "training, median error"),
        ("training_p90_error", "training, 90th percentile"),
        ("serving_median_error", "serving, median error"),
        ("interval_rate", "interval holds"), ("verdict_rate", "verdict right"),
    ),
    "speed": (
        ("training_median_error", "training, median error"),
        ("decode_median_error", "decoding, median error"), ("interval_rate", "interval holds"),
    ),
    "retrieval": (
        ("zh_hit1", "zh first hit"), ("en_hit1", "en first hit"),
        ("off_corpus_silent", "silent off the corpus"),
    ),
    "catalog": (("pass_rate", "right"),),
    "faults": (("pass_rate", "right"),),
    "grounding": (("lies_caught", "lies caught"), ("truths_passed", "truths let through")),
}  # fmt: skip


def table(baselines: Mapping[str, Mapping[str, Any]]) -> str:
    """The accuracy table: one line a suite that has a baseline."""
    lines = ["| suite | rows | measured |", "|---|---|---|"]
    for name in SUITES:
        if name not in baselines:
            continue
        summary = baselines[name]["summary"]
        said = [f"{label} {share(summary[key])}" for key, label in _SHOWN[name] if key in summary]
        lines.append(f"| {name} | {int(summary['cases'])} | {', '.join(said)} |")
    return "\n".join(lines)


def share(value: float) -> str:
    """A share or an error as a percentage, with three significant digits at most.

    >>> share(0.98765), share(0.0012), share(1.0)
    ('98.8 %', '0.12 %', '100 %')
    """
    return f"{value * 100:.3g} %"


def kept_baselines() -> dict[str, Mapping[str, Any]]:
    """Baselines of the repository, by suite."""
    found = {name: read_baseline(baseline_path(name)) for name in SUITES}
    return {name: baseline for name, baseline in found.items() if baseline is not None}


def answer_block() -> str:
    """The real answer to README's question, quoted."""
    from agent import Advisor, Settings

    with Advisor(Settings(backend="embedded")) as advisor:
        answer = advisor.ask(QUESTION)
    quoted = "\n".join(f"> {line}".rstrip() for line in answer.text.splitlines())
    return f'`make ask q="{QUESTION}"` answers:\n\n{quoted}'


def filled(text: str, name: str, content: str) -> str:
    r"""Text with the part between `<!-- name:begin -->` and `<!-- name:end -->` replaced.

    Raises:
        UserInputError: If the markers are not there.

    >>> filled("a <!-- x:begin -->old<!-- x:end --> b", "x", "new")
    'a <!-- x:begin -->\nnew\n<!-- x:end --> b'
    """
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    pattern = re.compile(f"({re.escape(begin)}).*?({re.escape(end)})", re.DOTALL)
    if pattern.search(text) is None:
        raise UserInputError(f"No markers {begin} and {end} in the page. Add them first.")
    return pattern.sub(lambda found: f"{found[1]}\n{content}\n{found[2]}", text)


def between(text: str, name: str) -> str:
    """What stands between the markers."""
    found = re.search(f"<!-- {name}:begin -->(.*?)<!-- {name}:end -->", text, re.DOTALL)
    return found[1].strip() if found else ""


def is_stale(page: Path) -> bool:
    """True when the page's table is not that of the baselines, where both are there."""
    baselines, shown = kept_baselines(), between(page.read_text(encoding="utf-8"), "accuracy")
    return bool(baselines and shown) and shown != table(baselines)


def write(page: Path) -> None:
    """Fills both parts of the page."""
    text = page.read_text(encoding="utf-8")
    text = filled(text, "accuracy", table(kept_baselines()))
    page.write_text(filled(text, "answer", answer_block()), encoding="utf-8")
