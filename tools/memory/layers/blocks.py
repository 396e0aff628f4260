"""Attention, MLP and expert blocks of decoder layers, written on a `Net`."""

from __future__ import annotations

from tools.memory.layers.ops import Net
from tools.memory.layers.plan import LayerPlan
from tools.memory.tape import Size, Tensor, fixed, per_key, per_token


def attention(net: Net, x: Tensor, plan: LayerPlan) -> Tensor:
    """Self-attention from the normalised stream to the output projection."""
    if plan.mla is not None:
        return _mla(net, x, plan)
    if plan.linear_attention is not None:
        return _linear_attention(net, x, plan)
    query, key, value = _projections(net, x, plan)
    gate = None
    if plan.output_gate:
        query, gate = net.part(query, plan.q), net.part(query, plan.q)
    if plan.qk_norm:
        query = net.norm(query, plan.norm, groups=plan.q_groups)
        key = net.norm(key, plan.norm, groups=plan.kv_groups)
    query, key = _rotary(net, query, plan), _rotary(net, key, plan)
    out = scores(net, query, key, value, plan)
    net.tape.touch(x)
    if plan.rotary in ("partial", "interleaved") or plan.unfused_sdpa:
        out = net.new("contiguous", out, plan.q)
    if gate is not None:
        sigmoid = net.relu(gate)
        out = net.mul(out, sigmoid)
    return net.linear(out, "o", plan.q, plan.hidden, bias=plan.o_bias, rows=plan.stream)


def _projections(net: Net, x: Tensor, plan: LayerPlan) -> tuple[Tensor, Tensor, Tensor]:
    width_q = plan.q * (2 if plan.output_gate else 1)
    if plan.fused_qkv:
        total = width_q + 2 * plan.kv
        fused = net.linear(x, "qkv", plan.hidden, total, bias=plan.qkv_bias)
        if plan.qkv_clamp:
            fused = net.silu(fused)
        query = net.part(fused, width_q)
        key, value = net.part(fused, plan.kv), net.part(fused, plan.kv)
        if plan.kv_copied:
            key, value = net.new("index", key, plan.kv), net.new("index", value, plan.kv)
        return query, key, value
    query = net.linear(x, "q", plan.hidden, width_q, bias=plan.qkv_bias)
    if plan.scaled_query:
        query = net.scale(query)
    key = net.linear(x, "k", plan.hidden, plan.kv, bias=plan.qkv_bias)
    value = net.linear(x, "v", plan.hidden, plan.kv, bias=plan.qkv_bias)
    return query, key, value


def _rotary(net: Net, x: Tensor, plan: LayerPlan) -> Tensor:
    if plan.rotary == "none":
        return x
    wide = net.cast(x, 4) if plan.rotary == "float" else x
    saved = []
    if plan.rotary in ("interleaved", "interleaved_float"):
        share, width = (0.5, 2) if plan.rotary == "interleaved" else (1, 4)
        angles = net.tape.op("angles", [], per_key(plan.head_dim * share), width, grad_needed=False)
        saved = [angles.storage]
    out = net.tape.op("rotary", [wide], wide.elements, wide.width, saved=saved)
    net.tape.last.work = wide.size.times(2)
    net.tape.last.work_back = wide.size.times(2)
    return net.cast(out, x.width)


def scores(net: Net, query: Tensor, key: Tensor, value: Tensor, plan: LayerPlan) -> Tensor:
    """Attention proper; what is kept depends on the kernel."""
    mode = net.mode
    kind = mode.attention
    if kind != "eager" and plan.needs_eager:
        kind = "eager"
    if net.mode.autocast or kind == "flash":
        query, key, value = net.cast(query, 2), net.cast(key, 2), net.cast(value, 2)
    grouped = plan.heads != plan.kv_heads
    masked = mode.masked or plan.masked
    unfused = plan.unfused_sdpa or (grouped and query.width == 4 and not masked)
    if kind == "fused" and unfused and not mode.kv_expanded:
        return _math(net, query, key, value, plan)
    expand = grouped and (
        kind == "eager" or mode.masked or mode.kv_expanded or (plan.masked and kind != "flash")
    )
    if expand:
        is_cast = mode.autocast and mode.stream_width == 4 and plan.rotary != "none"
        key = _repeated(net, key, plan, kind, is_cast=is_cast)
        value = _repeated(net, value, plan, kind)
    if kind == "eager":
        return _eager(net, query, key, value, plan)
    saved = [query.storage, key.storage, value.storage]
    if mode.masked or (plan.masked and kind != "flash"):
        mask = net.tape.op("mask", [], Size(0.0, 0.0, 1.0), query.width, grad_needed=False)
        saved.append(mask.storage)
    sums = net.tape.op("logsumexp", [], per_token(plan.heads), 4, grad_needed=False)
    return net.tape.op(
        "sdpa", [query, key, value], per_token(plan.out_width), query.width,
        saved=[*saved, sums.storage], saves_out=True,
    )  # fmt: skip


def _repeated(net: Net, x: Tensor, plan: LayerPlan, kind: str, *, is_cast: bool = False) -> Tensor:
    """Keys or values for every query head: a copy, but of a single head a view (stride 0).

    The matrix product of eager attention copies that view when the batch has more than one row;
    a cast after the repetition (rotated keys under autocast) writes it out.
    """
    if plan.kv_heads == 1 and kind != "eager" and not is_cast:
        return net.tape.op("expand", [x], per_token(plan.q), x.width, view_of=x)
    return net.new("repeat_kv", x, plan.q)


def _copied(net: Net, x: Tensor) -> Tensor:
    """A matrix product copies a slice of a fused tensor and keeps the copy."""
    if x.storage.size == x.size:
        return x
    return net.tape.op("copy", [x], x.elements, x.width)


def _eager(net: Net, query: Tensor, key: Tensor, value: Tensor, plan: LayerPlan) -> Tensor:
    square = Size(0.0, 0.0, plan.heads)
    tape = net.tape
    query, key, value = _copied(net, query), _copied(net, key), _copied(net, value)
    weights = tape.op(
        "scores", [query, key], square, query.width, saved=[query.storage, key.storage]
    )
    products = weights
    weights = net.scale(weights)
    if plan.softcap:
        weights = net.scale(weights)
        weights = net.relu(weights)
        weights = net.scale(weights)
    masked = net.scale(weights)
    if plan.sinks:
        weights = net.softmax(net.scale(masked), masked.width)
    else:
        weights = net.cast(net.softmax(masked, 4), query.width)
    tape.touch(masked)
    if plan.needs_eager and plan.rotary == "none":  # Bloom, MPT: a name holds the products
        tape.touch(products)
    if plan.attention_dropout:
        weights = net.drop(weights)
    out = tape.op(
        "mix", [weights, value], per_token(plan.out_width), query.width,
        saved=[weights.storage, value.storage],
    )  # fmt: skip
    for held in (query, key, value):
        tape.touch(held)
    return out


def _math(net: Net, query: Tensor, key: Tensor, value: Tensor, plan: LayerPlan) -> Tensor:
    """The unfused kernel of scaled_dot_product_attention: everything in fp32, K and V repeated.

    A single key-value head that the module hands over unrepeated (Falcon) is repeated too on
    CUDA; simulated steps broadcast it.
    """
    tape = net.tape
    square = Size(0.0, 0.0, plan.heads)
    width, given = query.width, query
    query = net.scale(net.cast(query, 4))
    key, value = net.cast(key, 4), net.cast(value, 4)
    if plan.heads != plan.kv_heads and (net.mode.cuda or not plan.unfused_sdpa):
        key, value = net.new("repeat_kv", key, plan.q), net.new("repeat_kv", value, plan.q)
    key = net.scale(key)
    weights = tape.op("scores", [query, key], square, 4, saved=[query.storage, key.storage])
    weights = net.scale(weights)
    weights = net.softmax(weights, 4)
    out = tape.op(
        "mix", [weights, value], per_token(plan.out_width), 4,
        saved=[weights.storage, value.storage],
    )  # fmt: skip
    for held in (given, query, key, value):
        tape.touch(held)
    return net.cast(out, width)


def _mla(net: Net, x: Tensor, plan: LayerPlan) -> Tensor:
    """Multi-head latent attention, with keys and values expanded for training."""
    dims = plan.mla
    assert dims is not None
    rope, nope, val = dims.qk_rope_head_dim, dims.qk_nope_head_dim, dims.v_head_dim
    heads = plan.heads
    if dims.q_lora_rank is None:
        query = net.linear(x, "q_b", plan.hidden, heads * (nope + rope))
    else:
        low = net.linear(x, "q_a", plan.hidden, dims.q_lora_rank)
        low = net.norm(low, plan.norm)
        query = net.linear(low, "q_b", dims.q_lora_rank, heads * (nope + rope))
    latent = net.linear(x, "kv_a", plan.hidden, dims.kv_lora_rank + rope)
    compressed = net.part(latent, dims.kv_lora_rank)
    key_rope = net.part(latent, rope)
    normed = net.norm(compressed, plan.norm)
    expanded = net.linear(normed, "kv_b", dims.kv_lora_rank, heads * (nope + val))
    key_nope, value = net.part(expanded, heads * nope), net.part(expanded, heads * val)
    query_rope = _rotary(net, net.part(query, heads * rope), plan)
    key_rope = _rotary(net, key_rope, plan)
    whole = per_token(heads * (nope + rope))
    query_nope = net.part(query, heads * nope)
    query = net.tape.op("cat", [query_nope, query_rope], whole, query.width)
    key = net.tape.op("cat", [key_nope, key_rope], whole, key_nope.width)
    out = scores(net, query, key, value, plan)
    return net.linear(out, "o", heads * val, plan.hidden, rows=plan.stream)


def _linear_attention(net: Net, x: Tensor, plan: LayerPlan) -> Tensor:
    """Gated DeltaNet and kin in the chunked reference form."""
    dims = plan.linear_attention
    assert dims is not None
    heads = dims.num_value_heads or dims.num_heads or plan.heads
    value_dim = heads * (dims.value_head_dim or dims.head_dim or plan.head_dim)
    key_dim = (dims.num_key_heads or heads) * (dims.key_head_dim or dims.head_dim or plan.head_dim)
    mixed = net.linear(x, "in_proj_qkv", plan.hidden, 2 * key_dim + value_dim)
    gate = net.linear(x, "in_proj_z", plan.hidden, value_dim)
    decay = net.linear(x, "in_proj_a", plan.hidden, 2 * heads)
    mixed = net.silu(
        net.tape.op("conv", [mixed], mixed.elements, mixed.width, saved=[mixed.storage])
    )
    full_key = heads * (dims.key_head_dim or dims.head_dim or plan.head_dim)
    query, key = net.new("repeat", mixed, full_key), net.new("repeat", mixed, full_key)
    value = net.new("split", mixed, value_dim)
    wide = [net.cast(t, 4) for t in (query, key, value)]
    chunk = 64
    work = per_token(2 * heads * chunk + 4 * full_key + 2 * value_dim)
    inner = net.tape.op(
        "chunks", [*wide, decay], work, 4, saved=[t.storage for t in wide], saves_out=True
    )
    out = net.tape.op("delta", [inner], per_token(value_dim), 4)
    out = net.norm(net.cast(out, x.width), plan.norm, groups=heads)
    out = net.mul(out, net.silu(gate))
    return net.linear(out, "out_proj", value_dim, plan.hidden, rows=plan.stream)


def mlp(net: Net, x: Tensor, plan: LayerPlan, width: float) -> Tensor:
    """Feed-forward block of `width`, gated or plain."""
    if not plan.gated:
        up = net.linear(x, "up", plan.hidden, width, bias=plan.mlp_bias)
        act = net.activation(up, plan.activation)
        net.tape.touch(x)
        if plan.keeps_product:
            net.keep(act)
        return net.linear(act, "down", width, plan.hidden, bias=plan.mlp_bias, rows=plan.stream)
    if plan.fused_gate_up:
        fused = net.linear(x, "gate_up", plan.hidden, 2 * width, bias=plan.mlp_bias)
        gate, up = net.part(fused, width), net.part(fused, width)
        product = net.mul(up, net.activation(gate, plan.activation))
        net.tape.touch(x)
        net.tape.touch(fused)
        return net.linear(product, "down", width, plan.hidden, bias=plan.mlp_bias, rows=plan.stream)
    gate = net.linear(x, "gate", plan.hidden, width, bias=plan.mlp_bias)
    act = net.activation(gate, plan.activation)
    up = net.linear(x, "up", plan.hidden, width, bias=plan.mlp_bias)
    product = net.mul(act, up)
    net.tape.touch(x)
    if plan.keeps_product:
        net.keep(product)
    return net.linear(product, "down", width, plan.hidden, bias=plan.mlp_bias, rows=plan.stream)


def experts(net: Net, x: Tensor, plan: LayerPlan) -> Tensor:
    """Mixture of experts with grouped matrix products: each token is copied to its experts."""
    moe = plan.moe
    assert moe is not None
    shared = None
    width_shared = (moe.shared_intermediate_size or 0) / plan.split
    if width_shared:
        shared = mlp(net, x, plan, width_shared)
    weights = _router(net, x, plan)
    routed = _routed(net, x, weights, plan)
    if shared is None:
        return routed
    if moe.shared_gate:
        gate = net.linear(x, "shared_expert_gate", plan.hidden, 1)
        gate = net.relu(gate)
        saved = [shared.storage, gate.storage]
        shared = net.tape.op("gate_mul", [shared, gate], shared.elements, shared.width, saved=saved)
    return net.add(routed, shared)


def _router(net: Net, x: Tensor, plan: LayerPlan) -> Tensor:
    moe = plan.moe
    assert moe is not None
    if plan.router_float:
        x = net.cast(x, 4)
    logits = net.linear(x, "router", plan.hidden, moe.num_experts, quantizable=False)
    probabilities = net.tape.op("softmax", [logits], logits.elements, 4, saves_out=True)
    index = net.tape.op("topk_index", [], per_token(moe.experts_per_token), 8, grad_needed=False)
    chosen = net.tape.op(
        "topk", [probabilities], per_token(moe.experts_per_token), 4, saved=[index.storage]
    )
    permutation = net.tape.op("sort", [], per_token(moe.experts_per_token), 8, grad_needed=False)
    return net.tape.op(
        "permute", [chosen], chosen.elements, chosen.width,
        saved=[permutation.storage, chosen.storage],
    )  # fmt: skip


def _routed(net: Net, x: Tensor, weights: Tensor, plan: LayerPlan) -> Tensor:
    moe, mode, tape = plan.moe, net.mode, net.tape
    assert moe is not None
    rows = moe.experts_per_token
    width = moe.moe_intermediate_size / plan.split
    compute = mode.weight_width if not mode.quantized else 2
    count = moe.num_experts / plan.expert_split
    picked = tape.op("pick", [x], per_token(rows * plan.hidden), x.width)
    picked = net.cast(picked, compute)
    keep = mode.trains
    up = tape.op(
        "experts_up", [picked], per_token(2 * rows * width), compute,
        saved=[picked.storage] if keep else [],
    )  # fmt: skip
    _expert_weights(net, 2 * count * width * plan.hidden)
    gate, value = net.part(up, rows * width), net.part(up, rows * width)
    if plan.sinks:
        product = _clamped_gate(net, gate, value)
    else:
        product = net.mul(net.activation(gate, plan.activation), value)
    down = tape.op(
        "experts_down", [product], per_token(rows * plan.hidden), compute,
        saved=[product.storage] if keep else [],
    )  # fmt: skip
    _expert_weights(net, count * width * plan.hidden)
    weighted = tape.op(
        "weighting", [down, weights], down.elements, max(compute, plan.router_width),
        saved=[down.storage, weights.storage],
    )  # fmt: skip
    order = tape.op("argsort", [], per_token(rows), 8, grad_needed=False)
    weighted = tape.op(
        "unpermute", [weighted], weighted.elements, weighted.width, saved=[order.storage]
    )
    for held in (x, picked, down):
        tape.touch(held)
    out = tape.op("sum", [weighted], per_token(plan.stream), weighted.width)
    return net.cast(out, x.width)


def _clamped_gate(net: Net, gate: Tensor, value: Tensor) -> Tensor:
    """gpt-oss: both halves clamped, gate * sigmoid(alpha * gate) * (value + 1)."""
    gate, value = net.silu(gate), net.silu(value)
    sigmoid = net.relu(net.scale(gate))
    swish = net.mul(gate, sigmoid)
    return net.mul(net.scale(value), swish)


def _expert_weights(net: Net, params: float) -> None:
    mode, node = net.mode, net.tape.last
    if mode.quantized:
        node.work = node.work_back = fixed(2 * params)
    if mode.trains:
        node.kept_grads = fixed(mode.weight_width * params)
