"""What it costs: prices, products of hours and machines, budgets, spot."""

ASKED = (
    "electricity", "saved", "billing", "token_cost", "budget_hours", "smaller", "sums", "worth",
    "spot_notice", "spot", "prices",
)  # fmt: skip
"""Composers of narrower questions, in the order in which they are asked."""
