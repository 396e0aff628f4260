"""A run as one self-contained HTML page: summary, trend, failures first, every answer."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from evals.compare import failures, text_of
from evals.sample import CaseResult
from evals.store import Run, SuiteRun
from evals.suites import SUITES

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;
color:#1c1c1c;background:#fff}
table{border-collapse:collapse;margin:.5rem 0 1.5rem}
td,th{border:1px solid #bbb;padding:.25rem .6rem;text-align:left}
th{background:#f0f0f0}.no{background:#fbe3d9}.yes{background:#ddeefb}
pre{white-space:pre-wrap;background:#f6f6f6;padding:.7rem}
details{margin:.3rem 0}summary{cursor:pointer}
@media(prefers-color-scheme:dark){body{background:#161616;color:#e6e6e6}
th,pre{background:#262626}.no{background:#5a2d1b}.yes{background:#173d57}td,th{border-color:#555}}
"""


def render(run: Run, history: Sequence[Run] = ()) -> str:
    """The page's HTML; everything that came from a case or an answer is escaped.

    Args:
        run: The run to show.
        history: Earlier runs, oldest first, for the trend.
    """
    parts = [_head(run), *(_suite(s, history) for s in run.suites)]
    body = "\n".join(parts)
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
        f"content='width=device-width'><title>Xuanka evals</title><style>{_STYLE}</style>"
        f"<body>{body}</body></html>\n"
    )


def _head(run: Run) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in run.versions.items())
    return (
        f"<h1>Xuanka evals</h1><p>{escape(run.started_at)} · revision {escape(run.revision)} · "
        f"backend {escape(run.backend)} · Python {escape(run.python)} · {escape(versions)}</p>"
    )


def _suite(run: SuiteRun, history: Sequence[Run]) -> str:
    done = [r for r in run.results if not r.not_run]
    failed = [r for r in done if not r.passed]
    passed = [r for r in done if r.passed]
    left = len(run.results) - len(done)
    title = SUITES[run.suite].title if run.suite in SUITES else run.suite
    goals = "".join(f"<li class=no>{escape(goal)}</li>" for goal in run.unmet)
    return "\n".join(
        [
            f"<h2>{escape(run.suite)}: {escape(title)}</h2>",
            f"<p>{len(passed)} of {len(done)} pass</p>",
            f"<p class=no>{left} not run: the budget was spent</p>" if left else "",
            f"<ul>{goals}</ul>" if goals else "<p class=yes>every goal reached</p>",
            _summary(run, history),
            *_groups(done),
            f"<h3>Failures ({len(failed)})</h3>",
            *(_case(r) for r in failed),
            f"<h3>Passes ({len(passed)})</h3>",
            *(_case(r) for r in passed),
        ]
    )


def _summary(run: SuiteRun, history: Sequence[Run]) -> str:
    runs = [(old, s) for old in history for s in old.suites if s.suite == run.suite]
    heads = "".join(f"<th>{escape(old.started_at[:16])}</th>" for old, _ in runs)
    rows = []
    for name, value in run.summary.items():
        values = [*(s.summary.get(name) for _, s in runs), value]
        past = "".join(f"<td>{_number(v)}</td>" for v in values[:-1])
        rows.append(
            f"<tr><th>{escape(name)}</th>{past}<td><b>{_number(value)}</b></td>"
            f"<td>{_trend(values)}</td></tr>"
        )
    return f"<table><tr><th></th>{heads}<th>now</th><th>trend</th></tr>{''.join(rows)}</table>"


def _trend(values: Sequence[float | None]) -> str:
    """A line over the runs, lowest value at the bottom; nothing for fewer than two."""
    known = [v for v in values if v is not None]
    if len(known) < 2:
        return ""
    low, span = min(known), (max(known) - min(known)) or 1.0
    step = 80 / (len(known) - 1)
    points = " ".join(
        f"{2 + n * step:.1f},{18 - 16 * (v - low) / span:.1f}" for n, v in enumerate(known)
    )
    return (
        "<svg width=84 height=20 role=img aria-label=trend><polyline fill=none "
        f"stroke=currentColor stroke-width=1.5 points='{points}'/></svg>"
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _groups(results: Iterable[CaseResult]) -> list[str]:
    counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for result in results:
        for tag, value in result.tags.items():
            counts[tag][value][0] += result.passed
            counts[tag][value][1] += 1
    tables = []
    for tag, values in counts.items():
        if len(values) > 40:
            continue
        rows = "".join(
            f"<tr class={'yes' if ok == total else 'no'}><td>{escape(value)}</td>"
            f"<td>{ok} / {total}</td></tr>"
            for value, (ok, total) in sorted(values.items())
        )
        tables.append(f"<table><tr><th>{escape(tag)}</th><th>pass</th></tr>{rows}</table>")
    return tables


def _case(result: CaseResult) -> str:
    why = "; ".join(failures(result))
    mark = "yes" if result.passed else "no"
    scores = "".join(
        f"<tr><td>{escape(s.name)}</td><td>{escape(str(s.value))}</td><td>{escape(s.reason)}</td></tr>"
        for s in result.scores
    )
    return (
        f"<details><summary class={mark}><b>{escape(result.id)}</b> {escape(why)} "
        f"({result.elapsed_ms:.0f} ms)</summary><table>{scores}</table>"
        f"<pre>{escape(text_of(result))}</pre>{_calls(result.output)}</details>"
    )


def _calls(output: Any) -> str:
    if not isinstance(output, list):
        return ""
    calls = [c for turn in output if isinstance(turn, dict) for c in turn.get("tool_calls") or []]
    return f"<pre>{escape(json.dumps(calls, ensure_ascii=False, indent=1))}</pre>" if calls else ""
