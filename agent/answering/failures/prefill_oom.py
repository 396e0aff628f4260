"""Generation that runs out on a long input: one block of the prefill, not the weights."""

from __future__ import annotations

import math

from agent.answering.failures.logged_card import on_logged_card, say_logged_card
from agent.answering.failures.symptoms import pasted
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.found import Found, settled
from agent.answering.telling.numbers import count, gib
from agent.answering.telling.run_words import memory_arguments, memory_range, short_model
from agent.request import Request, Slots
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import ModelReport
from tools.memory.tables import row_name, table
from tools.units import GIB

_BLOCK = GIB
"""A single request of this size is one tensor of the prefill, not a small buffer."""
_RESIDENT = 0.7
"""Share of the weights that PyTorch must hold for them to be loaded already."""
_USUAL_FORMAT = "bf16"
_LOGIT_BYTES, _SCORE_BYTES = 4, 2
_ENGINES = ("vllm", "sglang", "lmdeploy", "tgi", "ollama", "llama.cpp")


def applies(request: Request, context: Context) -> bool:
    """True for a large block that a library without an engine asks for while generating."""
    slots = request.slots
    log = pasted(request, "cuda_oom")
    if log is None or slots.task == "train" or slots.framework in _ENGINES:
        return False
    if slots.model is None or (log.fields.get("tried_bytes") or 0) < _BLOCK:
        return False
    if log.fields.get("other_process_bytes"):
        return False
    allocated = log.fields.get("allocated_bytes") or 0
    is_loaded = allocated >= _RESIDENT * _weight_bytes(slots) * (slots.params_b or 0) * 1e9
    return is_loaded and request.says("failures.generation")


def _weight_bytes(slots: Slots) -> float:
    """Bytes of one weight in the format that was said; 16 bits where none was."""
    form = row_name("formats", slots.quantization or slots.precision or _USUAL_FORMAT)
    return float(table("formats")[form or _USUAL_FORMAT]["bits"]) / 8


def compose(request: Request, context: Context) -> Plan:
    """What one block of that size is, the length behind it, and the ways to do without."""
    log = pasted(request, "cuda_oom")
    assert log is not None, "applies asks for it"
    sized = on_logged_card(request, log)
    draft = Draft(sized.model_copy(update={"clarifying_question": None}))
    tried, free = int(log.fields["tried_bytes"]), log.fields.get("free_bytes") or 0
    held = log.fields.get("allocated_bytes") or 0
    for name, size in (("tried", tried), ("free", free), ("allocated", held)):
        draft.figure(f"log: {name}", size, "B", sources=("user:log",))
    slots = sized.slots
    results = yield (Call("find_model", {"name": slots.model, "params_b": slots.params_b}),)
    draft.use(*results)
    model = results[0].report
    length = _say_block(draft, model, tried) if isinstance(model, ModelReport) else None
    length = slots.seq_len or slots.input_len or length
    found = yield (Call("estimate_memory", memory_arguments(
        slots, task="infer", seq_len=length, input_len=None)),
    )  # fmt: skip
    draft.use(*found)
    report = found[0].report
    if not isinstance(report, MemoryReport):
        return draft.finish("depends", intent="oom_diagnosis")
    draft.lead("prefill_oom.head", tried=gib(tried), left=gib(free), held=gib(held),
               weights=gib(report.weights_bytes))  # fmt: skip
    draft.say("prefill_oom.fix", importance=HEAD)
    say_logged_card(draft, log)
    if length is not None:
        draft.figure("length", length, "token", formula="given, or block / bytes of a position")
        draft.say("prefill_oom.whole", model=short_model(report), need=gib(report.process_bytes),
                  low=gib(report.low_bytes), high=gib(report.high_bytes),
                  length=count(length, draft.language))  # fmt: skip
    return draft.finish("depends", memory=memory_range(report), intent="oom_diagnosis",
                        slots=settled(Found("depends", None, report)))  # fmt: skip


def _say_block(draft: Draft, model: ModelReport, tried: int) -> int | None:
    """The lengths at which the two tensors that grow with the input have this size."""
    lines, lengths = [], []
    draft.figure("bytes_of_a_logit", _LOGIT_BYTES, "B", formula="fp32")
    draft.figure("bytes_of_a_score", _SCORE_BYTES, "B", formula="16 bit")
    if model.vocab_size:
        positions = tried / (model.vocab_size * _LOGIT_BYTES)
        draft.figure("vocabulary", model.vocab_size, "1", sources=(model.source,))
        draft.figure("logits_positions", round(positions), "token",
                     formula="block / (vocabulary * 4 B)")  # fmt: skip
        lengths.append(positions)
        lines.append(draft.phrase("prefill_oom.logits", vocab=f"{model.vocab_size:,}",
                                  length=f"{positions:,.0f}"))  # fmt: skip
    if model.attention_heads:
        positions = math.sqrt(tried / (model.attention_heads * _SCORE_BYTES))
        draft.figure("attention_positions", round(positions), "token",
                     formula="sqrt(block / (heads * 2 B))")  # fmt: skip
        lengths.append(positions)
        lines.append(draft.phrase("prefill_oom.scores", heads=model.attention_heads,
                                  length=f"{positions:,.0f}"))  # fmt: skip
    draft.bullets(lines, title=draft.phrase("prefill_oom.block", tried=gib(tried)),
                  importance=HEAD)  # fmt: skip
    return round(min(lengths)) if lengths else None
