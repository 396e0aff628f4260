"""Helpers that several test files use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
"""Reference material beside the checkout; present in development and CI, never at run time."""


def shared_file(relative: str) -> Path:
    """Path of a shared reference file; the test is skipped where the material is absent."""
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"reference material {relative} is not beside this checkout")
    return path


def shared_rows(relative: str) -> list[dict[str, Any]]:
    """Rows of a shared file of JSON lines; the test is skipped where the material is absent."""
    text = shared_file(relative).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]
