"""How an engine comes by its cache: a share of the card, of what is free, or as asked."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tools.memory.tables import row_name, table

_USUAL = "vllm"


class CachePool(NamedTuple):
    """What an engine reserves for the cache."""

    engine: str
    of: Literal["card", "free", "request"]
    """A share of the card with the weights in it, a share of what the weights leave, or just the
    context that was set (llama.cpp, Ollama, plain transformers)."""
    share: float
    flag: str
    """The setting as the engine spells it."""


_FLAGS = {
    "vllm": "gpu_memory_utilization", "sglang": "mem_fraction_static",
    "tgi": "cuda_memory_fraction", "lmdeploy": "cache_max_entry_count",
    "tensorrt-llm": "free_gpu_memory_fraction", "llama.cpp": "ctx_size", "ollama": "num_ctx",
}  # fmt: skip


def cache_pool(engine: str | None) -> CachePool:
    """The rule of an engine by any of its names; of the usual server where none is said.

    >>> cache_pool("lmdeploy").of, cache_pool("vllm").share, cache_pool("ollama").of
    ('free', 0.9, 'request')
    """
    name = (row_name("engines", engine) if engine is not None else None) or _USUAL
    row = table("engines")[name]
    flag = _FLAGS.get(name, "")
    if row.get("pool_share"):
        return CachePool(name, "card", float(row["pool_share"]), flag)
    if row.get("pool_free_share"):
        return CachePool(name, "free", float(row["pool_free_share"]), flag)
    return CachePool(name, "request", 1.0, flag)
