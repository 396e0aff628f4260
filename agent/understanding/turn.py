"""One text, read by itself: everything that the readers find in it, and its slots."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.request import Pasted
from agent.understanding.kinds.scope import set_aside
from agent.understanding.lexicon.frames import asked
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document, blanked
from agent.understanding.lexicon.topics import topics_of
from agent.understanding.readers.amounts import read_amounts
from agent.understanding.readers.counts import (
    read_classes,
    read_counts,
    read_impossible_counts,
    read_loose_tokens,
    read_node_products,
    read_round_the_clock,
    read_token_totals,
    read_vgpu,
)
from agent.understanding.readers.data_amounts import read_data_amounts
from agent.understanding.readers.data_sets import read_data_sets
from agent.understanding.readers.durations import read_durations, read_rates, read_step_rates
from agent.understanding.readers.hosts import read_hosts
from agent.understanding.readers.id_tables import read_id_tables
from agent.understanding.readers.in_use import read_in_use
from agent.understanding.readers.links import read_links
from agent.understanding.readers.loads import read_loads
from agent.understanding.readers.money import read_money
from agent.understanding.readers.names import read_cards, read_instances, read_models
from agent.understanding.readers.other_kinds import read_other_kinds
from agent.understanding.readers.pairs import (
    read_in_and_out,
    read_patches,
    read_people,
    read_resolutions,
    read_screens,
    read_shorthand,
)
from agent.understanding.readers.pasted import read_pasted
from agent.understanding.readers.pictures import read_pictures_made
from agent.understanding.readers.processors import read_processor
from agent.understanding.readers.quantities import read_quantities
from agent.understanding.readers.recurrence import read_recurrence
from agent.understanding.readers.regions import read_regions
from agent.understanding.readers.routes import read_routes
from agent.understanding.readers.sizes import read_active, read_products, read_sizes
from agent.understanding.readers.tallies import read_tallies
from agent.understanding.readers.words import read_programs, read_words
from agent.understanding.settling.resolution import Resolution
from agent.understanding.settling.resolve import resolve
from agent.understanding.settling.taken_back import drop_taken_back

_NAMES = ("model_match", "model_family", "model_small", "card", "instance_mention", "quiet")


@dataclass(slots=True)
class Turn:
    """One text, read by itself."""

    document: Document
    whole: str
    """The folded text with the orders still in it."""
    orders: list[tuple[int, int]]
    board: Board
    pasted: list[Pasted]
    corrected: bool
    """Whether something said before is taken back."""
    out: Resolution
    prose: str
    topics: tuple[str, ...]
    asked: frozenset[str]
    """Kinds of questions whose frame stands in the text."""


def read_turn(text: str) -> Turn:
    """Everything that the text says by itself."""
    document = Document.of(text)
    whole = document.text
    orders = set_aside(document)
    board = Board()
    pasted = read_pasted(document, board)
    _read_all(document, board)
    corrected = drop_taken_back(document, board)
    out = resolve(document, board)
    prose = _without_settings(document, board)
    return Turn(
        document, whole, orders, board, pasted, corrected, out, prose, topics_of(prose),
        asked(prose, board),
    )  # fmt: skip


def _read_all(document: Document, board: Board) -> None:
    """Run every reader of names, numbers and words."""
    read_programs(document, board)
    read_links(document, board)
    read_in_use(document, board)
    read_products(document, board)
    read_token_totals(document, board)
    read_instances(document, board)
    read_regions(document, board)
    read_models(document, board)
    read_pictures_made(document, board)
    read_round_the_clock(document, board)
    read_node_products(document, board)
    read_cards(document, board)
    read_vgpu(document, board)
    read_hosts(document, board)
    read_processor(document, board)
    read_loads(document, board)
    read_classes(document, board)
    read_active(document, board)
    read_id_tables(document, board)
    read_sizes(document, board)
    read_tallies(document, board)
    read_money(document, board)
    read_tallies(document, board)
    read_patches(document, board)
    read_resolutions(document, board)
    read_screens(document, board)
    read_shorthand(document, board)
    read_in_and_out(document, board)
    read_other_kinds(document, board)
    read_step_rates(document, board)
    read_recurrence(document, board)
    read_durations(document, board)
    read_rates(document, board)
    read_data_amounts(document, board)
    read_data_sets(document, board)
    read_routes(document, board)
    read_quantities(document, board)
    read_people(document, board)
    read_amounts(document, board)
    read_counts(document, board)
    read_impossible_counts(document, board)
    read_loose_tokens(document, board)
    names = [
        (_path_start(document.text, r.start) if r.slot == "model_match" else r.start, r.end)
        for r in board.readings
        if r.slot in _NAMES
    ]
    read_words(document, board, names=names)


_OWNER = re.compile(r"[a-z0-9_.\-]{2,40}/\Z")


def _path_start(text: str, start: int) -> int:
    """Where a name begins with the owner of its repository: unsloth/Qwen3-14B runs no unsloth."""
    found = _OWNER.search(text[max(0, start - 48) : start])
    return start - len(found[0]) if found is not None else start


def _without_settings(document: Document, board: Board) -> str:
    """The text with log figures, settings and the budget blanked: what is given is not asked."""
    given = ("quiet", "budget")
    quiet = [(reading.start, reading.end) for reading in board.readings if reading.slot in given]
    return blanked(document.text, quiet)
