"""Pasted material: which kind it is, and what can be lifted from it."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from agent.request import Pasted
from agent.understanding.data import load
from agent.understanding.readers.config import (
    Setting,
    find_settings,
    note_settings,
    program_of,
)
from agent.understanding.readers.logs import fields_of, has_marks, messages_in
from agent.understanding.readings import Board
from agent.understanding.text import Document
from tools.units import MIB, gib_from_bytes

if TYPE_CHECKING:
    from tools.probe.report import Device

_MIB_PAIR = re.compile(r"(?<![0-9.])(\d{1,6})\s?mib\s?/\s?(\d{3,6})\s?mib")
_BUS_ID = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d|(?:gpu|mig)-[0-9a-f]{8}-[0-9a-f\-]{10,40}"
)
_COMMANDS = {
    "vllm": re.compile(
        r"vllm serve\s+(?P<model>\S{2,120})|vllm\.entrypoints|(?<![a-z])vllm\s+(?:bench|run)"
    ),
    "llama-server": re.compile(r"(?<![a-z])(?:\./)?llama-server(?:\.exe)?\s+-"),
    "llama-cli": re.compile(r"(?<![a-z])(?:\./)?llama-cli(?:\.exe)?\s+-"),
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
_CONFIG_KEYS = (
    "architectures", "model_type", "hidden_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "head_dim", "intermediate_size", "vocab_size", "tie_word_embeddings",
    "max_position_embeddings", "torch_dtype", "num_experts", "num_local_experts",
    "num_experts_per_tok", "moe_intermediate_size", "n_routed_experts", "n_shared_experts",
    "first_k_dense_replace", "q_lora_rank", "kv_lora_rank", "qk_rope_head_dim",
    "qk_nope_head_dim", "v_head_dim", "sliding_window", "rope_scaling", "attention_bias",
    "shared_expert_intermediate_size", "quantization_config", "layer_types", "text_config",
)  # fmt: skip
_MANY = 3
_MACHINE_TEXT = 60_000
"""Characters of a pasted state that are looked at."""


def read_pasted(document: Document, board: Board) -> list[Pasted]:
    """Note what configuration, commands and logs say; their kinds, with the numbers lifted."""
    _take_bus_ids(document, board)
    text = document.text
    found: list[Pasted] = []
    settings = find_settings(document)
    program = _command(document, board, found)
    found += _json_blocks(document, board)
    kinds = program_of({setting.key for setting in settings})
    is_config = _note_kind(settings, kinds, found, board)
    is_pasted = bool(program) or is_config or any(p.kind.endswith("_json") for p in found)
    note_settings(
        document, board, settings, origin="pasted" if is_pasted else "said", program=program
    )
    for kind in ("cuda_oom", "host_kill", "vllm_log"):
        if has_marks(kind, text):
            fields = fields_of(kind, document, board)
            if kind == "cuda_oom" and "total_bytes" in fields:
                _note_total(fields["total_bytes"], board)
                board.add("log_total_bytes", fields["total_bytes"], origin="pasted")
            if kind == "vllm_log" and fields:
                board.add("framework", "vllm", origin="pasted", weight=0.5)
            if kind == "host_kill" or fields:
                found.append(Pasted(kind=kind, fields=fields))
    _machine(document, board, found)
    for name, start, end in messages_in(text):
        found.append(Pasted(kind="error_message", fields={"message": name}))
        board.add("error_message", name, start, end)
    return found


def _note_total(total_bytes: int, board: Board) -> None:
    """The card's total as the log has it, for turns that come after."""
    board.add("gpu_mem_total_mib", int(gib_from_bytes(total_bytes) * 1024), origin="inferred")


def _take_bus_ids(document: Document, board: Board) -> None:
    """PCI addresses and UUIDs look like sizes ("3B") and are none."""
    for hit in islice(_BUS_ID.finditer(document.text), 256):
        document.take(hit.start(), hit.end())
        board.add("quiet", True, hit.start(), hit.end())


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


def _note_kind(
    settings: list[Setting], kinds: dict[str, int], found: list[Pasted], board: Board
) -> bool:
    """Name the program whose configuration this is; False where it is none."""
    lines = sum(1 for setting in settings if setting.key in _telling_keys())
    for name in ("llamafactory", "axolotl", "ms-swift"):
        if kinds.get(name) and lines >= _MANY:
            fields = {s.key: s.value for s in settings[:60] if s.key in _telling_keys()}
            found.append(Pasted(kind="yaml_config", fields={"program": name, **fields}))
            slot = "framework" if name == "llamafactory" else "library"
            board.add(slot, name, origin="pasted")
            board.add("task_cue", "train", origin="pasted")
            return True
    if kinds.get("accelerate", 0) >= 2:
        found.append(Pasted(kind="accelerate_config", fields={}))
        _accelerate(settings, board)
        return True
    if kinds.get("trainer", 0) >= 2:
        fields = {s.key: s.value for s in settings[:60] if s.key in _telling_keys()}
        found.append(Pasted(kind="training_arguments", fields=fields))
        board.add("task_cue", "train", origin="pasted")
        return True
    return lines >= _MANY


def _telling_keys() -> set[str]:
    rows = load("config_keys")
    known = {key for row in rows["keys"].values() for key in row["keys"]}
    return (
        known
        | set(rows["flags"])
        | {key for row in rows["programs"].values() for key in row["keys"]}
    )


def _accelerate(settings: list[Setting], board: Board) -> None:
    for setting in settings:
        if setting.key == "distributed_type":
            kind = setting.value.lower()
            if kind in ("fsdp", "multi_gpu"):
                board.add(
                    "strategy",
                    "fsdp" if kind == "fsdp" else "ddp",
                    setting.start,
                    setting.end,
                    origin="pasted",
                )
    board.add("task_cue", "train", origin="pasted")


def _json_blocks(document: Document, board: Board) -> list[Pasted]:
    """Hugging Face and DeepSpeed JSON anywhere in the text."""
    found: list[Pasted] = []
    decoder = json.JSONDecoder()
    text, place = document.text, 0
    for _ in range(6):
        place = text.find("{", place)
        if place < 0:
            break
        try:
            block, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        if isinstance(block, dict):
            pasted = _known_json(_as_written(document, place, end) or block, board, place, end)
            if pasted is not None:
                found.append(pasted)
                document.take(place, end)
        place = end
    return found


def _as_written(document: Document, start: int, end: int) -> dict[str, Any] | None:
    """The block in its own capitals."""
    try:
        block = json.loads(document.span(start, end).text)
    except (ValueError, RecursionError):
        return None
    return block if isinstance(block, dict) else None


def _known_json(block: dict[str, Any], board: Board, start: int, end: int) -> Pasted | None:
    inner = block.get("text_config") if isinstance(block.get("text_config"), dict) else block
    if isinstance(inner, dict) and "hidden_size" in inner and "num_hidden_layers" in inner:
        fields = {key: inner[key] for key in _CONFIG_KEYS if key in inner}
        board.add("hf_config", fields, start, end, origin="pasted")
        return Pasted(kind="hf_config", fields=fields)
    zero = block.get("zero_optimization")
    if isinstance(zero, dict) or "train_micro_batch_size_per_gpu" in block:
        _deepspeed(block, zero if isinstance(zero, dict) else {}, board, start, end)
        return Pasted(kind="deepspeed_json", fields={})
    return None


def _deepspeed(
    block: dict[str, Any], zero: dict[str, Any], board: Board, start: int, end: int
) -> None:
    stage = zero.get("stage")
    if isinstance(stage, int) and 0 <= stage <= 3:
        board.add("zero_stage", stage, start, end, origin="pasted")
    for name in ("offload_optimizer", "offload_param"):
        target = zero.get(name)
        if isinstance(target, dict) and target.get("device", "cpu") != "none":
            board.add("offload", True, start, end, origin="pasted")
    for key, slot in (
        ("train_micro_batch_size_per_gpu", "batch"),
        ("gradient_accumulation_steps", "grad_accum"),
    ):
        if isinstance(block.get(key), int):
            board.add(slot, block[key], start, end, origin="pasted")
    for name in ("bf16", "fp16"):
        section = block.get(name)
        if isinstance(section, dict) and section.get("enabled") is True:
            board.add("precision", name, start, end, origin="pasted")
    board.add("task_cue", "train", start, end, origin="pasted")


def _machine(document: Document, board: Board, found: list[Pasted]) -> None:
    """Cards, memory and its use from nvidia-smi, npu-smi, rocm-smi and the like."""
    pairs = [
        (int(hit[1]), int(hit[2]), hit.start(), hit.end())
        for hit in islice(_MIB_PAIR.finditer(document.text), 64)
    ]
    for _, _, low, high in pairs:
        document.take(low, high)
    devices = _devices(document) if has_marks("nvidia_smi", document.text) else []
    states = [
        (int(d.used_bytes // MIB), int(d.total_bytes // MIB))
        for d in devices
        if d.used_bytes is not None and d.total_bytes is not None and d.parent_index is None
    ] or [(used, total) for used, total, _, _ in pairs]
    if not states:
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


def _devices(document: Document) -> list[Device]:
    from tools.probe import parse_pasted

    report = parse_pasted(document.raw[:_MACHINE_TEXT])
    return list(report.devices[:64]) if report is not None else []
