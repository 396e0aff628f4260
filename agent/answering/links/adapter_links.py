"""The network between machines for LoRA: adapters' gradients alone are exchanged."""

from __future__ import annotations

from agent.answer import AssumptionOut
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.request import Request
from agent.toolbox.network import NetworkReport
from tools.units import format_significant

_GBPS = 25.0


def applies(request: Request, context: Context) -> bool:
    """True for a question about the link under LoRA over several machines, unsharded."""
    slots = request.slots
    is_lora = slots.method is not None and slots.method.endswith("lora")
    is_said = "method" not in request.inferred
    is_sharded = slots.zero_stage == 3 or slots.strategy == "fsdp"
    if not (is_lora and is_said) or is_sharded or slots.steps_per_s or slots.step_s:
        return False
    asks = request.intent in ("network_distributed", "concept", "multi_gpu_plan")
    is_several = (slots.nodes or 1) > 1 or request.says("links.several")
    return asks and is_several and request.says("links.network")


def _nodes(request: Request) -> int:
    """Machines: as said, else two; one alone exchanges nothing."""
    return max(request.slots.nodes or 2, 2)


def compose(request: Request, context: Context) -> Plan:
    """Bytes a step, milliseconds over both kinds of network, the share of a step."""
    draft = Draft(request)
    slots = request.slots
    gbps = slots.bandwidth_gbps or _GBPS
    if slots.bandwidth_gbps is None:
        why = "no bandwidth was said"
        draft.assume([AssumptionOut(name="gbps", value=gbps, unit="Gbit/s", why=why)])
    nodes = _nodes(draft.request)
    common = {
        "model": slots.model, "nodes": nodes, "gbps": gbps, "gpu": slots.gpu,
        "params_b": slots.params_b or (None if slots.model else 7.0),
        "gpus_per_node": max((slots.gpu_count or 1) // nodes, 1),
        "grad_accum": slots.grad_accum or 1, "method": (slots.method or "lora").split("+")[-1],
    }  # fmt: skip
    said = {name: value for name, value in common.items() if value is not None}
    results = yield (
        Call("check_network", {**said, "strategy": "ddp"}),
        Call("check_network", {**said, "strategy": "ddp", "rdma": True}),
        Call("find_model", {k: v for k, v in (("name", slots.model),
                                              ("params_b", said.get("params_b"))) if v}),
    )  # fmt: skip
    draft.use(*results)
    plain, fast = results[0].report, results[1].report
    if not isinstance(plain, NetworkReport) or not isinstance(fast, NetworkReport):
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("depends")
    _tell(draft, plain, fast, gbps)
    return draft.finish("not_applicable", intent="network_distributed")


def _tell(draft: Draft, plain: NetworkReport, fast: NetworkReport, gbps: float) -> None:
    slots = draft.request.slots
    model = slots.model.rsplit("/", 1)[-1] if slots.model else f"{slots.params_b or 7:g}B"
    gradient = plain.trained_params * 2
    weights = plain.model_params * 2
    share = plain.communication_s / plain.compute_s
    told_share = max(round(share * 100 + 0.5), 1)
    draft.figure("adapter_gradients", gradient, "B", formula="trained params * 2")
    draft.figure("bytes_of_a_gradient", 2, "B", sources=("rule:bf16",))
    draft.figure("model_weights", weights, "B", formula="params * 2")
    draft.figure("trained", plain.trained_params, "param", formula="of the method")
    draft.figure("share_of_step", told_share, "%", formula="communication / compute, rounded up")
    for name, value in (("tcp", plain.communication_s), ("rdma", fast.communication_s)):
        draft.figure(f"{name} ms", value * 1000, "ms", formula="traffic / usable bandwidth")
    draft.figure("compute", plain.compute_s, "s", formula="step on one machine")
    draft.figure("link", gbps, "Gbit/s", sources=("user:link",))
    draft.say("links.adapter", model=model, traffic=gib(gradient),
              trained=f"{plain.trained_params / 1e6:,.0f}M", full=gib(weights),
              importance=HEAD)  # fmt: skip
    draft.say(
        "links.adapter_times", gbps=f"{gbps:g}", share=f"{told_share}%",
        tcp=format_significant(plain.communication_s * 1000, 2),
        rdma=format_significant(fast.communication_s * 1000, 2),
        compute=format_significant(plain.compute_s, 2), importance=HEAD,
    )  # fmt: skip
    draft.say("links.adapter_but", weights=gib(weights))
    gpus = max((slots.gpu_count or 1) // _nodes(draft.request), 1)
    draft.figure("gpus_per_machine", gpus, "1", formula="cards / machines")
    draft.say("network.assumed", model=model, gpus=gpus, gpu=slots.gpu or "GPU",
              compute=format_significant(plain.compute_s, 3), importance=DETAIL)  # fmt: skip
    draft.assume(plain.assumptions)
