"""Claims on the numbers of a text, shared out: each number, and each word, serves one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

_EACH = 1.5
"""What one more number understood is worth beside the strength of the bonds."""
_MOST_TRIED = 14
"""Claims of one knot that are weighed against each other; of more the strongest first."""
Place = tuple[int, int]


class Claim(Protocol):
    """A number that the words beside it give to a rule."""

    @property
    def place(self) -> Place:
        """Where number and words stand, first to last."""
        ...

    @property
    def number(self) -> Place:
        """Where the number stands."""
        ...

    @property
    def word(self) -> Place:
        """Where the words stand that claim the number."""
        ...

    @property
    def score(self) -> float:
        """Strength of the bond between them."""
        ...


_C = TypeVar("_C", bound=Claim)


def shared_out(found: Sequence[_C]) -> list[_C]:
    """The claims that stand beside each other and are strongest together, best first.

    One number may be claimed for several things, and one word may claim the numbers on both its
    sides ("内存 64G 显存 24G", "64G 内存 24G 显存"): the most numbers understood count.
    """
    kept: list[_C] = []
    for knot in _knots(sorted(found, key=lambda claim: claim.place)):
        ordered = sorted(knot, key=order)
        if len(knot) > _MOST_TRIED:
            for claim in ordered:
                if not any(_clash(claim, other) for other in kept):
                    kept.append(claim)
        else:
            kept += _best_of(ordered)[1]
    return sorted(kept, key=order)


def order(claim: Claim) -> tuple[float, int, int]:
    """Sorting key of claims: the strongest, longest, first."""
    start, end = claim.place
    return (-claim.score, start - end, start)


def _knots(ordered: list[_C]) -> Iterator[list[_C]]:
    """Runs of claims that touch one another."""
    knot: list[_C] = []
    reach = -1
    for claim in ordered:
        start, end = claim.place
        if knot and start >= reach:
            yield knot
            knot = []
        knot.append(claim)
        reach = max(reach, end)
    if knot:
        yield knot


def _best_of(knot: list[_C]) -> tuple[float, list[_C]]:
    """The strongest set of claims without a clash, and its strength."""
    if not knot:
        return 0.0, []
    first, rest = knot[0], knot[1:]
    free = [other for other in rest if not _clash(first, other)]
    strength, chosen = _best_of(free)
    with_it = (strength + first.score + _EACH, [first, *chosen])
    if len(free) == len(rest):
        return with_it
    without = _best_of(rest)
    return with_it if with_it[0] >= without[0] else without


def _clash(one: Claim, other: Claim) -> bool:
    """Whether two claims want the same number, or the same word for two numbers."""
    return _overlap(one.number, other.number) or _overlap(one.word, other.word)


def _overlap(one: Place, other: Place) -> bool:
    return one[0] < other[1] and other[0] < one[1]
