"""The engine that generates answers during reinforcement learning, where it shares the card."""

from __future__ import annotations

from math import ceil

from agent.answer import Verdict
from agent.answering.telling.draft import Draft
from agent.answering.telling.numbers import gib
from agent.toolbox.memory import MemoryReport
from tools.memory import known_pool

_SAMPLED = ("grpo", "ppo")
_SHARE = 0.3
"""Share of the card that TRL's trainers give an engine on the same card when none is set."""


def say_group(draft: Draft, report: MemoryReport) -> None:
    """How a group of sampled answers is shared out over cards and micro-steps."""
    group = draft.request.slots.num_generations
    if report.objective != "grpo" or not group:
        return
    held = {assumption.name: assumption.value for assumption in report.assumptions}
    batch = draft.request.slots.batch or int(held.get("micro_batch_size") or 1)
    steps = ceil(group / (batch * report.gpu_count))
    if steps == 1 and report.gpu_count == 1:  # all of it is on the card at once, as was said
        return
    draft.figure("group", group, "1", sources=("user:num_generations",))
    draft.figure("group_steps", steps, "1", formula="ceil(group / (batch * cards))")
    draft.say("objective.group", n=group, batch=batch, cards=report.gpu_count, steps=steps,
              whole=ceil(group / report.gpu_count))  # fmt: skip


def say_rollout(draft: Draft, report: MemoryReport, verdict: Verdict) -> Verdict:
    """What the engine named takes beside the training step; the verdict with both on the card."""
    slots = draft.request.slots
    pool_rule = known_pool(slots.framework)
    if report.objective not in _SAMPLED or pool_rule is None or pool_rule.of != "card":
        return verdict
    if report.usable_bytes is None:
        return verdict
    share = slots.gpu_memory_utilization or _SHARE
    pool = int(share * report.usable_bytes)
    both = report.process_bytes + pool
    given = ("user:gpu_memory_utilization",) if slots.gpu_memory_utilization else ("vendor:trl",)
    draft.figure("rollout_share", round(100 * share), "%", sources=given)
    draft.figure("rollout_engine", pool, "B", formula="usable * gpu_memory_utilization")
    draft.figure("step_and_rollout", both, "B", formula="training step + rollout engine")
    fits = both <= report.usable_bytes
    outcome = draft.phrase(f"memory.outcome_{'fits' if fits else 'does_not_fit'}")
    draft.say("objective.rollout", share=f"{100 * share:.0f}%", pool=gib(pool), both=gib(both),
              usable=gib(report.usable_bytes), engine=pool_rule.title, flag=pool_rule.flag,
              outcome=outcome)  # fmt: skip
    return verdict if fits or verdict == "does_not_fit" else "depends"
