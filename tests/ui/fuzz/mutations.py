"""Bodies that are almost right: values of a JSON body changed, or its bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

WORDS = (
    "Qwen/Qwen2.5-7B", "7B", "A10", "A100 80GB", "lora", "qlora", "full", "bf16", "adamw", "vllm",
    "alibaba", "ecs.gn7i-c8g1.2xlarge", "cn-hangzhou", "g7", "CNY", "spot", "", " ", "x" * 5000,
    "选卡", "\ud83d", "\u0000", "\u202e\u2066", "a\r\nSet-Cookie: x=1", "../../etc/passwd", "nan",
    "1e999", "-1", "{{7*7}}", "%s%n", "<script>alert(1)</script>", "' OR 1=1 --", "＄", "7\u00a0B",
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2, 7, 8, 24, 80, 1024, 4096, 2**31, 2**53 + 1, 2**63, 10**40, -(10**18), 0.5, 1e-300,
    1e308, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip


def odd(dice: random.Random) -> Any:
    """A value of any kind."""
    kind = dice.randrange(8)
    if kind < 3:
        return dice.choice(WORDS)
    if kind < 5:
        return dice.choice(NUMBERS)
    if kind == 5:
        return dice.choice((None, True, False))
    if kind == 6:
        return [odd(dice) for _ in range(dice.randrange(4))]
    return {str(dice.choice(WORDS)): odd(dice) for _ in range(dice.randrange(3))}


def of_schema(schema: dict[str, Any], dice: random.Random, root: dict[str, Any]) -> Any:
    """A value that a JSON schema allows, mostly."""
    if dice.random() < 0.03:
        return odd(dice)
    if "$ref" in schema:
        return of_schema(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], dice, root)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return of_schema(dice.choice(schema[key]), dice, root)
    if "enum" in schema:
        return dice.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            required = set(schema.get("required", ()))
            return {
                name: of_schema(part, dice, root)
                for name, part in schema.get("properties", {}).items()
                if name in required or dice.random() < 0.3
            }
        case "array":
            return [
                of_schema(schema.get("items", {}), dice, root) for _ in range(dice.randrange(3))
            ]
        case "integer":
            low = int(schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1))
            return dice.choice((low, low + 1, 2, 8, 4096, 10**6))
        case "number":
            return dice.choice((0.5, 1, 3.5, 24, 80, 1e6))
        case "boolean":
            return dice.random() < 0.5
        case "null":
            return None
    return dice.choice(WORDS)


def _replaced(value: Any, dice: random.Random) -> Any:
    """The value with one place in it changed."""
    if isinstance(value, dict) and value and dice.random() < 0.85:
        key = dice.choice(list(value))
        changed = dict(value)
        what = dice.random()
        if what < 0.15:
            del changed[key]
        elif what < 0.25:
            changed[str(odd(dice))] = odd(dice)
        else:
            changed[key] = _replaced(value[key], dice)
        return changed
    if isinstance(value, list) and value and dice.random() < 0.8:
        at = dice.randrange(len(value))
        return [*value[:at], _replaced(value[at], dice), *value[at + 1 :]]
    if isinstance(value, str) and value and dice.random() < 0.4:
        at = dice.randrange(len(value))
        return value[:at] + str(dice.choice(WORDS)) + value[at:]
    return odd(dice)


def _nested(dice: random.Random) -> bytes:
    depth = dice.choice((50, 500, 20_000))
    opening, closing = dice.choice(((b"[", b"]"), (b'{"a":', b"}")))
    return opening * depth + b"1" + closing * depth


def _bytes_changed(body: bytes, dice: random.Random) -> bytes:
    changed = bytearray(body)
    for _ in range(dice.randrange(1, 6)):
        at = dice.randrange(len(changed) + 1)
        match dice.randrange(3):
            case 0:
                changed[at:at] = bytes([dice.randrange(256)])
            case 1:
                del changed[at : at + dice.randrange(1, 8)]
            case _:
                changed[at : at + 1] = bytes([dice.randrange(256)])
    return bytes(changed)


def mutated(value: Any, dice: random.Random, write: Callable[[Any], bytes] | None = None) -> bytes:
    """A body made of a value, with one to three changes, seldom none."""
    what = dice.random()
    if what < 0.02:
        return _nested(dice)
    for _ in range(dice.choice((0, 1, 1, 1, 2, 3))):
        value = _replaced(value, dice)
    body = (write or _json)(value)
    return _bytes_changed(body, dice) if what < 0.2 else body


def _json(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")
