"""A training that ran out on one large block: which tensor has that size."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple

from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.request import Pasted, Request, Slots
from agent.toolbox import ToolResult
from agent.toolbox.registries import ModelReport
from tools.units import GIB

_BLOCK = GIB // 2
"""A single request of this size is one large tensor."""
_SAME = 0.01
"""Share by which two sizes may differ: a label less a sample, padding of the vocabulary."""
_WIDTHS = (4, 2)
"""Bytes of a logit: fp32, in which the loss is taken, and 16 bit."""


class _Logits(NamedTuple):
    sequences: int
    length: int
    width: int


def block_told(
    draft: Draft, log: Pasted
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Request]:
    """What the block that was asked for is, where its size gives it away.

    Args:
        draft: The answer in the making.
        log: The out-of-memory text.

    Returns:
        The request, with as many sequences at a time as the block shows.
    """
    request = draft.request
    slots, tried = request.slots, int(log.fields.get("tried_bytes") or 0)
    if slots.task != "train" or slots.model is None or tried < _BLOCK:
        return request
    results = yield (Call("find_model", {"name": slots.model, "params_b": slots.params_b}),)
    model = results[0].report
    if not isinstance(model, ModelReport) or not model.vocab_size:
        return request
    found = next(_matches(slots, model.vocab_size, tried), None)
    draft.use(*results)
    draft.figure("vocabulary", model.vocab_size, "1", sources=(model.source,))
    if found is None:
        _say_equal(draft, model.vocab_size, tried)
        return request
    sequences, length, width = found
    size = sequences * length * model.vocab_size * width
    for name, value, unit in (("sequences", sequences, "1"), ("length", length, "token"),
                              ("bytes_of_a_logit", width, "B"), ("logits", size, "B"),
                              ("log: tried", tried, "B")):  # fmt: skip
        draft.figure(name, value, unit, formula="sequences * length * vocabulary * bytes")
    draft.lead("one_block.logits", tried=_exact(tried), sequences=sequences, length=f"{length:,}",
               vocab=f"{model.vocab_size:,}", width=width, size=_exact(size),
               kind="fp32" if width == _WIDTHS[0] else "bf16/fp16")  # fmt: skip
    is_group = slots.num_generations == sequences and slots.batch != sequences
    draft.say("one_block.fix_group" if is_group else "one_block.fix", importance=HEAD,
              sequences=sequences, half=max(sequences // 2, 1))  # fmt: skip
    if slots.batch == sequences:
        return request
    told = slots.model_copy(update={"batch": sequences, "seq_len": slots.seq_len or length})
    return request.model_copy(update={"slots": told})


def _matches(slots: Slots, vocab: int, tried: int) -> Iterator[_Logits]:
    """Numbers of sequences and lengths that were said whose logits have the block's size."""
    both = (slots.input_len or 0) + (slots.output_len or 0)
    lengths = dict.fromkeys(x for x in (slots.seq_len, slots.output_len, both) if x)
    batch, group = slots.batch or 1, slots.num_generations
    counts = dict.fromkeys(x for x in (slots.batch, group, group and batch * group, 2 * batch, 1)
                           if x)  # fmt: skip
    for count in counts:
        for length in lengths:
            for width in _WIDTHS:
                if abs(count * length * vocab * width / tried - 1) < _SAME:
                    yield _Logits(count, length, width)


def _say_equal(draft: Draft, vocab: int, tried: int) -> None:
    """How many tokens' logits the block would be, where no setting that was said gives it."""
    tokens = round(tried / (vocab * _WIDTHS[0]))
    draft.figure("tokens_of_logits", tokens, "token", formula="block / (vocabulary * 4 B)")
    draft.say("one_block.equal", tried=gib(tried), vocab=f"{vocab:,}", tokens=f"{tokens:,}")


def _exact(size_bytes: int) -> str:
    """A size as an error text writes it."""
    return f"{size_bytes / GIB:.2f} GiB"
