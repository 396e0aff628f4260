"""find_limit: the largest batch, context or concurrency that fits, or the fewest or smallest cards.

The searches are those of `tools.memory`; this turns written names into workloads and gives the
memory of the value found beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field

from agent.answer import FigureOut
from agent.settings import Settings
from agent.toolbox.base import Report, Tool, description_of
from agent.toolbox.memory import MemoryArguments, MemoryReport, estimate_memory
from agent.toolbox.resolve import ResolvedCard, resolve_card, resolve_model
from agent.toolbox.workloads import usual_for_kind, workload_of
from tools.errors import BadQuantityError

_MOST_COUNT = 64
"""Cards up to which a split is looked for."""
_MOST_CARDS = 5
"""Cards that are named for the smallest one."""
_NEWEST_FIRST_CC = 7.0
"""Compute capability from which current frameworks run; older cards are not proposed."""


class LimitArguments(MemoryArguments):
    """The run, and the number looked for; the value given for that number is ignored."""

    model_config = {"frozen": True, "extra": "forbid"}

    goal: Literal[
        "largest_batch", "longest_context", "most_concurrent", "fewest_cards", "smallest_card"
    ] = Field(description="The number looked for / 要求的是哪个数")


class LimitReport(Report):
    """The number found, and the memory of the run at it."""

    goal: str
    value: int | None
    """None when no number of cards holds the run; 0 when not even one does."""
    cautious: int | None
    """The same against the upper end of the estimate's interval."""
    cap: int | None
    """Longest context that the model itself allows, where memory would allow more."""
    cards: tuple[str, ...]
    """The smallest cards that hold the run, for `smallest_card`."""
    memory: MemoryReport
    """At the value found; at 1, or on the most cards tried, where nothing fits."""

    def summary(self) -> str:
        """The number."""
        found = ", ".join(self.cards) if self.cards else self.value
        return f"{self.goal}: {found} ({self.memory.summary()})"


def build(settings: Settings) -> Tool[LimitArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="find_limit",
        description=description_of("find_limit"),
        arguments=LimitArguments,
        report=LimitReport,
        function=find_limit,
    )


_FIELDS = {
    "largest_batch": ("batch", "concurrency"),
    "longest_context": ("seq_len",),
    "most_concurrent": ("concurrency", "batch"),
    "fewest_cards": ("gpu_count", "tp", "pp"),
    "smallest_card": ("gpu", "gpu_mem_gb", "gpu_count", "instance"),
}
"""Arguments that the goal replaces."""


@lru_cache(maxsize=256)
def find_limit(arguments: LimitArguments) -> LimitReport:
    """Searches for the number.

    Raises:
        BadQuantityError: If the goal needs a card and none is named.
        UserInputError: Unknown names and impossible values.
    """
    update: dict[str, Any] = dict.fromkeys(_FIELDS[arguments.goal])
    if arguments.goal == "most_concurrent":
        update["task"] = "infer"  # requests are what serving has
    run = arguments.model_copy(update=update)
    model = resolve_model(run.model, run.params_b)
    usual = usual_for_kind(run, model)
    if arguments.goal == "smallest_card":
        return _smallest(run, workload_of(run.model_copy(update=usual), model, None))
    card = resolve_card(
        run.gpu, memory_gb=run.gpu_mem_gb, instance=run.instance, provider=run.provider
    )
    if card is None or card.usable_bytes is None:
        raise BadQuantityError(field="gpu", given=run.gpu, allowed="a card, or its memory")
    workload = workload_of(run.model_copy(update=usual), model, card)
    if arguments.goal == "fewest_cards":
        return _fewest(run, workload, card.usable_bytes)
    positions = model.spec.max_position_embeddings
    found = _most(run, workload, card, positions)
    if found.value or not _could_shard(run):
        return found
    run = run.model_copy(update={"zero_stage": 3})  # whole on every card it does not start
    workload = workload_of(run.model_copy(update=usual), model, card)
    return _most(run, workload, card, positions)


def _could_shard(run: LimitArguments) -> bool:
    """Whether a training over several cards may still be sharded: nothing was said of that."""
    is_said = any((run.zero_stage, run.strategy, run.tp, run.pp))
    return run.task == "train" and (run.gpu_count or 1) > 1 and not is_said


def _search(goal: str) -> Callable[[Any, int], int]:
    from tools import memory

    searches: dict[str, Callable[[Any, int], int]] = {
        "largest_batch": memory.largest_batch,
        "longest_context": memory.longest_context,
        "most_concurrent": memory.most_concurrent,
    }
    return searches[goal]


def _most(
    run: LimitArguments, workload: Any, card: ResolvedCard, positions: int | None
) -> LimitReport:
    usable = card.usable_bytes or 1
    field = _FIELDS[run.goal][0]
    value = _search(run.goal)(workload, usable)
    report = _at(run, field, max(value, 1))
    cap = None
    if run.goal == "longest_context" and positions is not None and value > positions:
        cap, report = positions, _at(run, field, positions)
    cautious = None
    if value > 0:
        cautious = _last_sure(lambda v: _at(run, field, v).high_bytes <= usable, cap or value)
    return _report(run.goal, value, report, cautious=cautious, cap=cap)


def _last_sure(is_sure: Callable[[int], bool], most: int) -> int:
    """Largest value up to `most` whose upper bound fits; 0 when not even 1 does."""
    if is_sure(most):
        return most
    low, high = 0, most
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        low, high = (middle, high) if is_sure(middle) else (low, middle)
    return low


def _fewest(run: LimitArguments, workload: Any, usable: int) -> LimitReport:
    from tools.memory import fewest_cards

    value = fewest_cards(workload, usable)
    report = _on_cards(run, value or 8)
    cautious = value
    while cautious is not None and _on_cards(run, cautious).high_bytes > usable:
        cautious = cautious * 2 if cautious < _MOST_COUNT else None
    return _report(run.goal, value, report, cautious=cautious)


def _on_cards(run: LimitArguments, count: int) -> MemoryReport:
    if run.task == "train" and count > 1 and not (run.zero_stage or run.strategy):
        return _at(run, "gpu_count", count, zero_stage=3)
    return _at(run, "gpu_count", count)


def _smallest(run: LimitArguments, workload: Any) -> LimitReport:
    from tools.gpus import all_gpus
    from tools.memory import smallest_card

    offered = [
        gpu
        for gpu in all_gpus()
        if gpu.vendor == "NVIDIA"
        and not gpu.is_unified
        and (gpu.compute_capability or 0) >= _NEWEST_FIRST_CC
    ]
    found: list[str] = []
    first: float | None = None
    while len(found) < _MOST_CARDS:
        best = smallest_card(workload, offered)
        if best is None:
            break
        label = best.gpu.memory_label_gb
        if found and label != first:
            break
        first = label
        found.append(best.gpu.name)
        offered.remove(best.gpu)
    report = _at(run, "gpu", found[0] if found else None)
    return _report(run.goal, None, report, cards=tuple(found))


def _at(run: LimitArguments, field: str, value: Any, **more: Any) -> MemoryReport:
    given = {name: getattr(run, name) for name in MemoryArguments.model_fields}
    return estimate_memory(
        MemoryArguments(**{**given, field: value, **more, "with_changes": False})
    )


def _report(
    goal: str,
    value: int | None,
    memory: MemoryReport,
    *,
    cautious: int | None = None,
    cap: int | None = None,
    cards: tuple[str, ...] = (),
) -> LimitReport:
    unit = {"longest_context": "token"}.get(goal, "1")
    told = {goal: value, f"{goal}, cautious": cautious, "context of the model": cap}
    figures = tuple(
        FigureOut(name=name, value=number, unit=unit, formula="largest value that fits")
        for name, number in told.items()
        if number is not None
    )
    return LimitReport(
        figures=(*memory.figures, *figures),
        citations=memory.citations,
        goal=goal,
        value=value,
        cautious=cautious,
        cap=cap,
        cards=cards,
        memory=memory,
    )
