"""A weight format that is written like one and is none that is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice

from agent.understanding.lexicon.phrases import table
from agent.understanding.premises.scene import Fields, Scene

_LIKE_A_FORMAT = re.compile(
    r"(?<![a-z0-9.\-_/])(?:(?:ud[-_])?(?:iq|q|tq)\d{1,2}(?:_[a-z0-9]{1,3}){1,2}|iq\d{1,2}|exl\d{1,2}"
    r"|mxfp\d{1,2}|nvfp\d{1,2}|(?:fp|int|nf|uint)\d{1,2}|w\d{1,2}a\d{1,2}|(?:[2-9]|1\d)[ -]?bit)"
    r"(?![a-z0-9_])"
)
_MOST = 24
_LOOSE = ("params_b", "quiet", "quantization", "quantization_named")
"""Readings that do not make a format of a word: its digits, or its form."""


def unknown_format(scene: Scene) -> list[Fields]:
    """A format beside a model that no table has, with the ones that look most like it."""
    out = scene.out
    if out.get("model") is None and out.get("params_b") is None:
        return []
    if out.unknown_format is not None:
        return [_fields(scene, out.unknown_format)]
    for found in islice(_LIKE_A_FORMAT.finditer(scene.text), _MOST):
        given = found[0]
        if _is_known(given) or _is_read(scene, found.start(), found.end()):
            continue
        return [_fields(scene, given)]
    return []


def _fields(scene: Scene, given: str) -> Fields:
    used = scene.out.get("quantization") or scene.out.get("precision") or "bf16"
    near = ", ".join(_closest(given)) or "int4, int8, fp8"
    return {"given": given, "near": near, "used": used}


def _closest(given: str) -> tuple[str, ...]:
    from tools.memory import closest_format_names

    return closest_format_names(given)


def _is_known(given: str) -> bool:
    from tools.memory import is_format

    words = ("quantization", "precision", "kv_cache_dtype", "optimizer")
    return is_format(given) or any(table("words", name).has(given) for name in words)


def _is_read(scene: Scene, start: int, end: int) -> bool:
    """Whether a reader took the word for something: a part of a name, an optimizer, a cache."""
    return any(
        reading.start < end and start < reading.end and reading.slot not in _LOOSE
        for reading in scene.board.readings
    )


CHECKS: dict[str, Callable[[Scene], list[Fields]]] = {"unknown_format": unknown_format}
