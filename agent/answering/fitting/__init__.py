"""Whether a run fits a card, what takes the memory, and what would make it fit."""

ASKED = ("left_over", "sequence_parallel", "together", "frozen", "occupied")
"""Composers of narrower questions, in the order in which they are asked."""
