"""What it costs: prices, products of hours and machines, budgets, spot."""

ASKED = ("billing", "token_cost", "budget_hours", "sums", "worth", "spot_notice", "spot", "prices")
"""Composers of narrower questions, in the order in which they are asked."""
