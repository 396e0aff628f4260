"""What fewer key and value heads save: the cache goes with their number, not with the queries'."""

from __future__ import annotations

from agent.answering.plan import Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from tools.units import format_significant

_HALF = ("fp8", "int8", "q8_0")
"""Widths of a cache of one byte an element, where 16 bit has two."""


def applies(request: Request, context: Context) -> bool:
    """True for heads of queries and of keys that are said without a model, now or a turn ago."""
    if request.slots.has_model or request.intent not in ("concept", "serving_plan", "fit_check"):
        return False
    goes_on = _is_8bit(request) or request.says("sizing.kv_cache")
    return _heads(request) is not None or (
        goes_on and bool(context.earlier) and _heads(context.earlier[-1]) is not None
    )


def _is_8bit(request: Request) -> bool:
    """Whether the cache is to be kept in one byte an element."""
    slots = request.slots
    return (slots.kv_cache_dtype or slots.quantization or slots.precision) in _HALF


def _heads(request: Request) -> tuple[int, int] | None:
    """(attention heads, key and value heads) that were said, where the second divide the first."""
    heads = request.amounts.get("sizing.heads", ())
    kv_heads = request.amounts.get("sizing.kv_heads", ())
    if not heads or not kv_heads:
        return None
    whole, kept = int(max(heads)), int(kv_heads[0])
    return (whole, kept) if 0 < kept <= whole and whole % kept == 0 else None


def compose(request: Request, context: Context) -> Plan:
    """The share of the cache that is left, with its arithmetic."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    found = _heads(request) or _heads(context.earlier[-1])
    assert found is not None
    heads, kept = found
    results = yield (guidance_call(request, k=1),)
    draft.use(*results)
    draft.figure("heads", heads, "1", sources=("user:heads",))
    draft.figure("kv_heads", kept, "1", sources=("user:kv_heads",))
    draft.figure("times", heads // kept, "1", formula="heads / kv_heads")
    saved = 100 * (1 - kept / heads)
    draft.figure("saved", saved, "%", formula="1 - kv_heads / heads")
    draft.say("kv_cache.head_share", heads=heads, kv=kept, times=heads // kept,
              saved=format_significant(saved, 3), importance=HEAD)  # fmt: skip
    if _is_8bit(request):
        draft.figure("times_with_width", 2 * heads // kept, "1", formula="2 * heads / kv_heads")
        draft.say("kv_cache.head_share_8bit", times=2 * heads // kept, importance=HEAD)
    say_cited(draft, passages_in(results)[:1])
    return draft.finish("not_applicable", intent="concept")
