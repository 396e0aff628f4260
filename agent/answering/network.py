"""network_distributed: does the link between machines slow training down."""

from __future__ import annotations

import re
from typing import Any

from agent.answer import AssumptionOut
from agent.answering.draft import DETAIL, HEAD, Draft
from agent.answering.numbers import gib
from agent.answering.plan import Call, Context, Plan
from agent.answering.run_words import method_name
from agent.answering.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.network import NetworkReport
from agent.toolbox.offers import InstanceOut
from tools.units import format_significant

_LINK_GBPS = 25.0
_CASES = (("lora", "ddp"), ("full", "zero2"), ("full", "zero3"))
_RDMA = re.compile(r"rdma|roce|infiniband|(?<![a-z])(?:ib|efa|[hnefqx]dr)(?![a-z])", re.IGNORECASE)
_NO_RDMA = re.compile(
    r"(?:没有?|无|不支持|不带|without|no|not|non)[ -]?(?:\w+ )?(?:rdma|roce|infiniband|ib|efa)"
    r"|(?:rdma|roce|infiniband|efa)[^,。.]{0,8}(?:吗|\?|？|要不要|need)|(?:要|need|用)[^,。.]{0,6}"
    r"(?:rdma|roce|infiniband|efa)",
    re.IGNORECASE,
)
"""Words that ask for RDMA or say that there is none."""
_IS_SLOWER = re.compile(r"slow|慢|倍|longer|took|min(?:utes)?\b|小时|1h", re.IGNORECASE)


def compose(request: Request, context: Context) -> Plan:
    """The link, then what it costs LoRA, full and fully sharded training."""
    draft = Draft(request)
    slots = request.slots
    first = [guidance_call(request, k=2, topic="network")]
    if slots.instance:
        first.append(Call("find_instances", {"name": slots.instance, "provider": slots.provider}))
    results = yield tuple(first)
    draft.use(*results)
    machine = _machine(results)
    shares = yield tuple(Call("check_network", a) for a in _arguments(draft, machine))
    draft.use(*shares)
    reports = [r.report for r in shares if isinstance(r.report, NetworkReport)]
    is_diagnosis = bool(_IS_SLOWER.search(request.search_query) or slots.steps_per_s)
    if is_diagnosis:
        draft.say("network.slow_nodes", importance=HEAD)
    if reports:
        _tell(draft, reports)
    if machine is not None:
        _say_link(draft, machine)
    draft.say("network.advice")
    say_cited(draft, passages_in(results)[:2])
    return draft.finish("not_applicable" if is_diagnosis else "depends")


def _machine(results: tuple[ToolResult, ...]) -> InstanceOut | None:
    """The instance asked about: of a family, the largest, whose link is the fastest."""
    for result in results:
        if isinstance(result.report, InstancesReport):
            rows = [r for r in result.report.instances if r.network_gbps is not None]
            return max(rows, key=lambda r: r.network_gbps or 0, default=None)
    return None


def _arguments(draft: Draft, machine: InstanceOut | None) -> list[dict[str, Any]]:
    slots = draft.request.slots
    nodes = slots.nodes or 2
    gbps = slots.bandwidth_gbps or (machine.network_gbps if machine else None) or _LINK_GBPS
    if slots.bandwidth_gbps is None and machine is None:
        why = "no bandwidth was said"
        draft.assume([AssumptionOut(name="gbps", value=gbps, unit="Gbit/s", why=why)])
    gpus = (slots.gpu_count or 0) // nodes or (machine.gpu_count if machine else None) or 1
    common = {
        "model": slots.model,
        "params_b": slots.params_b or (None if slots.model else 7.0),
        "nodes": nodes,
        "gpus_per_node": gpus,
        "gpu": slots.gpu or (machine.gpu if machine else None),
        "gbps": gbps,
        "rdma": bool(machine and machine.rdma) or _has_rdma(draft),
        "grad_accum": slots.grad_accum or 1,
        "step_s": slots.step_s,
    }
    cases: tuple[tuple[str, str], ...] = _CASES
    if slots.method is not None:
        strategy = "zero3" if slots.zero_stage == 3 or slots.strategy == "fsdp" else "ddp"
        cases = ((slots.method.rpartition("+")[2], strategy),)
    return [
        {
            k: v
            for k, v in {**common, "method": method, "strategy": strategy}.items()
            if v is not None
        }
        for method, strategy in cases
    ]


def _has_rdma(draft: Draft) -> bool:
    """Whether the question says that the link is an RDMA one."""
    text = draft.request.search_query
    return _RDMA.search(text) is not None and _NO_RDMA.search(text) is None


def _tell(draft: Draft, reports: list[NetworkReport]) -> None:
    slots = draft.request.slots
    first = reports[0]
    is_rdma = _has_rdma(draft) or any("rdma" in str(a.value).lower() for a in first.assumptions)
    kind = draft.phrase("network.rdma" if is_rdma else "network.tcp")
    draft.say("network.head", nodes=slots.nodes or 2, gbps=f"{first.gbps:g}", kind=kind,
              importance=HEAD)  # fmt: skip
    draft.figure("machines", slots.nodes or 2, "1",
                 sources=("user:nodes" if slots.nodes else "rule:least",))  # fmt: skip
    draft.figure("link", first.gbps, "Gbit/s", sources=("user:link",))
    lines = []
    for report, (method, _) in zip(reports, _CASES, strict=False):
        told_method = method_name(draft, slots.method or method)
        for name, value in (
            ("efficiency", report.efficiency.value),
            ("waiting", report.waiting_share.value),
        ):
            draft.figure(f"{report.strategy} {name}", round(value, 3), "1", formula="network share")
        lines.append(
            draft.phrase(
                "network.row",
                method=told_method,
                strategy={"ddp": "DDP", "zero2": "ZeRO-2", "zero3": "ZeRO-3/FSDP"}.get(
                    report.strategy, report.strategy
                ),
                traffic=gib(report.traffic_bytes),
                efficiency=f"{report.efficiency.value * 100:.0f}%",
                waiting=f"{report.waiting_share.value * 100:.0f}%",
                enough=format_significant(report.enough_gbps, 3),
            )
        )
    draft.bullets(lines)
    draft.figure("compute", first.compute_s, "s", formula="step on one machine")
    model = slots.model or f"{slots.params_b or 7:g}B"
    draft.assume(first.assumptions)
    gpus = max((slots.gpu_count or 0) // (slots.nodes or 2), 1)
    draft.figure("gpus_per_machine", gpus, "1", formula="cards / machines")
    draft.say("network.assumed", model=model, gpus=gpus, gpu=slots.gpu or "GPU",
              compute=format_significant(first.compute_s, 3), importance=DETAIL)  # fmt: skip


def _say_link(draft: Draft, machine: InstanceOut) -> None:
    nvlink = {True: "yes", False: "no", None: "unknown"}[machine.nvlink]
    draft.say(
        "network.link_of",
        instance=machine.instance_type,
        gbps=f"{machine.network_gbps:g}",
        kind=draft.phrase("network.rdma") if machine.rdma else "",
        gpu=machine.gpu or "GPU",
        nvlink=draft.phrase(f"network.nvlink_{nvlink}"),
    )
