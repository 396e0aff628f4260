"""The words of measured rows, as their sources wrote them, to the names of the data tables.

A workload that a person describes must use known names and is told which they are; a row of a
published table cannot be asked again, so the nearest known meaning is taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from tools.errors import BadQuantityError
from tools.memory.resolve import target_roles
from tools.memory.tables import row_name
from tools.memory.workload import Attention, Precision

_ENGINE_WORDS = (
    ("faster-whisper", "faster-whisper"), ("openai-whisper", "openai-whisper"),
    ("vllm", "vllm"), ("sglang", "sglang"), ("llama.cpp", "llama.cpp"), ("llama-cpp", "llama.cpp"),
    ("gguf", "llama.cpp"), ("ollama", "ollama"), ("exllama", "exllama"), ("autoawq", "autoawq"),
    ("lmdeploy", "lmdeploy"), ("turbomind", "lmdeploy"), ("tensorrt", "tensorrt-llm"),
    ("tgi", "tgi"), ("text-generation", "tgi"), ("deepspeed", "deepspeed-inference"),
)  # fmt: skip
_FRAMEWORK_WORDS = (
    ("swift", "ms-swift"), ("llama-factory", "llama-factory"), ("llamafactory", "llama-factory"),
    ("axolotl", "axolotl"), ("unsloth", "unsloth"), ("torchtune", "torchtune"),
    ("torchtitan", "torchtitan"), ("litgpt", "litgpt"), ("lit-gpt", "litgpt"),
    ("megatron", "megatron"), ("nemo", "megatron"), ("fsdp_qlora", "fsdp_qlora"),
    ("deepspeed", "deepspeed"), ("trainer", "hf-trainer"), ("trl", "hf-trainer"),
    ("accelerate", "hf-trainer"), ("peft", "hf-trainer"), ("transformers", "hf-trainer"),
)  # fmt: skip
_PRECISIONS = ("fp32", "bf16-mixed", "fp16-mixed", "pure-bf16", "pure-fp16", "fp8")


def engine_word(text: str | None) -> str | None:
    """The engine of a row; transformers for one that is not known."""
    if text is None or row_name("engines", text):
        return text
    return _first(text, _ENGINE_WORDS, "transformers")


def framework_word(text: str | None) -> str | None:
    """The training program of a row; a plain loop for one that is not known."""
    if text is None or row_name("frameworks", text):
        return text
    return _first(text, _FRAMEWORK_WORDS, "plain loop")


def _first(text: str, words: Sequence[tuple[str, str]], otherwise: str) -> str:
    lowered = text.casefold()
    return next((name for word, name in words if word in lowered), otherwise)


def format_word(text: str | None) -> str | None:
    """The weight format of a row, by its bits when the spelling is not known."""
    if text is None or row_name("formats", text):
        return text
    lowered = text.casefold()
    gguf = re.search(r"i?q\d_[a-z0-9_]+|q\d_\d|q\d", lowered)
    if "gguf" in lowered or (gguf and "gptq" not in lowered):
        return row_name("formats", f"gguf-{gguf[0]}" if gguf else "gguf") or "gguf-q4_k_m"
    for word, name in (
        ("nf4", "nf4"), ("awq", "awq-int4"), ("mxfp4", "mxfp4"), ("nvfp4", "nvfp4"),
        ("fp8", "fp8"), ("gptq", "gptq-int8" if "8" in lowered else "gptq-int4"),
        ("int8", "int8"), ("8bit", "int8"), ("8-bit", "int8"), ("w8", "int8"),
        ("int4", "gptq-int4"), ("4bit", "nf4"), ("4-bit", "nf4"), ("w4", "gptq-int4"),
        ("32", "fp32"),
    ):  # fmt: skip
        if word in lowered:
            return name
    return "bf16"


def quantization_word(text: str | None) -> str | None:
    """The base format of a training row."""
    if text is None or text == "none":
        return text
    return text if text in ("nf4", "fp4") else format_word(text)


def optimizer_word(text: str | None) -> str | None:
    """The optimizer of a row; AdamW for one that is not known."""
    if text is None or row_name("optimizers", text.replace("per-layer", "")):
        return text
    return "adamw-8bit" if "8" in text and "bit" in text else "adamw"


def attention_word(text: str | None) -> Attention | None:
    """The attention kernel of a row."""
    if text is None:
        return None
    lowered = text.casefold()
    if "eager" in lowered or "math" in lowered:
        return "eager"
    return "flash" if "flash" in lowered else "sdpa"


def precision_word(text: str | None) -> Precision | None:
    """The precision of a row; None for one that is not in the vocabulary."""
    return cast(Precision, text) if text in _PRECISIONS else None


def targets_word(given: Any) -> tuple[str, ...] | str | None:
    """LoRA targets of a row; every linear when a name is not known."""
    if given is None:
        return None
    targets: tuple[str, ...] | str = tuple(given) if isinstance(given, list) else str(given)
    try:
        target_roles(targets)
    except BadQuantityError:
        known = [t for t in targets if row_name("targets", t)] if isinstance(targets, tuple) else []
        return tuple(known) or "all-linear"
    return targets


def parallelism_word(text: str | None) -> str | None:
    """The parallelism of a row; None for words that name none."""
    if text is None:
        return None
    lowered = text.casefold()
    known = ("fsdp", "zero", "ddp", "tp", "pp", "ep", "cp", "dp", "none", "single")
    return text if any(word in lowered for word in known) else None


def kv_word(text: str | None) -> str | None:
    """The cache's dtype of a row, by its bits when the spelling is not known."""
    if text is None:
        return None
    lowered = text.casefold()
    for word in ("q8_0", "q4_0", "fp8", "int8", "int4", "fp32", "bf16", "fp16", "f16", "auto"):
        if word in lowered:
            return word
    return None
