"""llama.cpp over several cards: layers are dealt out, so memory adds up and speed does not."""

from __future__ import annotations

from agent.answering.telling.draft import Draft
from agent.answering.telling.numbers import gib
from agent.toolbox.memory import MemoryReport
from tools.memory import GGUF_ENGINES, is_gguf
from tools.models import try_find_model


def is_layer_split(draft: Draft, report: MemoryReport) -> bool:
    """True for a run whose program deals whole layers out to several cards."""
    if report.gpu_count < 2 or report.task == "train" or draft.request.slots.tp:
        return False
    return draft.request.slots.framework in GGUF_ENGINES or is_gguf(report.weight_format)


def say_layer_split(draft: Draft, report: MemoryReport) -> None:
    """The sum over the cards against what they have together, and the share of each."""
    total = report.process_bytes * report.gpu_count
    together = (report.usable_bytes or 0) * report.gpu_count
    match = try_find_model(report.model)
    layers = (match.spec.num_hidden_layers or 0) if match is not None else 0
    each = -(-layers // report.gpu_count) if layers else 0
    draft.figure("total_over_cards", total, "B", formula="need per card * cards")
    draft.figure("usable_together", together, "B", formula="usable per card * cards")
    draft.figure("cards", report.gpu_count, "1", sources=("user:gpu_count",))
    if each:
        draft.figure("layers_of_a_card", each, "1", formula="layers / cards, rounded up")
    draft.say("layer_split.how", count=report.gpu_count, total=gib(total), sum=gib(together),
              layers=each or "1/n", each=gib(report.process_bytes))  # fmt: skip
