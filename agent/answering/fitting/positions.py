"""Lengths beyond what a model was made for."""

from __future__ import annotations

from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import count
from tools.models import LANGUAGE_KINDS, try_find_model


def say_positions(draft: Draft) -> None:
    """That a length is more than the model's positions, and what that takes."""
    slots = draft.request.slots
    match = try_find_model(slots.model) if slots.model is not None else None
    length = slots.context_of_one or slots.input_len
    if match is None or match.spec.kind not in LANGUAGE_KINDS or not length:
        return
    limit = match.spec.max_position_embeddings
    if not limit or length <= limit:
        return
    source = getattr(match.spec.source, "id", None)
    draft.figure("positions", limit, "token", sources=(source or "data:models",))
    draft.figure("length_asked", length, "token", sources=("user:seq_len",))
    draft.say("positions.beyond", model=match.spec.name.rsplit("/", 1)[-1],
              limit=count(limit, draft.language), length=count(length, draft.language),
              importance=HEAD)  # fmt: skip
