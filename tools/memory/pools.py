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
    """The setting as messages and configurations of the engine spell it."""
    title: str
    """The engine's own name."""
    option: str
    """The setting as it is written on the command line."""
    source: str
    """Where the share comes from."""
    length: str
    """The setting of the longest request."""
    requests: str
    """The setting of requests at once."""
    graphs: str
    """What turns CUDA graphs off; empty where there is no such setting."""

    @property
    def is_reserved(self) -> bool:
        """Whether the engine takes its share when it starts, whatever is asked of it."""
        return self.of != "request"


def known_pool(engine: str | None) -> CachePool | None:
    """The rule of an engine by any of its names; None for a name that is no engine's.

    >>> known_pool("mindie").title, known_pool("deepspeed"), known_pool(None)
    ('vLLM', None, None)
    """
    name = row_name("engines", engine) if engine is not None else None
    if name is None:
        return None
    row = table("engines")[name]
    of: Literal["card", "free", "request"] = "request"
    share = 1.0
    if row.get("pool_share"):
        of, share = "card", float(row["pool_share"])
    elif row.get("pool_free_share"):
        of, share = "free", float(row["pool_free_share"])
    words = {
        key: str(row.get(key, "")) for key in ("flag", "option", "length", "requests", "graphs")
    }
    return CachePool(
        engine=name, of=of, share=share, title=row.get("title", name), source=row["source"], **words
    )


def cache_pool(engine: str | None) -> CachePool:
    """The rule of an engine by any of its names; of the usual server where none is said.

    >>> cache_pool("lmdeploy").of, cache_pool("vllm").share, cache_pool("ollama").of
    ('free', 0.9, 'request')
    """
    found = known_pool(engine) or known_pool(_USUAL)
    assert found is not None, "the usual server has a row"
    return found
