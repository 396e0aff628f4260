"""From a written name to its registry row.

The rules, in the order they are tried on a name, on the part after its first `/` and on its
last path component:

1. the key: folded, text in brackets dropped, separators gone (but kept between two digits, so
   that `llama 38b` is not `Llama-3-8B`);
2. a weight format at the end is the quantization, not the name;
3. role words (instruct, chat, base, ...) at the end fall away on both sides;
4. a version at the end without a row of its own falls back, said in the notes;
5. words to the right that carry no size are context and are cut, said in the notes.

A family without a size gives candidates, never a guess. The vocabulary is data/names.json.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import log
from typing import Any, NamedTuple

from tools.errors import AmbiguousModelError, UnknownModelError, UserInputError
from tools.folding import brackets, dashed, key_of, squeeze
from tools.models.registry import all_models, models_by_name
from tools.models.spec import ModelMatch, ModelSpec

_SIZE_WORD = re.compile(r"\d+(?:\.\d+)?(?:x\d+(?:\.\d+)?)?[bmt]|a\d+(?:\.\d+)?b")
_SMALL_NUMBER = re.compile(r"\d{1,2}(?:\.\d+)*|\d+x\d+")
_VERSION = re.compile(r"v\d+(?:\.\d+)*|\d{4}|\d{6}|latest|preview|exp|beta|final|hf\d+")
_GGUF_TYPE = re.compile(
    r"-(?:ud-)?((?:iq|q|tq)\d(?:-(?:k|\d)(?:-(?:xxs|xs|s|m|l|xl))?|-(?:xxs|xs|s|m|nl))?)$"
)
_TWO_MODELS = re.compile(r"\s\+\s")
PRECISIONS = frozenset({"fp16", "bf16", "fp32"})
"""Weight formats that are no quantization: in a row's own name they say nothing new."""
_TUNED_KINDS = frozenset({"decoder-lm", "moe-lm", "vlm"})
"""Kinds whose names carry role words; `base` is a size in whisper-base and t5-base."""
_MAKERS = ("hf-", "huggingface-", "meta-", "google-", "openai-", "microsoft-")
"""Makers written in front without a slash (`HF BERT`); tried last."""
_MAX_NAME = 300
"""Characters of a name that are looked at; longer text is no name."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """data/names.json."""

    weight_formats: dict[str, str]
    role_words: frozenset[str]
    never_cut: frozenset[str]
    chinese_heads: dict[str, list[str]]
    sized_heads: dict[str, list[str]]
    """Spellings of a head that stand only before a size (`r1 蒸馏 32b`)."""
    extra_aliases: dict[str, str]
    families: dict[str, list[str]]
    scan: dict[str, Any]
    """What only the reader of free text minds; see data/README.md."""


class Family(NamedTuple):
    """A family name without a size."""

    key: str
    candidates: tuple[str, ...]


_USUAL_PARAMS = 7e9
"""The size of language model that most questions are about."""


def usual_member(candidates: Sequence[str]) -> str:
    """The model to count with where only a family is named: told as an assumption.

    Of language models the one nearest to 7B; of image generators, which differ in kind rather
    than in size, the first that the vocabulary lists; else the middle of the family by size.

    Args:
        candidates: Names of the registry, at least one.

    Raises:
        UnknownModelError: If a name is not in the registry.
    """
    specs = [find_model(name).spec for name in candidates]
    if specs[0].kind in ("decoder-lm", "moe-lm", "vlm"):
        return min(specs, key=lambda spec: abs(log(spec.params_total / _USUAL_PARAMS))).name
    if specs[0].kind in ("diffusion-unet", "dit"):
        return specs[0].name
    ordered = sorted(specs, key=lambda spec: spec.params_total)
    return ordered[(len(ordered) - 1) // 2].name


@cache
def vocabulary() -> Vocabulary:
    """The words around names, from data/names.json."""
    text = (resources.files("tools.models") / "data/names.json").read_text(encoding="utf-8")
    raw = json.loads(text)
    return Vocabulary(
        weight_formats=raw["weight_formats"],
        role_words=frozenset(raw["role_words"]),
        never_cut=frozenset(raw["never_cut"]),
        chinese_heads=raw["chinese_heads"],
        sized_heads=raw["sized_heads"],
        extra_aliases=raw["extra_aliases"],
        families=raw["families"],
        scan=raw["scan"],
    )


@dataclass(frozen=True, slots=True)
class NameIndex:
    """Keys to rows: as written, and with the role words dropped."""

    exact: dict[str, tuple[ModelSpec, ...]]
    plain: dict[str, tuple[ModelSpec, ...]]


@cache
def name_index() -> NameIndex:
    """Every key of every row, Chinese heads expanded; built once."""
    exact: dict[str, list[ModelSpec]] = {}
    plain: dict[str, list[ModelSpec]] = {}
    listed = {key for key, names in vocabulary().families.items() if names}
    for spec in all_models():
        for name in (spec.name, spec.name.split("/", 1)[-1], *spec.aliases):
            written = dashed(name)
            _add(exact, written, spec)
            bare = _without_role_words(written)
            is_family = bare != written and squeeze(bare) in listed
            if spec.kind in _TUNED_KINDS and not is_family:
                _add(plain, bare, spec)
    for alias, name in vocabulary().extra_aliases.items():
        exact.setdefault(squeeze(dashed(alias)), [models_by_name()[name]])
    _expand_heads(exact)
    _expand_heads(plain)
    return NameIndex(
        {key: tuple(specs) for key, specs in exact.items()},
        {key: tuple(specs) for key, specs in plain.items()},
    )


def _add(index: dict[str, list[ModelSpec]], written: str, spec: ModelSpec) -> None:
    specs = index.setdefault(squeeze(written), [])
    if spec not in specs:
        specs.append(spec)


def _expand_heads(index: dict[str, list[ModelSpec]]) -> None:
    """Adds the other spellings of a key's head."""
    known = vocabulary()
    for key in list(index):
        for latin, written in known.chinese_heads.items():
            rest = key.removeprefix(squeeze(latin))
            if rest != key and not (rest[:1].isascii() and rest[:1].isalpha()):
                for head in written:
                    index.setdefault(squeeze(head + rest), index[key])
        for latin, written in known.sized_heads.items():
            rest = key.removeprefix(squeeze(latin))
            if rest != key and rest[:1] == "-":
                for head in written:
                    index.setdefault(squeeze(head + rest), index[key])


def _without_role_words(written: str) -> str:
    words = written.split("-")
    while len(words) > 1 and words[-1] in vocabulary().role_words:
        words.pop()
    return "-".join(words)


def find_model(text: str) -> ModelMatch:
    """The registry row that a written name stands for.

    Args:
        text: A name in any common spelling: Hugging Face id, ollama tag, local path, Chinese
            name, with a weight format at the end or context behind it.

    Returns:
        The row, the weight format that the name carries, and notes on what was cut.

    Raises:
        AmbiguousModelError: For a family without a size, a name on two rows, or two names.
        UnknownModelError: If no row is found; the closest names are its candidates.
    """
    written = _written(text)
    if written is not None:
        return ModelMatch(written, None, (written.note,) if written.note else ())
    name = text[:_MAX_NAME].strip()
    parts = [part for part in _TWO_MODELS.split(name) if part.strip()]
    if len(parts) > 1:
        found = [match for part in parts if (match := try_find_model(part)) is not None]
        if len(found) > 1:
            raise AmbiguousModelError(text, [match.spec.name for match in found])
    match = _first_match(name)
    if match is not None and not _is_other_word(name):
        return match
    family = find_family(name)
    if family is not None:
        raise AmbiguousModelError(text, family.candidates)
    raise UnknownModelError(text, closest_names(name))


def _is_other_word(name: str) -> bool:
    """Whether a name is one only with a separator in it: VITS is a voice, ViT-S a network."""
    return name.casefold() in vocabulary().scan["needs_separator"]


def _written(text: str) -> ModelSpec | None:
    """The model of a pasted config.json that is carried as a name."""
    if not text.startswith("config.json{"):
        return None
    from tools.models.written import model_from_written

    return model_from_written(text)


def try_find_model(text: str) -> ModelMatch | None:
    """`find_model`, or None where it would raise."""
    try:
        return find_model(text)
    except UserInputError:
        return None


def _first_match(name: str) -> ModelMatch | None:
    quantization = _bracketed_format(name)
    forms = _forms(name)
    for form in forms:
        match = _match_exactly(form, name)
        if match is not None:
            return _with_format(match, quantization)
    for form in forms:
        match = _match_cut(form, name)
        if match is not None:
            return _with_format(match, quantization)
    return None


def _with_format(match: ModelMatch, quantization: str | None) -> ModelMatch:
    return match if match.quantization else match._replace(quantization=quantization)


def _bracketed_format(name: str) -> str | None:
    for bracket in brackets(name):
        found = weight_format(bracket)
        if found is not None:
            return found
    return None


def _forms(name: str) -> list[str]:
    """The name, the part after its first slash, its last path component."""
    pieces = re.split(r"[/\\]", name.rstrip("/\\"))
    written = [name, "/".join(pieces[1:]), pieces[-1]]
    forms = [form for text in written if (form := dashed(text))]
    forms += [
        form.removeprefix(word) for form in forms for word in _MAKERS if form.startswith(word)
    ]
    return list(dict.fromkeys(form for form in forms if form))


def weight_format(text: str) -> str | None:
    """Canonical weight format written as `text` alone, or None.

    >>> weight_format("4-bit"), weight_format("Q4_K_M"), weight_format("GPTQ-Int4")
    ('int4', 'q4_k_m', 'gptq-int4')
    """
    rest, found = split_weight_format("-" + dashed(text))
    return found if not rest else None


def split_weight_format(form: str) -> tuple[str, str | None]:
    """A dashed name without the weight format at its end, and that format.

    >>> split_weight_format("qwen2.5-7b-instruct-gptq-int4")
    ('qwen2.5-7b-instruct', 'gptq-int4')
    """
    gguf = _GGUF_TYPE.search(form)
    if gguf is not None:
        rest = form[: gguf.start()]
        return rest.removesuffix("-gguf"), gguf[1].replace("-", "_")
    words = form.split("-")
    formats = vocabulary().weight_formats
    for count in (3, 2, 1):
        tail = "-".join(words[-count:])
        if len(words) >= count and tail in formats:
            rest, inner = split_weight_format("-".join(words[:-count]))
            return rest, _stronger(inner, formats[tail])
    return form, None


def _stronger(inner: str | None, outer: str) -> str:
    """Of two formats joined in a name, the one that says more (`AWQ-GGUF` is odd, GGUF runs)."""
    if inner is None or inner in ("fp16", "bf16"):
        return outer
    if outer in ("int4", "int8") and inner in ("awq", "gptq"):
        return inner if inner == "awq" else f"gptq-{outer}"
    return inner if outer == "gguf" and inner.startswith("q") else outer


def _rows(key: str) -> tuple[ModelSpec, ...]:
    return name_index().exact.get(key, ())


def _rows_plain(written: str) -> tuple[ModelSpec, ...]:
    plain = squeeze(_without_role_words(written))
    return name_index().exact.get(plain) or name_index().plain.get(plain, ())


def _one(
    rows: tuple[ModelSpec, ...], given: str, quantization: str | None, notes: tuple[str, ...] = ()
) -> ModelMatch:
    if len(rows) > 1:
        raise AmbiguousModelError(given, [spec.name for spec in rows])
    return ModelMatch(rows[0], quantization, notes)


def _match_exactly(form: str, given: str) -> ModelMatch | None:
    """Rules 1 to 4, without cutting context words."""
    bare, quantization = split_weight_format(form)
    rows = _rows(squeeze(form))
    if rows:
        return _one(rows, given, None if quantization in PRECISIONS else quantization)
    if not bare:
        return None
    rows = _rows(squeeze(bare)) or _rows_plain(bare)
    if rows:
        return _one(rows, given, quantization)
    words = bare.split("-")
    if len(words) > 1 and _VERSION.fullmatch(words[-1]):
        without = "-".join(words[:-1])
        rows = _rows(squeeze(without)) or _rows_plain(without)
        if rows:
            match = _one(rows, given, quantization)
            note = f"{words[-1]} has no row of its own: figures of {match.spec.name}"
            return match._replace(notes=() if words[-1] == "latest" else (note,))
    return None


def _match_cut(form: str, given: str) -> ModelMatch | None:
    """Rule 5: context words cut from the right until a row is found."""
    words = form.split("-")
    for keep in range(len(words) - 1, 0, -1):
        if not _may_cut(words[keep]):
            return None
        match = _match_exactly("-".join(words[:keep]), given)
        if match is not None:
            note = f"read as {match.spec.name}; not part of the name: {' '.join(words[keep:])}"
            return match._replace(notes=(*match.notes, note))
    return None


def _may_cut(word: str) -> bool:
    if word in vocabulary().never_cut or _SMALL_NUMBER.fullmatch(word):
        return False
    return _SIZE_WORD.fullmatch(word) is None


@cache
def family_index() -> dict[str, tuple[str, ...]]:
    """Family key to candidate rows, Chinese spellings included."""
    index: dict[str, tuple[str, ...]] = {}
    known = vocabulary()
    for written, listed in known.families.items():
        key = squeeze(written)
        candidates = tuple(listed) or _family_rows(key)
        index[key] = candidates
        for latin, heads in known.chinese_heads.items():
            if key.startswith(latin):
                index.update({head + key.removeprefix(latin): candidates for head in heads})
    return {key: names for key, names in index.items() if key not in name_index().exact}


def _family_rows(key: str) -> tuple[str, ...]:
    rows = {
        spec.name: spec
        for spec in all_models()
        if squeeze(dashed(spec.name.split("/", 1)[-1])).startswith(key)
    }
    ordered = sorted(rows.values(), key=lambda spec: spec.params_total)
    step = max(1, -(-len(ordered) // 8))
    return tuple(spec.name for spec in ordered[::step])


def find_family(text: str) -> Family | None:
    """The family that a name without a size stands for, or None."""
    bare, _ = split_weight_format(dashed(text))
    bare = _without_role_words(bare)
    words = bare.split("-")
    for keep in range(len(words), 0, -1):
        key = squeeze("-".join(words[:keep]))
        candidates = family_index().get(key)
        if candidates:
            return Family(key, candidates)
        if words[keep - 1][:1].isdigit() or not _may_cut(words[keep - 1]):
            return None
    return None


def closest_names(text: str, *, limit: int = 5) -> tuple[str, ...]:
    """Registry names spelt most like `text`, best first: one typo, or a near relative."""
    key = key_of(text[:_MAX_NAME].rsplit("/", 1)[-1])
    if not key:
        return ()
    index = name_index().exact
    near = difflib.get_close_matches(key, index, n=3 * limit, cutoff=0.75)
    names = dict.fromkeys(spec.name for hit in near for spec in index[hit])
    return tuple(names)[:limit]
