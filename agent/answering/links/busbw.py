"""A measured NCCL bus bandwidth against what the network card allows."""

from __future__ import annotations

import re
from collections.abc import Generator

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from tools.units import format_significant

_BENCH = re.compile(
    r"bus ?bw|busbandwidth|bus bandwidth|all_?reduce_perf|nccl[-_ ]?tests?|all_gather_perf"
    r"|总线带宽",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"(?P<n>\d{1,4}(?:\.\d{1,3})?)\s?(?P<unit>GB/s|GiB/s|GBps|G/s|gb/s|MB/s|mb/s)(?![a-z])"
)
"""Case counts: GB/s are bytes, Gb/s and Gbps bits."""
_LINKS = re.compile(
    r"(?P<n>\d{1,4}(?:\.\d)?)\s?(?P<unit>[GT])(?:bps|bit|b)?\s?(?:/s)?\s?(?:RoCE|IB|InfiniBand|RDMA"
    r"|网卡|NIC|HDR|NDR|EDR|EFA)?\s?[x×*]\s?(?P<times>\d{1,2})|(?P<times2>\d{1,2})\s?[x×*]\s?"
    r"(?P<n2>\d{2,4})\s?(?P<unit2>[GT])",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"(?<![\d.])(?P<n>\d{1,4})\s?(?:Gbps|Gbit(?:/s)?|Gb/s|GbE|Gb?\s?(?:RoCE|IB|InfiniBand|RDMA|EFA"
    r"|Ethernet|网|以太|带宽|HDR|NDR|EDR))(?![a-z])"
)
"""Case counts: Gb/s are bits, GB/s bytes."""
_NORMAL = (0.8, 0.96)
"""Share of the wire that collectives reach over RDMA; links.json of tools.speed."""
_FINE, _PARTLY = 0.75, 0.25
"""Shares of the link from which a measurement is normal, and from which RDMA is in use."""
_TCP_GB_S, _FLOW_GB_S = 5.0, 1.4
"""GB/s that many TCP connections and a single one reach at most; links.json of tools.speed."""


def applies(request: Request, context: Context) -> bool:
    """True for a measured bus bandwidth between machines."""
    text = request.search_query
    return _BENCH.search(text) is not None and measured_gb_s(text) is not None


def measured_gb_s(text: str) -> float | None:
    """The rate in GB/s that stands in a text."""
    found = _RATE.search(text)
    if found is None:
        return None
    return float(found["n"]) / (1000 if found["unit"].lower().startswith("m") else 1)


def links_gbps(text: str) -> float | None:
    """Gbit/s of several links written as a product.

    >>> links_gbps("400G RoCE x8"), links_gbps("8x200G IB"), links_gbps("one 100G port")
    (3200.0, 1600.0, None)
    """
    found = _LINKS.search(text)
    if found is None:
        return None
    size, unit = found["n"] or found["n2"], found["unit"] or found["unit2"]
    times = int(found["times"] or found["times2"])
    return float(size) * (1000 if unit.lower() == "t" else 1) * times


def link_said(text: str) -> float | None:
    """Gbit/s of a machine's link that a text names; Gb are bits, GB bytes.

    >>> link_said("8 H100 with 400Gb IB"), link_said("两台万兆"), link_said("busbw 6 GB/s")
    (400.0, 10.0, None)
    """
    written = _LINK.search(text)
    if written is None and "万兆" in text:
        return 10.0
    return links_gbps(text) or (float(written["n"]) if written is not None else None)


def compose(request: Request, context: Context) -> Plan:
    """The share of the link, what it means, and what to check."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    measured = measured_gb_s(request.search_query)
    assert measured is not None
    gbps = yield from _nominal(draft)
    is_aws = request.slots.provider == "aws"
    draft.figure("busbw", measured, "GB/s", sources=("user:busbw",))
    for name, value in (("tcp", _TCP_GB_S), ("one_flow", _FLOW_GB_S)):
        draft.figure(f"busbw of {name}", value, "GB/s", sources=("data:links.json",))
    if gbps is not None:
        _say_share(draft, measured, gbps, is_aws=is_aws)
    if measured <= _TCP_GB_S:
        draft.say("links.one_flow", one=f"{_FLOW_GB_S:g}", tcp=f"{_TCP_GB_S:g}",
                  importance=HEAD if gbps is None else BODY)  # fmt: skip
    elif gbps is None or measured < _FINE * gbps / 8:
        draft.say("links.some_nics", tcp=f"{_TCP_GB_S:g}")
    draft.figure("large_message", 1e9, "B", sources=("rule:nccl-tests",))
    draft.say("links.checks")
    return draft.finish("depends" if gbps is None else "not_applicable",
                        intent="network_distributed")  # fmt: skip


def _nominal(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], float | None]:
    """Nominal Gbit/s of one machine: as said, else of its type in the catalog."""
    slots = draft.request.slots
    gbps = link_said(draft.request.search_query)
    if slots.instance is None or gbps is not None:
        return gbps
    results = yield (Call("find_instances", {"name": slots.instance, "limit": 50,
                                             **({"provider": slots.provider} if slots.provider
                                                else {})}),)  # fmt: skip
    draft.use(*results)
    report = results[0].report
    rows = report.instances if isinstance(report, InstancesReport) else ()
    return max((r.rdma_gbps or r.network_gbps or 0.0 for r in rows), default=0.0) or None


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
