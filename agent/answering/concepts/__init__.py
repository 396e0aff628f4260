"""What things are: cards, terms, false premises, and what is not answered."""

ASKED = ("beginnings", "card_balance", "pooled")
"""Composers of narrower questions, in the order in which they are asked."""
