"""Types set against each other without a job: what each is, and the cards behind them."""

from __future__ import annotations

from collections.abc import Generator

from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.machines import instance_line, provider_name, say_price_sources
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut


def say_types(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], tuple[str, ...]]:
    """One line a type; gives their cards as "2xT4", each once.

    Returns:
        Nothing, with nothing said, where fewer than two types are known.
    """
    names = tuple(dict.fromkeys(draft.request.slots.instances or ()))
    if len(names) < 2:
        return ()
    results = yield tuple(
        Call("find_instances", {"name": name, "provider": draft.request.cloud_of(name)})
        for name in names
    )
    missing = [name for name, result in zip(names, results, strict=True) if not _first(result)]
    anywhere: tuple[ToolResult, ...] = ()
    if missing:  # the one cloud that is named is not that of every type
        anywhere = yield tuple(Call("find_instances", {"name": name}) for name in missing)
    rows = [row for result in (*results, *anywhere) for row in _first(result)]
    if len(rows) < 2:
        return ()
    draft.use(*results, *anywhere)
    draft.bullets([instance_line(draft, row, with_provider=True) for row in rows], importance=HEAD)
    draft.offer(row.as_offer() for row in rows)
    say_price_sources(draft, rows)
    cards = tuple(dict.fromkeys(f"{row.gpu_count or 1}x{row.gpu}" for row in rows if row.gpu))
    names_of = {row.gpu for row in rows}
    if len(names_of) == 1 and rows[0].gpu:
        clouds = {provider_name(draft, row.provider) for row in rows}
        key = "types_compared.same" if len(clouds) > 1 else "types_compared.same_cloud"
        draft.say(key, gpu=rows[0].gpu, importance=HEAD)
    return cards


def _first(result: ToolResult) -> tuple[InstanceOut, ...]:
    """The type of the name; of a family the smallest with a whole card."""
    report = result.report
    if not isinstance(report, InstancesReport):
        return ()
    whole = [row for row in report.instances if row.category == "gpu"]
    return tuple((whole or list(report.instances))[:1])
