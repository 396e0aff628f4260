"""The arrows of docs/architecture.md, checked on the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {
    "tools": {"tools"},
    "knowledge": {"knowledge", "tools"},
    "agent": {"agent", "knowledge", "tools"},
    "ui": {"ui", "agent", "knowledge", "tools"},
    "evals": {"evals", "agent", "knowledge", "tools"},
}
HOMES = {
    "torch": ("tools/probe/", "tools/memory/simulate"),
    "gradio": ("ui/",),
    "chromadb": ("knowledge/store.py",),
    "langchain": ("agent/",),
    "langchain_core": ("agent/",),
    "langchain_openai": ("agent/",),
    "langgraph": ("agent/",),
    "openai": ("agent/",),
}
FILES = sorted(p for package in ALLOWED for p in (ROOT / package).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def test_every_package_was_read() -> None:
    assert {p.relative_to(ROOT).parts[0] for p in FILES} == set(ALLOWED)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_downwards(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    ours = {m.split(".")[0] for m in imported(path)} & set(ALLOWED)
    assert ours <= ALLOWED[package], f"{package} imports {ours - ALLOWED[package]}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_heavy_libraries_stay_in_their_home(path: Path) -> None:
    where = str(path.relative_to(ROOT))
    for module in imported(path):
        homes = HOMES.get(module.split(".")[0])
        assert homes is None or where.startswith(homes), f"{where} imports {module}"


@pytest.mark.parametrize("face", ["ui", "evals"])
def test_faces_use_the_facade_only(face: str) -> None:
    for path in (ROOT / face).rglob("*.py"):
        for module in imported(path):
            parts = module.split(".")
            inside_agent = parts[0] == "agent" and len(parts) > 1
            assert not inside_agent, (
                f"{path.relative_to(ROOT)} imports {module}; use `from agent import ...`"
            )
            deep_tools = parts[0] == "tools" and len(parts) > 2
            assert not deep_tools, (
                f"{path.relative_to(ROOT)} imports {module}; use the room's public names"
            )
            deep_knowledge = parts[0] == "knowledge" and len(parts) > 1
            assert not deep_knowledge, f"{path.relative_to(ROOT)} imports {module}"


def test_knowledge_uses_no_calculator_of_tools() -> None:
    for path in (ROOT / "knowledge").rglob("*.py"):
        used = {m for m in imported(path) if m.split(".")[0] == "tools"}
        reading = {"tools.arguments", "tools.json_lines"}
        allowed = {"tools.provenance", "tools.errors", "tools.console", *reading}
        assert used <= allowed, f"{path.name} imports {used}"
