"""From a tool's arguments to the calculator's workload: what was said, and what is usual."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.toolbox.resolve import ResolvedCard, ResolvedModel
from tools.memory import GGUF_ENGINES, is_gguf
from tools.models import DENOISER_KINDS, ENCODER_KINDS, WRITING_KINDS

if TYPE_CHECKING:
    from agent.toolbox.memory import MemoryArguments


_MIXED = {"bf16": "bf16-mixed", "fp16": "fp16-mixed", "fp32": "fp32", "fp8": "fp8"}


_PURE = {"bf16": "pure-bf16", "fp16": "pure-fp16", "fp32": "fp32", "fp8": "fp8"}


_SAMPLE_RATE = 16_000
"""Samples a second that speech models hear."""
_LIBRARIES = frozenset(
    ("deepspeed", "transformers", "hf-trainer", "peft", "trl", "accelerate", "pytorch", "lightning")
)
_LARGE_PARAMS = 1e9
"""Size from which recipes of language models turn gradient checkpointing on."""


def usual_for_kind(arguments: MemoryArguments, model: ResolvedModel) -> dict[str, Any]:
    """What scripts for encoders leave on by default.

    The calculator's own defaults for models of layers are those of language-model recipes; image,
    speech and diffusion models have defaults of their own there.
    """
    if model.spec.kind == "vlm" and arguments.img_size and arguments.images is None:
        return {"images": 1}
    if arguments.task != "train":
        return {}
    usual = {}
    if model.spec.kind in ENCODER_KINDS:
        usual = {"precision": "fp32", "gradient_checkpointing": "none"}
    elif _names_only_a_library(arguments) and _is_large_language(model):
        usual = {"gradient_checkpointing": "full"}
    return {name: value for name, value in usual.items() if getattr(arguments, name) is None}


def _names_only_a_library(arguments: MemoryArguments) -> bool:
    """Whether the framework is a library that recipes are written with, not a recipe.

    "DeepSpeed", "the Trainer" or "PyTorch" in a question says what steps, not that the recipe
    leaves checkpointing off; the calculator's row of such a library is that of the bare loop.
    """
    return (arguments.framework or "").casefold() in _LIBRARIES


def _is_large_language(model: ResolvedModel) -> bool:
    return model.spec.kind in WRITING_KINDS and model.spec.params_total >= _LARGE_PARAMS


def workload_of(arguments: MemoryArguments, model: ResolvedModel, card: ResolvedCard | None) -> Any:
    """The calculator's workload for these arguments; fields that were not said stay None."""
    common: dict[str, Any] = {
        "gpu": card.spec if card is not None and not card.spec.is_class else None,
        "gpu_total_bytes": card.usable_bytes if card is not None else None,
        "gpu_count": arguments.gpu_count or (card.gpu_count if card is not None else None),
        "framework": arguments.framework,
        "attention": arguments.attention,
        "image_px": arguments.img_size,
        "frames": arguments.frames,
        "audio_samples": round(arguments.clip_s * _SAMPLE_RATE) if arguments.clip_s else None,
        "images": arguments.images,
    }
    if arguments.task == "train":
        return _training(arguments, model, common)
    return _serving(arguments, model, common)


def _training(arguments: MemoryArguments, model: ResolvedModel, common: dict[str, Any]) -> Any:
    from tools.memory import TrainingWorkload, split_method

    goal = split_method(arguments.method) if arguments.method else None
    method = goal.method if goal else None
    quantization = arguments.quantization or model.quantization
    if method == "full":
        quantization = None
    is_mixed = method in (None, "full")
    if arguments.precision_mode is not None and is_mixed:
        is_mixed = arguments.precision_mode == "mixed"
    precisions: Any = _MIXED if is_mixed else _PURE
    return TrainingWorkload(
        model.spec,
        **common,
        method=method,
        objective=goal.objective if goal else None,
        precision=precisions.get(arguments.precision or "", None),
        quantization=_adapter_base(method, quantization),
        optimizer=arguments.optimizer,
        lora_rank=arguments.lora_rank,
        lora_targets=arguments.lora_targets,
        micro_batch_size=arguments.batch,
        seq_len=arguments.seq_len,
        gradient_accumulation=arguments.grad_accum,
        gradient_checkpointing=arguments.gradient_checkpointing,
        fused_ce=arguments.fused_ce,
        blocks_to_swap=arguments.blocks_to_swap,
        documents=arguments.documents,
        parallelism=_parallelism(arguments),
        tensor_parallel_size=arguments.tp,
        pipeline_parallel_size=arguments.pp,
        cpu_offload=arguments.offload,
    )


def _adapter_base(method: str | None, quantization: str | None) -> str | None:
    """Base weights of an adapter: a 4-bit word without a scheme is NF4, as bitsandbytes does it."""
    if quantization in ("int4", "4bit", "q4") or (method == "qlora" and quantization is None):
        return "nf4" if method in ("qlora", "lora", None) else quantization
    return quantization


def _parallelism(arguments: MemoryArguments) -> str | None:
    if arguments.zero_stage:
        return f"zero{arguments.zero_stage}"
    return arguments.strategy


def _pipeline_offload(arguments: MemoryArguments, model: ResolvedModel) -> Any:
    """Parts of a pipeline that wait in host memory; "offload" alone is that of whole models."""
    if model.spec.kind not in DENOISER_KINDS:
        return None
    return arguments.pipeline_offload or ("model" if arguments.offload else None)


def _serving(arguments: MemoryArguments, model: ResolvedModel, common: dict[str, Any]) -> Any:
    from tools.memory import InferenceWorkload

    form = arguments.quantization or model.quantization or arguments.precision
    engine = common.pop("framework") or ("llama.cpp" if is_gguf(form) else None)
    if form is None and engine in GGUF_ENGINES:
        form = "q4_k_m"
    return InferenceWorkload(
        model.spec,
        **common,
        engine=engine,
        weight_format=form,
        concurrency=arguments.concurrency or arguments.batch,
        context_len=arguments.seq_len,
        generated_len=arguments.output_len,
        kv_dtype=arguments.kv_cache_dtype,
        gpu_memory_utilization=arguments.gpu_memory_utilization,
        gpu_layers=arguments.gpu_layers,
        beams=arguments.beams,
        served_loras=arguments.served_loras,
        served_lora_rank=arguments.lora_rank if arguments.served_loras else None,
        pipeline_offload=_pipeline_offload(arguments, model),
        vae_slicing=arguments.vae_slicing,
        vae_tiling=arguments.vae_tiling,
        tensor_parallel_size=arguments.tp,
        pipeline_parallel_size=arguments.pp,
    )
