"""What a batch of one update over all cards leaves to each card."""

from __future__ import annotations

from agent.answering.telling.draft import HEAD, Draft
from agent.toolbox.memory import MemoryReport


def say_global_batch(draft: Draft, report: MemoryReport) -> None:
    """How a global batch is shared out to cards and steps; only the micro batch takes memory."""
    slots = draft.request.slots
    total = slots.global_batch
    if total is None:
        return
    held = {a.name: a.value for a in report.assumptions}
    micro = slots.batch or int(held.get("micro_batch_size") or 1)
    groups = max(1, report.gpu_count // ((slots.tp or 1) * (slots.pp or 1)))
    share = -(-total // groups)
    steps = -(-share // micro)
    for name, value in (("global_batch", total), ("share_of_a_card", share),
                        ("micro_batch", micro), ("accumulated", steps),
                        ("data_parallel", groups)):  # fmt: skip
        draft.figure(name, value, "1", formula="global batch / cards / micro batch")
    key = "in_one_step" if steps == 1 else "accumulated"
    key = "told" if steps > 1 and micro * steps * groups == total else key
    draft.say(f"batches.{key}", total=f"{total:,}", cards=groups, share=share, micro=micro,
              steps=steps, importance=HEAD)  # fmt: skip
