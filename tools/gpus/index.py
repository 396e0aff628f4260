"""Card names as look-up keys: what is left of a spelling without maker, memory size and dressing.

`NVIDIA A100-SXM4-80GB` has the key `a100sxm4` and the size 80; the size chooses the row where
several cards share a key.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tools.errors import DataError
from tools.folding import KeyTrie, brackets, dashed, fold, squeeze
from tools.gpus.registry import all_gpus, gpus_by_name
from tools.gpus.spec import GpuSpec
from tools.gpus.vocabulary import vocabulary

_SIZE = re.compile(
    r"(?:(?<=-)|(?<=ti)|(?<=super)|(?<=laptop)|(?<=[\u4e00-\u9fff])|^)"
    r"(\d{1,4})-?g(?:i?b(?=-|$)|(?=-|$|[a-z]\d{2,}(?:-|$)))"
)
_CORES = re.compile(r"\d+-core(?=-|$)")


class WrittenName(NamedTuple):
    """A spelling taken apart."""

    key: str
    size_gb: float | None


@dataclass(frozen=True, slots=True)
class GpuIndex:
    """Keys to rows."""

    default: dict[str, GpuSpec]
    """Row of a key without a size."""
    sized: dict[str, dict[float, GpuSpec]]
    """Rows of a key by written size in GB."""
    trie: KeyTrie

    def sizes(self, key: str) -> dict[float, GpuSpec]:
        """Every memory size in GB that cards of this key come with, and the card."""
        found = dict(self.sized.get(key, {}))
        default = self.default.get(key)
        if default is not None and default.memory_label_gb is not None:
            found.setdefault(default.memory_label_gb, default)
        return dict(sorted(found.items()))

    def knows(self, key: str) -> bool:
        """Whether cards of this key exist."""
        return key in self.default or key in self.sized


def take_apart(written: str) -> WrittenName:
    """Key and size of one spelling.

    >>> take_apart("NVIDIA A100-SXM4-80GB"), take_apart("4060ti16G")
    (WrittenName(key='a100sxm4', size_gb=80.0), WrittenName(key='4060ti', size_gb=16.0))
    """
    known = vocabulary()
    text = fold(written)
    for word in brackets(written):
        if word in known.forms:
            text = text.replace(f"({word})", f" {word} ")
    text = dashed(text)
    for word in known.laptop:
        if not word.isascii():
            text = text.replace(word, "-laptop-")
    for word in known.ignored:
        if not word.isascii():
            text = text.replace(word, "-")
    text = _CORES.sub("-", text)
    size = _SIZE.search(text)
    if size is not None:
        text = text[: size.start()] + "-" + text[size.end() :]
    words = [
        "laptop" if word in known.laptop else word
        for word in text.split("-")
        if word and word not in known.ignored
    ]
    return WrittenName(squeeze("-".join(words)), float(size[1]) if size else None)


@cache
def gpu_index() -> GpuIndex:
    """The index over all names and aliases; built once.

    Raises:
        DataError: If one spelling stands for two rows.
    """
    default: dict[str, GpuSpec] = {}
    sized: dict[str, dict[float, GpuSpec]] = {}
    for spec in all_gpus():
        for written in (spec.name, *spec.aliases):
            key, size = take_apart(written)
            if size is None:
                taken = default.setdefault(key, spec)
            else:
                taken = sized.setdefault(key, {}).setdefault(size, spec)
            if taken is not spec:
                raise DataError(
                    f"tools/gpus/data/gpus.csv: {written!r} stands for {taken.name!r} and for "
                    f"{spec.name!r}."
                )
    for key, name in vocabulary().extra_keys.items():
        default[key] = gpus_by_name()[name]
    for key, spec in list(default.items()):
        for word in vocabulary().laptop if "laptop" in key else ():
            default.setdefault(key.replace("laptop", word), spec)
            if key in sized:
                sized.setdefault(key.replace("laptop", word), sized[key])
    keys = {*default, *sized, *vocabulary().ask} - {""}
    return GpuIndex(default, sized, KeyTrie(keys))


def closest_gpus(text: str, *, limit: int = 4) -> tuple[str, ...]:
    """Table names spelt most like `text`, best first."""
    key, _ = take_apart(text[:100])
    index = gpu_index()
    near = difflib.get_close_matches(key, list(index.default), n=3 * limit, cutoff=0.6)
    if not near and any(c.isdigit() for c in key):  # a number that no card of the series has
        near = difflib.get_close_matches(key, list(index.default), n=3 * limit, cutoff=0.5)
    names = dict.fromkeys(index.default[hit].name for hit in near)
    return tuple(names)[:limit]
