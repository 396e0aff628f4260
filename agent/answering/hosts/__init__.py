"""Runs on memory that is no card's: processors, host RAM, layers shared between both."""

ASKED = (
    "office_machines", "speech_on_cpu", "encoder_on_cpu", "llm_on_cpu", "cpu_type",
    "preprocessing", "host",
)  # fmt: skip
"""Composers of narrower questions, in the order in which they are asked."""
