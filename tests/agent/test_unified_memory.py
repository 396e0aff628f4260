"""Unified memory: its size counts, its bandwidth is said, and the format decides."""

from __future__ import annotations

from agent import ungrounded
from tests.agent.answers import answered


def test_unified_memory_is_told_with_its_bandwidth() -> None:
    """70e9 parameters of two bytes are 140 GB, over the 128; of one byte 70 GB, within them."""
    question = "a DGX Spark has 128GB of unified memory, is it as good as VRAM for a 70B?"
    answer, _ = answered(question)
    assert answer.verdict == "depends"
    assert "273 GB/s" in answer.text
    assert not ungrounded(answer, question=question)
