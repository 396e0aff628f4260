"""Pasted material: which kind it is, and what can be lifted from it."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from agent.request import Pasted
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document
from agent.understanding.readers.config import find_settings, note_settings, program_of
from agent.understanding.readers.logs import fields_of, has_marks, messages_in
from agent.understanding.readers.pasted_config import (
    config_in_lines,
    is_whole_without_adapter,
    json_blocks,
    note_kind,
    outside_blocks,
)
from tools.units import GIB, MIB, gib_from_bytes

if TYPE_CHECKING:
    from tools.probe.report import Device

_MIB_PAIR = re.compile(r"(?<![0-9.])(\d{1,6})\s?mib\s?/\s?(\d{3,6})\s?mib")
_GPUSTAT = re.compile(r"(?<=\|)\s{0,8}(\d{1,6})\s?/\s?(\d{4,6})\s?mb(?=\s?\|)")
_TABLE_LINE = re.compile(r"^\s*\d{1,2},[^\n]{3,60}?,[^\n]*?\d\s?mib[^\n]*", re.MULTILINE)
_TOTAL_LINE = re.compile(r"^[^\n,]{4,60},\s?(\d{4,6})\s?mib[ \t]*$", re.MULTILINE)
"""``nvidia-smi --query-gpu=name,memory.total``: which size of a card it is."""
_MIB = re.compile(r"\d{1,6}\s?mib")
"""A line of ``nvidia-smi --query-gpu ... --format=csv``, and the sizes in it."""
_BUS_ID = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d|(?:gpu|mig)-[0-9a-f]{8}-[0-9a-f\-]{10,40}"
)
_COMMANDS = {
    "vllm": re.compile(
        r"vllm serve\s+(?P<model>\S{2,120})|vllm\.entrypoints|vllm/vllm-openai"
        r"|(?<![a-z])vllm\s+(?:bench|run)"
    ),
    "llama-server": re.compile(r"(?<![a-z])(?:\./)?llama-server(?:\.exe)?\s+-"),
    "llama-cli": re.compile(
        r"(?<![a-z])(?:\./)?llama-cli(?:\.exe)?\s+-"
        r"|(?<![a-z])llama[ .]?cpp(?=[^\n]{0,120}\s-(?:c|ngl|ctk|ctx-size)\s?\d)"
    ),
    "sglang": re.compile(r"sglang\.launch_server|sglang serve"),
    "lmdeploy": re.compile(r"lmdeploy serve"),
    "tgi": re.compile(r"text-generation-launcher"),
    "ollama": re.compile(r"ollama (?:run|serve|pull|create)\s+(?P<model>\S{2,80})"),
}
_LAUNCH = re.compile(
    r"(?<![a-z])(?:torchrun|accelerate launch|deepspeed\s+--|torch\.distributed\.(?:launch|run))"
    r"[^\n]{0,600}"
)
_FRAMEWORK_OF = {"llama-server": "llama.cpp", "llama-cli": "llama.cpp"}
_MACHINE_TEXT = 60_000
"""Characters of a pasted state that are looked at."""


def read_pasted(document: Document, board: Board) -> list[Pasted]:
    """Note what configuration, commands and logs say; their kinds, with the numbers lifted."""
    _take_noise(document, board)
    _host_memory(document, board)
    text = document.text
    found: list[Pasted] = []
    settings = find_settings(document)
    program = _command(document, board, found)
    blocks = json_blocks(document, board)
    found += [pasted for pasted, _, _ in blocks]
    settings = outside_blocks(settings, blocks)
    described = None if blocks else config_in_lines(settings, board)
    found += [described] if described is not None else []
    kinds = program_of({setting.key for setting in settings})
    is_config = note_kind(settings, kinds, found, board) or described is not None
    has_stages = any(p.kind == "deepspeed_json" for p in found)
    if not program and is_whole_without_adapter(settings, kinds, has_stages=has_stages):
        board.add("whole_without_adapter", True)
    is_pasted = bool(program) or is_config or any(p.kind.endswith("_json") for p in found)
    note_settings(
        document, board, settings, origin="pasted" if is_pasted else "said", program=program
    )
    if program in _SHARES_CONTEXT:
        _note_shared_context(board)
    for kind in ("cuda_oom", "host_kill", "vllm_log"):
        if has_marks(kind, text):
            fields = fields_of(kind, document, board)
            if kind == "cuda_oom" and "total_bytes" in fields:
                _note_total(fields["total_bytes"], board)
                board.add("log_total_bytes", fields["total_bytes"], origin="pasted")
            if kind == "vllm_log" and fields:
                board.add("framework", "vllm", origin="pasted", weight=0.5)
                for slot, name in _OF_ENGINE.items():
                    if name in fields:
                        board.add(slot, fields[name], origin="pasted")
            if kind == "host_kill" or fields:
                found.append(Pasted(kind=kind, fields=fields))
    _machine(document, board, found)
    for name, start, end in messages_in(text):
        found.append(Pasted(kind="error_message", fields={"message": name}))
        board.add("error_message", name, start, end)
    return found


_SHARES_CONTEXT = ("llama-server", "llama-cli")
"""Programs whose context is that of all slots together."""


def _note_shared_context(board: Board) -> None:
    """A command's context beside its slots is what they share."""
    length, slots = board.best("seq_len"), board.best("concurrency")
    if length is None or slots is None or slots.value < 2:
        return
    if length.origin == "pasted" and slots.origin == "pasted":
        board.add("context_in_all", length.value, length.start, length.end, origin="pasted")


_OF_ENGINE = {"seq_len": "max_seq_len", "gpu_memory_utilization": "utilization"}
"""Slots that an engine's log states, and its fields."""


def _note_total(total_bytes: int, board: Board) -> None:
    """The card's total as the log has it, for turns that come after."""
    board.add("gpu_mem_total_mib", int(gib_from_bytes(total_bytes) * 1024), origin="inferred")


def _take_noise(document: Document, board: Board) -> None:
    """Set aside what looks like a size or a setting and is neither.

    PCI addresses ("3B"), bars of loading weights, stamps of log lines with a rank ("TP0"),
    figures of swap and of disks.
    """
    noise = [_BUS_ID, _LOADING, _STAMP, _NO_RAM]
    if _ADAPTER.search(document.text) is None:
        noise.append(_PROCESS)
    for pattern in noise:
        for hit in islice(pattern.finditer(document.text), 256):
            document.take(hit.start(), hit.end())
            board.add("quiet", True, hit.start(), hit.end())


_LOADING = re.compile(
    r"(?:loading|downloading|fetching)[^\n]{0,60}(?:shards?|files?|weights):?\s{0,3}\d{1,3}\s?%[^\n]{0,160}"
)
_STAMP = re.compile(
    r"\[[^\[\]\n]{0,24}\d{2}:\d{2}:\d{2}[^\[\]\n]{0,60}\]"
    r"|\((?:worker|vllmworker|enginecore|raylet|modelworker)[^()\n]{0,60}\)|\[rank\s?\d{1,5}\]"
)
_PROCESS = re.compile(
    r"(?<![a-z])(?:on|in|from|only|just|except|local|global)\s(?:the\s)?rank[ _:-]?\d{1,4}(?![\d.])"
    r"|(?<![a-z])rank[ _:-]?0(?![\d.])"
)
"""A process of a distributed run by its number, where no adapter is spoken of."""
_ADAPTER = re.compile(r"lora|(?<![a-z])dora|adapter|peft|适配器|秩")
_NO_RAM = re.compile(
    r"^[ \t]*(?:swap|total|-/\+ buffers/cache|交换)\s?:[ \t]+\d[^\n]{0,80}"
    r"|^[^\n]{0,80}\s\d{1,3}%[ \t]+/[^\n]{0,60}",
    re.MULTILINE,
)
"""Lines of ``free`` that are not the memory itself, and lines of ``df``."""
_FREE = re.compile(
    r"(?<![a-z])(?:mem:\s{1,20}|内存:\s{1,20}(?=\S+\s+\S+\s+\S)|free -[gh][^\d\n]{0,8})"
    r"(?P<n>\d{1,7}(?:\.\d)?)\s?(?P<unit>[gmt]i?(?![a-z]))?"
)
_MEMINFO = re.compile(r"memtotal:?\s{0,20}(?P<kib>\d{5,11})\s?ki?b")
_ASKED_OF_HOST = re.compile(
    r"(?<![a-z0-9\-])--mem(?:ory)?[ =]{1,2}[\"']?"
    r"(?P<n>\d{1,7}(?:\.\d)?)\s?(?P<unit>[gmt])i?b?(?![a-z])"
)
"""What a job or a container may take of the host: ``sbatch --mem=64G``, ``docker --memory 32g``."""
_FREE_UNIT = {"m": 1 / 1024, "g": 1.0, "t": 1024.0}
_LARGEST_HOST_GB = 8192


def _host_memory(document: Document, board: Board) -> None:
    """The host's memory from the first figure of ``free``; without a unit GiB or, large, MiB."""
    total = _MEMINFO.search(document.text)
    if total is not None:
        size = round(int(total["kib"]) * 1024 / GIB, 1)
        board.add("host_ram_gb", size, total.start(), total.end(), origin="pasted")
        document.take(total.start(), total.end())
        return
    asked = _ASKED_OF_HOST.search(document.text)
    if asked is not None:
        size = round(float(asked["n"]) * _FREE_UNIT[asked["unit"]], 1)
        board.add("host_ram_gb", size, asked.start(), asked.end(), origin="pasted")
        document.take(asked.start(), asked.end())
        return
    found = _FREE.search(document.text)
    if found is None:
        return
    value = float(found["n"])
    unit = (found["unit"] or ("m" if value > _LARGEST_HOST_GB else "g"))[0]
    board.add(
        "host_ram_gb",
        round(value * _FREE_UNIT[unit], 1),
        found.start(),
        found.end(),
        origin="pasted",
    )
    line = document.text.find("\n", found.end())
    document.take(found.start(), line if line >= 0 else found.end())


def _command(document: Document, board: Board, found: list[Pasted]) -> str | None:
    program = None
    for name, pattern in _COMMANDS.items():
        hit = pattern.search(document.text)
        if hit is None:
            continue
        program = program or name
        board.add("framework", _FRAMEWORK_OF.get(name, name), hit.start(), hit.end())
        board.add("task_cue", "infer", hit.start(), hit.end())
        found.append(Pasted(kind="serve_command", fields={"program": name}))
    launch = _LAUNCH.search(document.text)
    if launch is not None:
        found.append(Pasted(kind="torchrun_command", fields={}))
        board.add("task_cue", "train", launch.start(), launch.start() + 8)
    return program


def _machine(document: Document, board: Board, found: list[Pasted]) -> None:
    """Cards, memory and its use from nvidia-smi, npu-smi, rocm-smi and the like."""
    pairs = [
        (int(hit[1]), int(hit[2]), hit.start(), hit.end())
        for pattern in (_MIB_PAIR, _GPUSTAT)
        for hit in islice(pattern.finditer(document.text), 64)
    ]
    pairs_in_text = bool(pairs)
    for _, _, low, high in pairs:
        document.take(low, high)
    for hit in islice(_TABLE_LINE.finditer(document.text), 64):
        sizes = list(_MIB.finditer(document.text, *hit.span()))
        if len(sizes) == 2 and not pairs_in_text:
            pairs.append((*_used_and_total(document.text, *(s[0] for s in sizes)),
                          sizes[0].start(), sizes[1].end()))  # fmt: skip
        for size in sizes:
            document.take(*size.span())
    if not pairs and (total := _TOTAL_LINE.search(document.text)) is not None:
        board.add("log_total_bytes", int(total[1]) * MIB, origin="pasted")
        document.take(*total.span(1))
    devices = _devices(document) if has_marks("nvidia_smi", document.text) else []
    states = [
        (int(d.used_bytes // MIB), int(d.total_bytes // MIB))
        for d in devices
        if d.used_bytes is not None and d.total_bytes is not None and d.parent_index is None
    ] or [(used, total) for used, total, _, _ in pairs]
    if not states:
        if any(d.spec is not None for d in devices):  # nvidia-smi -L: names alone
            found.append(Pasted(kind="nvidia_smi", fields={}))
        return
    start, end = (pairs[0][2], pairs[0][3]) if pairs else (0, 0)
    board.add("gpu_mem_used_mib", states[0][0], start, end, origin="pasted")
    board.add("gpu_mem_total_mib", states[0][1], start, end, origin="pasted")
    board.add("gpu_count_pasted", len(states), start, end, origin="pasted")
    named = next((d.spec.name for d in devices if d.spec is not None), None)
    if named is not None:
        board.add("pasted_card", named, start, end, origin="pasted")
    fields = {"used_mib": [used for used, _ in states], "total_mib": [total for _, total in states]}
    found.append(Pasted(kind="nvidia_smi", fields=fields))


def _used_and_total(text: str, first: str, second: str) -> tuple[int, int]:
    """Two sizes of a line of CSV: the larger is the card's, the other what is used, or free."""
    low, high = sorted(int(size.removesuffix("mib").strip()) for size in (first, second))
    is_free = "memory.free" in text and "memory.used" not in text
    return (high - low if is_free else low), high


def _devices(document: Document) -> list[Device]:
    from tools.probe import parse_pasted

    report = parse_pasted(document.raw[:_MACHINE_TEXT])
    return list(report.devices[:64]) if report is not None else []
