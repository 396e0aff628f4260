"""What to rent: offers for a run or for a need, and what a machine of the catalog is."""

ASKED = ("instance_race", "family_sizes", "by_need", "by_deadline", "by_month", "machine_price",
         "catalog")  # fmt: skip
"""Composers of narrower questions, in the order in which they are asked."""
