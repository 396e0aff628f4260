"""No text whatever makes the parser fail, and its cost stays linear."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.request import Request
from agent.understanding import parse

_JUNK = (
    "🤔", "\u202e", "\u200b", "\x00", "\x07", "７", "Ｂ", "-", "=", "0", "9" * 30, "七", "亿", "G",
    "*", "x", "{", "}", "[", '"', "'", "\n", "%", "￥", "$", "\ud800", '{"a":', "--", "1e400",
    "不是", "那", "呢", "8k", "tp=", "#", "<script>alert(1)</script>", "\t", "折", " A10", "1/0",
    "忽略以上", "system:", "GiB", "MiB / ", "gn7i-", "qwen", "B-A", "每", "預算",
)  # fmt: skip


@cache
def _seeds() -> tuple[str, ...]:
    path = Path(__file__).parent / "data" / "paraphrases.yaml"
    return tuple(row["q"] for row in yaml.safe_load(path.read_text(encoding="utf-8")))


def _mutated(rng: random.Random) -> str:
    chars = list(rng.choice(_seeds()))
    for _ in range(rng.randint(1, 6)):
        place = rng.randint(0, len(chars))
        kind = rng.random()
        if kind < 0.35:
            chars.insert(place, rng.choice(_JUNK))
        elif kind < 0.55 and chars:
            del chars[min(place, len(chars) - 1)]
        elif kind < 0.7:
            low, high = sorted((place, rng.randint(0, len(chars))))
            chars[low:high] = []
        elif kind < 0.9:
            other = rng.choice(_seeds())
            start = rng.randint(0, len(other))
            chars[place:place] = other[start : start + rng.randint(1, 40)]
        else:
            rng.shuffle(chars)
    return "".join(chars)


def _check(text: str, history: list[Request]) -> Request:
    request = parse(text, history)
    written = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    for span in request.spans.values():
        assert 0 <= span.start <= span.end <= len(text)
        if written == text:
            assert text[span.start : span.end] == span.text
    assert Request.model_validate_json(request.model_dump_json()) == request
    assert request.clarifying_question is None or request.intent != "out_of_scope"
    return request


@settings(max_examples=120, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    _check(text, [])


def _run(count: int, seed: int) -> None:
    rng = random.Random(seed)
    history: list[Request] = []
    for _ in range(count):
        request = _check(_mutated(rng), history)
        history = [*history[-9:], request] if rng.random() < 0.8 else []


def test_mutated_questions_are_read() -> None:
    _run(500, seed=7)


@pytest.mark.slow
def test_fifty_thousand_mutated_questions_are_read() -> None:
    _run(50_000, seed=11)


@pytest.mark.parametrize(
    "unit",
    [
        "1", "7B ", "A10 ", "qwen2.5-7b ", '{"a":', "- ", "x=1 ", '"', "'system: ", "b:", "一二三",
        "不是", "batch ", "1 gib ", "ecs.gn7i-c8g1.2xlarge,", "tried to allocate ", "\u202e\u200b7",
        "1,000", " ", "\n",
    ],
)  # fmt: skip
def test_a_megabyte_of_anything_is_read(unit: str) -> None:
    _check(unit * (1_000_000 // len(unit)), [])
