"""Marks of questions: those that answers ask for exist, those that exist are asked for."""

from __future__ import annotations

import ast
from pathlib import Path

from agent.request import Request
from agent.understanding.lexicon.marks import amount_names, names

ROOT = Path(__file__).parents[2]
READS_QUESTIONS = ("sources.py", "passages.py")
"""Modules that hand the question's words to the retriever, and read no more in them."""
ANSWERS = sorted((ROOT / "agent" / "answering").rglob("*.py"))


def _strings(tree: ast.AST) -> set[str]:
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_every_mark_asked_for_is_read_and_every_mark_read_is_asked_for() -> None:
    said = {text for path in ANSWERS for text in _strings(ast.parse(path.read_text("utf-8")))}
    known = names() | amount_names()
    assert not {name for name in known if name not in said}, "read, and nobody asks for it"
    asked: set[str] = set()
    for path in ANSWERS:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_says = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if is_says and node.func.attr == "says":  # type: ignore[union-attr]
                asked |= {a.value for a in node.args if isinstance(a, ast.Constant)}  # type: ignore[attr-defined]
    assert asked <= known, asked - known


def test_an_unknown_mark_is_a_slip() -> None:
    request = Request(language="en", intent="concept", slots={}, marks=("sizing.kv_cache",))  # type: ignore[arg-type]
    assert request.says("sizing.kv_cache", "sizing.checkpoint")
    assert not request.says("sizing.checkpoint")


def test_answers_read_no_words() -> None:
    """What the words mean is read once, in agent/understanding; answers ask for it by name."""
    readers = {p.name for p in ANSWERS if "search_query" in p.read_text("utf-8")}
    assert readers == set(READS_QUESTIONS)
