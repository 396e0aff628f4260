"""A machine from what somebody pasted: nvidia-smi, npu-smi, rocm-smi, amd-smi, torch, a Mac."""

from __future__ import annotations

from collections.abc import Callable

from tools.probe.nvidia_text import parse_any
from tools.probe.other_text import (
    parse_amd_smi,
    parse_apple,
    parse_hl_smi,
    parse_npu_smi,
    parse_rocm_smi,
    parse_torch,
)
from tools.probe.report import Device, MachineReport, SourceAttempt

_MAX_TEXT = 1_000_000
"""Characters that are looked at."""
_OTHERS: tuple[tuple[str, tuple[str, ...], Callable[[str], list[Device]]], ...] = (
    ("npu-smi", ("npu-smi",), parse_npu_smi),
    ("rocm-smi", ("VRAM Total Memory",), parse_rocm_smi),
    ("amd-smi", ("mem_usage", "total_vram"), parse_amd_smi),
    ("hl-smi", ("HL-",), parse_hl_smi),
    ("torch", ("_CudaDeviceProperties", "memory summary", "mem_get_info"), parse_torch),
    ("apple", ("Apple M",), parse_apple),
)
"""Source, words of which one must stand in the text, reader."""


def parse_pasted(text: str) -> MachineReport | None:
    """The machine that a pasted output describes; None when the text holds no such output.

    Memory in use is what the output showed at that moment. No finding is about this machine.
    """
    text = text[:_MAX_TEXT]
    nvidia = parse_any(text)
    if nvidia is not None and nvidia.devices:
        return MachineReport(
            devices=tuple(nvidia.devices),
            driver_version=nvidia.driver_version,
            cuda_version=nvidia.cuda_version,
            links=tuple(nvidia.links),
            attempts=(SourceAttempt(source="nvidia-smi", outcome="found", detail="pasted"),),
            is_pasted=True,
        )
    for source, words, read in _OTHERS:
        if any(word in text for word in words):
            devices = read(text)
            if devices:
                attempt = SourceAttempt(source=source, outcome="found", detail="pasted")
                return MachineReport(devices=tuple(devices), attempts=(attempt,), is_pasted=True)
    return None
