"""A measured NCCL bus bandwidth against what the network card allows."""

from __future__ import annotations

from collections.abc import Generator

from agent.answering.links.inside import Inside, inside_of
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.registries import GpuReport
from tools.units import format_significant

_NORMAL = (0.8, 0.96)
"""Share of the wire that collectives reach over RDMA; links.json of tools.speed."""
_FINE, _PARTLY = 0.75, 0.25
"""Shares of the link from which a measurement is normal, and from which RDMA is in use."""
_TCP_GB_S, _FLOW_GB_S = 5.0, 1.4
"""GB/s that many TCP connections and a single one reach at most; links.json of tools.speed."""
_ONE_LINK_GBPS, _MANY_LINKS_GBPS = 100.0, 1600.0
"""One network card of the usual speed, and the eight of 200 Gbit/s of a DGX A100."""


def applies(request: Request, context: Context) -> bool:
    """True for a measured bus bandwidth between machines, and for another link under one."""
    if request.slots.busbw_gb_s is None:
        return False
    return "busbw_gb_s" not in request.inherited or "bandwidth_gbps" in request.changed


def compose(request: Request, context: Context) -> Plan:
    """The share of the link, what it means, and what to check."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    rates = request.slots.busbw_gb_s
    assert rates is not None
    gbps, inside = yield from _links(draft)
    has_both = len(rates) > 1 and request.says("links.one_machine")
    measured = min(rates) if has_both else rates[0]
    if has_both:
        _say_inside(draft, max(rates), inside)
    elif request.says("links.one_machine") and (request.slots.nodes or 1) == 1:
        draft.figure("busbw", measured, "GB/s", sources=("user:busbw",))
        _say_inside(draft, measured, inside)
        return draft.finish("not_applicable" if inside else "depends",
                            intent="network_distributed")  # fmt: skip
    _say_between(draft, measured, gbps)
    return draft.finish("depends" if gbps is None else "not_applicable",
                        intent="network_distributed")  # fmt: skip


def _say_between(draft: Draft, measured: float, gbps: float | None) -> None:
    """What a rate between machines is of their link, and what to check."""
    draft.figure("busbw", measured, "GB/s", sources=("user:busbw",))
    for name, value in (("tcp", _TCP_GB_S), ("one_flow", _FLOW_GB_S)):
        draft.figure(f"busbw of {name}", value, "GB/s", sources=("data:links.json",))
    if gbps is not None:
        _say_share(draft, measured, gbps, is_aws=draft.request.slots.provider == "aws")
    else:
        _say_of_links(draft, measured)
    if measured <= _TCP_GB_S:
        draft.say("links.one_flow", one=f"{_FLOW_GB_S:g}", tcp=f"{_TCP_GB_S:g}",
                  importance=HEAD if gbps is None else BODY)  # fmt: skip
    elif gbps is None or measured < _FINE * gbps / 8:
        draft.say("links.some_nics", tcp=f"{_TCP_GB_S:g}")
    draft.figure("large_message", 1e9, "B", sources=("rule:nccl-tests",))
    draft.say("links.checks")


def _links(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], tuple[float | None, Inside | None]]:
    """Gbit/s of one machine, as said or else of its type; the link between its cards."""
    slots = draft.request.slots
    asks_type = slots.instance is not None and slots.bandwidth_gbps is None
    calls = []
    if asks_type:
        provider = {"provider": slots.provider} if slots.provider else {}
        calls.append(Call("find_instances", {"name": slots.instance, "limit": 50, **provider}))
    if slots.has_card:
        memory = {"memory_gb": slots.gpu_mem_gb} if slots.gpu_mem_gb else {}
        calls.append(Call("find_gpu", {"name": slots.gpu, **memory}))
    results = yield tuple(calls)
    draft.use(*results)
    rows = [row for result in results if isinstance(result.report, InstancesReport)
            for row in result.report.instances]  # fmt: skip
    of_type = max((row.rdma_gbps or row.network_gbps or 0.0 for row in rows), default=0.0)
    card = next((r.report.name for r in results if isinstance(r.report, GpuReport)), None)
    card = card or next((row.gpu for row in rows if row.gpu), None)
    return slots.bandwidth_gbps or of_type or None, inside_of(card) if card else None


def _say_inside(draft: Draft, measured: float, inside: Inside | None) -> None:
    """A rate inside one machine, against what its kind of link reaches."""
    draft.figure("busbw inside", measured, "GB/s", sources=("user:busbw",))
    if inside is None:
        draft.say("links.inside_open", measured=f"{measured:g}", importance=HEAD)
        return
    share = measured / inside.gb_s
    draft.figure("usual inside", inside.gb_s, "GB/s", sources=("data:links.json",))
    draft.figure("share inside", round(share, 3), "1", formula="busbw inside / usual inside")
    key = "inside_fine" if share >= _FINE else "inside_low"
    draft.say(f"links.{key}", measured=f"{measured:g}", usual=f"{inside.gb_s:g}",
              link=inside.name, share=f"{share * 100:.0f}%", importance=HEAD)  # fmt: skip


def _say_of_links(draft: Draft, measured: float) -> None:
    """What link a rate would fill, where the machine's is not known."""
    gbps = measured * 8
    one, many = _ONE_LINK_GBPS / 8, _MANY_LINKS_GBPS / 8
    draft.figure("as a link", round(gbps, 3), "Gbit/s", formula="GB/s * 8")
    draft.figure("one link", one, "GB/s", formula="100 Gbit/s / 8")
    for name, value in (
        ("link of a card", _ONE_LINK_GBPS),
        ("links of a cluster", _MANY_LINKS_GBPS),
        ("one of its links", _MANY_LINKS_GBPS / 8),
    ):
        draft.figure(name, value, "Gbit/s", sources=("rule:8x200G",))
    low, high = (many * part for part in _NORMAL)
    for name, value in (("cluster low", low), ("cluster high", high)):
        draft.figure(name, value, "GB/s", formula="link * share that RDMA reaches")
    draft.say("links.as_link", measured=f"{measured:g}", gbps=format_significant(gbps, 3),
              one=f"{one:g}", low=format_significant(low, 2), high=format_significant(high, 2),
              importance=HEAD)  # fmt: skip


def _say_share(draft: Draft, measured: float, gbps: float, *, is_aws: bool) -> None:
    nominal = gbps / 8
    share = measured / nominal
    low, high = (nominal * part for part in _NORMAL)
    draft.figure("link", gbps, "Gbit/s", sources=("user:link",))
    draft.figure("link_gb_s", nominal, "GB/s", formula="Gbit/s / 8")
    draft.figure("share_of_link", round(share, 4), "1", formula="busbw / link")
    for name, value in (("normal_low", low), ("normal_high", high)):
        draft.figure(name, value, "GB/s", formula="link * share that RDMA reaches")
    key = "fine" if share >= _FINE else "partly" if share >= _PARTLY else "low"
    draft.say(
        f"links.{key}", measured=f"{measured:g}", share=f"{share * 100:.0f}%", gbps=f"{gbps:,g}",
        nominal=format_significant(nominal, 3), low=format_significant(low, 2),
        high=format_significant(high, 2), efa=draft.phrase("links.efa") if is_aws else "",
        importance=HEAD,
    )  # fmt: skip
