"""A load that the system killed: what the weights take of the host, over all its processes."""

from __future__ import annotations

from agent.answer import Answer, MemoryRange, Verdict
from agent.answering.hosts.shares import PROCESS
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.found import Found, settled
from agent.answering.telling.joining import in_front
from agent.answering.telling.numbers import gib
from agent.request import Request
from agent.toolbox.memory import MemoryReport
from tools.memory import GGUF_ENGINES
from tools.units import bytes_from_gb

_HALF, _WHOLE = 2, 4
"""Bytes a parameter as stored, and read as fp32."""
_GGUF_SHARE = 0.85
"""Share of host memory beside the system and a desktop."""
MOST = {"zh": 700, "en": 1300}
"""Characters up to which the cards' own need is told behind what the host lacks."""


def ranks_of(request: Request) -> int:
    """Processes that each read the weights: as said, else one a card of a training."""
    said = request.amounts.get("failures.processes", ())
    if said:
        return int(max(said))
    return (request.slots.gpu_count or 1) if request.slots.task == "train" else 1


def for_cards(request: Request) -> Request:
    """The request of which only the cards' need is told."""
    return request.model_copy(update={"corrections": (), "clarifying_question": None})


def loaded(draft: Draft, cards: Draft, found: Found, verdict: Verdict) -> Answer:
    """What reading the weights takes of the host, and behind it what the run takes of the cards.

    Args:
        draft: The answer so far: what was killed.
        cards: What was told of the cards' need.
        found: That need.
        verdict: About the cards, as far as the run is known.
    """
    report, ram = found.report, draft.request.slots.host_ram_gb
    memory = found.memory
    if report is not None and ram is not None:
        is_gguf = draft.request.slots.framework in GGUF_ENGINES
        if is_gguf and report.host_ram_bytes:
            verdict, memory = _gguf(draft, report, ram)
        else:
            host, memory = _copies(draft, report, ram)
            is_short = "does_not_fit" in (host, verdict if report.task == "train" else host)
            verdict = "does_not_fit" if is_short else host
    told = draft.finish(verdict)
    behind = cards.finish(verdict, memory=memory, slots=settled(found))
    return in_front(told, behind, most=MOST[draft.language], verdict=verdict, memory=memory)


def _copies(draft: Draft, report: MemoryReport, ram: float) -> tuple[Verdict, MemoryRange]:
    """Whole weights in 16 bits and in fp32, once and for every process, against the host."""
    low, high = round(report.params * _HALF), round(report.params * _WHOLE)
    ranks, usable = ranks_of(draft.request), bytes_from_gb(ram * PROCESS)
    draft.figure("bytes_of_a_parameter", _HALF, "B", formula="16 bit")
    draft.figure("load_16_bit", low, "B", formula="params * 2")
    draft.figure("load_fp32", high, "B", formula="params * 4")
    draft.figure("host_ram_given", ram, "GB", sources=("user:host_ram_gb",))
    values = {"low": _gb(low), "high": _gb(high), "ram": f"{ram:g}",
              "params": f"{report.params / 1e9:.3g}B"}  # fmt: skip
    if low <= usable < low * ranks:
        draft.figure("processes", ranks, "1", sources=("user:gpu_count",))
        draft.figure("load_of_all", low * ranks, "B", formula="params * 2 * processes")
        draft.say("symptoms.load_copies", importance=HEAD, ranks=ranks, all=_gb(low * ranks),
                  **values)  # fmt: skip
        high = low * ranks
    else:
        key = "load_short" if low > usable else "load_tight" if high > usable else "load_enough"
        draft.say(f"symptoms.{key}", importance=HEAD, **values)
    memory = MemoryRange(scope="host_ram", low_bytes=low, high_bytes=high, usable_bytes=usable)
    return ("does_not_fit" if low > usable else "depends"), memory


def _gguf(draft: Draft, report: MemoryReport, ram: float) -> tuple[Verdict, MemoryRange]:
    """The layers that llama.cpp keeps in host memory, and the file that it reads."""
    host, file = report.host_ram_bytes, max(report.weights_bytes, report.host_ram_bytes)
    usable = bytes_from_gb(ram * _GGUF_SHARE)
    draft.figure("host_ram_given", ram, "GB", sources=("user:host_ram_gb",))
    draft.figure("host_usable", usable, "B", formula="host RAM * 0.85")
    draft.figure("file", file, "B", formula="weights")
    draft.figure("host_layers", host, "B", formula="layers left in host memory")
    key = "gguf_short" if host > usable else "gguf_enough"
    draft.say(f"symptoms.{key}", file=gib(file), host=gib(host), usable=gib(usable),
              ram=f"{ram:g}", importance=HEAD)  # fmt: skip
    memory = MemoryRange(scope="host_ram", low_bytes=host, high_bytes=file,
                         usable_bytes=usable)  # fmt: skip
    return ("does_not_fit" if host > usable else "depends"), memory


def _gb(size: int) -> str:
    return f"{size / 1e9:,.0f} GB"
