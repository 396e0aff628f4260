"""What went wrong: memory that ran out, servers that do not start, machines at hand."""

ASKED = (
    "card_totals", "environment", "engine_start", "flash_error", "busy_cards",
    "eval_oom", "container_oom", "prefill_oom", "file_and_need", "shared_card",
)  # fmt: skip
"""Composers of narrower questions, in the order in which they are asked."""
