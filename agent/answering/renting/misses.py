"""An offer that does not quite do: its price, what it lacks by figures, and what would do."""

from __future__ import annotations

from agent.answering.fitting.kernels import kernel_name
from agent.answering.telling.draft import Draft
from agent.answering.telling.machines import price_text
from agent.answering.telling.numbers import gib
from agent.toolbox.rent import MissOut, NearMissOut

_PLAIN = ("no_price", "price", "no_bf16", "no_nvlink", "no_rdma")


def miss_line(draft: Draft, found: NearMissOut) -> str:
    """One line; empty where there is nothing worth telling."""
    miss = found.misses[0]
    values = {
        "instance": f"`{found.instance_type}`",
        "gpu": found.gpu or "?",
        "price": _price(draft, found),
    }
    if miss.code in ("memory", "tight") and miss.needed and miss.has:
        return _memory_line(draft, found, miss, values)
    if miss.code == "no_kernel" and miss.needed and miss.has:
        for name, value in (("least_capability", miss.needed), ("capability", miss.has)):
            draft.figure(name, value, "1", sources=("data:kernels.json",))
        engine, _, form = (miss.detail or "").partition(" ")
        return draft.phrase("misses.kernel", needed=f"{miss.needed:.1f}", has=f"{miss.has:.1f}",
                            what=kernel_name(engine, form or None), **values)  # fmt: skip
    if miss.code in _PLAIN:
        reason = draft.phrase(f"misses.reason_{miss.code}")
        return draft.phrase("misses.other", reason=reason, **values)
    return ""


def _price(draft: Draft, found: NearMissOut) -> str:
    price = found.price
    if price is None:
        return ""
    unit = f"{price.currency}/{'h' if price.per == 'hour' else 'month'}"
    draft.figure(f"{found.instance_type}: price", price.amount, unit, sources=(price.source,))
    return draft.phrase("misses.price", price=price_text(draft, price))


def _memory_line(draft: Draft, found: NearMissOut, miss: MissOut, values: dict[str, str]) -> str:
    assert miss.needed is not None
    assert miss.has is not None
    name = "needed" if miss.code == "memory" else "upper bound"
    draft.figure(f"{found.instance_type}: {name}", miss.needed, "B", formula="estimate")
    draft.figure(f"{found.instance_type}: usable", miss.has, "B", formula="catalog")
    line = draft.phrase(f"misses.{miss.code}", need=gib(miss.needed), has=gib(miss.has),
                        **values)  # fmt: skip
    held, asked = found.requests_held, found.requests
    if not held or not asked or held >= asked:
        return line
    draft.figure(f"{found.instance_type}: requests held", held, "1",
                 formula="(usable - weights - work) / cache of a request")  # fmt: skip
    draft.figure("requests asked", asked, "1", sources=("user:concurrency",))
    key = "queue" if _FP8_GAIN * held >= asked else "queue_far"
    return line + draft.phrase(f"misses.{key}", held=held, asked=asked)


_FP8_GAIN = 2
"""Times the requests that an 8-bit cache holds beside a 16-bit one."""
_FAR = 1.6
"""Times the usable memory from which a need is not nearly there."""


def is_near(found: NearMissOut) -> bool:
    """Whether what an offer lacks is little enough to be worth a line."""
    miss = found.misses[0]
    if miss.code not in ("memory", "tight") or not miss.needed or not miss.has:
        return True
    held, asked = found.requests_held, found.requests
    holds_half = held is not None and asked is not None and 2 * held >= asked
    return miss.needed <= _FAR * miss.has or holds_half
