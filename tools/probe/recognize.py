"""From what a driver reports about a device to its row of the GPU table."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.errors import AmbiguousGpuError, UnknownGpuError
from tools.probe.report import Device
from tools.units import MIB

if TYPE_CHECKING:
    from tools.gpus import GpuMatch, GpuSpec

_SAME_SIZE = 0.08
"""A total this near to the row's is the same size (a share)."""
_BF16_FROM = 8.0
_FP8_FROM = 8.9


class Recognized(NamedTuple):
    """The row of a reported name, and the slice that the name carries."""

    spec: GpuSpec | None
    slice_name: str | None = None


def recognize(name: str, total_bytes: int | None = None) -> Recognized:
    """The GPU row of a name as drivers write it; the total decides between sizes.

    A name cut short by a table ("NVIDIA GeForce RTX 3090 ...") is read as far as it goes, and
    only kept when the total agrees with it.
    """
    was_cut = name.rstrip().endswith("...")
    bare = name.replace("...", " ").replace("(R)", "").replace("(TM)", "").strip()
    match = _find(bare)
    if match is None:
        return Recognized(None)
    if match.slice_name is not None:
        return Recognized(match.spec, match.slice_name)
    if total_bytes is None or _agrees(match.spec, total_bytes):
        return Recognized(match.spec)
    other = _find(f"{bare} {round(total_bytes / MIB / 1024)}GB")
    if other is not None and other.conflict is None and _agrees(other.spec, total_bytes):
        return Recognized(other.spec)
    sibling = _sibling(match.spec, total_bytes)
    if sibling is not None:
        return Recognized(sibling)
    return Recognized(None if was_cut or match.spec.vendor == "NVIDIA" else match.spec)


def _find(name: str) -> GpuMatch | None:
    from tools.gpus import find_gpu  # a machine without a device never needs the table

    try:
        return find_gpu(name)
    except AmbiguousGpuError as error:
        return find_gpu(error.candidates[0])
    except UnknownGpuError:
        return None


def _agrees(spec: GpuSpec, total_bytes: int) -> bool:
    if spec.is_unified:
        return True
    total_mib = total_bytes / MIB
    known = spec.memory_smi_mib or spec.memory_usable_mib
    return known is None or abs(known - total_mib) <= _SAME_SIZE * known


def _sibling(spec: GpuSpec, total_bytes: int) -> GpuSpec | None:
    """Another size of the same card: laptop forms and variants begin with the same name."""
    from tools.gpus import all_gpus

    stem = " ".join(word for word in spec.name.split() if not word.endswith("GB"))
    for other in all_gpus():
        if other is not spec and other.name.startswith(stem) and _agrees(other, total_bytes):
            return other
    return None


def described(device: Device) -> Device:
    """The device with its row and what it supports filled in.

    A card that is not in the table is described from its compute capability: bf16 from 8.0 on,
    FP8 from 8.9 on, FlashAttention-2 on Ampere, Ada and Hopper; newer ones depend on the build.
    """
    found = recognize(device.name, None if device.slice_name else device.total_bytes)
    spec = device.spec or found.spec
    changes: dict[str, Any] = {"spec": spec, "slice_name": device.slice_name or found.slice_name}
    capability = device.compute_capability
    if capability is None and spec is not None:
        capability = spec.compute_capability
        changes["compute_capability"] = capability
    if spec is not None:
        changes["vendor"] = spec.vendor
        changes["is_unified"] = device.is_unified or spec.is_unified
    flags = ("bf16_supported", "fp8_supported", "flash_attention2_supported")
    for flag in flags:
        if getattr(device, flag) is None:
            known = getattr(spec, flag) if spec is not None else None
            changes[flag] = known if known is not None else _by_capability(flag, capability)
    return dataclasses.replace(device, **changes)


def _by_capability(flag: str, capability: float | None) -> bool | None:
    if capability is None:
        return None
    if flag == "bf16_supported":
        return capability >= _BF16_FROM
    if flag == "fp8_supported":
        return capability >= _FP8_FROM
    return True if _BF16_FROM <= capability < 10 else False if capability < _BF16_FROM else None
