"""What a training on tokens reads: too little to starve a card, so that checkpoints decide."""

from __future__ import annotations

from collections.abc import Generator

from agent.answer import Answer
from agent.answering.plan import Call
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.numbers import count
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox import ToolResult
from tools.models import try_find_model
from tools.units import format_significant

_KINDS = ("decoder-lm", "moe-lm", "encoder", "seq2seq")
_STEPS = ("tokenise", "pack", "batch", "others", "check")
_BYTES = (2, 4)
"""Widths of a stored token: 16 and 32 bit."""
_OF_A_RUN = 100_000
"""Tokens a second of a fast run."""
_OF_A_CARD = 50_000
"""Tokens a second of a fast card: 1 B parameters at 6 FLOP each are 300 TFLOPS."""
_BYTES_OF_STATE = 14
"""Bytes a parameter of a checkpoint to resume from: weights, fp32 masters, two moments."""
_EXAMPLE_B = 7.0
_OF_WORDS_B = 1.0
"""From so many billions of parameters a network without a name is one of language."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def is_of_tokens(request: Request) -> bool:
    """Whether tokens are what a training reads: by its model, or by its amount of data."""
    slots = request.slots
    if slots.img_kb is not None or slots.gpu_img_s is not None:
        return False
    match = try_find_model(slots.model) if slots.model is not None else None
    if match is not None:
        return match.spec.kind in _KINDS
    is_said = slots.tokens is not None or slots.tokens_per_sample is not None
    is_large = (slots.params_b or 0) >= _OF_WORDS_B
    return (is_said or is_large) and slots.model is None


def compose_tokens(draft: Draft) -> Steps:
    """The size of the data, the bytes a second that are read, and what is heavier than both."""
    slots = draft.request.slots
    results = yield (guidance_call(draft.request, k=2, topic="loading"),)
    draft.use(*results)
    cards = slots.gpu_count or 1
    if slots.num_workers == 0:
        draft.say("loading.no_workers", importance=HEAD)
    rate = _OF_A_RUN if cards == 1 else _OF_A_CARD * cards
    need = rate * max(_BYTES) / 1e6
    for name, value in (("narrow token", min(_BYTES)), ("token", max(_BYTES))):
        draft.figure(name, value, "B", sources=("rule:stored-token",))
    draft.figure("tokens", rate, "token/s", sources=("rule:fast-text-run",))
    draft.figure("text need", need, "MB/s", formula="tokens/s * bytes a token")
    said = {"tokens": f"{rate:,}", "size": max(_BYTES), "need": format_significant(need, 3)}
    if cards > 1:
        draft.figure("tokens of a card", _OF_A_CARD, "token/s", sources=("rule:fast-card",))
        draft.figure("cards", cards, "1", sources=("user:gpu_count",))
        draft.say("token_feed.cards", cards=cards, each=f"{_OF_A_CARD:,}", **said,
                  importance=HEAD)  # fmt: skip
    else:
        draft.say("token_feed.run", **said, importance=HEAD)
    if slots.tokens is not None:
        _say_size(draft, slots.tokens)
    if slots.gpu_util_pct is None and slots.num_workers is None and slots.storage is not None:
        _say_saves(draft)
    else:
        draft.say("token_feed.elsewhere", importance=HEAD)
        draft.bullets([draft.phrase(f"loading.text_{s}") for s in _STEPS],
                      title=draft.phrase("loading.steps_title"))  # fmt: skip
    say_cited(draft, passages_in(results)[:1])
    return draft.finish("not_applicable", intent="io_bottleneck")


def _say_size(draft: Draft, tokens: int) -> None:
    low, high = (tokens * width / 1e9 for width in _BYTES)
    unit, scale = ("TB", 1e3) if high >= 1e3 else ("GB", 1.0)
    for name, value in (("data low", low), ("data high", high)):
        draft.figure(name, value / scale, unit, formula="tokens * bytes a token")
    span = "–".join(format_significant(value / scale, 3) for value in (low, high))
    draft.say("token_feed.data", tokens=count(tokens, draft.language), span=f"{span} {unit}",
              narrow=min(_BYTES), wide=max(_BYTES), importance=HEAD)  # fmt: skip


def _say_saves(draft: Draft) -> None:
    """A checkpoint, of the model or of one for example: it is what bandwidth is bought for."""
    size_b = draft.request.slots.params_b or _EXAMPLE_B
    size = size_b * _BYTES_OF_STATE
    draft.figure("params", size_b, "1e9", sources=("user:params_b",))
    draft.figure("bytes of state", _BYTES_OF_STATE, "B", sources=("rule:checkpoint",))
    draft.figure("checkpoint", size, "GB", formula="params * bytes of state")
    draft.figure("a minute of writing", size / 60, "GB/s", formula="checkpoint / 60 s")
    draft.say("token_feed.saves", model=f"{size_b:g}B", size=format_significant(size, 3),
              each=_BYTES_OF_STATE, rate=format_significant(size / 60, 2),
              importance=BODY)  # fmt: skip
