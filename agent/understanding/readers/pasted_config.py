"""Pasted configuration: YAML, arguments and JSON of training programs, and config.json."""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import islice
from typing import Any

from agent.request import Pasted
from agent.understanding.data import load
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document
from agent.understanding.readers.config import Setting

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
_SOME = 2
"""Settings of training beside a model's name that make a paste a whole one."""


def note_kind(
    settings: list[Setting], kinds: dict[str, int], found: list[Pasted], board: Board
) -> bool:
    """Name the program whose configuration this is; False where it is none."""
    lines = sum(1 for setting in settings if setting.key in _telling_keys())
    for name in ("llamafactory", "axolotl", "ms-swift"):
        if kinds.get(name) and lines >= _MANY:
            fields = {s.key: s.value for s in settings[:60] if s.key in _telling_keys()}
            found.append(Pasted(kind="yaml_config", fields={"program": name, **fields}))
            slot = "framework" if name == "llamafactory" else "library"
            board.add(slot, name, weight=2.0)
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
        | {key for row in rows["programs"].values() for key in (*row["keys"], *row.get("weak", ()))}
    )


_MOST_FIELDS = 200


def describes_model(fields: dict[str, Any]) -> bool:
    """Whether the fields are those of a model's config.json, under any of their names."""
    from tools.models import is_hf_config

    return is_hf_config(fields)


@cache
def _field_names() -> frozenset[str]:
    from tools.models import hf_field_names

    return hf_field_names() | frozenset(_CONFIG_KEYS)


def config_in_lines(settings: list[Setting], board: Board) -> Pasted | None:
    """A model described by lines of its config.json, the braces or the rest left out."""
    known = {s.key: s for s in settings if s.key in _field_names()}
    fields: dict[str, Any] = {
        key: int(s.value) if s.value.isdigit() else s.value == "true"
        for key, s in known.items()
        if s.value.isdigit() or s.value in ("true", "false")
    }
    if not describes_model(fields):
        return None
    start, end = min(s.start for s in known.values()), max(s.end for s in known.values())
    board.add("hf_config", fields, start, end, origin="pasted")
    return Pasted(kind="hf_config", fields=fields)


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


def json_blocks(document: Document, board: Board) -> list[tuple[Pasted, int, int]]:
    """Hugging Face and DeepSpeed JSON anywhere in the text, and where it stands."""
    found: list[tuple[Pasted, int, int]] = []
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
                found.append((pasted, place, end))
                _take_block(document, board, place, end, keeps=pasted.kind != "hf_config")
        place = end
    return found


_NAMES_MODEL = re.compile(
    r"\"(?:model|base_model|model_name|model_id|model_path|model_name_or_path|model_id_or_path"
    r"|pretrained_model_name_or_path)\"\s{0,4}:\s{0,4}\"(?P<name>[^\"\n]{2,120})\""
)
"""Where a block of settings says which model they are for."""


def _take_block(document: Document, board: Board, start: int, end: int, *, keeps: bool) -> None:
    """Set a block aside, but for the name of the model where it `keeps` one to read."""
    named = _NAMES_MODEL.search(document.text, start, end) if keeps else None
    pieces = [(start, end)] if named is None else [
        (start, named.start("name")), (named.end("name"), end)
    ]  # fmt: skip
    for low, high in pieces:
        document.take(low, high)
        board.add("quiet", True, low, high)


_ADAPTER_WORDS = ("lora", "peft", "adapter", "dora", "freeze", "tuner")


def outside_blocks(settings: list[Setting], blocks: list[tuple[Pasted, int, int]]) -> list[Setting]:
    """Settings but for fields of a model, and for the batch of all cards of DeepSpeed's."""
    return [
        setting
        for setting in settings
        if not any(
            low <= setting.start < high
            and (pasted.kind == "hf_config" or setting.key == "train_batch_size")
            for pasted, low, high in blocks
        )
    ]


def is_whole_without_adapter(
    settings: list[Setting], kinds: dict[str, int], *, has_stages: bool
) -> bool:
    """Whether a training's settings name their model and no adapter: all weights are trained.

    Programs that train adapters unless told otherwise are left out, and so are a few settings
    that are picked from a file. `has_stages`: a block of DeepSpeed's stands among them.
    """
    rows = load("config_keys")
    keys = {setting.key for setting in settings}
    if kinds.keys() & set(rows["adapter_by_default"]) or not keys & set(rows["names_model"]):
        return False
    if any(word in f"{s.key} {s.value}".lower() for s in settings for word in _ADAPTER_WORDS):
        return False
    return len(keys & set(rows["tells_training"])) + has_stages >= _SOME


def _as_written(document: Document, start: int, end: int) -> dict[str, Any] | None:
    """The block in its own capitals."""
    try:
        block = json.loads(document.span(start, end).text)
    except (ValueError, RecursionError):
        return None
    return block if isinstance(block, dict) else None


def _known_json(block: dict[str, Any], board: Board, start: int, end: int) -> Pasted | None:
    if describes_model(block):
        fields = dict(islice(block.items(), _MOST_FIELDS))
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
        ("train_batch_size", "global_batch"),
        ("gradient_accumulation_steps", "grad_accum"),
    ):
        if isinstance(block.get(key), int):
            board.add(slot, block[key], start, end, origin="pasted")
    for name in ("bf16", "fp16"):
        section = block.get(name)
        if isinstance(section, dict) and section.get("enabled") in (True, "auto"):
            board.add("precision", name, start, end, origin="pasted")
    board.add("task_cue", "train", start, end, origin="pasted")
