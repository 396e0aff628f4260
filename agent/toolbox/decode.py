"""What bounds decoding: the weights that every token reads, over the card's memory bandwidth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from agent.answer import FigureOut


class DecodeBound(NamedTuple):
    """The ceiling of one stream."""

    bandwidth_gb_s: float
    """Nominal memory bandwidth of all cards together, GB/s (10**9 bytes)."""
    read_bytes: float
    """Weights that one token of one stream reads; of a mixture the active ones."""
    tokens_per_s: float
    """bandwidth / read bytes: no program is faster for one stream without speculation."""

    def figures(self) -> tuple[FigureOut, ...]:
        """The three numbers with their formulas."""
        return (
            FigureOut(name="memory_bandwidth", value=self.bandwidth_gb_s, unit="GB/s",
                      sources=("data:cards.json",)),
            FigureOut(name="read_per_token", value=self.read_bytes, unit="B",
                      formula="weights * active parameters / parameters"),
            FigureOut(name="decode_ceiling", value=self.tokens_per_s, unit="token/s",
                      formula="memory_bandwidth / read_per_token"),
        )  # fmt: skip


def decode_bound(
    *, gpu: str, model: str | None, params_b: float | None, form: str | None, cards: int,
    assumptions: Iterable[Any] = (),
) -> DecodeBound:  # fmt: skip
    """The ceiling of one stream on a card.

    Args:
        gpu: Card in any spelling.
        model: Model in any spelling; None where only a size is known.
        params_b: Size in billions.
        form: Weight format as said; None takes the one that `assumptions` name.
        cards: Cards that share every layer.
        assumptions: Assumptions of the speed that the ceiling stands beside.

    Raises:
        UserInputError: Unknown names.

    Source: one token of one stream reads every active weight once (roofline).
    """
    from tools.speed import card, shape_of
    from tools.speed.serving_model import weight_bytes, weight_format

    if form is None:
        form = next((str(a.value) for a in assumptions if a.name == "weight_format"), None)
    shape = shape_of(model, params_b)
    read = weight_bytes(shape, weight_format(form)) * shape.read_params / shape.params_total
    bandwidth = card(gpu).bytes_per_s * max(cards, 1)
    return DecodeBound(bandwidth / 1e9, read, bandwidth / read)
