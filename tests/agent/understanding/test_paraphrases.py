"""Fresh questions written by hand (data/paraphrases.yaml), scored like the reference ones."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from agent.request import Request
from agent.understanding import parse
from tools.errors import UserInputError
from tools.gpus import find_gpu
from tools.models import try_find_model

_CORE = {
    "model", "params_b", "task", "method", "precision", "quantization", "gpu", "gpu_count",
    "gpu_mem_gb", "batch", "seq_len", "concurrency", "provider", "instance", "framework",
}  # fmt: skip
_INFERABLE = {"params_b", "task", "method", "precision", "gpu_count", "gpu_mem_gb"}


@cache
def rows() -> tuple[tuple[dict[str, Any], Request], ...]:
    path = Path(__file__).parent / "data" / "paraphrases.yaml"
    listed = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tuple((row, parse(row["q"])) for row in listed)


def _plain(value: Any) -> str:
    return re.sub(r"[^a-z0-9.+一-鿿]", "", str(value).casefold())


def _card(name: str) -> str:
    try:
        return find_gpu(name).spec.name
    except UserInputError:
        return _plain(name)


def _model(name: str) -> str:
    match = try_find_model(name)
    return match.spec.name if match is not None else _plain(name)


def agrees(slot: str, wanted: Any, given: Any) -> bool:
    if isinstance(wanted, int | float) and isinstance(given, int | float):
        close = 0.15 * abs(wanted) if slot == "params_b" else 1e-6 * max(1.0, abs(wanted))
        return abs(wanted - given) <= close
    if slot == "gpu":
        return _card(wanted) == _card(given)
    if slot == "model":
        return _model(wanted) == _model(given)
    if slot == "instance":
        wanted, given = (
            re.sub(r"^(?:ecs|ml)\.", "", str(name).lower()) for name in (wanted, given)
        )
    if slot == "quantization" and wanted == "q4":
        return str(given).startswith("q4")
    return _plain(wanted) == _plain(given)


def test_there_are_enough_of_them() -> None:
    assert len(rows()) >= 140


def test_slots_of_fresh_wordings_are_read() -> None:
    right = given_count = wanted_count = 0
    for row, request in rows():
        given = request.slots.model_dump(exclude_none=True, include=_CORE)
        wanted = row["slots"]
        right += sum(
            1 for slot in wanted if slot in given and agrees(slot, wanted[slot], given[slot])
        )
        given_count += sum(1 for slot in given if slot in wanted or slot not in _INFERABLE)
        wanted_count += len(wanted)
    assert 2 * right / (given_count + wanted_count) >= 0.93


def test_intents_of_fresh_wordings_are_read() -> None:
    wrong = [row["q"] for row, request in rows() if request.intent not in row["intent"]]
    assert len(wrong) <= 0.07 * len(rows()), wrong


def test_frames_of_every_kind_are_told_apart() -> None:
    path = Path(__file__).parent / "data" / "frames.yaml"
    frames = yaml.safe_load(path.read_text(encoding="utf-8"))
    kinds = {row["intent"][0] for row in frames}
    wrong = [row["q"] for row in frames if parse(row["q"]).intent not in row["intent"]]
    assert len(kinds) >= 15
    assert len(wrong) <= 0.07 * len(frames), wrong
