"""Seeded faults: put in everywhere, taken out again, and told apart from crashes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evals.mutants import Outcome, Verdict, differences, judge, rows_of, table
from evals.mutations import Mutant, mutants
from evals.sample import CaseResult, Score
from evals.suites import SUITES, get_suite
from evals.surgery import Surgery
from tools.gpus import get_gpu
from tools.units import GIB


def test_there_are_thirty_faults_and_each_has_rows() -> None:
    found = mutants()
    assert len(found) >= 30
    for mutant in found:
        assert mutant.plan, mutant.id
        for suite, prefixes in mutant.plan.items():
            assert rows_of(get_suite(suite), prefixes), (mutant.id, suite)


@pytest.mark.parametrize("mutant", mutants(), ids=lambda m: m.id)
def test_fault_finds_its_place_and_leaves_no_trace(mutant: Mutant) -> None:
    with Surgery() as surgery:
        mutant.apply(surgery)
        assert surgery.touched > 0
    assert surgery.touched == 0


def test_property_is_bent_inside_the_block_only() -> None:
    card = get_gpu("NVIDIA A10")
    before = card.usable_bytes
    assert before is not None
    with Surgery() as surgery:
        surgery.computes("tools.gpus.spec:GpuSpec.usable_bytes", lambda b: b + 2 * GIB)
        assert card.usable_bytes == before + 2 * GIB
    assert card.usable_bytes == before


def test_function_is_replaced_where_it_was_imported_to() -> None:
    from tools.catalog import memory as user

    before = user.get_gpu
    with Surgery() as surgery:
        surgery.returns("tools.gpus.registry:get_gpu", lambda spec: replace(spec, name="bent"))
        assert user.get_gpu("NVIDIA A10").name == "bent"
    assert user.get_gpu is before


def test_fault_that_misses_the_code_is_an_error() -> None:
    with Surgery() as surgery, pytest.raises((AttributeError, KeyError)):
        surgery.replace("tools.gpus.registry:no_such_name", lambda real: real)


def outcome(passed: bool, error: str | None = None) -> Outcome:
    result = CaseResult("a", passed, (Score("field", passed),), {}, 1.0, error=error)
    return {"catalog": ([result], {})}


PLAN = {"catalog": ("a",)}


def test_row_that_fails_only_with_the_fault_catches_it() -> None:
    assert list(differences(PLAN, outcome(True), outcome(False))) == ["catalog/a: field"]
    assert list(differences(PLAN, outcome(False), outcome(False))) == []
    assert list(differences(PLAN, outcome(True), outcome(True))) == []


def test_crash_is_not_a_catch() -> None:
    assert list(differences(PLAN, outcome(True), outcome(False, "TypeError"))) == []


def test_worse_metric_catches_a_fault_that_fails_no_row() -> None:
    sound: Outcome = {"speed": ([], {"training_median_error": 0.10})}
    assert list(differences({"speed": ()}, sound, sound)) == []
    faulty: Outcome = {"speed": ([], {"training_median_error": 0.40})}
    assert len(list(differences({"speed": ()}, sound, faulty))) == 1


def nothing(surgery: Surgery) -> None:
    """Bends nothing."""


def test_fault_that_changes_nothing_survives() -> None:
    idle = Mutant("idle", "Nothing.", {"catalog": ("gpu-a10",)}, nothing)
    verdicts = list(judge([idle], workers=1))
    assert [v.caught_by for v in verdicts] == [()]
    assert not verdicts[0].broken
    assert "**survived**" in table(verdicts)


def test_real_fault_is_caught_in_a_process_of_its_own() -> None:
    chosen = [m for m in mutants() if m.id == "gpu-memory-off-by-2-gib"]
    (verdict,) = judge(chosen, workers=1)
    assert any(c.startswith("catalog/gpu-a10") for c in verdict.caught_by)
    assert get_gpu("NVIDIA A10").usable_bytes == 22476 * 2**20


def test_page_names_what_could_not_be_judged() -> None:
    verdict = Verdict(mutants()[0], (), "TypeError: no", 1.0)
    assert "**not judged**: TypeError: no" in table([verdict])


def test_page_of_the_repository_lists_every_fault_caught() -> None:
    from tests.helpers import ROOT

    page = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")
    assert all(f"| {m.id} |" in page for m in mutants())
    assert "**survived**" not in page
    assert "**not judged**" not in page
    assert set(SUITES) >= {s for m in mutants() for s in m.plan}
