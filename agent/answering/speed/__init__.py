"""How long, how fast, how many at once: time, rates, serving plans."""

ASKED = ("first_token", "remaining", "item_race", "items")
"""Composers of narrower questions, in the order in which they are asked."""
