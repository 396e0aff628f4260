"""What is simulated: one step of one model, in the vocabulary of the case files. No torch here."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.errors import BadQuantityError, UnsupportedError

KINDS = (
    "decoder", "bert", "mlm", "embed", "timm", "sd15", "sdxl", "sd3", "flux", "whisper", "t5",
    "wav2vec2", "vae", "yolo", "segformer", "detr", "custom", "pixart", "qwenimage", "flux2",
    "sam", "clip", "cogvideox", "wan", "hunyuan", "cogvideox-vae", "wan-vae", "hunyuan-vae",
)  # fmt: skip
_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "kind": KINDS,
    "task": ("train", "infer"),
    "method": ("full", "lora", "dora", "qlora", None),
    "precision": ("fp32", "bf16-mixed", "fp16-mixed", "pure-bf16", "pure-fp16"),
    "optimizer": (
        "adamw",
        "adamw-8bit",
        "paged-adamw",
        "paged-adamw-8bit",
        "adafactor",
        "sgd",
        "sgd-momentum",
        None,
    ),
    "optimizer_impl": ("fused", "foreach", "for-loop", None),
    "gradient_checkpointing": ("none", "full"),
    "attention": ("sdpa", "eager", None),
    "logits": ("last", "all"),
    "sharding": ("ddp", "fsdp"),
}
_KIND_OF_TYPE = {
    "bert": "bert", "roberta": "bert", "xlm-roberta": "bert", "t5": "t5", "mt5": "t5",
    "whisper": "whisper", "wav2vec2": "wav2vec2", "segformer": "segformer",
}  # fmt: skip
_POSITIVE = ("batch", "seq_len", "image_px", "frames", "audio_samples", "target_len", "lora_rank",
             "world_size")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationRequest:
    """One step to run on fake tensors.

    Raises:
        BadQuantityError: For a value that cannot be; names the field and what is allowed.
    """

    model: str
    """Registry name, for messages and to choose the architecture's class."""
    kind: str = "decoder"
    config: Mapping[str, Any] = field(default_factory=dict)
    """Hugging Face config (with model_type), or the constructor arguments of the other kinds."""
    task: str = "train"
    method: str | None = "full"
    precision: str = "pure-bf16"
    """Dtype of the weights; *-mixed = fp32 weights under autocast."""
    autocast: bool = False
    """16-bit weights whose forward also runs under autocast."""
    optimizer: str | None = "adamw"
    optimizer_impl: str | None = "fused"
    lora_rank: int | None = None
    lora_targets: tuple[str, ...] | str | None = None
    lora_dropout: float = 0.0
    double_quant: bool = True
    kbit_prepared: bool = True
    batch: int = 1
    seq_len: int = 1024
    """Tokens of a sequence; the prompt's length for task infer of a decoder."""
    target_len: int | None = None
    image_px: int | None = None
    frames: int | None = None
    """Frames of a clip, before the autoencoder folds them."""
    audio_samples: int | None = None
    gradient_checkpointing: str = "none"
    attention: str | None = None
    logits: str = "last"
    padding_mask: bool = False
    logits_held_through_backward: bool = False
    gradients_kept_across_steps: bool = False
    world_size: int = 1
    """Cards; one rank of them is simulated."""
    sharding: str = "ddp"
    """What more than one card do with the states: each keeps all (ddp), or a shard (fsdp)."""

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise BadQuantityError(
                    field=name,
                    given=getattr(self, name),
                    allowed=", ".join(str(a) for a in allowed if a is not None),
                )
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise BadQuantityError(field=name, given=value, allowed="a positive whole number")
        if self.method in ("lora", "dora", "qlora") and self.lora_rank is None:
            object.__setattr__(self, "lora_rank", 16)

    def to_json(self) -> str:
        """The request as one line of JSON."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> SimulationRequest:
        """Reads `to_json`."""
        data = json.loads(text)
        if isinstance(data.get("lora_targets"), list):
            data["lora_targets"] = tuple(data["lora_targets"])
        return cls(**data)


def request_from_case(row: Mapping[str, Any], config: Mapping[str, Any]) -> SimulationRequest:
    """The request that a case row stands for.

    Args:
        row: Fields of `cases/simulated.jsonl` or of a published training row; null fields take
            this class's defaults.
        config: Configuration of the row's model.

    Raises:
        UnsupportedError: If the row asks for something that is not simulated.
    """
    cards = int(row.get("num_gpus") or 1)
    extra = row.get("extra") or {}
    is_decoder_inference = row.get("task") == "infer" and row.get("kind", "decoder") == "decoder"
    precision = row.get("precision")
    if is_decoder_inference and precision is None:
        precision = {"fp32": "fp32"}.get(str(row.get("weight_format")), "pure-bf16")
    given: dict[str, Any] = {
        "kind": row.get("kind") or _KIND_OF_TYPE.get(str(config.get("model_type")), "decoder"),
        "task": row.get("task") or "train",
        "method": row.get("method"),
        "precision": precision,
        "autocast": extra.get("autocast"),
        "optimizer": row.get("optimizer"),
        "optimizer_impl": row.get("optimizer_impl"),
        "lora_rank": row.get("lora_rank"),
        "lora_targets": _targets(row.get("lora_targets")),
        "lora_dropout": row.get("lora_dropout"),
        "double_quant": extra.get("double_quant"),
        "kbit_prepared": extra.get("kbit_prepared"),
        "batch": row.get("micro_batch_size") or row.get("batch"),
        "seq_len": row.get("seq_len") or row.get("prompt_len") or row.get("context_len"),
        "target_len": row.get("target_len"),
        "image_px": row.get("image_px"),
        "frames": extra.get("frames"),
        "audio_samples": row.get("audio_samples"),
        "gradient_checkpointing": row.get("gradient_checkpointing"),
        "attention": row.get("attention"),
        "logits": row.get("logits"),
        "padding_mask": extra.get("padding_mask"),
        "logits_held_through_backward": extra.get("logits_held_through_backward"),
        "gradients_kept_across_steps": extra.get("gradients_kept_across_steps"),
        "world_size": cards if row.get("task") != "infer" else None,
        "sharding": sharding_word(
            row.get("parallelism"), cards, offload=bool(row.get("cpu_offload"))
        ),
    }
    stated = {name: value for name, value in given.items() if value is not None}
    return SimulationRequest(model=str(row["model"]), config=dict(config), **stated)


def sharding_word(parallelism: str | None, cards: int, *, offload: bool = False) -> str:
    """How a run's cards share the states, as far as one rank of it is simulated.

    Raises:
        UnsupportedError: For engines whose own buffers are not simulated.
    """
    word = (parallelism or "ddp").strip().casefold()
    if cards == 1 and word in ("none", "single", "no", "dp", "ddp") and not offload:
        return "ddp"
    if offload:
        raise UnsupportedError(
            "offloading to host memory",
            reason="the copies between host and card are not simulated",
            instead="Use the closed form.",
        )
    if word in ("none", "ddp", "dp", "single", "no"):
        return "ddp"
    if re.fullmatch(r"fsdp[-_ ]?[12]?", word):
        return "fsdp"
    raise UnsupportedError(
        f"simulating {parallelism}",
        reason="only torch's own DDP and FSDP run here; DeepSpeed's flat buffers and gathering and"
        " Megatron's split layers need their engines, which need CUDA",
        instead="Use the closed form.",
    )


def _targets(value: Any) -> tuple[str, ...] | str | None:
    return tuple(value) if isinstance(value, list) else value
