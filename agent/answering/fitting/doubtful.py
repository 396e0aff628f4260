"""A card in a memory size that it does not come in: figures for all that it may be."""

from __future__ import annotations

from collections.abc import Generator

from agent.answer import Verdict
from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib, gib_range
from agent.answering.telling.run_words import memory_arguments, run_text
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport
from tools.memory import likely

_SAME = 0.08
"""Two sizes on the box that differ by less are the same."""


def is_doubtful(draft: Draft, report: MemoryReport) -> bool:
    """True when the size that was said is none of the card's, and no slice of it."""
    given, label = draft.request.slots.gpu_mem_gb, report.label_gb
    if given is None or label is None or report.gpu is None or report.gpu.endswith("class"):
        return False
    return report.slice_memory_gb is None and abs(given - label) > _SAME * label


def say_doubtful(
    draft: Draft, report: MemoryReport, card: GpuReport | None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Verdict]:
    """The need against each size that the card has, and against the size that was said."""
    slots = draft.request.slots
    given = slots.gpu_mem_gb
    assert given is not None
    arguments = memory_arguments(
        slots, task=report.task, gpu=None, instance=None, gpu_mem_gb=given, method=report.method
    )
    results = yield (Call("estimate_memory", arguments),)
    draft.use(*results)
    said = results[0].report
    sizes = {report.gpu or "": report.usable_bytes or 0}
    if card is not None:
        sizes |= {v.name: v.usable_bytes for v in card.variants}
    outcomes = {name: _outcome(report, usable) for name, usable in sizes.items()}
    lines = [
        draft.phrase("fit.doubtful_line", card=name, usable=gib(usable),
                     outcome=draft.phrase(f"memory.outcome_{outcomes[name]}"))
        for name, usable in sorted(sizes.items(), key=lambda item: item[1])
    ]  # fmt: skip
    if isinstance(said, MemoryReport) and said.usable_bytes is not None:
        name = draft.phrase("fit.doubtful_slice", given=f"{given:g}")
        outcomes[name] = _outcome(report, said.usable_bytes)
        lines.insert(0, draft.phrase(
            "fit.doubtful_line", card=name, usable=gib(said.usable_bytes),
            outcome=draft.phrase(f"memory.outcome_{outcomes[name]}")))  # fmt: skip
        draft.figure("usable given size", said.usable_bytes, "B", sources=("user:gpu_mem_gb",))
    draft.figure("given_size", given, "GB", sources=("user:gpu_mem_gb",))
    for name, usable in sizes.items():
        draft.figure(f"usable {name}", usable, "B", sources=(f"data:gpus.csv#{name}",))
    family = (report.gpu or "").split(" SXM")[0].split(" PCIe")[0]
    verdict = _joined(set(outcomes.values()))
    draft.say(f"fit.doubtful_{verdict}", importance=HEAD, gpu=family, given=f"{given:g}",
              what=run_text(draft, report), need=gib(report.process_bytes),
              range=gib_range(report.low_bytes, report.high_bytes))  # fmt: skip
    draft.bullets(lines, title=draft.phrase("fit.doubtful_title"), importance=HEAD)
    return verdict


def _joined(found: set[str]) -> Verdict:
    """One verdict for all that the card may be."""
    if found == {"does_not_fit"}:
        return "does_not_fit"
    return "fits" if found == {"fits"} else "depends"


def _outcome(report: MemoryReport, usable: int) -> str:
    return likely(report.process_bytes, high_bytes=report.high_bytes, usable_bytes=usable)
