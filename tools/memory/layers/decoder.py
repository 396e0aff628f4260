"""Whole decoder layers, the tail (final norm and head), and their forms."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tools.memory.layers.blocks import attention, experts, mlp
from tools.memory.layers.ops import Linear, Mode, Net
from tools.memory.layers.plan import LayerPlan
from tools.memory.tape import LayerForm, Tensor, per_token


class BuiltLayer(NamedTuple):
    """A layer's form and the matrices in it."""

    form: LayerForm
    linears: tuple[Linear, ...]


@lru_cache(maxsize=4096)
def build_layer(plan: LayerPlan, mode: Mode, *, input_grad: bool = True) -> BuiltLayer:
    """Plays one decoder layer in the given mode.

    `input_grad`: False for the first layer of a model whose embedding is frozen.
    """
    net = Net(mode)
    x = net.tape.source(per_token(plan.stream), mode.stream_width, grad_needed=input_grad)
    out = _layer(net, x, plan)
    return BuiltLayer(net.tape.form(x, out), tuple(net.linears))


def _layer(net: Net, x: Tensor, plan: LayerPlan) -> Tensor:
    if plan.norms.startswith("parallel"):
        return _parallel(net, x, plan)
    if plan.norms == "post_ln":
        return _encoder(net, x, plan)
    normed = x if plan.norms == "post" else net.norm(x, plan.norm)
    branch = attention(net, normed, plan)
    if plan.hidden_dropout:
        branch = net.drop(branch)
    if plan.norms in ("post", "both"):
        branch = net.norm(branch, plan.norm)
    middle = net.add(x, branch)
    normed = middle if plan.norms == "post" else net.norm(middle, plan.norm)
    branch = _feed_forward(net, normed, plan)
    if plan.hidden_dropout:
        branch = net.drop(branch)
    if plan.norms in ("post", "both"):
        branch = net.norm(branch, plan.norm)
    return net.add(middle, branch)


def _encoder(net: Net, x: Tensor, plan: LayerPlan) -> Tensor:
    """BERT and kin: the norm stands on the sum."""
    middle = net.norm(net.add(x, net.drop(attention(net, x, plan))), plan.norm)
    return net.norm(net.add(middle, net.drop(_feed_forward(net, middle, plan))), plan.norm)


@lru_cache(maxsize=256)
def build_embedding(hidden: float, mode: Mode) -> BuiltLayer:
    """Sum of word, position and type vectors, its norm and dropout (encoders)."""
    net = Net(mode)
    x = net.tape.source(per_token(hidden), mode.stream_width, grad_needed=True)
    out = net.drop(net.norm(x, "ln"))
    return BuiltLayer(net.tape.form(x, out), ())


def _parallel(net: Net, x: Tensor, plan: LayerPlan) -> Tensor:
    normed = net.norm(x, plan.norm)
    mixed = attention(net, normed, plan)
    if plan.norms == "parallel2":
        normed = net.norm(x, plan.norm)
    fed = _feed_forward(net, normed, plan)
    return net.add(net.add(x, mixed), fed)


def _feed_forward(net: Net, x: Tensor, plan: LayerPlan) -> Tensor:
    if plan.moe is not None:
        return experts(net, x, plan)
    return mlp(net, x, plan, plan.width)


@lru_cache(maxsize=4096)
def build_tail(
    hidden: float, vocab: float, norm: str, mode: Mode, *, bias: bool = False
) -> BuiltLayer:
    """Final norm and output head; the logits are the output."""
    net = Net(mode)
    x = net.tape.source(per_token(hidden), mode.stream_width, grad_needed=True)
    if norm == "mlm":
        x_dense = net.linear(x, "mlm_dense", hidden, hidden, bias=True, quantizable=False)
        normed = net.norm(net.silu(x_dense), "ln")
    else:
        normed = net.norm(x, norm)
    out = net.linear(normed, "lm_head", hidden, vocab, bias=bias, quantizable=False)
    return BuiltLayer(net.tape.form(x, out), tuple(net.linears))
