"""How long data takes to move to or from a machine, what holds it back, what the traffic costs."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answer import Answer
from agent.answering.links.routes import say_route
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import BODY, DETAIL, HEAD, Draft
from agent.answering.telling.machines import provider_name
from agent.answering.telling.numbers import count, duration, money
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.copying import CopyReport, TrafficOut
from tools.units import format_significant

_STORES = {
    "copies.s3": "s3", "copies.oss": "oss", "copies.gcs": "gcs", "copies.cos": "cos",
    "copies.obs": "obs", "copies.blob": "blob",
}  # fmt: skip
"""Object stores by the marks that name them."""
_BY_PROVIDER = {"alibaba": "oss", "aws": "s3", "gcp": "gcs", "tencent": "cos", "huawei": "obs",
                "azure": "blob"}  # fmt: skip
_LINKS = (1.0, 10.0, 25.0, 100.0)
"""Gbit/s that stand for the network where none was said and no machine named."""
_TWO = 2
_SMALL_BYTES = 10e6
"""Mean size below which the opening of files is reckoned."""
_OTHER = ("fit_check", "oom_diagnosis", "gpu_compare", "invalid_input")
"""Kinds of questions that a place data come from is said beside."""
_CHINESE = ("alibaba", "tencent", "huawei")
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True for the time or the money of moving an amount of data to or from a store."""
    if size_gb(request) is None:
        return False
    if request.route is not None and request.intent not in _OTHER:
        return True
    if not request.says("copies.moves", "copies.charge"):
        return False
    if not request.says("copies.how_long", "copies.fee", "copies.charge"):
        return False
    named = request.says(*_STORES)
    return named or request.slots.storage is not None or request.says("copies.data", "copies.out")


def size_gb(request: Request) -> float | None:
    """GB of the data to move: the largest amount that the text names.

    >>> from agent.understanding import parse
    >>> size_gb(parse("copy 5 TB of images from S3, how long"))
    5000.0
    """
    found = [tb * 1000 for tb in request.amounts.get("copies.tb", ())]
    return max([*found, *request.amounts.get("copies.gb", ())], default=None)


def compose(request: Request, context: Context) -> Plan:
    """Time first where that was asked, then what sets it, then the money of the traffic."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    size = size_gb(request)
    assert size is not None
    machine = yield from _machine(draft)
    gbps = _gbps(request)
    if gbps is None and machine is not None:
        gbps = machine[1]
    wanted = _arguments(request, size) | {"gbps": gbps}
    asks_time = request.says("copies.how_long")
    if not asks_time:
        yield from _say_traffic(draft, wanted)
    if gbps is None:
        yield from _say_links(draft, wanted)
    else:
        (result,) = yield (Call("plan_copy", wanted),)
        report = result.report
        if not isinstance(report, CopyReport):
            draft.add(result.hint or "", importance=HEAD)
            return draft.finish("not_applicable", intent="io_bottleneck")
        draft.use(result)
        _say_time(draft, report, wanted, None if machine is None else machine[0])
        if machine is not None and _gbps(request) is None:
            draft.say("copying.instance_link", type=machine[0], gbps=f"{machine[1]:g}")
        _say_limits(draft, report, wanted)
    if asks_time:
        yield from _say_traffic(draft, wanted)
    if request.slots.has_card or request.slots.instance is not None:
        draft.say("copying.idle", importance=DETAIL)
    return draft.finish("not_applicable", intent="io_bottleneck")


def _arguments(request: Request, size: float) -> dict[str, Any]:
    """What is known of the copy, for the tool."""
    slots = request.slots
    files = next(iter(request.amounts.get("copies.files", ())), None)
    if files is not None and size * 1e9 / files > _SMALL_BYTES:
        files = None
    source, target = _ends(request)
    route = request.route
    is_chinese = route is not None and not {route.source, route.target}.isdisjoint(_CHINESE)
    is_abroad = slots.region is not None and not slots.region.startswith("cn")
    return {
        "size_gb": size, "source": source, "target": target, "files": files,
        "machines": slots.instance_count or slots.nodes or 1,
        "abroad": is_abroad and not is_chinese,
    }  # fmt: skip


def _ends(request: Request) -> tuple[str | None, str | None]:
    """Stores at both ends; None for a machine's disk or a place that is no cloud."""
    slots = request.slots
    if request.route is not None:
        route = request.route
        return _BY_PROVIDER.get(route.source), _BY_PROVIDER.get(route.target)
    stores = _stores_named(request)
    store = stores[0] if stores else None
    disk = slots.storage if slots.storage not in (*_STORES.values(), "object", None) else None
    if store is None and disk is None and slots.provider is not None:
        store = _BY_PROVIDER.get(slots.provider)
    other = stores[1] if len(stores) > 1 else disk
    ends = (store or disk, other if store is not None else None)
    is_reversed = request.says("copies.upload") and len(stores) < _TWO
    return ends[::-1] if is_reversed else ends


def _stores_named(request: Request) -> list[str]:
    """Object stores that the text names, those of the clouds named first in front."""
    found = [name for mark, name in _STORES.items() if request.says(mark)]
    clouds = [_BY_PROVIDER.get(cloud, "") for cloud in request.slots.providers or ()]
    return sorted(found, key=lambda name: clouds.index(name) if name in clouds else len(clouds))


def _gbps(request: Request) -> float | None:
    """Gbit/s that was said, in whichever unit."""
    said = request.slots.bandwidth_gbps
    slow = next(iter(request.amounts.get("copies.mbps", ())), None)
    return said if said is not None else None if slow is None else slow / 1000


def _machine(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], tuple[str, float] | None]:
    """Type and Gbit/s of the machine named; of a family the smallest that has a figure."""
    slots = draft.request.slots
    if slots.instance is None:
        return None
    (result,) = yield (
        Call("find_instances", {"name": slots.instance, "provider": draft.request.cloud,
                                "gpu_count": slots.gpu_count}),
    )  # fmt: skip
    report = result.report
    rows = report.instances if isinstance(report, InstancesReport) else ()
    known = [(row.instance_type, row.network_gbps) for row in rows if row.network_gbps is not None]
    if not known:
        return None
    draft.use(result)
    return min(known, key=lambda item: item[1])


def _say_time(
    draft: Draft, report: CopyReport, wanted: dict[str, Any], machine: str | None
) -> None:
    hours = [s / 3600 for s in (report.seconds.value, report.seconds.low, report.seconds.high)]
    for name, value in zip(("copy", "copy_low", "copy_high"), hours, strict=True):
        draft.figure(f"{name}_hours", value, "h", formula="seconds / 3600")
    time, low, high = (duration(value, draft.language) for value in hours)
    draft.say("copying.headline", size=_size(draft, wanted["size_gb"]),
              way=_way(draft, wanted, machine), time=time, low=low, high=high,
              rate=format_significant(report.mb_s, 3),
              slowest=_slowest(draft, report, wanted), importance=HEAD)  # fmt: skip


def _size(draft: Draft, gb: float) -> str:
    """TB from a thousand GB on, as people write it."""
    draft.figure("data", gb, "GB", sources=("user:size",))
    if gb < 1000:
        return f"{gb:g} GB"
    draft.figure("data", gb / 1000, "TB", sources=("user:size",))
    return f"{gb / 1000:g} TB"


def _name(draft: Draft, end: str) -> str:
    """A store as people write it."""
    from tools.speed import object_store

    store = object_store(end)
    return store.name if store is not None else end.upper()


def _way(draft: Draft, wanted: dict[str, Any], machine: str | None) -> str:
    """From where to where; the machine stands for the end that is no store."""
    source, target = wanted["source"], wanted["target"]
    ends = {k: _name(draft, v) for k, v in (("source", source), ("target", target)) if v}
    if machine is not None and len(ends) == 1:
        ends["target" if source else "source"] = f"`{machine}`"
    key = {0: "plain", 2: "from_to"}.get(len(ends), "from" if source else "to")
    return draft.phrase(f"copying.{key}", **ends)


def _slowest(draft: Draft, report: CopyReport, wanted: dict[str, Any]) -> str:
    """What sets the time, in words."""
    if report.slowest == "link":
        share = report.stages["link"] * 8 / 1000 / wanted["machines"] / wanted["gbps"]
        draft.figure("share of the link", round(share * 100), "%", formula="MB/s * 8 / Gbit/s")
        return draft.phrase("copying.slowest_link", gbps=f"{wanted['gbps']:g}",
                            share=f"{share * 100:.0f}%")  # fmt: skip
    if report.slowest == "files":
        draft.figure("files", wanted["files"], "1", sources=("user:files",))
        streams = next((a.value for a in report.assumptions if a.name == "streams"), 64)
        draft.assume(report.assumptions)
        return draft.phrase("copying.slowest_files", streams=streams,
                            files=count(wanted["files"], draft.language))  # fmt: skip
    rate = report.stages[report.slowest]
    return draft.phrase("copying.slowest_end", store=_name(draft, str(wanted[report.slowest])),
                        rate=format_significant(rate, 3))  # fmt: skip


def _say_links(
    draft: Draft, wanted: dict[str, Any]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """The time at usual links, where neither a bandwidth nor a machine was named."""
    results = yield tuple(Call("plan_copy", wanted | {"gbps": gbps}) for gbps in _LINKS)
    rows = []
    for gbps, result in zip(_LINKS, results, strict=True):
        report = result.report
        if not isinstance(report, CopyReport):
            continue
        draft.use(result)
        hours = report.seconds.value / 3600
        draft.figure("copy_hours", hours, "h", formula="seconds / 3600")
        draft.figure("link", gbps, "Gbit/s", sources=("rule:usual links",))
        is_held = report.slowest in ("source", "target")
        limit = ""
        if is_held:
            limit = draft.phrase("copying.capped", store=_name(draft, str(wanted[report.slowest])))
        rows.append(draft.phrase("copying.link_row", gbps=f"{gbps:g}", limit=limit,
                                 time=duration(hours, draft.language),
                                 rate=format_significant(report.mb_s, 3)))  # fmt: skip
    is_asked = draft.request.says("copies.how_long")
    draft.bullets(rows, title=draft.phrase("copying.by_link"),
                  importance=HEAD if is_asked else BODY)  # fmt: skip


def _say_limits(draft: Draft, report: CopyReport, wanted: dict[str, Any]) -> None:
    """Connections, machines, the account's limit, and what packing small files is worth."""
    from tools.speed import object_store

    if report.file_seconds is not None and report.slowest == "files":
        by_bytes = wanted["size_gb"] * 1000 / min(report.stages.values()) / 3600
        draft.figure("copy of shards", by_bytes, "h", formula="size / slowest rate")
        for name, value in (("shard_low", 1e8), ("shard_high", 1e9)):
            draft.figure(name, value, "B", sources=("rule:shards",))
        draft.say("copying.small_files", time=duration(by_bytes, draft.language))
    store = next((s for s in map(_store_of, (wanted["source"], wanted["target"])) if s), None)
    if store is None:
        return
    draft.figure("connection", 85, "MB/s", sources=("data:speed/object_stores.json",))
    draft.figure("connections", report.connections, "1", formula="MB/s / MB/s of a connection")
    if report.connections > 1:
        draft.say("copying.connections", count=report.connections)
    found = object_store(store, is_abroad=wanted["abroad"])
    if found is not None and found.mb_s is not None:
        gbit = found.mb_s * 8 / 1000
        draft.figure("account", gbit, "Gbit/s", sources=("data:speed/object_stores.json",))
        where = draft.phrase("copying.elsewhere" if wanted["abroad"] else "copying.mainland")
        draft.say("copying.account", store=found.name, gbit=f"{gbit:g}", where=where)
    more = report.machines_useful
    is_cloud = draft.request.slots.instance is not None or draft.request.slots.has_card
    if is_cloud and more is not None and more > wanted["machines"]:
        draft.figure("machines", more, "1", formula="rate of the store / rate of a link")
        draft.say("copying.machines", count=more)


def _store_of(end: str | None) -> str | None:
    return end if end in _STORES.values() else None


# ---- money


def _say_traffic(
    draft: Draft, wanted: dict[str, Any]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Traffic is free inside a region and billed out of it: both are told where a store is."""
    request = draft.request
    if request.route is not None:
        yield from say_route(draft, request.route, wanted)
        return
    store = _store_of(wanted["source"]) or _store_of(wanted["target"])
    provider = next((p for p, s in _BY_PROVIDER.items() if s == store), request.slots.provider)
    if provider is None:
        return
    is_between = _store_of(wanted["source"]) is not None and _store_of(wanted["target"]) is not None
    is_up = request.says("copies.upload") and not is_between
    way = "regions" if request.says("copies.regions") else "internet"
    base = wanted | {"provider": provider, "gbps": wanted["gbps"] or _LINKS[1]}
    first = "inbound" if is_up else "internal"
    results = yield (
        Call("plan_copy", base | {"way": first}), Call("plan_copy", base | {"way": way}),
    )  # fmt: skip
    free, billed = (_traffic(result) for result in results)
    is_asked = request.says("copies.fee", "copies.charge", "copies.out", "copies.regions")
    cloud = provider_name(draft, provider)
    is_one_region = not is_between and not request.says("copies.regions")
    if free is not None and free.high == 0 and is_one_region:
        key = "copying.inbound" if is_up else "copying.free"
        is_inside = not request.says("copies.out")
        draft.say(key, provider=cloud, importance=HEAD if is_asked and is_inside else BODY)
    if is_up and way == "internet":
        return
    for result in results:
        draft.use(result)
    name = draft.phrase(f"copying.way_{way}")
    if billed is None:
        if is_asked:
            draft.say("copying.no_price", provider=cloud, way=name)
        return
    _say_cost(draft, billed, name, cloud, HEAD if is_asked else BODY)
    draft.say("copying.requests", importance=DETAIL)


def _traffic(result: ToolResult) -> TrafficOut | None:
    return result.report.traffic if isinstance(result.report, CopyReport) else None


def _say_cost(draft: Draft, cost: TrafficOut, way: str, cloud: str, importance: int) -> None:
    date = draft.phrase("copying.undated")
    if cost.priced_on is not None:
        date = draft.phrase("copying.dated", date=cost.priced_on)
    low, high = (money(x, cost.currency, draft.language) for x in (cost.low, cost.high))
    if cost.low == cost.high:
        draft.say("copying.cost", way=way, cost=low, provider=cloud, date=date,
                  importance=importance)  # fmt: skip
    else:
        draft.say("copying.cost_hours", way=way, low=low, high=high, provider=cloud, date=date,
                  cheap=cost.hours[0], importance=importance)  # fmt: skip
    if cost.is_upper:
        draft.say("copying.at_most")
