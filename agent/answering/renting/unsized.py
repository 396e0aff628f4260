"""What to rent where the run cannot be sized: no model is named, or one that no registry has."""

from __future__ import annotations

from collections.abc import Generator

from agent.answer import Answer
from agent.answering.plan import Call
from agent.answering.renting.catalog import entry_types
from agent.answering.renting.renting import cards_to_rent, covered_provider
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.found import failed
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import method_name
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport

_SIZES = (7.0, 14.0, 70.0)
"""Billions of parameters that people mostly ask about."""
_SERVED = (7.0, 14.0, 32.0)
"""Sizes that one card serves in 4 bit."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def not_sized(draft: Draft, result: ToolResult) -> Steps:
    """Why the run cannot be sized, and what there is to rent: with the card named, or to start."""
    failed(draft, result)
    gpu = draft.request.slots.gpu
    if gpu is not None and draft.request.slots.has_card:
        yield from cards_to_rent(draft, gpu, count=draft.request.slots.gpu_count or 1)
    else:
        yield from entry_types(draft, covered_provider(draft))
    return draft.finish("depends" if draft.request.slots.task else "not_applicable")


def _served(draft: Draft) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Needs of common sizes that are only run, in 4 bit."""
    results = yield tuple(
        Call("estimate_memory", {"params_b": size, "task": "infer", "quantization": "int4",
                                 "with_changes": False})
        for size in _SERVED
    )  # fmt: skip
    draft.use(*results)
    for name, size in (("small_card", 16), ("common_card", 24)):
        draft.figure(name, size, "GB", formula="memory of cards that hold these")
    draft.say("rent.ask_served", importance=HEAD)
    draft.bullets(
        draft.phrase("rent.row", size=f"{size:g}", method="int4",
                     need=gib(result.report.process_bytes))
        for size, result in zip(_SERVED, results, strict=True)
        if isinstance(result.report, MemoryReport)
    )  # fmt: skip


def without_model(draft: Draft) -> Steps:
    """Needs of common sizes, what there is to start with, and one question."""
    slots = draft.request.slots
    if slots.task == "infer" and slots.method is None:
        yield from _served(draft)
        yield from entry_types(draft, covered_provider(draft))
        return _asking(draft, "rent.ask_question_served")
    methods = (slots.method,) if slots.method else ("qlora", "lora")
    pairs = [(size, method) for size in _SIZES for method in methods]
    results = yield (
        *(Call("estimate_memory", {"params_b": size, "task": "train", "method": method,
                                   "with_changes": False})
          for size, method in pairs),
        guidance_call(draft.request, k=2),
    )  # fmt: skip
    draft.use(*results)
    draft.say("rent.ask", importance=HEAD)
    lines = []
    for (size, method), result in zip(pairs, results, strict=False):
        if isinstance(result.report, MemoryReport):
            need = gib(result.report.process_bytes)
            name = method_name(draft, method)
            lines.append(draft.phrase("rent.row", size=f"{size:g}", method=name, need=need))
    draft.bullets(lines)
    yield from entry_types(draft, covered_provider(draft))
    say_cited(draft, passages_in(results)[:2])
    return _asking(draft)


def _asking(draft: Draft, key: str = "rent.ask_question") -> Answer:
    """The answer with the one question that decides."""
    slots = draft.request.slots
    question = draft.request.clarifying_question or draft.phrase(key)
    answer = draft.finish("depends" if slots.task else "not_applicable")
    if draft.request.clarifying_question is None:
        asked = draft.phrase("common.question", question=question)
        answer = answer.model_copy(
            update={"clarifying_question": question, "text": f"{answer.text}\n\n{asked}"}
        )
    return answer
