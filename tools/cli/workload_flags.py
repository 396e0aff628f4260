"""Flags that describe a workload, shared by `estimate` and `fit`."""

from __future__ import annotations

import argparse
import re

from tools.arguments import LARGEST, amount, count, name, shown
from tools.errors import BadQuantityError
from tools.gpus import find_gpu
from tools.memory import InferenceWorkload, TrainingWorkload, Workload, split_method
from tools.models import ModelSpec, find_model, model_from_config_file, reference_model

_SIZE = re.compile(r"=\s*(?!0*[1-9])|[a-z]\s*=?\s*nan|(?<![a-z])(?:tp|pp|cp|ep)[-_ =]?0+(?!\d)")
"""A size of a parallel group that is none: tp=nan, pp=, tp0."""


def _layout(text: str) -> str:
    """A parallelism as written; its words are read where the memory is computed.

    Raises:
        ArgumentTypeError: If it is empty or a size in it is no number from 1 on.
    """
    if _SIZE.search(text.casefold()):
        raise argparse.ArgumentTypeError(f"given {shown(text)!r}; allowed: tp4+dp2, zero3 and such")
    return name(text)


_TRAINING = (
    ("--method", name, "full, lora, qlora, dora, galore, freeze; with an objective: dpo+lora"),
    ("--precision", name, "fp32, bf16-mixed, fp16-mixed, pure-bf16, pure-fp16, fp8"),
    ("--quantization", name, "nf4, int8, gptq-int4, ..."),
    ("--optimizer", name, "adamw, adamw-8bit, adafactor, lion, muon, ..."),
    ("--seq-len", count, "tokens per sequence"),
    ("--lora-rank", count, "rank of the adapters"),
    ("--gradient-checkpointing", name, "none, full, selective"),
    ("--framework", name, "hf-trainer, llama-factory, ms-swift, torchtune, litgpt, ..."),
    ("--parallelism", _layout, "ddp, zero2, zero3, fsdp, tp4+dp2, ..."),
    ("--target-len", count, "encoder-decoders: tokens of the target"),
)
_SAMPLES = (
    ("--image-px", count, "side of an image: vision, detection, diffusion"),
    ("--frames", count, "frames of a video"),
)
_SERVING = (
    ("--engine", name, "vllm, sglang, transformers, llama.cpp, ollama, ..."),
    ("--weight-format", name, "bf16, fp8, awq-int4, gguf-q4_k_m, ..."),
    ("--context-len", count, "tokens per sequence that the cache must hold"),
    ("--prompt-len", count, "tokens of the prompt"),
    ("--kv-dtype", name, "bf16, fp8, q8_0, ..."),
    ("--gpu-memory-utilization", amount, "share of the card for a server's pool"),
)


def add_workload_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags of a workload."""
    parser.add_argument(
        "model", nargs="?", type=name, help="a model's name, a size such as 7B, or a config.json"
    )
    parser.add_argument(
        "--task", choices=("train", "infer"), help="default: train when a method is given"
    )
    parser.add_argument("--gpu", type=name, help="the card, any spelling")
    parser.add_argument("--gpu-count", type=count, help="cards of the run")
    parser.add_argument(
        "--batch", type=count, help="sequences per card and step, or served at a time"
    )
    parser.add_argument("--attention", choices=("eager", "sdpa", "flash"))
    parser.add_argument("--cpu-offload", action="store_true", default=None)
    parser.add_argument("--fused-ce", action="store_true", default=None)
    for flag, kind, text in (*_TRAINING, *_SERVING, *_SAMPLES):
        parser.add_argument(flag, type=kind, help=text)


def read_model(text: str) -> ModelSpec:
    """The model that a name, a nominal size or the path of a config.json stands for.

    Raises:
        UnknownModelError: If nothing matches.
    """
    if text.endswith(".json"):
        return model_from_config_file(text)
    number = text.strip().casefold().removesuffix("b")
    try:
        size = float(number)
    except ValueError:
        return find_model(text).spec
    if not 0 < size <= LARGEST:
        raise BadQuantityError(field="model", given=text, allowed="a size above 0, such as 7B")
    return reference_model(size)


def read_workload(args: argparse.Namespace) -> Workload:
    """The workload that the flags describe.

    Raises:
        BadQuantityError: If the model is missing or a value cannot be.
    """
    if args.model is None:
        raise BadQuantityError(
            field="model", given=None, allowed="a model's name or a size such as 7B"
        )
    spec = read_model(args.model)
    gpu = find_gpu(args.gpu).spec if args.gpu else None
    trains = args.task == "train" or (
        args.task is None and any((args.method, args.optimizer, args.lora_rank, args.seq_len))
    )
    if not trains:
        return InferenceWorkload(
            spec, gpu=gpu, gpu_count=args.gpu_count, attention=args.attention, engine=args.engine,
            weight_format=args.weight_format, batch=args.batch, context_len=args.context_len,
            prompt_len=args.prompt_len, kv_dtype=args.kv_dtype, image_px=args.image_px,
            frames=args.frames,
            gpu_memory_utilization=args.gpu_memory_utilization,
        )  # fmt: skip
    goal = split_method(args.method) if args.method else None
    return TrainingWorkload(
        spec, gpu=gpu, gpu_count=args.gpu_count, attention=args.attention,
        method=goal.method if goal else None, objective=goal.objective if goal else None,
        precision=args.precision, quantization=args.quantization, optimizer=args.optimizer,
        micro_batch_size=args.batch, seq_len=args.seq_len, lora_rank=args.lora_rank,
        gradient_checkpointing=args.gradient_checkpointing, framework=args.framework,
        image_px=args.image_px, frames=args.frames, target_len=args.target_len,
        parallelism=args.parallelism, cpu_offload=args.cpu_offload, fused_ce=args.fused_ce,
    )  # fmt: skip
