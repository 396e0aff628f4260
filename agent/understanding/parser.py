"""Text and the conversation so far → one typed `Request`."""

from __future__ import annotations

from collections.abc import Sequence

from agent.answer import Language
from agent.request import Pasted, Request
from agent.understanding.intent import choose_intent, features_of
from agent.understanding.language import language_of
from agent.understanding.readers.amounts import read_amounts
from agent.understanding.readers.counts import read_counts, read_node_products
from agent.understanding.readers.money import read_money
from agent.understanding.readers.names import read_cards, read_instances, read_models
from agent.understanding.readers.pasted import read_pasted
from agent.understanding.readers.quantities import read_quantities
from agent.understanding.readers.sizes import read_sizes
from agent.understanding.readers.words import read_words
from agent.understanding.readings import Board
from agent.understanding.resolve import Resolution, resolve
from agent.understanding.text import Document


def parse(
    text: str, history: Sequence[Request] = (), *, language: Language | None = None
) -> Request:
    """What is asked, as a typed request.

    Args:
        text: Anything a person types or pastes, of any length.
        history: Requests of the same conversation, oldest first.
        language: Language to answer in, where the caller knows; else that of the text.

    Returns:
        The request; it never raises on any text.
    """
    last = history[-1].language if history else None
    spoken = language or language_of(text, last)
    document = Document.of(text)
    board = Board()
    pasted = read_pasted(document, board)
    read(document, board)
    out = resolve(document, board)
    features = features_of(document.text, out, _pasted_features(pasted))
    return Request(
        language=spoken,
        intent=choose_intent(features),
        slots=out.slots(),
        spans={slot: document.span(r.start, r.end) for slot, r in out.readings.items()},
        inferred=tuple(sorted(out.inferred)),
        ambiguities=tuple(out.ambiguities),
        pasted=tuple(pasted),
        search_query=text[:400].strip(),
    )


_NAMES = ("model_match", "model_family", "model_small", "card", "instance_mention")
_PASTED = {
    "cuda_oom": "pasted_oom",
    "host_kill": "pasted_kill",
    "nvidia_smi": "pasted_smi",
    "serve_command": "pasted_serve",
    "yaml_config": "pasted_config",
    "training_arguments": "pasted_config",
    "error_message": "error_message",
}


def _pasted_features(pasted: list[Pasted]) -> set[str]:
    return {_PASTED[item.kind] for item in pasted if item.kind in _PASTED}


def read(document: Document, board: Board) -> None:
    """Run every reader of names, numbers and words over a document."""
    read_instances(document, board)
    read_models(document, board)
    read_node_products(document, board)
    read_cards(document, board)
    read_sizes(document, board)
    read_money(document, board)
    read_quantities(document, board)
    read_amounts(document, board)
    read_counts(document, board)
    names = [(r.start, r.end) for r in board.readings if r.slot in _NAMES]
    read_words(document, board, names=names)


__all__ = ["Resolution", "parse", "read"]
