"""Which cloud each type that is named is of."""

from __future__ import annotations

from agent.understanding.lexicon.readings import Board


def clouds_of_types(board: Board) -> dict[str, str]:
    """Clouds of the types named, where their names or the words beside them tell which."""
    mentions = {reading.start: reading.value for reading in board.of("instance_mention")}
    found: dict[str, set[str]] = {}
    for reading in board.of("instance"):
        mention = mentions.get(reading.start)
        if mention is not None and mention.provider is not None:
            found.setdefault(reading.value, set()).add(mention.provider)
    return {name: next(iter(clouds)) for name, clouds in found.items() if len(clouds) == 1}
