"""README's table is made of the baselines, and says so when it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evals.readme import between, filled, is_stale, kept_baselines, table
from evals.suites import SUITES
from tests.helpers import ROOT
from tools.errors import UserInputError

BASELINES: dict[str, dict[str, Any]] = {
    "catalog": {"summary": {"cases": 67.0, "pass_rate": 0.98507}},
    "memory": {"summary": {"cases": 591.0, "simulated_median_error": 0.00113}},
}


def test_table_has_a_line_for_each_suite_with_a_baseline() -> None:
    lines = table(BASELINES).splitlines()
    assert lines[2] == "| memory | 591 | simulated steps, median error 0.113 % |"
    assert lines[3] == "| catalog | 67 | right 98.5 % |"
    assert len(lines) == 4


def test_only_the_part_between_the_markers_changes() -> None:
    page = "# A\n<!-- accuracy:begin -->\nold\n<!-- accuracy:end -->\nrest \\1"
    new = filled(page, "accuracy", r"a \1 b")
    assert new == "# A\n<!-- accuracy:begin -->\na \\1 b\n<!-- accuracy:end -->\nrest \\1"
    assert between(new, "accuracy") == r"a \1 b"


def test_page_without_markers_is_refused() -> None:
    with pytest.raises(UserInputError, match="No markers"):
        filled("# A", "accuracy", "x")


def test_table_that_differs_from_the_baselines_is_stale(tmp_path: Path) -> None:
    kept = kept_baselines()
    if not kept:
        pytest.skip("no baselines are kept yet")
    page = tmp_path / "README.md"
    page.write_text("<!-- accuracy:begin -->\n<!-- accuracy:end -->", encoding="utf-8")
    assert not is_stale(page)
    right = filled(page.read_text(encoding="utf-8"), "accuracy", table(kept))
    page.write_text(right, encoding="utf-8")
    assert not is_stale(page)
    page.write_text(right.replace(" %", "9 %", 1), encoding="utf-8")
    assert is_stale(page)


def test_readme_of_the_repository_is_not_stale() -> None:
    assert not is_stale(ROOT / "README.md")


def test_every_suite_has_something_to_show() -> None:
    from evals.readme import _SHOWN

    assert set(_SHOWN) == set(SUITES)
