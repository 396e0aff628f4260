"""Settings in configuration files and on command lines (table: data/config_keys.yaml)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from agent.understanding.data import load
from agent.understanding.lexicon.numerals import parse_number
from agent.understanding.lexicon.readings import Board, Origin
from agent.understanding.lexicon.text import Document

_PAIR = re.compile(
    r"(?<![a-z0-9_./])(?P<dashes>-{0,2})[\"']?(?P<key>[a-z][a-z0-9_.\-]{0,47})[\"']?"
    r"(?P<link>[ ]{0,3}[:=][ ]{0,3}|[ ]{1,3})"
    r"(?P<value>\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|\[[^\]\n]{0,300}\]|-?[^\s,;:=(){}\"'#\u3400-\u9fff]{1,120}(?:,(?=[a-z_]+[\s,])[a-z_,]+)?)"
)
_SENTENCE_ENDS = ".?!"
"""Behind a setting that ends a sentence: "max_length=768. Will it work"."""
_QUOTED_COMMAND = re.compile(r"[\"'][^\"'\n]{0,120}\s--?[a-z]")
_EMPTY = re.compile(r"^[ \t]*(?P<key>[a-z][a-z0-9_]{1,47}):[ \t]*$", re.MULTILINE)
"""A line of YAML with nothing behind its key."""
_SWITCH = re.compile(r"(?<![a-z0-9_.\-])--(?P<key>[a-z][a-z0-9_\-]{1,40})")
_ON = ("true", "1", "yes", "on")
_OFF = ("false", "0", "no", "off", "none", "null", "")
_SWITCHED = (*_ON, *_OFF)
_WEAK = 2
"""Keys that several programs share, of which so many together tell one."""
_NUMERIC = {"int", "float", "tokens"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting found in the text."""

    key: str
    value: str
    start: int
    end: int


@cache
def _kinds() -> dict[str, tuple[str, str]]:
    """Key → (slot, how its value is read)."""
    rows = load("config_keys")["keys"]
    return {key: (slot, row["as"]) for slot, row in rows.items() for key in row["keys"]}


def find_settings(document: Document) -> list[Setting]:
    """Every ``key: value``, ``key=value`` and ``--key value`` of the text."""
    found: list[Setting] = []
    text = document.text
    place = 0
    while (pair := _PAIR.search(text, place)) is not None:
        spaced = not pair["link"].strip()
        if spaced and not pair["dashes"]:
            place = pair.end("key")
            continue
        if _QUOTED_COMMAND.match(pair["value"]):  # "kohya: `train.py --lr 1e-4`"
            place = pair.end("link") + 1
            continue
        key = pair["key"].replace("-", "_").rsplit(".", 1)[-1]
        if spaced and (pair["value"].startswith("-") and not pair["value"][1:2].isdigit()):
            found.append(Setting(key, "true", pair.start(), pair.end("key")))
            place = pair.end("key")
            continue
        value = pair["value"].rstrip(_SENTENCE_ENDS).strip("\"'")
        if spaced and key in load("config_keys")["flags"] and value.lower() not in _SWITCHED:
            found.append(Setting(key, "true", pair.start(), pair.end("key")))
            place = pair.end("key")  # "--lora rank 16": a switch, and words behind it
            continue
        found.append(Setting(key, value, pair.start(), pair.end()))
        place = pair.end("link") if pair["value"].startswith(("{", "[{")) else pair.end()
    found += [
        Setting(line["key"], "", line.start("key"), line.end())
        for line in _EMPTY.finditer(text)
        if line["key"] in load("config_keys")["empty"]
    ]
    seen = {setting.start for setting in found}
    for switch in _SWITCH.finditer(text):
        key = switch["key"].replace("-", "_")
        if switch.start() not in seen and key in load("config_keys")["flags"]:
            found.append(Setting(key, "true", switch.start(), switch.end()))
    return found


def note_settings(
    document: Document,
    board: Board,
    settings: list[Setting],
    *,
    origin: Origin,
    program: str | None,
) -> None:
    """Fill the slots that known settings stand for."""
    short = load("config_keys")["short"].get(program or "", {})
    flags = load("config_keys")["flags"]
    for setting in settings:
        if origin == "pasted" and _is_unknown_figure(setting, short):
            document.take(setting.start, setting.end)
            board.add("quiet", True, setting.start, setting.end)
        slot, kind = _kinds().get(setting.key, (None, ""))
        if slot is None and setting.key in short:
            slot, kind = short[setting.key]
        if slot is not None:
            value = _value(setting, kind)
        elif setting.key in flags and setting.value.lower() in _ON:
            slot, value = flags[setting.key]
            value = True if value == "true" else value
        elif setting.key in flags and setting.value.lower() not in _OFF:
            continue  # "bf16: fits?" is prose
        elif setting.key in flags:
            value = None
        else:
            continue
        document.take(setting.start, setting.end)
        board.add("quiet", True, setting.start, setting.end)
        if value is not None and slot is not None:
            weight = 1.0 if "eval" in setting.key else 3.0
            board.add(slot, value, setting.start, setting.end, origin=origin, weight=weight)


_FIGURE = re.compile(r"-?\d[\d.e+\-]*|true|false|null|none|auto")


def _is_unknown_figure(setting: Setting, short: Any) -> bool:
    """A number or switch under a key that fills no slot: nothing else may read it."""
    known = (
        setting.key in _kinds()
        or setting.key in short
        or setting.key in load("config_keys")["flags"]
    )
    return not known and _FIGURE.fullmatch(setting.value.lower()) is not None


def _value(setting: Setting, kind: str) -> Any:
    written = setting.value.strip()
    if not written:
        return load("config_keys")["empty"].get(setting.key)
    if kind in _NUMERIC:
        number = parse_number(written, kibi=kind == "tokens")
        if number is None and written.startswith("-"):
            number = parse_number(written[1:])
            number = None if number is None else -number
        if number is None or kind == "float":
            return number
        return int(number) if number == int(number) else None
    if kind == "text":
        return written if 0 < len(written) <= 120 else None
    if kind == "list":
        names = re.findall(r"[a-z_][a-z0-9_\-]*", written)
        return (
            tuple("all-linear" if name in ("all", "all-linear") else name for name in names) or None
        )
    if kind == "checkpointing" and setting.key.startswith("disable"):
        return "none" if written == "true" else "full"
    return load("config_keys")["values"][kind].get(written)


def program_of(keys: set[str]) -> dict[str, int]:
    """How many telling keys of each program are there."""
    rows = load("config_keys")["programs"]
    counts = {name: len(keys & set(row["keys"])) for name, row in rows.items()}
    weak = {name: len(keys & set(row.get("weak", ()))) for name, row in rows.items()}
    return {name: counts[name] + weak[name] for name in rows if counts[name] or weak[name] >= _WEAK}
