"""Helpers that several test files use."""

from __future__ import annotations

from pathlib import Path

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
