"""Work that is told in steps: samples of an update times the updates, rollouts of a prompt."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answer import AssumptionOut
from agent.answering.plan import Call
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.numbers import count, duration, rate
from agent.request import Request, Slots
from agent.toolbox import ToolResult
from agent.toolbox.ranges import Range
from agent.toolbox.timing import TimeReport

_SAMPLED = ("grpo", "ppo")
_AT_ONCE = 256
"""Answers that an engine generates at a time on a card; vLLM's default limit."""
_SCORED = 1 / 3
"""Work of scoring an answer with a frozen reference against one update on it: a forward pass."""
_PROMPT = 512
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], TimeReport]


def is_sampled(slots: Slots) -> bool:
    """Whether answers are sampled while it trains."""
    return (slots.method or "").split("+")[0] in _SAMPLED


def samples_of_steps(slots: Slots) -> int | None:
    """Samples of all steps: updates times what each is made of; None where that was not said."""
    if slots.steps is None or slots.task != "train" or slots.tokens is not None:
        return None
    if is_sampled(slots) and slots.prompts_per_step:
        return slots.steps * slots.prompts_per_step * (slots.num_generations or 1)
    each = slots.global_batch
    if each is None and slots.batch is not None:
        each = slots.batch * (slots.grad_accum or 1) * (slots.gpu_count or 1)
    return slots.steps * each if each and slots.samples is None else None


def completed(request: Request) -> Request:
    """The request with the samples of its steps, where it has no data of its own."""
    samples = samples_of_steps(request.slots)
    if samples is None:
        return request
    slots = request.slots
    each = slots.tokens_per_sample or slots.seq_len or slots.output_len
    changed = {"samples": samples, "tokens_per_sample": each, "epochs": None}
    return request.model_copy(update={"slots": slots.model_copy(update=changed)})


def say_steps(draft: Draft, asked: Request) -> None:
    """How the samples follow from the steps."""
    slots = asked.slots
    samples = samples_of_steps(slots)
    if samples is None or not slots.steps:
        return
    each = samples // slots.steps
    draft.figure("steps", slots.steps, "1", sources=("user:steps",))
    draft.figure("samples_of_a_step", each, "1", formula="prompts * group, or the global batch")
    draft.figure("samples_of_steps", samples, "1", formula="steps * samples of a step")
    draft.say("step_work.steps", steps=f"{slots.steps:,}", each=f"{each:,}",
              samples=count(samples, draft.language), importance=HEAD)  # fmt: skip


def with_rollouts(draft: Draft, asked: Request, report: TimeReport, each: int) -> Steps:
    """The time with generating and scoring the answers that are learned from, told in parts."""
    slots = asked.slots
    if not is_sampled(slots) or samples_of_steps(slots) is None or report.hours is None:
        return report
    cards = slots.gpu_count or 1
    at_once = (slots.prompts_per_step or 1) * (slots.num_generations or 1)
    said: dict[str, Any] = {
        "task": "infer", "model": slots.model, "params_b": slots.params_b, "gpu": slots.gpu,
        "gpu_count": 1, "concurrency": max(1, min(_AT_ONCE, at_once // cards)),
        "input_len": slots.input_len or _PROMPT, "output_len": each,
    }  # fmt: skip
    call = Call("estimate_time_and_cost", {k: v for k, v in said.items() if v is not None})
    (result,) = yield (call,)
    made = result.report
    if not isinstance(made, TimeReport) or made.tokens_per_s is None:
        return report
    draft.use(result)
    tokens = report.tokens or 0
    speed = made.tokens_per_s
    parts = [
        Range(value=report.hours.value * (1 + _SCORED), low=report.hours.low * (1 + _SCORED),
              high=report.hours.high * (1 + _SCORED)),
        Range(value=tokens / speed.value / cards / 3600, low=tokens / speed.high / cards / 3600,
              high=tokens / speed.low / cards / 3600),
    ]  # fmt: skip
    total = Range(value=sum(p.value for p in parts), low=sum(p.low for p in parts),
                  high=sum(p.high for p in parts))  # fmt: skip
    _say_parts(draft, parts, total, speed.value * cards)
    return report.model_copy(update={"hours": total})


def _say_parts(draft: Draft, parts: list[Range], total: Range, speed: float) -> None:
    why = "a prompt of this length in front of every answer"
    if draft.request.slots.input_len is None:
        draft.assume([AssumptionOut(name="prompt_len", value=_PROMPT, unit="token", why=why)])
    for name, part in (("update", parts[0]), ("generation", parts[1]), ("all", total)):
        for end in ("value", "low", "high"):
            draft.figure(
                f"hours of {name} {end}",
                getattr(part, end),
                "h",
                formula="tokens / rate; a reference's pass is a third of an update",
            )
    draft.figure("generated_per_s", speed, "token/s", formula="rate of a card * cards")
    update, made, low, high, whole = (
        duration(hours, draft.language)
        for hours in (parts[0].value, parts[1].value, total.low, total.high, total.value)
    )
    draft.say("step_work.rollouts", update=update, made=made, low=low, high=high, total=whole,
              speed=rate(speed, 2), importance=HEAD)  # fmt: skip
    draft.say("step_work.generation_decides", importance=BODY)
