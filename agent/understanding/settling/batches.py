"""A batch of one update over all cards, told apart from what a card holds at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.understanding.lexicon.phrases import table
from agent.understanding.lexicon.readings import Board, Reading
from agent.understanding.lexicon.text import Document
from agent.understanding.settling.resolution import Resolution
from tools.models import LANGUAGE_KINDS, try_find_model

_BEFORE, _BEHIND = 14, 22
"""Characters beside a batch in which it is said whose it is."""
_BESIDE = 12
"""Characters behind a batch in which it is called that of a card."""
_CLAUSE = re.compile(r"[,;。(\n]|\bwith\b")


def settle_batches(document: Document, board: Board, out: Resolution) -> None:
    """Settle ``global_batch``, and the batch of a card and the accumulation that follow from it.

    Args:
        document: The text.
        board: Readings.
        out: With its model and cards settled.
    """
    readings = board.of("batch")
    whole = [r for place, r in enumerate(readings) if _is_whole(document.text, readings, place)]
    of_a_card = [r for r in readings if r not in whole]
    said = board.best("global_batch") or next(iter(whole), None)
    if said is None or said.value < 1:
        return
    out.put("global_batch", said.value, said)
    if of_a_card:
        strongest = max(of_a_card, key=lambda r: (r.weight, -r.start))
        out.put("batch", strongest.value, strongest)
        out.inferred.discard("batch")
    elif whole:
        out.put("batch", said.value, said, inferred=True)
    share_batch(out)


def share_batch(out: Resolution) -> None:
    """Share a global batch out to the cards, where it was not said what a card holds.

    A language model's batch is accumulated of as few samples as there is room for, so that of a
    card stays open; a network that looks at images takes its share in one step.
    """
    total = out.get("global_batch")
    if not total:
        return
    cards = max(1, (out.get("gpu_count") or 1) // ((out.get("tp") or 1) * (out.get("pp") or 1)))
    accumulated = out.get("grad_accum")
    is_said = out.get("batch") is not None and "batch" not in out.inferred
    if is_said:
        steps = total // (out.get("batch") * cards)
        if steps > 1 and (accumulated is None or "grad_accum" in out.inferred):
            out.put("grad_accum", steps, inferred=True)
        return
    if accumulated is not None:
        out.put("batch", -(-total // (cards * accumulated)), inferred=True)
    elif _accumulates(out):
        out.values.pop("batch", None)
        out.readings.pop("batch", None)
    else:
        out.put("batch", -(-total // cards), inferred=True)


_SAMPLED = ("grpo", "ppo")
_LARGEST_GROUP = 256


def settle_rollouts(out: Resolution) -> None:
    """Counts of reinforcement learning: prompts of a step, answers of each, tokens of an answer."""
    _length_of_steps(out)
    if str(out.get("method")).split("+")[0] not in _SAMPLED:
        return
    if out.get("prompts_per_step") is None and out.get("steps") and out.get("num_generations"):
        batch = out.get("global_batch") or out.get("batch")
        if batch:  # "batch of 256 prompts, group size 8"
            out.put("prompts_per_step", batch, out.readings.get("batch"), inferred=True)
            for slot in ("batch", "global_batch"):
                out.values.pop(slot, None)
                out.readings.pop(slot, None)
    samples = out.get("samples")
    is_group = samples is not None and samples <= _LARGEST_GROUP
    if out.get("prompts_per_step") and out.get("num_generations") is None and is_group:
        out.put("num_generations", out.values.pop("samples"), out.readings.pop("samples", None))
    tokens = out.get("tokens")
    if out.get("prompts_per_step") and tokens is not None and tokens <= _LONGEST_ANSWER:
        out.put("tokens_per_sample", out.values.pop("tokens"), out.readings.pop("tokens", None))


_LONGEST_ANSWER = 200_000


def _length_of_steps(out: Resolution) -> None:
    """Tokens beside steps and a batch are those of a sample: "3000 steps, bs 4, 1024 tokens"."""
    tokens = out.get("tokens")
    is_run = out.get("task") == "train" and out.get("steps") and out.get("seq_len") is None
    if is_run and tokens is not None and tokens <= _LONGEST_ANSWER:
        if out.get("batch") or out.get("global_batch"):
            out.put("seq_len", out.values.pop("tokens"), out.readings.pop("tokens", None))


def _accumulates(out: Resolution) -> bool:
    """Whether it is a language model: its batches are pieced together."""
    name = out.get("model")
    match = try_find_model(str(name)) if out.spec is None and name is not None else None
    spec = match.spec if match is not None else out.spec
    return spec.kind in LANGUAGE_KINDS if spec is not None else out.get("params_b") is not None


def _is_whole(text: str, readings: Sequence[Reading], place: int) -> bool:
    """Whether a batch is called that of all cards together, in front of it or behind it."""
    reading = readings[place]
    low = readings[place - 1].end if place else 0
    high = readings[place + 1].start if place + 1 < len(readings) else len(text)
    before = _CLAUSE.split(text[max(low, reading.start - _BEFORE) : reading.start])[-1]
    behind = _CLAUSE.split(text[reading.end : min(high, reading.end + _BEHIND)])[0]
    near = before + text[reading.start : reading.end]
    if table("resolve", "batch_of_a_card").has(near + behind[:_BESIDE]):
        return False
    return table("resolve", "batch_of_all").has(near) or table(
        "resolve", "batch_of_all_behind"
    ).has(behind)
