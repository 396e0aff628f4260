"""`python -m tools gpus`: the GPU table, or one card by any spelling.

python -m tools gpus
python -m tools gpus "A100 80G"
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import Any

from tools.gpus import GpuMatch, GpuSpec, all_gpus, find_gpu
from tools.units import format_gib


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's flags."""
    parser.add_argument("name", nargs="*", help="a card in any spelling")
    parser.add_argument("--min-memory-gb", type=float, help="list only cards with this label")
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Lists the table or shows one card; exit 0."""
    if not args.name:
        return _list(args.min_memory_gb or 0, as_json=args.json)
    match = find_gpu(" ".join(args.name))
    if args.json:
        record = {
            **_record(match.spec),
            "usable_bytes": match.usable_bytes,
            "slice_memory_gb": match.slice_memory_gb,
            "also": [spec.name for spec in match.also],
            "conflict": match.conflict,
            "notes_on_the_name": match.notes,
        }
        json.dump(record, sys.stdout, ensure_ascii=False, indent=2)
        print()
        return 0
    for line in _lines(match):
        print(line)
    return 0


def _record(spec: GpuSpec) -> dict[str, Any]:
    return {key: value for key, value in dataclasses.asdict(spec).items() if value is not None}


def _list(min_memory_gb: float, *, as_json: bool) -> int:
    rows = [spec for spec in all_gpus() if (spec.memory_label_gb or 0) >= min_memory_gb]
    if as_json:
        json.dump([_record(spec) for spec in rows], sys.stdout, ensure_ascii=False)
        print()
        return 0
    for spec in rows:
        label = "" if spec.memory_label_gb is None else f"{spec.memory_label_gb:g} GB"
        usable = "not known" if spec.usable_bytes is None else format_gib(spec.usable_bytes)
        print(f"{spec.name:<40} {label:>7}   usable {usable}")
    print(f"{len(rows)} cards", file=sys.stderr)
    return 0


def _lines(match: GpuMatch) -> list[str]:
    spec = match.spec
    usable = match.usable_bytes
    lines = [spec.name]
    if spec.memory_label_gb is not None:
        lines.append(f"  label        {spec.memory_label_gb:g} GB")
    if match.slice_name:
        lines.append(f"  slice        {match.slice_name}")
    shown = "not known" if usable is None else f"{format_gib(usable)} ({spec.usable_basis})"
    lines.append(f"  usable       {shown}")
    if spec.mem_bandwidth_gbs:
        lines.append(f"  bandwidth    {spec.mem_bandwidth_gbs:g} GB/s")
    if spec.bf16_dense or spec.fp16_tensor_dense:
        precision = "bf16" if spec.bf16_dense else "fp16"
        figure = spec.bf16_dense or spec.fp16_tensor_dense
        lines.append(f"  tensor       {figure:g} TFLOPS {precision}, without sparsity")
    support = {"bf16": spec.bf16_supported, "FP8": spec.fp8_supported, "NVLink": spec.nvlink}
    words = {True: "yes", False: "no", None: "not known"}
    lines.append("  support      " + ", ".join(f"{k} {words[v]}" for k, v in support.items()))
    if match.also:
        lines.append(f"  may be       {', '.join(other.name for other in match.also)}")
    lines += [f"  question     {match.conflict}"] if match.conflict else []
    lines += [f"  note         {note}" for note in (*match.notes, spec.notes) if note]
    lines.append(f"  source       {spec.sources}")
    return lines
