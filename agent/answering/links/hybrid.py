"""Sharding over all nodes or within one and replicated across: decided by bytes and memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from agent.answer import AssumptionOut, Verdict
from agent.answering.links.inside import inside_of
from agent.answering.links.network import has_rdma
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import memory_arguments, memory_range, outcome
from agent.request import Request
from agent.toolbox.memory import MemoryReport
from agent.toolbox.network import NetworkReport
from agent.toolbox.registries import GpuReport
from tools.units import format_significant

_GBPS = 25.0
_ENOUGH = 0.9
"""Scaling efficiency of full sharding across nodes from which the link does not decide."""


class _Layouts(NamedTuple):
    """Both layouts in memory and over the link."""

    node: MemoryReport
    every: MemoryReport
    zero3: NetworkReport
    hybrid: NetworkReport


def applies(request: Request, context: Context) -> bool:
    """True for training over several nodes where the way of sharding is asked for."""
    slots = request.slots
    has_model = slots.has_model
    has_cards = slots.has_card and (slots.gpu_count or 0) > 1
    is_several = (slots.nodes or 1) > 1 and slots.task == "train"
    is_whole = slots.method is None or slots.method.endswith("full") or "pretrain" in slots.method
    is_asked = request.says("links.hybrid", "links.hybrid_across")
    return has_model and has_cards and is_several and is_whole and is_asked


def compose(request: Request, context: Context) -> Plan:
    """Need of a node and of all cards, traffic of both layouts, and which to take."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    nodes = slots.nodes or 2
    count = slots.gpu_count or nodes
    if count <= _MOST_IN_A_NODE and count % nodes:
        count *= nodes
    per_node = max(count // nodes, 1)
    gbps = _gbps(draft)
    method = "pretrain" if "pretrain" in (slots.method or "") else "full"
    results = yield (
        *(Call("estimate_memory", memory_arguments(
            slots, method=slots.method or "full", zero_stage=3, gpu_count=cards))
          for cards in (per_node, count)),
        Call("check_network", _network(draft, method, gbps, per_node, "zero3")),
        Call("find_gpu", {"name": slots.gpu, **({"memory_gb": slots.gpu_mem_gb}
                                                if slots.gpu_mem_gb else {})}),
    )  # fmt: skip
    draft.use(*results)
    node, every, zero3 = results[0].report, results[1].report, results[2].report
    if not isinstance(zero3, NetworkReport):
        draft.add(results[2].hint or "", importance=HEAD)
        return draft.finish("depends")
    again = yield (
        Call("check_network", {**_network(draft, method, gbps, 1, "ddp"),
                               "step_s": zero3.compute_s}),
    )  # fmt: skip
    draft.use(*again)
    hybrid = again[0].report
    if not isinstance(node, MemoryReport) or not isinstance(every, MemoryReport):
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("depends")
    assert isinstance(hybrid, NetworkReport)
    found = _Layouts(node, every, zero3, hybrid)
    verdict = _say_choice(draft, found, per_node, count, gbps)
    _say_traffic(draft, found, count, gbps)
    card = results[3].report
    if isinstance(card, GpuReport):
        _say_inside(draft, card, gbps)
    draft.assume(zero3.assumptions)
    return draft.finish(verdict, memory=memory_range(node if verdict != "does_not_fit" else every),
                        intent="multi_gpu_plan")  # fmt: skip


_MOST_IN_A_NODE = 8


def _gbps(draft: Draft) -> float:
    """The link between nodes in Gbit/s: as said, else assumed."""
    said = draft.request.slots.bandwidth_gbps
    if said is None:
        why = "no bandwidth was said"
        draft.assume([AssumptionOut(name="gbps", value=_GBPS, unit="Gbit/s", why=why)])
    return said or _GBPS


def _network(
    draft: Draft, method: str, gbps: float, per_node: int, strategy: str
) -> dict[str, Any]:
    slots = draft.request.slots
    said = {
        "model": slots.model, "params_b": slots.params_b if slots.model is None else None,
        "nodes": slots.nodes or 2, "gpus_per_node": per_node, "gpu": slots.gpu, "gbps": gbps,
        "rdma": has_rdma(draft.request), "grad_accum": slots.grad_accum or 1,
        "method": method, "strategy": strategy, "seq_len": slots.seq_len, "batch": slots.batch,
    }  # fmt: skip
    return {name: value for name, value in said.items() if value is not None}


def _say_choice(draft: Draft, found: _Layouts, per_node: int, count: int, gbps: float) -> Verdict:
    node, every = found.node, found.every
    fits = node.verdict in ("fits", "tight")
    is_wide = found.zero3.efficiency.value >= _ENOUGH
    key = "hybrid_none" if not fits else "hybrid_same" if is_wide else "hybrid"
    for name, value in (("cards_of_a_node", per_node), ("cards", count)):
        draft.figure(name, value, "1", sources=("user:gpu_count",))
    draft.figure("link", gbps, "Gbit/s", sources=("user:link",))
    draft.say(
        f"links.{key}", per_node=per_node, count=count, need=gib(node.process_bytes),
        usable=gib(node.usable_bytes or 0), wide=gib(every.process_bytes),
        outcome=outcome(draft, every) if every.verdict else "", gbps=f"{gbps:g}",
        importance=HEAD,
    )  # fmt: skip
    if fits:
        return "depends"
    return "does_not_fit" if every.verdict == "does_not_fit" else "depends"


def _say_traffic(draft: Draft, found: _Layouts, count: int, gbps: float) -> None:
    for name, report in (("zero3", found.zero3), ("hybrid", found.hybrid)):
        draft.figure(f"{name} traffic", report.traffic_bytes, "B", formula="network share")
        draft.figure(f"{name} communication", report.communication_s, "s",
                     formula="traffic / usable bandwidth")  # fmt: skip
        draft.figure(f"{name} efficiency", round(report.efficiency.value, 3), "1",
                     formula="compute / (compute + communication)")  # fmt: skip
    draft.figure("compute", found.zero3.compute_s, "s", formula="step on one machine")
    draft.say(
        "links.hybrid_traffic", gbps=f"{gbps:g}", count=count,
        zero3=gib(found.zero3.traffic_bytes), hybrid=gib(found.hybrid.traffic_bytes),
        zero3_s=format_significant(found.zero3.communication_s, 2),
        hybrid_s=format_significant(found.hybrid.communication_s, 2),
        zero3_eff=f"{found.zero3.efficiency.value * 100:.0f}%",
        hybrid_eff=f"{found.hybrid.efficiency.value * 100:.0f}%",
        compute=format_significant(found.zero3.compute_s, 2), importance=HEAD,
    )  # fmt: skip


def _say_inside(draft: Draft, card: GpuReport, gbps: float) -> None:
    """The bandwidth inside a node beside that of the network."""
    name, inside = inside_of(card.name)
    outside = gbps / 8
    draft.figure("inside", inside, "GB/s", sources=("data:links.json",))
    draft.figure("network_gb_s", outside, "GB/s", formula="Gbit/s / 8")
    draft.figure("times_inside", inside / outside, "1", formula="inside / network")
    if inside > outside:
        draft.say("links.hybrid_inside", inside=name, gb_s=f"{inside:g}",
                  net_gb_s=format_significant(outside, 3),
                  times=format_significant(inside / outside, 2))  # fmt: skip
