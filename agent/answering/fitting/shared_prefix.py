"""What a prefix cache saves: the cache of a shared prompt, once instead of once a request."""

from __future__ import annotations

import re

from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.toolbox.memory import MemoryReport

_PREFIX = re.compile(
    r"prefix[- _]?cach|radix ?(?:attention|cache)|前缀缓存|共享前缀|shared? (?:system )?prompt"
    r"|(?:同一个?|相同的?|same|common|共享的?|共用)\s?(?:的\s?)?"
    r"(?:system ?prompt|系统提示词?|前缀|prefix|prompt)",
    re.IGNORECASE,
)


def say_shared_prefix(draft: Draft, report: MemoryReport) -> None:
    """Tells the saving where a prefix is shared by several requests and its length was said."""
    slots = draft.request.slots
    requests, tokens = slots.concurrency or slots.batch or 1, slots.seq_len or slots.input_len
    if _PREFIX.search(draft.request.search_query) is None or report.kv_cache_bytes <= 0:
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
