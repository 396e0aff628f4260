"""What to rent for a training that has to be done by a deadline, no machine being named."""

from __future__ import annotations

from agent.answering.plan import Context, Plan
from agent.answering.renting import rent
from agent.request import Request


def applies(request: Request, context: Context) -> bool:
    """True for a training of known work and time allowed, whatever asks for the machine."""
    slots = request.slots
    is_open = not slots.has_card and slots.instance is None
    has_work = slots.tokens is not None or slots.samples is not None
    return (
        is_open
        and has_work
        and slots.has_model
        and slots.task == "train"
        and slots.hours is not None
        and request.says("speed.deadline")
        and request.intent in ("time_estimate", "cost_estimate", "concept")
    )


def compose(request: Request, context: Context) -> Plan:
    """The cheapest that is done in time, as any other recommendation."""
    return (
        yield from rent.compose(
            request.model_copy(update={"intent": "recommend_instance"}), context
        )
    )
