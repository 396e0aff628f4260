"""How long, how fast, how many at once: time, rates, serving plans."""

ASKED = ("first_token", "remaining", "item_race", "more_cards", "items", "fit_and_hours")
"""Composers of narrower questions, in the order in which they are asked."""
