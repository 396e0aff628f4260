"""Sizes that are looked for: the largest model, the fewest cards, a cache, a checkpoint."""

ASKED = (
    "usual_nets", "zero_stages", "service_copies", "head_share", "kv_cache", "replicas", "saves",
    "id_tables", "largest_trained", "request_rate", "objective_extra", "accumulation", "inverse",
)  # fmt: skip
"""Composers of narrower questions, in the order in which they are asked."""
