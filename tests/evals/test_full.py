"""The runner of the long suites: nothing hides anything, and each part is a target that exists."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from tests.full import PARTS, Part, call, chosen, has_target, load_goals, main, run_part


def part(code: str, *, name: str = "a", limit_s: int = 20) -> Part:
    return Part(name, (sys.executable, "-c", code), limit_s, "a part of a test")


def test_every_part_is_a_target_of_make() -> None:
    for known in PARTS:
        assert known.optional or has_target(known.command), known.name
        assert known.limit_s > 0
    assert len({p.name for p in PARTS}) == len(PARTS)
    assert not has_target(("make", "no-such-target"))


def test_a_failing_part_leaves_the_others_running(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = tmp_path / "done"
    parts = (part("raise SystemExit(3)"), part(f"open({str(done)!r}, 'w')", name="b"))
    assert main([], known=parts, report=tmp_path / "out" / "report.json") == 1
    assert done.exists()
    rows = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert [(r["name"], r["status"]) for r in rows] == [("a", "failed"), ("b", "passed")]
    printed = capsys.readouterr().out
    assert "exit status 3" in printed
    assert "in all" in printed


def test_all_passed_is_zero_and_a_part_can_be_left_out(tmp_path: Path) -> None:
    parts = (part("raise SystemExit(1)"), part("", name="b"))
    assert main(["--only", "b"], known=parts, report=tmp_path / "r.json") == 0
    assert main(["--skip", "a"], known=parts, report=tmp_path / "r.json") == 0
    with pytest.raises(SystemExit, match="no part called c; the parts are a, b"):
        chosen(parts, ["c"], [])


def test_a_part_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    child = f"import time\nwhile True:\n open({str(beat)!r}, 'a').write('x'); time.sleep(0.05)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    assert run_part(part(code, limit_s=2)).status == "timed out"
    size = beat.stat().st_size
    time.sleep(0.4)
    assert beat.stat().st_size == size


def test_the_parts_share_one_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sleeper = part("import time; time.sleep(60)")
    parts = (sleeper, part("", name="b"))
    assert main(["--seconds", "1.5"], known=parts, report=tmp_path / "r.json") == 1
    rows = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert [r["status"] for r in rows] == ["timed out", "timed out"]
    assert "not started" in rows[1]["why"]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    lacking = part("")._replace(
        ready=(sys.executable, "-c", "raise SystemExit(1)"), needs="chromium"
    )
    found = run_part(lacking)
    assert found.status == "failed"
    assert "apt-get install chromium" in found.why
    absent = Part("x", ("make", "no-such-target"), 5, "", optional=True)
    assert run_part(absent).status == "not run"


def test_goals_are_looked_at_after_the_run(tmp_path: Path) -> None:
    report = tmp_path / "load.json"
    good = {"answers_per_s": 31.0, "p99_ms": 900.0, "errors": 0, "first_errors": []}
    report.write_text(json.dumps(good), encoding="utf-8")
    assert load_goals(report) == []
    bad = {"answers_per_s": 20.0, "p99_ms": 4600.0, "errors": 2, "first_errors": ["500"]}
    report.write_text(json.dumps(bad), encoding="utf-8")
    assert [m.split()[0] for m in load_goals(report)] == ["20.0", "p99", "2"]
    failed = run_part(part("")._replace(goals=lambda: load_goals(report)))
    assert failed.status == "failed"
    assert "30 are the goal" in failed.why


def test_a_command_gives_its_status() -> None:
    assert call((sys.executable, "-c", "raise SystemExit(4)"), 20) == 4
