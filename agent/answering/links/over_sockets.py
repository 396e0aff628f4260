"""Machines whose collectives run over TCP sockets, though their network could do more."""

from __future__ import annotations

from collections.abc import Generator

from agent.answer import Answer
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut
from tools.units import format_significant

_INTENTS = ("network_distributed", "oom_diagnosis", "multi_gpu_plan", "concept", "catalog_lookup")
_FLOW_GBPS = 11.2
"""One TCP connection at most, 1.4 GB/s; links.json of tools.speed."""


def applies(request: Request, context: Context) -> bool:
    """True for a log or a word that the traffic goes over sockets, where no rate of a test is."""
    is_told = request.says("links.on_sockets")
    return is_told and request.intent in _INTENTS and request.slots.busbw_gb_s is None


def compose(request: Request, context: Context) -> Plan:
    """What it means, what the type's network is, and how to get onto it."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    row = yield from _machine(draft)
    if row is not None and row.rdma is False:
        return _no_rdma(draft, row)
    draft.say("links.on_sockets", importance=HEAD)
    rate = row.rdma_gbps or row.network_gbps if row is not None else None
    if row is not None and rate:
        _say_rate(draft, row, rate)
    draft.figure("large_message", 1e9, "B", sources=("rule:nccl-tests",))
    draft.say("links.checks")
    return draft.finish("not_applicable", intent="network_distributed")


def _machine(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], InstanceOut | None]:
    """The type that is named; of a family, the one with the fastest network."""
    request = draft.request
    if request.slots.instance is None:
        return None
    results = yield (
        Call("find_instances", {"name": request.slots.instance, "provider": request.cloud}),
    )
    draft.use(*results)
    rows = [row for result in results if isinstance(result.report, InstancesReport)
            for row in result.report.instances]  # fmt: skip
    return max(rows, key=lambda row: row.rdma_gbps or row.network_gbps or 0.0, default=None)


def _say_rate(draft: Draft, row: InstanceOut, rate: float) -> None:
    """The rate of the type's network beside the one that was seen, or that one socket gives."""
    seen = draft.request.slots.bandwidth_gbps
    draft.figure("link", rate, "Gbit/s", sources=(row.source,))
    if seen is None or seen >= rate:
        draft.figure("one_flow", _FLOW_GBPS, "Gbit/s", sources=("data:links.json",))
        draft.say("links.socket_rate", instance=row.instance_type, gbps=f"{rate:g}",
                  one=f"{_FLOW_GBPS:g}", importance=HEAD)  # fmt: skip
        return
    draft.figure("seen", seen, "Gbit/s", sources=("user:bandwidth_gbps",))
    draft.figure("share", seen / rate, "1", formula="seen / link")
    share = f"{format_significant(100 * seen / rate, 2)}%"
    draft.say("links.socket_seen", instance=row.instance_type, gbps=f"{rate:g}", seen=f"{seen:g}",
              share=share, importance=HEAD)  # fmt: skip


def _no_rdma(draft: Draft, row: InstanceOut) -> Answer:
    """A type that has no RDMA: sockets are right, and no setting changes that."""
    if row.network_gbps is not None:
        draft.figure("link", row.network_gbps, "Gbit/s", sources=(row.source,))
    gbps = draft.phrase("links.of_gbps", gbps=f"{row.network_gbps:g}") if row.network_gbps else ""
    draft.say("links.sockets_are_right", instance=row.instance_type, gbps=gbps, importance=HEAD)
    return draft.finish("not_applicable", intent="network_distributed")
