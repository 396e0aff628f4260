"""Size of the KV cache: of one token, and of all that are kept, from a model or its config.json."""

from __future__ import annotations

from typing import Any, NamedTuple

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.joining import in_front
from agent.answering.telling.numbers import count, gib
from agent.request import Request
from agent.toolbox.registries import ModelReport
from tools.models import try_find_model
from tools.units import GB, KIB, format_significant

_WIDTHS = {"fp32": 4.0, "fp16": 2.0, "bf16": 2.0, "fp8": 1.0, "int8": 1.0, "q8_0": 34 / 32,
           "q4_0": 18 / 32, "int4": 0.5}  # fmt: skip
"""Bytes of one cached element; q8_0 and q4_0 carry a 2-byte scale for every 32."""


class _Shape(NamedTuple):
    """What one token's cache is made of."""

    name: str
    elements: int
    layers: int | None
    kv_heads: int | None
    heads: int | None
    head_dim: int | None
    source: str
    is_latent: bool = False
    """One compressed vector that all heads share (MLA): no heads to split over cards."""
    window: int | None = None
    """Tokens that sliding layers keep."""
    window_share: float = 0.0
    """Share of the elements that lie in sliding layers."""

    @property
    def is_plain(self) -> bool:
        """Whether two tensors of every layer's KV heads are all of it."""
        if self.layers is None or self.kv_heads is None or self.head_dim is None:
            return False
        return self.elements == 2 * self.layers * self.kv_heads * self.head_dim

    def kept(self, tokens: int) -> float:
        """Tokens of full layers that take as much as what all layers keep of so many."""
        if self.window is None or tokens <= self.window:
            return tokens
        return tokens * (1 - self.window_share) + self.window * self.window_share


def applies(request: Request, context: Context) -> bool:
    """True for the size of a cache, of a model that is known."""
    slots = request.slots
    if slots.task == "train" or request.goal is not None or not request.says("sizing.kv_cache"):
        return False
    is_each = request.says("sizing.each_token")
    if not is_each and not request.says("sizing.kv_size"):
        return False
    if _is_on_card(request) and not is_each and not _is_for_card(request):
        return False
    return slots.has_model or _config(request) is not None


def _is_on_card(request: Request) -> bool:
    return request.slots.has_card or request.slots.gpu_mem_gb is not None


def _is_for_card(request: Request) -> bool:
    """Whether the cache of a length is asked for beside a card that is to hold the model too."""
    has_length = request.slots.seq_len is not None or request.slots.input_len is not None
    is_run = request.intent in ("fit_check", "serving_plan", "multi_gpu_plan")
    return has_length and is_run and request.slots.has_model and not request.pasted


def compose(request: Request, context: Context) -> Plan:
    """Bytes a token with the product behind them, then those of the tokens that were said.

    Where a card is to hold the model too, the cache leads and the fit follows.
    """
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    config = _config(request)
    shape = _shape_of_config(draft, config) if config is not None else None
    if shape is None:
        results = yield (Call("find_model", {"name": slots.model, "params_b": slots.params_b}),)
        draft.use(*results)
        shape = _shape_of_report(results[0].report)
    if shape is None:
        draft.say("kv_cache.none", model=slots.model or "", importance=HEAD)
    else:
        _tell(draft, shape)
    told = draft.finish("not_applicable", intent="serving_plan")
    if shape is None or request.says("sizing.each_token") or not _is_on_card(request):
        return told
    from agent.answering import compose as answer_to

    rest = tuple(mark for mark in request.marks if mark != "sizing.kv_cache")
    answer = yield from answer_to(request.model_copy(update={"marks": rest}), context)
    return in_front(told, answer)


def _config(request: Request) -> dict[str, Any] | None:
    """Fields of a pasted config.json that say what a token leaves in the cache."""
    for item in request.pasted:
        if item.kind == "hf_config" and _elements(item.fields) is not None:
            return item.fields
    return None


def _elements(fields: dict[str, Any]) -> int | None:
    """Cached elements a token: MLA keeps one compressed vector, others two tensors a layer."""
    layers, heads = fields.get("num_hidden_layers"), fields.get("num_attention_heads")
    rank, rope = fields.get("kv_lora_rank"), fields.get("qk_rope_head_dim")
    if layers and rank and rope:
        return int(layers) * (int(rank) + int(rope))
    dim = fields.get("head_dim") or (
        int(fields["hidden_size"]) // int(heads) if heads and fields.get("hidden_size") else None
    )
    kv = fields.get("num_key_value_heads") or heads
    return 2 * int(layers) * int(kv) * int(dim) if layers and kv and dim else None


def _shape_of_config(draft: Draft, fields: dict[str, Any]) -> _Shape:
    elements = _elements(fields)
    assert elements is not None, "a config is taken only where its cache can be counted"
    layers, heads = int(fields["num_hidden_layers"]), fields.get("num_attention_heads")
    kv = int(fields.get("num_key_value_heads") or heads or 0) or None
    dim = elements // (2 * layers * kv) if kv and not fields.get("kv_lora_rank") else None
    name = draft.request.slots.model
    if name is None or name.startswith("config.json{"):
        name = draft.phrase("kv_cache.this_config")
    return _Shape(name, elements, layers, kv, heads, dim, "user:config",
                  is_latent=bool(fields.get("kv_lora_rank")))  # fmt: skip


def _shape_of_report(report: object) -> _Shape | None:
    if not isinstance(report, ModelReport) or not report.kv_elems_per_token:
        return None
    name = report.name.rsplit("/", 1)[-1].removesuffix(" reference architecture")
    dim = report.head_dim
    if dim is None and report.hidden_size and report.attention_heads:
        dim = report.hidden_size // report.attention_heads
    return _Shape(name, report.kv_elems_per_token, report.layers, report.kv_heads,
                  report.attention_heads, dim, report.source, **_traits(report.name))  # fmt: skip


def _traits(name: str) -> dict[str, Any]:
    """What of the attention changes what is kept: a compressed vector, sliding layers."""
    match = try_find_model(name)
    if match is None:
        return {}
    traits: dict[str, Any] = {"is_latent": match.spec.mla is not None}
    sliding = match.spec.sliding
    if sliding is not None and sliding.sliding_layers:
        layers = sliding.sliding_layers + (sliding.full_layers or 0)
        traits |= {"window": sliding.window, "window_share": sliding.sliding_layers / layers}
    return traits


def _width(draft: Draft) -> tuple[str, float]:
    """Format of the cache and its bytes: quantized weights leave it in 16 bit."""
    slots = draft.request.slots
    said = slots.kv_cache_dtype
    if said is None and slots.precision in ("fp32", "fp16"):
        said = slots.precision
    name = said if said in _WIDTHS else "bf16"
    return name, _WIDTHS[name]


def _tell(draft: Draft, shape: _Shape) -> None:
    form, width = _width(draft)
    each = shape.elements * width
    draft.figure("kv_elements_per_token", shape.elements, "1", sources=(shape.source,))
    draft.figure("bytes_of_an_element", width, "B", formula=form)
    draft.figure("kv_bytes_per_token", each, "B", formula="elements * bytes of an element")
    for name in ("layers", "kv_heads", "head_dim"):
        value = getattr(shape, name)
        if value is not None:
            draft.figure(name, value, "1", sources=(shape.source,))
    product = draft.phrase("kv_cache.elements", elements=f"{shape.elements:,}")
    if shape.is_plain:
        product = draft.phrase("kv_cache.product", layers=shape.layers, kv=shape.kv_heads,
                               dim=shape.head_dim)  # fmt: skip
    draft.say("kv_cache.each", model=shape.name, bytes=f"{each:,.0f}", form=form,
              kib=format_significant(each / KIB, 4), product=product, width=f"{width:g}",
              importance=HEAD)  # fmt: skip
    _say_on_each(draft, shape, each)
    _say_total(draft, shape, each)
    if shape.is_plain and shape.heads and shape.kv_heads and shape.kv_heads < shape.heads:
        ratio = shape.heads / shape.kv_heads
        draft.figure("attention_heads", shape.heads, "1", sources=(shape.source,))
        draft.figure("fewer", ratio, "1", formula="attention heads / kv heads")
        draft.say("kv_cache.grouped", kv=shape.kv_heads, heads=shape.heads, ratio=f"{ratio:g}")
    if width == _WIDTHS["bf16"]:
        draft.figure("kv_bytes_per_token_fp8", each / 2, "B", formula="elements * 1 B")
        draft.say("kv_cache.fp8", kib=format_significant(each / 2 / KIB, 4))
    draft.say("kv_cache.apart_latent" if shape.is_latent else "kv_cache.apart")


def _say_on_each(draft: Draft, shape: _Shape, each: float) -> None:
    """What a card of a tensor-parallel group keeps of a token: its heads, or all of a latent."""
    tp = draft.request.slots.tp
    if tp is None or tp < 2 or not (shape.is_latent or shape.is_plain):
        return
    values: dict[str, object] = {"tp": tp}
    share, key = each, "on_each_latent"
    if not shape.is_latent and shape.kv_heads:
        heads = max(1, -(-shape.kv_heads // tp))
        share, key = each * heads / shape.kv_heads, "on_each"
        draft.figure("kv_heads_on_each_card", heads, "1", formula="kv heads / TP, rounded up")
        values |= {"kv": shape.kv_heads, "heads": heads}
    draft.figure("tp", tp, "1", sources=("user:tp",))
    draft.figure("kv_bytes_per_token_on_each_card", share, "B", formula="bytes * heads / kv heads")
    draft.say(f"kv_cache.{key}", bytes=f"{share:,.0f}", kib=format_significant(share / KIB, 4),
              importance=HEAD, **values)  # fmt: skip


def _say_total(draft: Draft, shape: _Shape, each: float) -> None:
    """Bytes of the tokens that were said, of one sequence and of all at once."""
    slots = draft.request.slots
    tokens = slots.seq_len or slots.tokens or slots.input_len
    if tokens is None:
        return
    at_once = slots.concurrency or 1
    total = each * shape.kept(tokens)
    draft.figure("tokens", tokens, "token", sources=("user:tokens",))
    draft.figure("kv_bytes", total, "B", formula="bytes per token * tokens that are kept")
    told = {
        "tokens": count(tokens, draft.language),
        "gb": f"{format_significant(total / GB, 3)} GB",
    }
    draft.say("kv_cache.total", gib=gib(total), importance=HEAD, **told)
    if shape.window is not None and tokens > shape.window:
        share = f"{100 * shape.window_share:.0f}%"
        draft.figure("window", shape.window, "token", sources=(shape.source,))
        draft.figure("sliding_share", round(100 * shape.window_share), "%", sources=(shape.source,))
        draft.say("kv_cache.window", window=count(shape.window, draft.language), share=share,
                  importance=HEAD)  # fmt: skip
    if at_once > 1:
        draft.figure("sequences", at_once, "1", sources=("user:concurrency",))
        draft.figure("kv_bytes_of_all", total * at_once, "B", formula="kv_bytes * sequences")
        told_gb = f"{format_significant(total * at_once / GB, 3)} GB"
        draft.say("kv_cache.at_once", sequences=at_once, gib=gib(total * at_once), gb=told_gb,
                  importance=HEAD)  # fmt: skip
