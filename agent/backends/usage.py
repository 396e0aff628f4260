"""Tokens and cost of an answer that an endpoint took part in."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.messages import AIMessage

from agent.answer import UsageOut
from agent.settings import Settings


@dataclass
class Usage:
    """Counts over the calls of one answer."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, reply: AIMessage) -> None:
        """Counts one reply; an endpoint that reports no usage counts as a call."""
        self.calls += 1
        if reply.usage_metadata is not None:
            self.input_tokens += reply.usage_metadata["input_tokens"]
            self.output_tokens += reply.usage_metadata["output_tokens"]


def usage_out(usage: Usage, settings: Settings) -> UsageOut | None:
    """Usage as an answer carries it; None when nothing was asked of the endpoint."""
    if usage.calls == 0:
        return None
    cost = None
    prices = (settings.input_price_per_mtok, settings.output_price_per_mtok)
    if prices[0] is not None and prices[1] is not None:
        cost = (usage.input_tokens * prices[0] + usage.output_tokens * prices[1]) / 1e6
    return UsageOut(
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=cost,
        currency=settings.price_currency if cost is not None else None,
    )
