"""The longest context that fits is among the changes of a server that does not fit."""

from __future__ import annotations

from tools.memory import InferenceWorkload, what_to_change
from tools.models import find_model
from tools.units import GIB


def test_the_longest_context_is_offered() -> None:
    """18 GiB of weights leave about 2 GiB of 0.92 * 23.5; a token takes 64*8*128*2*2 B = 256 KiB,
    so some thousand tokens fit, and half of 32768 does not."""
    spec = find_model("Qwen2.5-32B-Instruct").spec
    workload = InferenceWorkload(
        spec, engine="vllm", weight_format="awq-int4", context_len=32768,
        gpu_memory_utilization=0.92,
    )  # fmt: skip
    changes = what_to_change(workload, int(23.5 * GIB))
    offered = [int(c.name.partition("=")[2]) for c in changes
               if c.name.startswith("context_len=") and c.fits]  # fmt: skip
    assert len(offered) == 1
    assert 4096 <= offered[0] <= 10240
