"""What a card can do at most: dense arithmetic by precision, memory bandwidth, links."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tools.errors import UnsupportedError
from tools.speed.results import load_data

Precision = str
"""fp32, tf32, 16 (bf16 or fp16), fp8, int8, fp4: what the matrix units multiply."""


SMOOTHNESS = 4.0
"""Power of the mean that joins a card's arithmetic and its power limit."""
SYNCHRONOUS_FLOPS = 3000.0
"""FLOP per clock and multiprocessor that FlashAttention 2 keeps busy; A100 2,048, H100 3,784."""
ENERGY_WIDTH = {"tf32": 2.0, "fp8": 0.5, "fp4": 0.25, "int8": 0.5}
"""Energy of one FLOP against 16 bit: the bits that are moved and multiplied."""


@dataclass(frozen=True, slots=True)
class Card:
    """The limits of one device, in units of one second."""

    name: str
    architecture: str
    bytes_per_s: float
    """Memory bandwidth, bytes/s."""
    fp32_flops: float
    """Dense FP32 on the ordinary units, FLOP/s."""
    tf32_flops: float | None
    tensor16_flops: float
    """Dense 16-bit with FP32 accumulation; the FP32 rate where there are no matrix units."""
    fp8_flops: float | None
    int8_flops: float | None
    fp4_flops: float | None
    memory_gb: float | None
    """Memory by the label, GB; shares of a card are told by it."""
    nvlink_gb_s: float | None
    """Both directions together, GB/s; None when there is none or it is unknown."""
    is_cpu: bool
    notes: tuple[str, ...] = ()
    power_w: float | None = None
    """Power that the card may draw, W; None when it is not known."""
    process: str | None = None
    """Key of the learnt energy of one FLOP (`energy_4nm`, ...); None when it is not known."""
    memory_bytes: float | None = None
    """Memory that the driver reports, bytes; None when it is not known."""

    @property
    def is_apple(self) -> bool:
        """Apple silicon: the processor shares the memory."""
        return self.name.startswith("Apple")

    @property
    def is_async(self) -> bool:
        """Matrix units so fast that kernels which wait for each step leave them idle (FA3).

        An H20 has the matrix units of an H100 at a fifth of their speed: it waits for nothing.
        """
        return self.tensor16_flops / self.clocked_units > SYNCHRONOUS_FLOPS

    @property
    def clocked_units(self) -> float:
        """Multiprocessors times clocks per second: how many requests for memory can be under way.

        Source: FP32 rate / (2 FLOP * FP32 lanes of a multiprocessor); 64 lanes in GP100, GV100,
        Turing, GA100 and CDNA 1, 128 in the other cards (vendor whitepapers).
        """
        narrow = (
            self.architecture in ("Volta", "Turing", "CDNA1")
            or (self.architecture == "Ampere" and self.generation.endswith("data-centre"))
            or "P100" in self.name
        )
        return self.fp32_flops / (2 * (64 if narrow else 128))

    @property
    def generation(self) -> str:
        """Architecture with the width of its matrix units: what unmeasured cards share.

        GeForce cards run 16-bit products with FP32 sums at half the rate of their professional
        siblings, which shifts every balance of arithmetic and bandwidth.
        """
        wide = self.tensor16_flops / self.fp32_flops
        kind = "half-rate" if wide < 3 else ("full-rate" if wide < 6 else "data-centre")
        return f"{self.architecture} {kind}"

    def powered_rate(
        self, precision: Precision, share: float, constants: Mapping[str, float]
    ) -> float:
        """FLOP/s of matrix products: a share of the peak, under what the card's power can feed.

        Args:
            precision: What the matrix units multiply.
            share: Of the peak where power does not limit.
            constants: Learnt; `energy_<process>` is pJ of one 16-bit FLOP.

        Source: watts / joules per FLOP. A T4 (70 W) sustains less than half of its 65 TFLOPS, a
        250 W card most of the same peak. TF32 moves twice the bits of 16 bit, FP8 half of them.
        """
        rate = self.flops(precision) * share
        if self.power_w is None or self.process is None or precision == "fp32":
            return rate
        width = ENERGY_WIDTH.get(precision, 1.0)
        fed = self.power_w / (constants[f"energy_{self.process}"] * width * 1e-12)
        return float((rate**-SMOOTHNESS + fed**-SMOOTHNESS) ** (-1 / SMOOTHNESS))

    def flops(self, precision: Precision) -> float:
        """Dense FLOP/s of the matrix units; falls back to what the card runs instead.

        A card without the format multiplies in the next wider one: fp4 -> fp8 -> 16 bit.
        """
        if precision == "fp32":
            return self.fp32_flops
        if precision == "tf32":
            return self.tf32_flops or self.fp32_flops
        if precision == "fp4" and self.fp4_flops:
            return self.fp4_flops
        if precision in ("fp8", "fp4") and self.fp8_flops:
            return self.fp8_flops
        if precision == "int8" and self.int8_flops:
            return self.int8_flops
        return self.tensor16_flops


def _ratio(name: str, architecture: str) -> dict[str, Any]:
    for row in load_data("cards")["tensor_ratio"]:
        if architecture.startswith(row["architecture"]) and re.search(row["names"], name):
            found: dict[str, Any] = row
            return found
    return {"tensor16": 1.0, "tf32": None, "fp8": None, "int8": None}


def _process(name: str, architecture: str) -> str | None:
    """Manufacturing process of a card: what one FLOP costs in energy."""
    for row in load_data("cards")["process"]:
        if architecture.startswith(row["architecture"]) and re.search(row["names"], name):
            return str(row["process"])
    return None


def _tera(value: float | None) -> float | None:
    return None if value is None else value * 1e12


def card_from_spec(spec: Any) -> Card:
    """The limits of a row of the GPU table.

    Args:
        spec: A `GpuSpec` of tools.gpus (any object with its column names).

    Raises:
        UnsupportedError: If neither bandwidth nor arithmetic rate of the card is known.
    """
    name, architecture = spec.name, spec.architecture or ""
    extra = load_data("cards")["overrides"].get(name, {})
    bandwidth = extra.get("bandwidth_gb_s", spec.mem_bandwidth_gbs)
    fp32 = extra.get("fp32", spec.fp32_tflops)
    ratio = _ratio(name, architecture)

    def rate(key: str, stated: float | None) -> float | None:
        value = extra.get(key, stated)
        if value is None and fp32 is not None and ratio.get(key):
            value = fp32 * ratio[key]
        return _tera(value)

    stated16 = spec.fp16_tensor_dense if spec.fp16_tensor_dense is not None else spec.bf16_dense
    tensor16 = rate("tensor16", stated16)
    if bandwidth is None or (tensor16 is None and fp32 is None):
        fp32 = _apple_rate(name, bandwidth)
        tensor16 = fp32 * 1e12
    fp32_flops = _tera(fp32) or (tensor16 or 0.0) / 2
    return Card(
        name=name,
        architecture=architecture,
        bytes_per_s=float(bandwidth) * 1e9,
        fp32_flops=fp32_flops,
        tf32_flops=rate("tf32", spec.tf32_dense),
        tensor16_flops=tensor16 or fp32_flops,
        fp8_flops=rate("fp8", spec.fp8_dense),
        int8_flops=rate("int8", spec.int8_dense),
        fp4_flops=rate("fp4", None),
        memory_gb=spec.memory_label_gb,
        nvlink_gb_s=spec.nvlink_total_gbs,
        is_cpu=False,
        power_w=extra.get("power_w", spec.tdp_w),
        process=_process(name, architecture),
        memory_bytes=None if spec.memory_smi_mib is None else spec.memory_smi_mib * 1024.0**2,
    )


_APPLE_TFLOPS = {"M1": 2.6, "M2": 3.6, "M3": 4.1, "M4": 4.3}
_APPLE_SCALE = {"Pro": 2.0, "Max": 4.0, "Ultra": 8.0}


def _apple_rate(name: str, bandwidth: float | None) -> float:
    """TFLOP/s of an Apple chip; any other card without figures is refused."""
    apple = _apple_tflops(name)
    if bandwidth is None or apple is None:
        raise UnsupportedError(
            name,
            reason="its memory bandwidth or arithmetic rate is not known",
            instead="Name another card, or give a measured speed.",
        )
    return apple


def _apple_tflops(name: str) -> float | None:
    """FP32 TFLOPS of an Apple chip's GPU: the base chip's times its share of cores (derived)."""
    found = re.search(r"\b(M[1-4])\b(?: (Pro|Max|Ultra))?", name)
    if found is None:
        return None
    return _APPLE_TFLOPS[found[1]] * _APPLE_SCALE.get(found[2] or "", 1.0)


@cache
def card(name: str) -> Card:
    """The limits of a card or processor by any spelling.

    Args:
        name: A card as written, or text that begins with CPU. A bandwidth in the text
            (`2.4 TB/s`, `20 GB/s`) wins over the table's.

    Raises:
        UnknownGpuError: If no row carries the name.
        AmbiguousGpuError: If it stands for several cards.
        UnsupportedError: If the card's limits are not known.
    """
    if re.match(r"\s*(cpu|processor|处理器)\b", name, re.IGNORECASE):
        return _with_stated_limits(processor(name), name)
    for row in load_data("cards")["shared_memory"]:
        if re.search(row["pattern"], name, re.IGNORECASE):
            return _with_stated_limits(_shared_memory(name, row), name)
    from tools.gpus import find_gpu

    match = find_gpu(name)
    whole = card_from_spec(match.spec)
    if re.search(r"\b1 GCD\b", name):
        whole = _slice(whole, (whole.memory_gb or 0.0) / 2)
    if match.slice_memory_gb is not None:
        whole = _slice(whole, match.slice_memory_gb)
    return _with_stated_limits(whole, name)


def _slice(whole: Card, memory_gb: float) -> Card:
    """A MIG or vGPU slice: its share of the memory is its share of bandwidth and arithmetic.

    A time-shared vGPU may run faster while its neighbours are idle.
    """
    share = min(1.0, memory_gb / whole.memory_gb) if whole.memory_gb else 1.0

    def part(rate: float | None) -> float | None:
        return None if rate is None else rate * share

    return replace(
        whole,
        bytes_per_s=whole.bytes_per_s * share,
        fp32_flops=whole.fp32_flops * share,
        tf32_flops=part(whole.tf32_flops),
        tensor16_flops=whole.tensor16_flops * share,
        fp8_flops=part(whole.fp8_flops),
        int8_flops=part(whole.int8_flops),
        fp4_flops=part(whole.fp4_flops),
        memory_gb=memory_gb,
        memory_bytes=part(whole.memory_bytes),
        power_w=part(whole.power_w),
        notes=(*whole.notes, f"a slice with {share:.0%} of the card"),
    )


def _shared_memory(name: str, row: dict[str, Any]) -> Card:
    """A chip whose processor shares the memory and that the GPU table does not list."""
    fp32 = row["fp32_tflops"] * 1e12
    return Card(
        name=name,
        architecture=row["architecture"],
        bytes_per_s=row["bandwidth_gb_s"] * 1e9,
        fp32_flops=fp32,
        tf32_flops=None,
        tensor16_flops=row["tensor16_tflops"] * 1e12,
        fp8_flops=None,
        int8_flops=None,
        fp4_flops=None,
        memory_gb=row["memory_gb"],
        nvlink_gb_s=None,
        is_cpu=False,
        notes=(row["origin"],),
    )


def _with_stated_limits(base: Card, text: str) -> Card:
    """The card with a bandwidth or a power limit that the text states."""
    limit = re.search(r"(\d+)\s*W\s*(?:power )?(?:limit|cap|限)", text, re.IGNORECASE)
    if limit:
        base = replace(base, power_w=float(limit[1]), notes=(*base.notes, limit[0]))
    found = re.search(r"(\d+(?:\.\d+)?)\s*(TB|GB)/s", text)
    if found is None:
        return base
    stated = float(found[1]) * (1e12 if found[2] == "TB" else 1e9)
    return replace(
        base, bytes_per_s=stated, notes=(*base.notes, f"bandwidth as written: {found[0]}")
    )


def processor(name: str) -> Card:
    """The limits of a CPU; one that is not known counts as a two-channel desktop."""
    folded = name.casefold()
    row = next(r for r in load_data("cards")["cpus"] if re.search(r["pattern"], folded))
    cores = row["cores"]
    found = re.search(r"(\d+)\s*(?:cores|核|vcpu)", folded)
    if found:
        cores = int(found[1])
    fp32 = row.get("fp32_tflops", cores * 0.05) * 1e12
    return Card(
        name=name,
        architecture="CPU",
        bytes_per_s=row["bandwidth_gb_s"] * 1e9,
        fp32_flops=fp32,
        tf32_flops=None,
        tensor16_flops=fp32,
        fp8_flops=None,
        int8_flops=None,
        fp4_flops=None,
        memory_gb=None,
        nvlink_gb_s=None,
        is_cpu=True,
        notes=(row["origin"],),
    )


def intra_link(device: Card, written: str | None) -> str:
    """Key of links.json for the link inside a machine."""
    text = (written or "").casefold()
    old = device.architecture in ("Volta", "Turing", "Pascal", "Maxwell", "Kepler")
    new = device.architecture.startswith(("Hopper", "Blackwell"))
    pcie = "pcie3" if old else ("pcie5" if new else "pcie4")
    if ("pcie" in text and "nvlink" not in text) or "no nvlink" in text:
        return "pcie3" if "older" in text else pcie
    both = device.nvlink_gb_s
    if both is None:
        return "nvlink-bridge" if "nvlink" in text else pcie
    for limit, key in ((1500, "nvlink5"), (800, "nvlink4"), (390, "nvlink3"), (150, "nvlink2")):
        if both >= limit:
            return key
    return "nvlink-bridge" if "nvlink" in text else pcie
