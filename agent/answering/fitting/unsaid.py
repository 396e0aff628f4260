"""Without a model there is no one number: what is needed, and a 7B for scale."""

from __future__ import annotations

from collections.abc import Generator

from agent.answer import Answer
from agent.answering.fitting.training import METHODS
from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import (
    method_name,
)
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport


def no_model(draft: Draft) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]:
    """Without a model there is no one number: says what is needed and shows a 7B for scale."""
    slots = draft.request.slots
    draft.say("memory.ask_model", importance=HEAD)
    common = {
        "with_changes": False,
        "params_b": 7.0,
        "gpu": slots.gpu,
        "gpu_mem_gb": slots.gpu_mem_gb,
    }
    calls = [Call("estimate_memory", {**common, "task": "train", "method": m}) for m in METHODS]
    calls += [Call("estimate_memory", {**common, "task": "infer", "quantization": q})
              for q in ("bf16", "int4")]  # fmt: skip
    results = yield tuple(calls)
    draft.use(*results)
    items = []
    for call, result in zip(calls, results, strict=True):
        report = result.report
        if not isinstance(report, MemoryReport):
            continue
        label = (
            method_name(draft, report.method)
            if report.task == "train"
            else draft.phrase("memory.infer_label", format=call.arguments["quantization"])
        )
        items.append(f"{label}: {gib(report.process_bytes)}")
    draft.bullets(items, title=draft.phrase("memory.examples_title"))
    question = draft.request.clarifying_question or draft.phrase("memory.ask_question")
    return draft.finish("depends").model_copy(update={"clarifying_question": question})
