"""Names of cards and instance types in running text, and what the tables say of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tools.catalog import find_instance
from tools.errors import UserInputError
from tools.gpus import get_gpu, scan_gpus
from tools.units import GIB, bytes_from_gb, bytes_from_mib

_INSTANCE = re.compile(
    r"(?<![A-Za-z0-9._/-])(?:"
    r"(?:ecs|ml)\.[a-z][a-z0-9]*\d*[a-z0-9-]*(?:\.[a-z0-9]+(?:-\d+xl)?)?"
    r"|[a-z]{1,8}\d{0,2}[a-z]{0,3}(?:-[a-z0-9]+)*\.(?:\d*x?large|medium|small|micro|nano|metal)(?:\.\d+)?"
    r"|[A-Z]{1,6}\d{0,2}[A-Za-z]{0,4}\.\d*X?(?:LARGE|MEDIUM|SMALL)\d+"
    r"|Standard_[A-Z]+\d+\w*"
    r"|[a-z]\d[a-z]?-(?:standard|highgpu|megagpu|ultragpu|highmem|highcpu)-\d+\w*"
    r"|(?:gn|vgn|sgn|ebmgn|sccgn|ebmgi|gi|ga|gp)\d{1,2}[a-z]{0,3}(?:-[a-z0-9]+)*"
    r")(?![A-Za-z0-9_])"
)


class Name(NamedTuple):
    """A name found in a text."""

    name: str
    """Row of the GPU table, or the instance's name folded."""
    start: int
    end: int


@lru_cache(maxsize=512)
def cards_in(text: str) -> tuple[Name, ...]:
    """Cards named in `text`, by their row of the GPU table."""
    return tuple(Name(m.match.spec.name, m.start, m.end) for m in scan_gpus(text))


def instances_in(text: str) -> Iterator[Name]:
    """Words of `text` that look like an instance type or an Alibaba GPU family."""
    for found in _INSTANCE.finditer(text):
        yield Name(fold_instance(found[0]), found.start(), found.end())


def fold_instance(name: str) -> str:
    """An instance name without its cloud's prefix, in lower case.

    >>> fold_instance("ecs.gn7i-C8G1.2xlarge")
    'gn7i-c8g1.2xlarge'
    """
    return re.sub(r"^(?:ecs|ml)\.", "", name.strip().lower())


def is_real_instance(name: str) -> bool:
    """True when some cloud has a type or family of this name."""
    try:
        found = find_instance(name)
    except UserInputError:
        return False
    return found.exists


def blank(text: str) -> str:
    """The text with names of cards and instances blanked out, positions kept."""
    characters = list(text)
    for name in (*cards_in(text), *instances_in(text)):
        characters[name.start : name.end] = " " * (name.end - name.start)
    return "".join(characters)


@lru_cache(maxsize=512)
def card_facts(name: str) -> tuple[tuple[str, float], ...]:
    """(dimension, value) pairs that the GPU table states of a card."""
    spec = get_gpu(name)
    facts: list[tuple[str, float | None]] = [
        ("bytes", spec.label_bytes),
        ("bytes", spec.memory_label_gb and spec.memory_label_gb * GIB),
        ("bytes", spec.memory_smi_mib and float(bytes_from_mib(spec.memory_smi_mib))),
        ("bytes", spec.usable_bytes),
        ("rate", spec.mem_bandwidth_gbs and spec.mem_bandwidth_gbs * 1e9),
        ("rate", spec.nvlink_total_gbs and spec.nvlink_total_gbs * 1e9),
        ("power", spec.tdp_w),
    ]
    for tflops in (spec.fp32_tflops, spec.tf32_dense, spec.bf16_dense, spec.fp16_tensor_dense,
                   spec.fp8_dense, spec.int8_dense):  # fmt: skip
        facts.append(("work", tflops and tflops * 1e12))
    return tuple((dimension, float(value)) for dimension, value in facts if value)


@lru_cache(maxsize=512)
def instance_facts(name: str) -> tuple[tuple[str, float], ...]:
    """(dimension, value) pairs that the catalog states of an instance type."""
    try:
        offers = find_instance(name).offers
    except UserInputError:
        return ()
    facts: list[tuple[str, float | None]] = []
    for offer in offers:
        facts += [
            ("cores", offer.vcpu_count),
            ("cards", offer.gpu_count),
            ("bytes", offer.memory_gib and offer.memory_gib * GIB),
            ("bytes", offer.memory_gib and float(bytes_from_gb(offer.memory_gib))),
            ("bytes", offer.gpu_memory_gb and float(bytes_from_gb(offer.gpu_memory_gb))),
            ("link", offer.network_gbps and offer.network_gbps * 1e9),
            ("link", offer.rdma_gbps and offer.rdma_gbps * 1e9),
            ("rate", offer.nvlink_gbs and offer.nvlink_gbs * 1e9),
        ]
    return tuple((dimension, float(value)) for dimension, value in facts if value)
