"""Host memory that offloaded training takes, against what the machine has."""

from __future__ import annotations

from dataclasses import replace

from agent.answer import MemoryRange, Verdict
from agent.answering.hosts import shares
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.found import Found
from agent.toolbox.memory import MemoryReport
from tools.units import GIB, format_significant, gb_from_bytes

LOW, HIGH = 0.95, 1.4
"""Around the computed states: buffers, pinned copies, loading and the system."""
_A_LITTLE = 0.5
"""Bytes a parameter below which host memory is no matter: states of adapters alone."""


def say_host_states(draft: Draft, report: MemoryReport, found: Found) -> Found:
    """Tells the host memory of an offloaded run; the verdict follows where that runs short."""
    if not report.host_ram_bytes or not draft.request.slots.offload or report.task != "train":
        return found
    slots = draft.request.slots
    low, high = int(report.host_ram_bytes * LOW), int(report.host_ram_bytes * HIGH)
    per_param = report.host_ram_bytes / report.params
    if per_param < _A_LITTLE:
        return found
    for name, size in (("host_need", report.host_ram_bytes), ("host_low", low),
                       ("host_high", high)):  # fmt: skip
        draft.figure(name, size, "B", formula="offloaded states and buffers")
    draft.figure("host_bytes_per_parameter", round(per_param, 1), "B", formula="host RAM / params")
    kept = "what_optimizer" if slots.zero_stage in (1, 2) else "what_all"
    draft.say(
        "host_states.need", need=_gb(report.host_ram_bytes), low=_gb(low), high=_gb(high),
        what=draft.phrase(f"host_states.{kept}"), params=f"{report.params / 1e9:.3g}B",
        bytes=format_significant(per_param, 2), importance=HEAD,
    )  # fmt: skip
    draft.say("host_states.slow", importance=BODY)
    ram = slots.host_ram_gb
    if ram is None:
        draft.say("host_states.open", importance=BODY)
        return found
    total = round(ram * GIB)
    usable = int(total * shares.PROCESS)
    draft.figure("host_ram_given", ram, "GB", sources=("user:host_ram_gb",))
    draft.figure("host_usable", usable, "B", formula=f"host RAM * {shares.PROCESS}")
    outcome = host_outcome(low, high, usable=usable, total=total)
    draft.say(f"host_states.{outcome}", ram=f"{ram:g}", usable=_gb(usable), importance=HEAD)
    if outcome != "enough" and found.verdict in ("fits", "tight"):
        draft.lead(f"host_states.lead_{outcome}", need=_gb(report.host_ram_bytes), ram=f"{ram:g}")
    memory = found.memory
    is_new = "host_ram_gb" in draft.request.changed
    if outcome == "short" or is_new or draft.request.says("hosts.asks_ram"):
        memory = MemoryRange(scope="host_ram", low_bytes=low, high_bytes=high, usable_bytes=usable)
    return replace(found, verdict=_joined(found.verdict, outcome), memory=memory)


_STEP_BYTES = 28
"""Bytes of host memory that Adam moves for a parameter: fp32 master, two states and the gradient
read, master, states and the 16-bit copy written."""
_HOST_GB_S = (100.0, 400.0)
"""Memory bandwidth of servers of two sockets that the step reaches, GB/s."""


def say_step_in_ram(draft: Draft, tokens: float | None) -> None:
    """What optimizer steps on the processor add to the hours of an offloaded training."""
    slots = draft.request.slots
    is_whole = str(slots.method).split("+")[-1] in ("full", "pretrain")
    if not slots.offload or not is_whole or not slots.params_b or not tokens:
        return
    moved = slots.params_b * _STEP_BYTES
    high, low = (moved / rate for rate in _HOST_GB_S)
    length, cards = slots.seq_len or _LENGTH, slots.gpu_count or 1
    together = (slots.batch or 1) * length * cards * (slots.grad_accum or 1)
    steps = tokens / together
    draft.figure("tokens_of_a_step", together, "token", formula="batch * length * cards")
    draft.figure("step_bytes_per_parameter", _STEP_BYTES, "B", formula="Adam in fp32")
    draft.figure("steps", round(steps), "1", formula="tokens / tokens of a step")
    told = {}
    for name, seconds in (("low", low), ("high", high)):
        for unit, value in (("s", seconds), ("h", seconds * steps / 3600)):
            told[f"{name}_{unit}"] = format_significant(value, 2)
            draft.figure(f"step_on_host_{name}", float(told[f"{name}_{unit}"]), unit,
                         formula="28 B * params / bandwidth, times steps")  # fmt: skip
    draft.say("host_states.steps", importance=HEAD, together=f"{together:,}", bytes=_STEP_BYTES,
              steps=f"{steps:,.0f}", params=f"{slots.params_b:.3g}B", **told)  # fmt: skip


_LENGTH = 1024
"""Tokens of a sequence where none were said."""


def host_outcome(low: int, high: int, *, usable: int, total: int) -> str:
    """enough, tight or short: where the interval of a need lies in a machine's memory.

    >>> [host_outcome(90, 140, usable=u, total=t) for u, t in ((150, 160), (90, 100), (72, 80))]
    ['enough', 'tight', 'short']
    """
    if high <= usable:
        return "enough"
    return "tight" if low <= total else "short"


def _joined(verdict: Verdict, outcome: str) -> Verdict:
    """The card's verdict and the host's together: the worse of the two."""
    if outcome == "short":
        return "does_not_fit"
    return "tight" if outcome == "tight" and verdict == "fits" else verdict


def _gb(size_bytes: int) -> str:
    return f"{gb_from_bytes(size_bytes):,.0f} GB"
