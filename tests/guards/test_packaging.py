"""The five top-level names are ours alone, wherever they are imported from."""

from __future__ import annotations

import importlib
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["agent", "knowledge", "tools", "ui", "evals"]


@pytest.mark.parametrize("name", NAMES)
def test_name_resolves_inside_this_checkout(name: str) -> None:
    found = importlib.import_module(name).__file__
    assert found is not None
    assert Path(found).is_relative_to(ROOT)


@pytest.mark.parametrize("name", NAMES)
def test_no_other_distribution_claims_the_name(name: str) -> None:
    assert set(packages_distributions().get(name, ["xuanka"])) == {"xuanka"}


def test_wheel_lists_exactly_our_packages() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert config["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == NAMES


def test_torch_is_never_a_default_dependency() -> None:
    for lock in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / lock).read_text(encoding="utf-8")
        assert not any(line.startswith(("torch==", "nvidia-cu")) for line in text.splitlines())
