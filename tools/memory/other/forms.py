"""Activation forms: what is alive beside weights and states, by batch and size of a sample.

data/lines.json holds, for a model and a mode (precision, checkpointing, adapters, inference), the
moments of a step that can be the highest; each is linear in the batch and in the batch times the
sample's size (pixels, tokens, audio samples). They were derived from simulated steps: see
data/README.md. A model without a row of its own borrows that of a relative (data/relatives.json),
scaled by layers x width.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from tools.errors import DataError, UnsupportedError
from tools.models import ModelSpec

Sizes = Mapping[str, float]
"""Value of each size that a form may count: px2, target_len, seq_len, audio_samples."""


class Moment(NamedTuple):
    """What is alive at one moment of a step, in bytes."""

    gradients: float
    activations: float
    """Kept activations, temporaries, and cached casts."""

    @property
    def total(self) -> float:
        """Both together."""
        return self.gradients + self.activations


class Form(NamedTuple):
    """The closed form of one model in one mode."""

    model: str
    """Whose simulated step the coefficients come from."""
    mode: str
    params: int
    """Parameters of the module that ran."""
    buffers_bytes: float
    trained: int
    basis: tuple[str, ...]
    """What each coefficient multiplies: 1, b, b*px2, b*target_len, ..."""
    lines: tuple[tuple[float, ...], ...]
    """Gradients, then one coefficient for each name of the basis."""
    scale: float
    """Factor on everything but gradients: a relative's size, another precision's width."""
    origin: str
    """Models, sizes and library versions that the coefficients were derived from."""
    vocab: int = 0
    """Entries of the vocabulary beyond the model's that was simulated."""

    def moments(self, batch: int, sizes: Sizes) -> tuple[Moment, ...]:
        """Every moment that can be the highest, at this batch and size."""
        factors = [_factor(name, batch, sizes) for name in self.basis]
        scored = sizes.get("target_len") or sizes.get("seq_len") or 0.0
        logits = _LOGIT_BYTES * self.vocab * batch * scored
        return tuple(
            Moment(
                line[0],
                (0.0 if line[0] else logits)  # gone once gradients are there
                + self.scale * sum(map(float.__mul__, factors, line[1:])),
            )
            for line in self.lines
        )


def _factor(name: str, batch: int, sizes: Sizes) -> float:
    value = 1.0
    for part in name.split("*"):
        value *= 1.0 if part == "1" else float(batch) if part == "b" else float(sizes[part])
    return value


@cache
def _table(name: str) -> dict[str, Any]:
    text = (resources.files("tools.memory.other") / f"data/{name}.json").read_text("utf-8")
    rows = json.loads(text)
    if not isinstance(rows, dict):
        raise DataError(f"tools/memory/other/data/{name}.json: a mapping of models is expected.")
    return rows


def table(name: str) -> dict[str, Any]:
    """A data file of this package by its stem."""
    return _table(name)


class Relative(NamedTuple):
    """Whose coefficients a model takes."""

    name: str
    factor: float
    """On activations: 1 for the same architecture, else layers x width over the relative's."""
    vocab: int = 0
    """Entries of the vocabulary beyond the relative's: they cost logits."""


def relative_of(spec: ModelSpec, mode: str = "fp32") -> Relative | None:
    """The row that stands for a model: its own, or a relative's."""
    if spec.name in table("lines"):
        return Relative(spec.name, 1.0)
    row = table("relatives").get(spec.name, {})
    if str(row.get("like")) in table("lines"):
        extra = (spec.vocab_size or 0) - int(row["vocab"]) if "vocab" in row else 0
        return Relative(str(row["like"]), float(row.get("factor", 1.0)), max(extra, 0))
    return _by_width(spec, mode)


def _by_width(spec: ModelSpec, mode: str) -> Relative | None:
    """A row of the same kind of transformer, scaled by width and by what grows with the depth.

    Kept activations grow with layers x width, a forward's working set with the width alone;
    under checkpointing part of each is there.
    """
    if not spec.hidden_size or not spec.num_hidden_layers:
        return None
    rows = table("relatives")
    base = rows.get(f"formula:{spec.formula}") or rows.get(f"kind:{spec.kind}")
    if base is None or str(base["like"]) not in table("lines"):
        return None
    width = spec.hidden_size / float(base["width"])
    layers = spec.num_hidden_layers + (spec.num_decoder_layers or 0)
    depth = layers / float(base["layers"])
    grown = 1.0 if mode.startswith("infer") else depth**0.5 if mode.endswith("/full") else depth
    extra = (spec.vocab_size or 0) - int(base["vocab"]) if "vocab" in base else 0
    return Relative(str(base["like"]), width * grown, max(extra, 0))


_LOGIT_BYTES = 12.0
"""Alive per logit when the loss goes backward: logits, their fp32 copy and its gradient."""
_STAND_INS: dict[str, tuple[tuple[str, float], ...]] = {
    "pure-bf16": (("fp32", 0.5), ("bf16-mixed", 0.9)),
    "pure-bf16/full": (("fp32/full", 0.5), ("bf16-mixed/full", 0.55), ("pure-bf16", 1.0)),
    "fp32": (("pure-bf16", 2.0), ("bf16-mixed", 1.75)),
    "fp32/full": (("pure-bf16/full", 2.0), ("bf16-mixed/full", 1.2), ("fp32", 1.0)),
    "bf16-mixed": (("fp32", 0.6), ("lora", 1.1), ("pure-bf16", 1.4)),
    "bf16-mixed/full": (("fp32/full", 0.85), ("pure-bf16/full", 1.6), ("bf16-mixed", 1.0)),
    "lora": (("lora16", 1.0), ("bf16-mixed", 0.9), ("pure-bf16", 1.0), ("fp32", 0.5)),
    "lora/full": (
        ("lora16/full", 1.0),
        ("pure-bf16/full", 1.0),
        ("bf16-mixed/full", 0.6),
        ("fp32/full", 0.5),
    ),
    "lora16": (("pure-bf16", 0.65), ("lora", 1.1), ("bf16-mixed", 0.8), ("fp32", 0.35)),
    "lora16/full": (("pure-bf16/full", 1.0), ("lora/full", 1.0), ("bf16-mixed/full", 0.6)),
    "lora-fp32": (("fp32", 1.0), ("bf16-mixed", 1.75)),
    "lora-fp32/full": (("fp32/full", 1.0), ("bf16-mixed/full", 1.2)),
    "infer:pure-bf16": (("infer:fp32", 0.5), ("pure-bf16", 0.1), ("fp32", 0.05)),
    "infer:fp32": (("infer:pure-bf16", 2.0), ("fp32", 0.1)),
}
"""Where a mode was not simulated for a model: another one and the ratio of their widths (a 16-bit
tensor is half a 32-bit one; autocast keeps part of each; a frozen linear keeps no input;
a forward alone holds about one layer of the twelve or more that training keeps)."""


def form_of(spec: ModelSpec, mode: str) -> Form:
    """The form of a model in a mode such as bf16-mixed, fp32/full, lora or infer:pure-bf16.

    Raises:
        UnsupportedError: If neither the model nor a relative has one.
    """
    relative = relative_of(spec, mode)
    rows = table("lines").get(relative.name, {}) if relative is not None else {}
    for name, factor in ((mode, 1.0), *_STAND_INS.get(mode, ())):
        if name in rows and relative is not None:
            return _form(relative, name, rows[name], factor)
    raise UnsupportedError(
        spec.name,
        reason=f"no activation form for models of kind {spec.kind} in mode {mode}",
        instead="Simulate a step of it (--simulate), or ask about a model of the same family.",
    )


def _form(relative: Relative, mode: str, row: Mapping[str, Any], factor: float) -> Form:
    used = ", ".join(f"{name} {version}" for name, version in row["versions"].items())
    sizes = "; ".join(", ".join(f"{k} {v}" for k, v in at.items()) for at in row["at"])
    return Form(
        model=relative.name,
        mode=mode,
        params=int(row["params"]),
        buffers_bytes=float(row["buffers_bytes"]),
        trained=int(row["trained"]),
        basis=tuple(row["basis"]),
        lines=tuple(tuple(map(float, line)) for line in row["lines"]),
        scale=relative.factor * factor,
        vocab=relative.vocab,
        origin=f"simulated step of {relative.name}, {mode}, at {sizes} ({used})",
    )
