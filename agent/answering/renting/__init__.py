"""What to rent: offers for a run or for a need, and what a machine of the catalog is."""

ASKED = ("instance_race", "family_sizes", "by_need", "by_deadline", "machine_price", "catalog")
"""Composers of narrower questions, in the order in which they are asked."""
