"""The bandwidth between the cards of one machine, as collectives reach it."""

from __future__ import annotations

from typing import NamedTuple


class Inside(NamedTuple):
    """A kind of link between cards and what a ring over it reaches."""

    name: str
    """NVLink or PCIe."""
    gb_s: float


def inside_of(card: str) -> Inside:
    """Link and GB/s inside a machine of a card.

    >>> inside_of("NVIDIA A100 SXM4 80GB")
    Inside(name='NVLink', gb_s=235.0)
    """
    from tools.speed import card as speed_card
    from tools.speed import intra_link
    from tools.speed.results import load_data

    link = intra_link(speed_card(card), None)
    gb_s = float(load_data("links")["intra_node_gb_s"][link]["value"])
    return Inside("NVLink" if link.startswith("nvlink") else "PCIe", gb_s)
