"""A language model run by llama.cpp or Ollama on a type without a GPU: its RAM decides."""

from __future__ import annotations

from agent.answering.hosts.host import compose_host
from agent.answering.plan import Context, Plan
from agent.answering.telling.draft import Draft
from agent.request import Request
from tools.memory import GGUF_ENGINES, is_gguf

_INTENTS = ("fit_check", "ecs_vs_gpu", "serving_plan", "probe_local")


def applies(request: Request, context: Context) -> bool:
    """True for serving in a GGUF engine or format on a type of the catalog that has no GPU."""
    slots = request.slots
    is_of_gguf = slots.framework in GGUF_ENGINES or is_gguf(slots.quantization)
    is_serving = slots.task != "train" and slots.has_model
    is_asked = request.intent in _INTENTS and slots.instance is not None
    return is_asked and is_serving and is_of_gguf and _memory_gib(request) is not None


def _memory_gib(request: Request) -> float | None:
    """RAM of the named type; None where it is no single type without a GPU."""
    from tools.catalog import find_instance

    slots = request.slots
    assert slots.instance is not None
    offers = find_instance(slots.instance, slots.provider).offers
    sizes = {o.memory_gib for o in offers if o.category == "cpu" and o.memory_gib}
    return sizes.pop() if len(sizes) == 1 else None


def compose(request: Request, context: Context) -> Plan:
    """The run in that memory, and its speed on a CPU."""
    known = {"host_ram_gb": request.slots.host_ram_gb or _memory_gib(request)}
    slots = request.slots.model_copy(update=known)
    draft = Draft(request.model_copy(update={"slots": slots}))
    return (yield from compose_host(draft))
