"""What is asked: a training or a serving workload, with only what was said.

Every field but the model may be None, which means "not said": the calculator then takes the
framework's or a common default and reports it as an assumption. Impossible values are refused
here, absurd ones are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from tools.errors import BadQuantityError
from tools.gpus import GpuSpec
from tools.models import ModelSpec

Method = Literal["full", "freeze", "lora", "dora", "qlora", "galore", "lomo", "badam"]
Objective = Literal[
    "sft", "pretrain", "dpo", "kto", "orpo", "reward", "ppo", "grpo", "distill", "contrastive",
    "rerank", "classify", "mlm",
]  # fmt: skip
Precision = Literal["fp32", "bf16-mixed", "fp16-mixed", "pure-bf16", "pure-fp16", "fp8"]
Checkpointing = Literal["none", "full", "selective"]
Attention = Literal["eager", "sdpa", "flash"]
Counter = Literal["allocated", "reserved", "process"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "method": get_args(Method),
    "objective": get_args(Objective),
    "precision": get_args(Precision),
    "gradient_checkpointing": get_args(Checkpointing),
    "attention": get_args(Attention),
    "optimizer_impl": ("fused", "foreach", "for-loop"),
    "adapter_dtype": ("fp32", "16-bit"),
    "logits": ("last", "all"),
    "pipeline_offload": ("model", "sequential"),
    "kv_cache_kind": ("dynamic", "legacy", "static"),
}
_POSITIVE = (
    "beams",
    "micro_batch_size", "seq_len", "gpu_count", "tensor_parallel_size", "pipeline_parallel_size",
    "expert_parallel_size", "context_parallel_size", "lora_rank", "galore_rank", "trainable_layers",
    "gradient_accumulation", "num_generations", "batch", "context_len", "concurrency", "prompt_len",
    "gpu_total_bytes", "max_num_seqs", "max_num_batched_tokens", "kv_tokens",
    "documents", "response_len", "max_prompt_len", "completion_len", "served_lora_rank",
    "image_px", "image_height", "image_width", "frames", "audio_samples", "target_len",
)  # fmt: skip
_NOT_NEGATIVE = (
    "generated_len", "images", "image_tokens", "gpu_layers", "served_loras", "cpu_offload_bytes",
    "blocks_to_swap",
)  # fmt: skip
_FRACTIONS = ("gpu_memory_utilization", "mem_fraction_static", "lora_dropout")


@dataclass(frozen=True, slots=True)
class _Model:
    model: ModelSpec
    """A row of tools.models, or one built from a config or a nominal size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workload(_Model):
    gpu: GpuSpec | None = None
    """Card the run is on; moves the CUDA context, a server's pool and old kernels."""
    gpu_total_bytes: int | None = None
    """Memory of a card that is not named."""
    gpu_count: int | None = None
    framework: str | None = None
    """Training program (row of data/frameworks.json)."""
    tensor_parallel_size: int | None = None
    pipeline_parallel_size: int | None = None
    expert_parallel_size: int | None = None
    attention: Attention | None = None
    torch_build: Literal["cuda", "cpu"] | None = None
    """Kernels whose temporaries count; cpu stands for a simulated step."""
    images: int | None = None
    """Images per sequence of a vision-language model."""
    image_tokens: int | None = None
    """Tokens that one image takes in the sequence."""
    image_px: int | None = None
    """Side of a square image or frame: vision, detection and diffusion models."""
    image_height: int | None = None
    image_width: int | None = None
    """Both together take the place of image_px."""
    frames: int | None = None
    """Frames of a video."""
    audio_samples: int | None = None
    """Samples of a clip at 16 kHz (wav2vec 2.0; Whisper always sees 30 s)."""
    target_len: int | None = None
    """Encoder-decoders: tokens of the target; seq_len is the source's."""

    def __post_init__(self) -> None:
        check_values(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingWorkload(_Workload):
    """One training run; sizes are per card unless named otherwise.

    Raises:
        BadQuantityError: For a value that cannot be; names the field, the value, what is allowed.
    """

    method: Method | None = None
    objective: Objective | None = None
    precision: Precision | None = None
    """Dtype of the trained weights: *-mixed = fp32 weights under autocast or fp32 masters;
    pure-* = weights and optimizer states in 16 bit."""
    autocast: bool | None = None
    """Whether a 16-bit or quantised model also runs under autocast."""
    weights_dtype: str | None = None
    """Dtype of frozen or loaded weights where it differs from the precision (fp32 under AMP)."""
    quantization: str | None = None
    """Base weights of an adapter: none, nf4, fp4, int8, gptq-int4, awq-int4, ..."""
    double_quant: bool | None = None
    quant_storage: str | None = None
    kbit_prepared: bool | None = None
    """prepare_model_for_kbit_training was called: norms, embeddings and head in fp32."""
    lora_rank: int | None = None
    lora_targets: tuple[str, ...] | str | None = None
    lora_dropout: float | None = None
    adapter_dtype: Literal["fp32", "16-bit"] | None = None
    modules_to_save: tuple[str, ...] | None = None
    trainable_layers: int | None = None
    """method freeze: the last n layers train (with norm and head)."""
    optimizer: str | None = None
    """Row of data/optimizers.json."""
    optimizer_impl: Literal["fused", "foreach", "for-loop"] | None = None
    optimizer_in_backward: bool | None = None
    galore_rank: int | None = None
    micro_batch_size: int | None = None
    """Sequences per card and step (pairs count as one for preference objectives)."""
    seq_len: int | None = None
    """Tokens per sequence, or the cap on them (seq_len_is_cap)."""
    seq_len_is_cap: bool | None = None
    variable_length: bool | None = None
    packed: bool | None = None
    padding_mask: bool | None = None
    gradient_accumulation: int | None = None
    gradients_kept_across_steps: bool | None = None
    gradient_checkpointing: Checkpointing | None = None
    activation_offload: bool | None = None
    fused_ce: bool | None = None
    """Fused or chunked cross entropy (Liger, unsloth, chunked losses)."""
    logits_held_through_backward: bool | None = None
    logits_fp32: bool | None = None
    logits_shift_copy: bool | None = None
    gqa_kv_expanded: bool | None = None
    lm_head_quantized: bool | None = None
    keeps_quantized_inputs: bool | None = None
    """bitsandbytes before 0.44: every 4-bit linear keeps its input for backward."""
    torch_compile: bool | None = None
    parallelism: str | None = None
    """none, ddp, zero1, zero2, zero3, fsdp, fsdp32+tp8, tp4+dp2(distributed optimizer), ..."""
    context_parallel_size: int | None = None
    sequence_parallel: bool | None = None
    cpu_offload: bool | None = None
    """Parameters and optimizer states in host memory."""
    offload: str | None = None
    """optimizer, parameters, both or nvme; cpu_offload without it means both."""
    response_len: int | None = None
    """PPO and GRPO: generated tokens."""
    max_prompt_len: int | None = None
    """Longest prompt; for contrastive training the query's tokens (seq_len is the document's)."""
    documents: int | None = None
    """Contrastive and ranking objectives: documents a query brings (train_group_size)."""
    completion_len: int | None = None
    num_generations: int | None = None
    reference_model: bool | None = None
    """Preference objectives: a second full copy of the policy is resident."""
    vllm_colocated: bool | None = None
    """GRPO and PPO: vLLM generates on the trainer's own card and keeps its share of it."""
    teacher: ModelSpec | None = None
    latents_cached: bool | None = None
    """Diffusion: images were encoded before, the autoencoder is not on the card."""
    blocks_to_swap: int | None = None
    """Diffusion transformers: blocks whose weights wait in host memory until their turn."""
    text_cached: bool | None = None
    """Diffusion: prompts were encoded before, the text encoders are not on the card."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceWorkload(_Workload):
    """One serving or generation run; sizes are per card unless named otherwise.

    Raises:
        BadQuantityError: For a value that cannot be; names the field, the value, what is allowed.
    """

    engine: str | None = None
    """transformers, vllm, sglang, llama.cpp, ollama, tgi, lmdeploy, tensorrt-llm, exllama, ..."""
    engine_version: str | None = None
    weight_format: str | None = None
    """bf16, fp8, awq-int4, gguf-q4_k_m, nf4, ...: a row of data/formats.json."""
    batch: int | None = None
    concurrency: int | None = None
    """Sequences in the cache at a time; the same as batch for an engine."""
    prompt_len: int | None = None
    generated_len: int | None = None
    context_len: int | None = None
    """Tokens per sequence that the cache must hold."""
    kv_dtype: str | None = None
    kv_cache_kind: Literal["dynamic", "legacy", "static"] | None = None
    logits: Literal["last", "all"] | None = None
    gpu_memory_utilization: float | None = None
    mem_fraction_static: float | None = None
    cpu_offload_bytes: int | None = None
    """Weights that the engine keeps in host memory, per card."""
    gpu_layers: int | None = None
    """llama.cpp: layers on the card; None = all."""
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    enforce_eager: bool | None = None
    kv_tokens: int | None = None
    """Tokens that a logged cache holds; takes the place of batch x context."""
    includes_context: bool | None = None
    """The allocated figure asked for was read with the CUDA context in it."""
    draft_model: ModelSpec | None = None
    served_loras: int | None = None
    served_lora_rank: int | None = None
    beams: int | None = None
    """Encoder-decoders: hypotheses kept while decoding; 1 is greedy."""
    pipeline: bool | None = None
    """False for one forward of the module alone: a denoiser without text encoders and
    autoencoder, an encoder-decoder without a cache."""
    pipeline_offload: Literal["model", "sequential"] | None = None
    """Diffusion: parts wait in host memory; one model, or one layer, on the card at a time."""
    vae_tiling: bool | None = None
    """Diffusion: the autoencoder decodes one image, tile by tile."""
    vae_slicing: bool | None = None
    """Diffusion: the autoencoder decodes the images of a batch one after the other."""


Workload = TrainingWorkload | InferenceWorkload


def check_values(workload: object) -> None:
    """Refuses values that cannot be.

    Raises:
        BadQuantityError: Names the field, the value and what is allowed.
    """
    for field in _POSITIVE:
        value = getattr(workload, field, None)
        if value is not None and not (isinstance(value, int) and value >= 1):
            raise BadQuantityError(field=field, given=value, allowed="a whole number of at least 1")
    for field in _NOT_NEGATIVE:
        value = getattr(workload, field, None)
        if value is not None and not (isinstance(value, int) and value >= 0):
            raise BadQuantityError(field=field, given=value, allowed="a whole number of at least 0")
    for field in _FRACTIONS:
        value = getattr(workload, field, None)
        if value is not None and not 0 <= value <= 1:
            raise BadQuantityError(field=field, given=value, allowed="a number from 0 to 1")
    for field, choices in _CHOICES.items():
        value = getattr(workload, field, None)
        if value is not None and value not in choices:
            raise BadQuantityError(field=field, given=value, allowed=", ".join(choices))


class Goal(NamedTuple):
    """A method word of a question or a case, taken apart."""

    objective: Objective
    method: Method | None


_OBJECTIVES: dict[str, Objective] = {
    "sft": "sft", "cpt": "pretrain", "pretrain": "pretrain", "dpo": "dpo", "kto": "kto",
    "orpo": "orpo", "simpo": "orpo", "rm": "reward", "reward": "reward", "ppo": "ppo",
    "grpo": "grpo", "distill": "distill", "contrastive": "contrastive", "rerank": "rerank",
    "classify": "classify", "mlm": "mlm",
}  # fmt: skip


def split_method(text: str) -> Goal:
    """Objective and method of a word such as ``dpo+lora``, ``ppo`` or ``qlora``.

    Raises:
        BadQuantityError: If a part is not known.

    >>> split_method("dpo+lora")
    Goal(objective='dpo', method='lora')
    """
    objective: Objective = "sft"
    method: Method | None = None
    for word in text.casefold().split("+"):
        if word in _OBJECTIVES:
            objective = _OBJECTIVES[word]
        elif word in get_args(Method):
            method = word  # type: ignore[assignment]  # narrowed by the line above
        else:
            known: Sequence[str] = (*get_args(Method), *_OBJECTIVES)
            raise BadQuantityError(field="method", given=text, allowed=", ".join(known))
    return Goal(objective, method)
