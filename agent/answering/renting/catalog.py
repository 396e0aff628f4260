"""catalog_lookup: what an instance name is, or which types carry a card."""

from __future__ import annotations

from collections.abc import Generator

from agent.answering.money.prices import asks_cheaper, is_price_of_several, say_cheaper
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import DETAIL, EXTRA, HEAD, Draft
from agent.answering.telling.machines import (
    cheapest_by_card,
    family_line,
    instance_line,
    provider_name,
    short_line,
    smallest_by_card,
)
from agent.answering.telling.numbers import quoted, usual_currency
from agent.answering.telling.run_words import joined
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut

_LISTED = 4
_WITHOUT_CUDA = ("AMD ", "Radeon", "Intel ")
_BEARERS = ("alibaba", "aws", "huawei", "tencent")
"""Clouds whose types share names such as g6.xlarge."""


def applies(request: Request, context: Context) -> bool:
    """True for several types of which the cheaper one is looked for."""
    return is_price_of_several(request)


def compose(request: Request, context: Context) -> Plan:
    """Looks up what was named; without a name, the types with the cards asked for."""
    draft = Draft(request)
    slots = request.slots
    names = slots.instances or ((slots.instance,) if slots.instance else ())
    if names:
        yield from _names(draft, names)
    else:
        yield from _cards(draft, slots.gpus or ((slots.gpu,) if slots.gpu else ()))
    return draft.finish("not_applicable")


Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], None]


def _names(draft: Draft, names: tuple[str, ...]) -> Steps:
    slots = draft.request.slots
    spoken_of: tuple[str | None, ...] = slots.providers or (slots.provider,)
    of_types = draft.request.clouds
    currency = usual_currency(draft.language) if len(names) > 1 else None
    calls = tuple(
        Call("find_instances", {"name": name, "provider": cloud, "region": slots.region,
                                "currency": currency, "limit": 50 if currency else None})
        for name in names
        for cloud in ((of_types[name],) if name in of_types else spoken_of)
    )  # fmt: skip
    results = yield calls
    if len(names) > 1 and "provider" in draft.request.inferred:
        results = yield from _elsewhere(calls, results)
    results = (*results, *(yield from _namesakes(draft, results)))
    draft.use(*results)
    needs_gpu = False
    reports = [r.report for r in results if isinstance(r.report, InstancesReport)]
    if currency and asks_cheaper(draft.request):
        say_cheaper(draft, reports)
    for result in results:
        report = result.report
        if not isinstance(report, InstancesReport):
            draft.add(quoted(result.hint or ""), importance=HEAD)
            continue
        needs_gpu = _tell(draft, report) or needs_gpu
    if needs_gpu:
        yield from entry_types(draft, slots.provider or spoken_of[0])
    _tell_quota(draft, results)


def _namesakes(
    draft: Draft, results: tuple[ToolResult, ...]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], tuple[ToolResult, ...]]:
    """The types of other clouds that bear the same name, where the reader named no cloud."""
    request = draft.request
    is_said = request.slots.provider is not None and "provider" not in request.inferred
    if is_said or request.clouds or len(results) != 1:
        return ()
    report = results[0].report
    if not isinstance(report, InstancesReport) or report.kind != "type":
        return ()
    bare = report.instances[0].instance_type.split("ecs.")[-1]
    clouds = tuple({row.provider for row in report.instances})
    calls = tuple(
        Call("find_instances", {"name": bare, "provider": cloud})
        for cloud in _BEARERS
        if cloud not in clouds
    )
    found = yield calls
    return tuple(
        result
        for result in found
        if isinstance(result.report, InstancesReport) and result.report.kind == "type"
    )


def _elsewhere(
    calls: tuple[Call, ...], results: tuple[ToolResult, ...]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], tuple[ToolResult, ...]]:
    """Names that the cloud of another name does not have are looked up in all clouds."""
    missing = [
        number
        for number, result in enumerate(results)
        if isinstance(result.report, InstancesReport) and result.report.kind == "unknown"
    ]
    if not missing:
        return results
    again = yield tuple(
        Call("find_instances", {**calls[number].arguments, "provider": None}) for number in missing
    )
    found = dict(zip(missing, again, strict=True))
    return tuple(found.get(number, result) for number, result in enumerate(results))


def _tell(draft: Draft, report: InstancesReport) -> bool:
    """Tells what one name stands for; True when what was named has no GPU or does not exist."""
    if report.kind == "unknown":
        _tell_unknown(draft, report)
        return not report.nearest
    if report.kind == "type":
        for row in report.instances:
            draft.offer([row.as_offer()])
            draft.add(instance_line(draft, row, with_provider=True), importance=HEAD)
        return all(row.category == "cpu" for row in report.instances)
    lines = [family_line(draft, family) for family in report.families]
    draft.add((";" if draft.language == "en" else "；").join(lines) + draft.phrase("catalog.stop"),
              importance=HEAD)  # fmt: skip
    gpu_rows = [row for row in report.instances if row.category != "cpu"]
    if gpu_rows:
        smallest = gpu_rows[0]
        draft.say("catalog.smallest", line=instance_line(draft, smallest))
        draft.bullets([instance_line(draft, row) for row in _spread(gpu_rows[1:])],
                      title=draft.phrase("catalog.others"), importance=DETAIL)  # fmt: skip
        draft.offer(row.as_offer() for row in (smallest, *_spread(gpu_rows[1:])))
    elif report.instances:
        draft.say("catalog.example", line=instance_line(draft, report.instances[0]),
                  importance=DETAIL)  # fmt: skip
    if gpu_rows and all((row.gpu or "").startswith(_WITHOUT_CUDA) for row in gpu_rows):
        draft.say("catalog.no_cuda")
    if report.elsewhere:
        clouds = ", ".join(provider_name(draft, p) for p in report.elsewhere)
        draft.say("catalog.elsewhere", clouds=clouds, name=quoted(report.given or ""))
    return not any(family.has_gpu for family in report.families)


def _tell_unknown(draft: Draft, report: InstancesReport) -> None:
    name = quoted(report.given or "")
    draft.say("catalog.unknown", name=name, importance=HEAD)
    fact = draft.phrase("catalog.unknown_fact", name=name)
    if not any(report.given and report.given in c.fact for c in draft.request.corrections):
        draft.correct(name, fact, "data:catalog")
    for family in report.families:
        draft.add(family_line(draft, family) + draft.phrase("catalog.stop"))
    draft.bullets([instance_line(draft, row) for row in report.nearest[:_LISTED]],
                  title=draft.phrase("catalog.nearest"))  # fmt: skip
    draft.offer(row.as_offer() for row in report.nearest[:_LISTED])


def _spread(rows: list[InstanceOut]) -> list[InstanceOut]:
    """A few types over the range of sizes."""
    if len(rows) <= _LISTED - 1:
        return rows
    step = (len(rows) - 1) / (_LISTED - 2)
    return [rows[round(i * step)] for i in range(_LISTED - 1)]


def _tell_quota(draft: Draft, results: tuple[ToolResult, ...]) -> None:
    """VCPUs for several machines: quotas count vCPUs, not GPUs."""
    count = draft.request.slots.instance_count
    for result in results:
        report = result.report
        if not isinstance(report, InstancesReport) or report.kind != "type" or not count:
            continue
        vcpu = report.instances[0].vcpu
        if vcpu is None:
            continue
        total = count * vcpu
        draft.figure("vcpu_total", total, "vCPU", formula="instances * vCPU each")
        draft.say("catalog.quota", count=count, vcpu=vcpu, total=total)


def entry_types(draft: Draft, provider: str | None) -> Steps:
    """The cheapest types with a GPU of one cloud, to start with."""
    slots = draft.request.slots
    results = yield (
        Call(
            "find_instances",
            {
                "min_gpu_memory_gb": 14.0,
                "max_gpu_count": 1,
                "provider": provider or "alibaba",
                "region": slots.region,
                "limit": 50,
            },
        ),
    )
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, InstancesReport):
        return
    best = cheapest_by_card(report.instances)
    title = "catalog.entry" if best else "catalog.entry_undated"
    best = best or smallest_by_card(report.instances)
    draft.bullets([short_line(draft, row) for row in best], title=draft.phrase(title))
    draft.offer(row.as_offer() for row in best)


def _cards(draft: Draft, gpus: tuple[str, ...]) -> Steps:
    slots = draft.request.slots
    if not gpus:
        draft.say("catalog.nothing_named", importance=HEAD)
        yield from entry_types(draft, slots.provider)
        return
    results = yield tuple(
        Call(
            "find_instances",
            {
                "gpu": gpu,
                "any_variant": "gpu" in draft.request.ambiguities,
                "provider": slots.provider,
                "region": slots.region,
                "limit": 50,
            },
        )
        for gpu in gpus
    )
    draft.use(*results)
    for gpu, result in zip(gpus, results, strict=True):
        report = result.report
        if not isinstance(report, InstancesReport):
            draft.add(quoted(result.hint or ""), importance=HEAD)
        elif not report.instances:
            where = provider_name(draft, slots.provider) if slots.provider else ""
            draft.say("catalog.none_with_card", gpu=gpu, where=where, importance=HEAD)
        else:
            _tell_carriers(draft, gpu, report)


def _tell_carriers(draft: Draft, gpu: str, report: InstancesReport) -> None:
    """Families that carry a card, then its cheapest types."""
    families: dict[tuple[str, str], set[str]] = {}
    for row in report.instances:
        families.setdefault((row.provider, row.family), set()).add(row.gpu or gpu)
    named = [
        f"{provider_name(draft, provider)} {family}"
        + draft.phrase("machines.in_brackets", text=joined(draft, sorted(cards)))
        for (provider, family), cards in families.items()
    ]
    draft.say("catalog.carriers", gpu=gpu, families=joined(draft, named[:8]), importance=HEAD)
    priced = sorted(
        (row for row in report.instances if row.price is not None),
        key=lambda row: (row.gpu_share != 1, row.price.amount if row.price else 0),
    )
    shown = priced[:_LISTED] or list(report.instances[:_LISTED])
    draft.bullets([short_line(draft, row) for row in shown], importance=EXTRA)
    draft.offer(row.as_offer() for row in shown)
