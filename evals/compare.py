"""What changed between two runs: which cases got better or worse, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evals.sample import CaseResult
from evals.store import Run, SuiteRun


@dataclass(frozen=True, slots=True)
class Change:
    """One case that two runs judge differently."""

    suite: str
    id: str
    kind: str
    """worse, better, new, gone, or moved (a number moved by over a tenth, same judgement)."""
    before: CaseResult | None
    after: CaseResult | None
    reasons: tuple[str, ...]


def failures(result: CaseResult) -> tuple[str, ...]:
    """Why a case does not pass, in words."""
    said = tuple(f"{s.name}: {s.reason}" for s in result.scores if s.is_failure)
    return (f"error: {result.error}", *said) if result.error else said


def compare(before: Run, after: Run) -> list[Change]:
    """Changes between two runs over the suites that both have, the worst first."""
    old = {s.suite: s for s in before.suites}
    found = [c for s in after.suites if s.suite in old for c in _changes(old[s.suite], s)]
    order = {"worse": 0, "gone": 1, "moved": 2, "new": 3, "better": 4}
    return sorted(found, key=lambda c: (order[c.kind], c.suite, c.id))


def _changes(old: SuiteRun, new: SuiteRun) -> Iterator[Change]:
    before, after = _one_each(old.results), _one_each(new.results)
    for case in before.keys() | after.keys():
        a, b = before.get(case), after.get(case)
        kind = _kind(a, b)
        if kind is not None:
            reasons = failures(b) if b is not None and not b.passed else failures(a) if a else ()
            yield Change(new.suite, case, kind, a, b, reasons)


def _one_each(results: Sequence[CaseResult]) -> dict[str, CaseResult]:
    """One result for each case that was run: of a repeated one a failure, if it has any."""
    found: dict[str, CaseResult] = {}
    for result in results:
        if not result.not_run and (result.id not in found or found[result.id].passed):
            found[result.id] = result
    return found


def _kind(a: CaseResult | None, b: CaseResult | None) -> str | None:
    if a is None:
        return "new"
    if b is None:
        return "gone"
    if a.passed != b.passed:
        return "better" if b.passed else "worse"
    return "moved" if _moved(a, b) else None


def _moved(a: CaseResult, b: CaseResult) -> bool:
    left = {s.name: s.value for s in a.scores if not isinstance(s.value, bool)}
    right = {s.name: s.value for s in b.scores if not isinstance(s.value, bool)}
    error = left.get("relative_error"), right.get("relative_error")
    if error[0] is None or error[1] is None:
        return False
    return abs(error[1] - error[0]) > max(0.01, 0.1 * error[0])


def text_of(result: CaseResult | None) -> str:
    """What a case answered, for a reader to put side by side."""
    if result is None:
        return ""
    output: Any = result.output
    if isinstance(output, list) and output and isinstance(output[0], dict) and "text" in output[0]:
        return "\n\n".join(str(turn.get("text")) for turn in output)
    if isinstance(output, dict) and isinstance(output.get("answer"), dict):
        return f"{output['answer'].get('text')}\n\n{output['answer'].get('degraded') or ''}".strip()
    return "" if output is None else str(output)
