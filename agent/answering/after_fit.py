"""What to rent for a run: instances with its card, or with cards that hold it."""

from __future__ import annotations

from collections.abc import Generator

from agent.answer import Verdict
from agent.answering.draft import Draft
from agent.answering.plan import Call
from agent.answering.renting import cards_to_rent, say_fitting_cards
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport


def rent_after(
    draft: Draft, report: MemoryReport, verdict: Verdict
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Instances with the card asked for, or cards that would hold it."""
    from agent.answering.inverse import count_cards, is_too_large

    if is_too_large(report):
        yield from count_cards(draft, report)
        return
    if report.gpu is not None and verdict in ("fits", "tight") and not report.gpu.endswith("class"):
        yield from cards_to_rent(draft, report.gpu, count=report.gpu_count)
    else:
        yield from say_fitting_cards(draft, report)
