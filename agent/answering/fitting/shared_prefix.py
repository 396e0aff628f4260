"""What a prefix cache saves: the cache of a shared prompt, once instead of once a request."""

from __future__ import annotations

from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.toolbox.memory import MemoryReport


def say_shared_prefix(draft: Draft, report: MemoryReport) -> None:
    """Tells the saving where a prefix is shared by several requests and its length was said."""
    slots = draft.request.slots
    requests, tokens = slots.concurrency or slots.batch or 1, slots.seq_len or slots.input_len
    if not draft.request.says("fitting.shared_prefix") or report.kv_cache_bytes <= 0:
        return
    if requests < 2 or tokens is None:
        draft.say("shared_prefix.rule", importance=HEAD)
        return
    each = report.kv_cache_bytes / requests * report.gpu_count
    saved = each * (requests - 1)
    for name, size in (("prefix_of_a_request", each), ("prefix_saved", saved)):
        draft.figure(name, int(size), "B", formula="cache of the prefix * (requests - 1)")
    draft.say("shared_prefix.saved", tokens=tokens, each=gib(each), requests=requests,
              whole=gib(each * requests), saved=gib(saved), importance=HEAD)  # fmt: skip
    draft.figure("prefix_of_all", int(each * requests), "B", formula="cache * requests")
    draft.figure("requests", requests, "1", sources=("user:concurrency",))


def say_shared_context(draft: Draft) -> None:
    """That the slots of llama-server share the context of its command line."""
    slots = draft.request.slots
    if not slots.context_is_shared or not slots.concurrency or slots.seq_len is None:
        return
    each = slots.context_of_one
    draft.figure("context_in_all", slots.seq_len, "token", sources=("user:seq_len",))
    draft.figure("context_of_a_slot", each or 0, "token", formula="-c / -np")
    draft.say("host.shared_context", total=slots.seq_len, slots=slots.concurrency, each=each,
              importance=HEAD)  # fmt: skip
