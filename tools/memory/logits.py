"""The logits chain: bytes alive per logit from the head to its gradient, by loss path.

Every path gives three figures per logit (forward, start of backward, head backward), and bytes
that do not grow with the tokens. Which path runs follows from the training program.
"""

from __future__ import annotations

from typing import NamedTuple

from tools.memory.resolve import TrainRun


class LossPath(NamedTuple):
    """Bytes per logit at the three moments of the loss, and what fused losses add."""

    forward: float
    backward: float
    head: float
    held: float
    """Bytes per logit that the caller keeps until after the step."""
    extra: float
    """Bytes beside the logits at the loss (chunk buffers, gradients made in the forward)."""
    early_head_grad: bool
    """The head's gradient exists since the forward."""
    name: str


def loss_path(run: TrainRun, *, width: int, vocab: float, tokens: float) -> LossPath:
    """The path of a run's loss.

    Args:
        run: The training run.
        width: Bytes of a logit as the head gives it (2, or 4 from an fp32 head).
        vocab: Columns of the head on one card.
        tokens: Tokens that get logits on one card.
    """
    row = run.framework_row
    if run.fused_ce:
        if row.get("megatron"):
            return LossPath(10, 10, width, 0, 0.0, False, "megatron fused cross entropy")
        if run.framework == "litgpt":
            return LossPath(4, 6, 6, 0, 0.0, False, "chunks of 128 tokens")
        if run.framework == "torchtune":
            held = 2 + 2 / 8 if run.compiled else 6
            return LossPath(held, held, held, 0, 0.0, False, "eight chunks")
        return _fused_linear(run, vocab, tokens)
    hold = width if run.held else 0
    if run.objective == "distill":
        return LossPath(
            20, 20 + hold, width + hold, hold, 0.0, False, "stock, and the teacher's probabilities"
        )
    if run.asked.logits_fp32 or run.asked.logits_shift_copy:
        hold = 4 if run.held else 0
        copy = 4 if run.asked.logits_shift_copy else 0
        peak = 12 + copy + hold
        return LossPath(
            10 + copy, peak, width + hold, hold, 0.0, False, "logits in fp32, shifted copy"
        )
    up = 0 if width == 4 else 4
    return LossPath(width + up + 4, 12 + hold, width + hold, hold, 0.0, False, "stock")


def _fused_linear(run: TrainRun, vocab: float, tokens: float) -> LossPath:
    """Liger and cut cross entropy: chunks of the head's product, gradients in the forward."""
    hidden = run.spec.hidden_size or 1
    blocks = -(-vocab // hidden)
    rows = 1
    while rows < tokens / max(blocks, 1):
        rows *= 2
    chunk = min(rows, tokens) * vocab * 6
    extra = chunk + 2 * hidden * tokens
    trains_head = not run.adapter
    if trains_head:
        extra += vocab * hidden * 2
    return LossPath(0, 0, 0, 0, extra, trains_head, "fused linear cross entropy")
