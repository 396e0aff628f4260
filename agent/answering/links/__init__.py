"""What feeds the cards: networks between machines, storage and loading."""

ASKED = (
    "copying", "busbw", "over_sockets", "mixed_cards", "hybrid", "adapter_links", "storage_rate",
    "shared_inference",
    "loading",
)  # fmt: skip
"""Composers of narrower questions, in the order in which they are asked."""
