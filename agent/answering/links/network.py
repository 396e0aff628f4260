"""network_distributed: does the link between machines slow training down."""

from __future__ import annotations

from typing import Any

from agent.answer import AssumptionOut
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.machines import price_text, say_price_sources
from agent.answering.telling.numbers import gib, hourly
from agent.answering.telling.run_words import joined, method_name
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.network import NetworkReport
from agent.toolbox.offers import InstanceOut
from tools.units import format_significant

_LINK_GBPS = 25.0
_CASES = (("lora", "ddp"), ("full", "zero2"), ("full", "zero3"))
_WIRES = {True: "RDMA", False: "TCP"}
"""Both wires, where they are set against each other."""
_STRATEGIES = {"ddp": "DDP", "zero2": "ZeRO-2", "zero3": "ZeRO-3/FSDP"}
_FULL_CASES = (("full", "ddp"), ("full", "zero2"), ("full", "zero3"))
"""Full training whose sharding was not said."""
_PAYS = 0.7
"""Share of the speed that is paid for, from which more machines are called worth it."""


def compose(request: Request, context: Context) -> Plan:
    """The link, then what it costs LoRA, full and fully sharded training."""
    draft = Draft(request)
    slots = request.slots
    first = [guidance_call(request, k=2, topic="network")]
    if slots.instance:
        first.append(Call("find_instances", {"name": slots.instance, "provider": request.cloud}))
    results = yield tuple(first)
    draft.use(*results)
    machine = _machine(results, slots.bandwidth_gbps)
    asked = _arguments(draft, machine)
    shares = yield tuple(Call("check_network", a) for a in asked)
    needs = yield tuple(_memory_call(draft, a) for a in asked)
    draft.use(*shares, *needs)
    reports = [r.report for r in shares if isinstance(r.report, NetworkReport)]
    short = [_is_short(r.report) for r in needs]
    is_diagnosis = bool(request.says("links.slower") or slots.steps_per_s)
    if is_diagnosis:
        draft.say("network.slow_nodes", importance=HEAD)
    if reports:
        _tell(draft, reports, asked, short)
        if request.says("links.worth"):
            _say_worth(draft, reports, asked, short)
    if machine is not None:
        _say_link(draft, machine)
    if request.says("links.zones"):
        draft.say("network.zones", importance=HEAD)
    draft.say("network.advice")
    say_cited(draft, passages_in(results)[:2])
    return draft.finish("not_applicable" if is_diagnosis else "depends")


def _machine(results: tuple[ToolResult, ...], gbps: float | None) -> InstanceOut | None:
    """The instance asked about: of a family, the smallest with the link that was said.

    Without a link, or with one that none has, the largest, whose link is the fastest.
    """
    for result in results:
        if isinstance(result.report, InstancesReport):
            rows = [r for r in result.report.instances if r.network_gbps is not None]
            wide = [r for r in rows if gbps is not None and (r.network_gbps or 0) >= gbps]
            if wide:
                return min(wide, key=lambda r: (r.gpu_count or 0, r.network_gbps or 0))
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
        "rdma": bool(machine and machine.rdma) or has_rdma(draft.request),
        "grad_accum": slots.grad_accum or 1,
        "step_s": slots.step_s,
    }
    cases: tuple[tuple[str, str], ...] = _CASES
    said = _said_method(draft.request)
    if said is not None:
        method = said.rpartition("+")[2]
        is_open = method == "full" and slots.zero_stage is None and slots.strategy is None
        strategy = "zero3" if slots.zero_stage == 3 or slots.strategy == "fsdp" else "ddp"
        cases = _FULL_CASES if is_open else ((method, strategy),)
    is_pair = has_rdma(draft.request) and draft.request.says("links.sockets")
    return [
        {
            k: v
            for k, v in {**common, "method": method, "strategy": strategy, "rdma": rdma}.items()
            if v is not None
        }
        for method, strategy in cases
        for rdma in ((False, True) if is_pair else (common["rdma"],))
    ]


def _said_method(request: Request) -> str | None:
    """The method that was said; one that was only assumed leaves the others open."""
    return None if "method" in request.inferred else request.slots.method


def _memory_call(draft: Draft, asked: dict[str, Any]) -> Call:
    """Whether the cards of all machines hold the run as it is shared out."""
    stages = {"zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3}
    arguments = {
        "model": asked.get("model"),
        "params_b": asked.get("params_b"),
        "task": "train",
        "method": asked["method"],
        "gpu": asked.get("gpu"),
        "gpu_count": asked["nodes"] * asked["gpus_per_node"],
        "zero_stage": stages.get(asked["strategy"]),
        "batch": draft.request.slots.batch,
        "seq_len": draft.request.slots.seq_len,
        "with_changes": False,
    }
    return Call("estimate_memory", {k: v for k, v in arguments.items() if v is not None})


def _is_short(report: object) -> str | None:
    """The need of a card that cannot hold its share; None where it can or no card was named."""
    if not isinstance(report, MemoryReport) or report.usable_bytes is None:
        return None
    return gib(report.process_bytes) if report.verdict == "does_not_fit" else None


def has_rdma(request: Request) -> bool:
    """Whether the question says that the link is an RDMA one, not that there is none or if so."""
    if request.says("links.with_rdma"):
        return True
    return request.says("links.rdma") and not request.says("links.no_rdma")


def _tell(
    draft: Draft,
    reports: list[NetworkReport],
    asked: list[dict[str, Any]],
    short: list[str | None],
) -> None:
    slots = draft.request.slots
    first = reports[0]
    kind = draft.phrase("network.rdma" if asked[0]["rdma"] else "network.tcp")
    if len({arguments["rdma"] for arguments in asked}) > 1:
        kind = ""
    draft.say("network.head", nodes=slots.nodes or 2, gbps=f"{first.gbps:g}", kind=kind,
              importance=HEAD)  # fmt: skip
    draft.figure("machines", slots.nodes or 2, "1",
                 sources=("user:nodes" if slots.nodes else "rule:least",))  # fmt: skip
    draft.figure("link", first.gbps, "Gbit/s", sources=("user:link",))
    lines = []
    for report, arguments, need in zip(reports, asked, short, strict=False):
        told_method = method_name(draft, _said_method(draft.request) or arguments["method"])
        speedup = format_significant(report.speedup.value, 2)
        draft.figure(f"{report.strategy} speedup", float(speedup), "1",
                     formula="machines * efficiency, two digits")  # fmt: skip
        for name, value in (
            ("efficiency", report.efficiency.value),
            ("waiting", report.waiting_share.value),
        ):
            draft.figure(f"{report.strategy} {name}", round(value, 3), "1", formula="network share")
        lines.append(
            draft.phrase(
                "network.row",
                method=told_method if kind else f"{_WIRES[arguments['rdma']]} · {told_method}",
                strategy=_STRATEGIES.get(report.strategy, report.strategy),
                traffic=gib(report.traffic_bytes),
                efficiency=f"{report.efficiency.value * 100:.0f}%",
                waiting=f"{report.waiting_share.value * 100:.0f}%",
                enough=format_significant(report.enough_gbps, 3),
                nodes=slots.nodes or 2,
                speedup=speedup,
            )
            + (draft.phrase("network.short", need=need) if need else "")
        )
    draft.bullets(lines)
    draft.figure("compute", first.compute_s, "s", formula="step on one machine")
    model = slots.model or f"{slots.params_b or 7:g}B"
    draft.assume(first.assumptions)
    gpus = asked[0]["gpus_per_node"]
    draft.figure("gpus_per_machine", gpus, "1", formula="cards / machines")
    draft.say("network.assumed", model=model, gpus=gpus, gpu=asked[0].get("gpu") or "GPU",
              compute=format_significant(first.compute_s, 3), importance=DETAIL)  # fmt: skip


def _say_worth(
    draft: Draft,
    reports: list[NetworkReport],
    asked: list[dict[str, Any]],
    short: list[str | None],
) -> None:
    """Which trainings get most of the speed that the machines cost."""
    slots = draft.request.slots
    names: dict[bool, list[str]] = {True: [], False: []}
    for report, arguments, need in zip(reports, asked, short, strict=False):
        how = _STRATEGIES.get(report.strategy, report.strategy)
        name = f"{method_name(draft, _said_method(draft.request) or arguments['method'])} ({how})"
        if need is None:
            names[report.efficiency.value >= _PAYS].append(name)
    draft.figure("pays from", _PAYS, "1", sources=("rule:pays",))
    values = {"nodes": slots.nodes or 2, "share": f"{_PAYS * 100:.0f}%"}
    for pays, key in ((False, "network.does_not_pay"), (True, "network.pays")):
        if names[pays]:
            draft.lead(key, methods=joined(draft, names[pays]), **values)


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
    machines = draft.request.slots.nodes or draft.request.slots.instance_count or 1
    if machine.price is not None and machines > 1:
        total = machine.price.amount * machines
        draft.figure("all machines", total, f"{machine.price.currency}/h",
                     formula="price * machines")  # fmt: skip
        draft.say("network.price", count=machines, one=price_text(draft, machine.price),
                  total=hourly(total, machine.price.currency, draft.language))  # fmt: skip
        say_price_sources(draft, [machine])
