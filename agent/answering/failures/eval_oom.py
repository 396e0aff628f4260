"""Training that runs and evaluation that runs out of memory: logits, not states."""

from __future__ import annotations

from typing import Any

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import memory_arguments, outcome, run_text
from agent.request import Request
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import ModelReport

_SEQ, _BATCH, _MANY, _LOGIT_BYTES = 1024, 8, 500, 4


def applies(request: Request, context: Context) -> bool:
    """True for memory that runs out in evaluation and not in training."""
    is_oom = request.intent == "oom_diagnosis" or request.says("failures.out_of_memory")
    is_there = request.says("failures.evaluation")
    return is_oom and is_there and request.says("failures.only_evaluation")


def compose(request: Request, context: Context) -> Plan:
    """The cause with its size for this model, the settings, and what training takes."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    named: dict[str, Any] = {"name": slots.model, "params_b": slots.params_b}
    has_model = slots.has_model
    calls = []
    if has_model:
        calls.append(Call("find_model", {k: v for k, v in named.items() if v is not None}))
        calls.append(Call("estimate_memory", memory_arguments(slots, task="train")))
    results = yield tuple(calls)
    draft.use(*results)
    draft.say("engine_start.eval", importance=HEAD)
    model = results[0].report if results else None
    if isinstance(model, ModelReport) and model.vocab_size:
        _say_size(draft, model, model.vocab_size)
    draft.say("engine_start.eval_fix", importance=HEAD)
    report = results[1].report if has_model else None
    if isinstance(report, MemoryReport) and report.verdict and report.usable_bytes:
        draft.figure("usable", report.usable_bytes, "B", sources=("data:gpus.csv",))
        draft.say("engine_start.eval_training", what=run_text(draft, report),
                  need=gib(report.process_bytes), usable=gib(report.usable_bytes),
                  outcome=outcome(draft, report))  # fmt: skip
    return draft.finish("depends", intent="oom_diagnosis")


def _say_size(draft: Draft, model: ModelReport, vocab: int) -> None:
    """Bytes of the logits of one sample, of a batch, and of all that is gathered."""
    seq = draft.request.slots.seq_len or _SEQ
    each = seq * vocab * _LOGIT_BYTES
    sizes = {"each": each, "batch": each * _BATCH, "all": each * _MANY}
    for name, size in sizes.items():
        draft.figure(f"logits: {name}", size, "B", formula="length * vocabulary * 4 * samples")
    draft.figure("vocabulary", vocab, "1", sources=(model.source,))
    draft.figure("length", seq, "token", sources=("user:seq_len",))
    draft.figure("gathered_samples", _MANY, "1", formula="example")
    name = model.name.rsplit("/", 1)[-1].removesuffix(" reference architecture")
    draft.say("engine_start.eval_size", model=name, vocab=f"{vocab:,}", seq=seq, many=_MANY,
              importance=HEAD, **{key: gib(size) for key, size in sizes.items()})  # fmt: skip
