"""`python -m tools models`: the registry, one model, or a model from a file.

python -m tools models                         every row
python -m tools models Qwen2.5-7B-AWQ          one, by any spelling
python -m tools models 7B                      the reference architecture of a size
python -m tools models ./config.json           read from a file: .json, .gguf, .safetensors
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any

from tools.models import (
    ModelMatch,
    ModelSpec,
    all_models,
    find_model,
    model_from_config_file,
    model_from_gguf,
    model_from_safetensors,
    reference_model,
)
from tools.units import KIB, format_significant

_SIZE = re.compile(r"(\d+(?:\.\d+)?)[bB](?:-?[aA](\d+(?:\.\d+)?)[bB])?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's flags."""
    parser.add_argument("name", nargs="?", help="a model's name, a size (7B, 30B-A3B) or a file")
    parser.add_argument("--kind", help="list only this kind (decoder-lm, moe-lm, vlm, ...)")
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Lists the registry or shows one model; exit 0."""
    if args.name is None:
        return _list(args.kind, as_json=args.json)
    match = _resolve(args.name)
    if args.json:
        record = {**_record(match.spec), "quantization": match.quantization, "notes": match.notes}
        json.dump(record, sys.stdout, ensure_ascii=False, indent=2)
        print()
        return 0
    for line in _lines(match):
        print(line)
    return 0


def _resolve(name: str) -> ModelMatch:
    size = _SIZE.fullmatch(name)
    if size is not None:
        active = float(size[2]) if size[2] else None
        return ModelMatch(reference_model(float(size[1]), active_b=active))
    path = Path(name)
    if path.suffix in (".json", ".gguf", ".safetensors") or path.is_dir():
        return ModelMatch(_from_file(path))
    return find_model(name)


def _from_file(path: Path) -> ModelSpec:
    if path.suffix == ".gguf":
        return model_from_gguf(path)
    if path.suffix == ".json":
        return model_from_config_file(path)
    if path.is_dir() and not any(path.glob("*.safetensors")) and (path / "config.json").is_file():
        return model_from_config_file(path / "config.json")
    return model_from_safetensors(path)


def _record(spec: ModelSpec) -> dict[str, Any]:
    return {key: value for key, value in dataclasses.asdict(spec).items() if value is not None}


def _list(kind: str | None, *, as_json: bool) -> int:
    rows = [spec for spec in all_models() if kind is None or spec.kind == kind]
    if as_json:
        json.dump([_record(spec) for spec in rows], sys.stdout, ensure_ascii=False)
        print()
        return 0
    for spec in rows:
        active = f" ({_billions(spec.params_active or 0)} active)" if spec.is_moe else ""
        print(f"{spec.name:<56} {spec.kind:<14} {_billions(spec.params_total)}{active}")
    print(f"{len(rows)} models", file=sys.stderr)
    return 0


def _billions(params: int) -> str:
    if params >= 10**9:
        return f"{format_significant(params / 10**9)} B"
    return f"{format_significant(params / 10**6)} M"


def _lines(match: ModelMatch) -> list[str]:
    spec = match.spec
    lines = [spec.name, f"  kind         {spec.kind}"]
    total = f"{spec.params_total:,} ({_billions(spec.params_total)})"
    lines.append(f"  parameters   {total}")
    if spec.is_moe and spec.params_active:
        lines.append(f"  active       {spec.params_active:,} ({_billions(spec.params_active)})")
    if spec.hidden_size:
        lines.append(
            f"  dimensions   hidden {spec.hidden_size}, layers {spec.num_hidden_layers}, heads "
            f"{spec.num_attention_heads}/{spec.num_key_value_heads}, ffn "
            f"{spec.intermediate_size}, vocabulary {spec.vocab_size}"
        )
    if spec.kv_elems_per_token:
        kib = format_significant(spec.kv_elems_per_token * 2 / KIB)
        lines.append(f"  KV cache     {kib} KiB per token at 16 bit")
    if match.quantization:
        lines.append(f"  weights      {match.quantization}")
    lines += [f"  note         {note}" for note in (*match.notes, spec.note) if note]
    lines.append(f"  source       {spec.source.locator}")
    return lines
