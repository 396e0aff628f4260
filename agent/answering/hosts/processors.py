"""How fast a processor's memory is: as said, by the processor's name, else by its cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from agent.answer import AssumptionOut
from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import whole
from agent.answering.telling.run_words import short_model
from agent.request import Request
from agent.toolbox.memory import MemoryReport
from agent.toolbox.timing import TimeReport
from tools.units import format_significant

_RATES = {4: 3200, 5: 4800}
"""Transfers a second (millions) of a server's DDR4 and DDR5, where none were said."""
_BYTES = 8
"""Bytes of one transfer of a channel."""
_BY_CORES = (
    (8, 25.0, 51.0, 83.0, "two channels of DDR4-3200, as desktops and small machines have"),
    (16, 45.0, 83.0, 205.0, "two channels of DDR5-5200, or a share of a server's"),
    (32, 80.0, 140.0, 307.0, "six channels of DDR4-2933, or a share of a newer server's"),
    (10_000, 140.0, 204.0, 460.0, "eight channels of DDR4-3200; twelve of DDR5-4800 make 460"),
)
"""(cores up to, lowest, usual, highest GB/s, why): channels * transfers a second * 8 bytes."""
_SPREAD = 1.15
"""Around a bandwidth that follows from what was said."""


_A_READERS = 8.0
"""Tokens a second from which one person reads along without waiting."""
_PATIENCE = 2.5
"""Tokens a second below which nobody waits for an answer: work for the night."""
_MUCH_RAM_GB = 128.0
_CORES_OF_A_SERVER, _CORES_OF_A_DESKTOP = 32, 8
"""Cores where none were said: with so much memory and more, and with less."""


class Bandwidth(NamedTuple):
    """Nominal memory bandwidth, GB/s (10**9 bytes)."""

    value: float
    low: float
    high: float
    why: str
    is_said: bool


def memory_bandwidth(request: Request) -> Bandwidth:
    """Bandwidth of the host that a question speaks of, with an interval and where it is from."""
    return _said(request) or _by_cores(cores_of(request))


def bandwidth_beside_a_card(request: Request) -> Bandwidth:
    """The same of a machine with a card: of a desktop where neither cores nor more were said."""
    return _said(request) or _by_cores(request.slots.vcpu or _CORES_OF_A_DESKTOP)


def _by_cores(cores: int) -> Bandwidth:
    _, low, value, high, why = next(row for row in _BY_CORES if cores <= row[0])
    return Bandwidth(value, low, high, why, False)


def _said(request: Request) -> Bandwidth | None:
    """Bandwidth that follows from what was said of the processor or its memory."""
    said = request.processor
    if said is None:
        return None
    if said.bandwidth_gb_s is not None:
        return _as_said(said.bandwidth_gb_s, "as said")
    if said.channels is not None and said.ddr is not None:
        rate = said.mt_s or _RATES[said.ddr]
        value = said.channels * rate * _BYTES / 1000
        return _as_said(value, f"{said.channels} channels, each {_BYTES} bytes a transfer")
    return _named(said.name, sockets=said.sockets) if said.name is not None else None


def _as_said(value: float, why: str) -> Bandwidth:
    return Bandwidth(value, value / _SPREAD, value * _SPREAD, why, True)


def _named(name: str, *, sockets: int) -> Bandwidth | None:
    """A processor by its family; two sockets read faster, though never twice as fast for one.

    None where the table does not know it: its cores then say more.
    """
    from tools.speed import card

    row = card(f"CPU {name}")
    if row.notes == card("CPU").notes:
        return None
    value, why = row.bytes_per_s / 1e9, f"{name}: {row.notes[0]}"
    if sockets == 1:
        return Bandwidth(value, value / 1.5, value * 1.5, why, True)
    why += " a socket; a program that minds NUMA gains from the second"
    return Bandwidth(value * 1.3, value * 0.8, value * 2.0, why, True)


def cores_of(request: Request) -> int:
    """Cores as said; else those of a server where there is much memory, or of a desktop."""
    is_server = (request.slots.host_ram_gb or 0) >= _MUCH_RAM_GB
    return request.slots.vcpu or (_CORES_OF_A_SERVER if is_server else _CORES_OF_A_DESKTOP)


def names_processor(request: Request) -> bool:
    """Whether a question names a processor by its family."""
    return request.processor is not None and request.processor.name is not None


def speed_calls(
    draft: Draft, form: str, bandwidth: Bandwidth | None, *, example_b: float | None
) -> tuple[Call, ...]:
    """Calls for the speed at the lowest, the usual and the highest bandwidth; of a Mac one."""
    slots = draft.request.slots
    gpu = slots.gpu or ""
    if bandwidth is None:
        places = [gpu] if any(char.isdigit() for char in gpu) else []
    else:
        rates = (bandwidth.low, bandwidth.value, bandwidth.high)
        places = [f"CPU {cores_of(draft.request)} cores {rate:.0f} GB/s" for rate in rates]
    said: dict[str, Any] = {
        "task": "infer", "model": slots.model, "framework": "llama.cpp", "quantization": form,
        "params_b": example_b or (slots.params_b if slots.model is None else None),
        "input_len": slots.input_len, "output_len": slots.output_len,
    }  # fmt: skip
    said = {name: value for name, value in said.items() if value is not None}
    return tuple(Call("estimate_time_and_cost", {**said, "gpu": place}) for place in places)


def say_host_speed(
    draft: Draft, report: MemoryReport, bandwidth: Bandwidth | None, speeds: Sequence[TimeReport]
) -> None:
    """Tokens a second with an interval over both unknowns, the wait, and what that is good for."""
    rates = [speed.stream_tokens_per_s for speed in speeds if speed.stream_tokens_per_s]
    waits = [speed.ttft_s for speed in speeds if speed.ttft_s]
    if not rates or not waits:
        return
    middle, wait = rates[len(rates) // 2], waits[len(waits) // 2]
    low, high = min(r.low for r in rates), max(r.high for r in rates)
    told = {"value": middle.value, "low": low, "high": high}
    for name, amount in told.items():
        draft.figure(f"speed_{name}", float(format_significant(amount, 2)), "token/s",
                     formula="memory bandwidth * share reached / active weights")  # fmt: skip
    bound = speeds[len(speeds) // 2].bound
    prompt = next((a.value for s in speeds for a in s.assumptions if a.name == "prompt_len"),
                  draft.request.slots.input_len)  # fmt: skip
    values = {name: format_significant(amount, 2) for name, amount in told.items()}
    values |= {"model": short_model(report), "wait": _seconds(draft, wait.value),
               "prompt": str(prompt or "")}  # fmt: skip
    if bandwidth is None or bound is None:
        draft.figure("wait", wait.value, "s", formula="prompt FLOP / FLOP/s")
        draft.figure("prompt", int(prompt or 0), "token", formula="of the speed that is told")
        draft.say("host.mac_speed", importance=HEAD, **values)
        return
    read_gb = bound.read_bytes / 1e9
    draft.figure("read_per_token_gb", read_gb, "GB", formula="active weights / 1e9")
    draft.figure("host_bandwidth", round(bandwidth.value), "GB/s", formula=bandwidth.why)
    draft.assume([AssumptionOut(name="memory_bandwidth", value=round(bandwidth.value),
                                unit="GB/s", why=bandwidth.why)])  # fmt: skip
    draft.say("host.cpu_speed", importance=HEAD, read=format_significant(read_gb, 3),
              bandwidth=whole(bandwidth.value), **values)  # fmt: skip
    level = "chat" if low >= _A_READERS else "night" if high < _PATIENCE else (
        "alone" if middle.value >= _PATIENCE else "patience")  # fmt: skip
    draft.say(f"host.good_{level}", importance=HEAD)


def _seconds(draft: Draft, seconds: float) -> str:
    told = format_significant(seconds, 2)
    return f"{told} 秒" if draft.language == "zh" else f"{told} s"
