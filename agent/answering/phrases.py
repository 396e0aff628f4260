"""The sentences of answers: data in `texts/*.toml`, one entry a key, in Chinese and English."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from agent.answer import Language


@cache
def _sentences(family: str) -> Mapping[str, Mapping[Language, str]]:
    text = files("agent.answering").joinpath("texts", f"{family}.toml").read_text("utf-8")
    loaded: dict[str, dict[Language, str]] = tomllib.loads(text)
    return loaded


def phrase(key: str, language: Language, /, **values: object) -> str:
    """The sentence `family.name` in a language, with its places filled.

    Raises:
        KeyError: If the sentence or a value for one of its places is missing.
    """
    family, _, name = key.partition(".")
    return _sentences(family)[name][language].strip().format(**values)


def families() -> tuple[str, ...]:
    """Names of all phrase files, for checks over all of them."""
    folder = files("agent.answering").joinpath("texts")
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir()))


def sentences(family: str) -> Mapping[str, Mapping[Language, str]]:
    """All sentences of a family, for checks over all of them."""
    return _sentences(family)
