"""What to change so that it fits: each change with the new figure and what it costs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from tools.errors import UserInputError
from tools.memory.estimator import estimate
from tools.memory.inverse import budget_bytes, longest_context, over_cards
from tools.memory.result import Change, MemoryEstimate
from tools.memory.workload import InferenceWorkload, TrainingWorkload, Workload


class _Option(NamedTuple):
    name: str
    workload: Workload
    cost: str
    rank: int


def _changed(workload: Any, name: str, cost: str, rank: int, **fields: Any) -> _Option:
    """The workload with some fields changed, as an option."""
    return _Option(name, dataclasses.replace(workload, **fields), cost, rank)


def what_to_change(workload: Workload, usable_bytes: int, *, limit: int = 12) -> tuple[Change, ...]:
    """Changes that save memory, those that make it fit first, then the cheapest, then the largest.

    Args:
        workload: What is to run.
        usable_bytes: Memory a process can get on one card.
        limit: At most so many.

    Returns:
        Each change with the workload changed, the need before and after on one card, whether it
        fits then, and what it costs. Empty when nothing saves anything.
    """
    before = estimate(workload)
    changes = []
    for option in (*_options(workload, before), *_shorter_context(workload, usable_bytes)):
        try:
            after = estimate(option.workload)
        except UserInputError:
            continue
        saving = before.process_bytes - after.process_bytes
        if saving <= 0:
            continue
        fits = after.process_bytes <= budget_bytes(after, usable_bytes)
        changes.append(
            Change(
                option.name, option.workload, before.process_bytes, after.process_bytes, saving,
                fits, option.cost, option.rank,
            )
        )  # fmt: skip
    changes.sort(key=lambda change: (not change.fits, change.cost_rank, -change.saving_bytes))
    return tuple(changes[:limit])


_USEFUL_CONTEXT = 1024
_STEP = 256


def _shorter_context(workload: Workload, usable_bytes: int) -> Iterator[_Option]:
    """The longest context that fits, where the half of what was asked for is still too long."""
    if not isinstance(workload, InferenceWorkload) or workload.context_len is None:
        return
    try:
        longest = longest_context(workload, usable_bytes) // _STEP * _STEP
    except UserInputError:
        return
    if _USEFUL_CONTEXT <= longest < workload.context_len // 2:
        yield _Option(
            f"context_len={longest}",
            dataclasses.replace(workload, context_len=longest, prompt_len=None),
            "the longest context that fits",
            3,
        )


def _options(workload: Workload, need: MemoryEstimate) -> Iterator[_Option]:
    if isinstance(workload, TrainingWorkload):
        yield from _training_options(workload, need)
    else:
        yield from _serving_options(workload)
    cards = workload.gpu_count or 1
    for count in (2, 4, 8):
        if count > cards:
            yield _Option(
                f"gpu_count={count}", over_cards(workload, count), "more cards to pay for", 3
            )


def _frozen_options(workload: TrainingWorkload) -> Iterator[_Option]:
    """Frozen weights of a diffusion transformer in 8 bit, or part of them in host memory."""
    change = partial(_changed, workload)
    blocks = workload.model.num_hidden_layers
    is_wide = workload.quantization in (None, "none")
    if is_wide and workload.method != "qlora":
        yield change("quantization=fp8", "8-bit base weights", 2, quantization="fp8")
    if not blocks or workload.blocks_to_swap:
        return
    for count in (blocks // 3, _most_swapped(blocks)):
        yield change(f"blocks_to_swap={count}", "slower steps; the blocks wait in host memory", 1,
                     blocks_to_swap=count)  # fmt: skip
    if is_wide and workload.method != "qlora":
        yield change("blocks_to_swap=fp8", "8-bit base weights and slower steps", 2,
                     quantization="fp8", blocks_to_swap=_most_swapped(blocks))  # fmt: skip


def _most_swapped(blocks: int) -> int:
    """Blocks that trainers let wait: 35 of FLUX's 57, 36 of HunyuanVideo's 60."""
    return 3 * blocks // 5


def _full_options(workload: TrainingWorkload) -> Iterator[_Option]:
    """Changes where all weights are trained: other optimizers, fewer copies, adapters."""
    change = partial(_changed, workload)
    yield change("optimizer=adamw-8bit", "8-bit optimizer states", 1, optimizer="adamw-8bit")
    yield change(
        "optimizer=paged-adamw-8bit", "states page to the host", 2, optimizer="paged-adamw-8bit"
    )
    yield change("optimizer=adafactor", "another optimizer", 2, optimizer="adafactor")
    if _has_bf16(workload):
        yield change("precision=pure-bf16", "no fp32 master weights", 2, precision="pure-bf16")
    yield change(
        "optimizer_in_backward=true", "no gradient accumulation or clipping", 2,
        optimizer_in_backward=True, gradient_accumulation=None,
    )  # fmt: skip
    yield change("method=lora", "adapters in place of all weights", 4, method="lora")


def _training_options(workload: TrainingWorkload, need: MemoryEstimate) -> Iterator[_Option]:
    change = partial(_changed, workload)
    assumed = dict(need.assumed)
    batch = workload.micro_batch_size or int(assumed.get("micro_batch_size", 1))
    length = workload.seq_len or int(assumed.get("seq_len", 1024))
    method = workload.method or str(assumed.get("method", "full"))
    yield change("fused_ce=true", "none: the same loss, computed in chunks", 0, fused_ce=True)
    yield change("attention=flash", "none, on cards that have the kernel", 0, attention="flash")
    yield change("optimizer_impl=fused", "none", 0, optimizer_impl="fused")
    if batch > 1:
        yield change(
            f"micro_batch_size={batch // 2}", "slower steps; accumulate for the global batch", 1,
            micro_batch_size=batch // 2,
        )  # fmt: skip
        yield change("micro_batch_size=1", "slower steps", 1, micro_batch_size=1)
    yield change(
        "gradient_checkpointing=full",
        "about a third more compute",
        1,
        gradient_checkpointing="full",
    )
    if method in ("full", "freeze"):
        yield from _full_options(workload)
    elif workload.model.kind == "dit":
        yield from _frozen_options(workload)
    if method in ("full", "freeze", "lora", "dora"):
        yield change(
            "method=qlora", "4-bit base weights and adapters", 4, method="qlora", quantization="nf4"
        )
    if workload.gpu_count and workload.gpu_count > 1:
        yield change("parallelism=zero3", "more communication", 2, parallelism="zero3")
        yield change(
            "cpu_offload=true", "much slower; host memory holds the states", 3,
            parallelism="zero3", cpu_offload=True,
        )  # fmt: skip
    together: dict[str, Any] = {
        "micro_batch_size": 1, "gradient_checkpointing": "full", "fused_ce": True,
    }  # fmt: skip
    if method in ("full", "freeze"):
        together |= {"optimizer": "adamw-8bit"}
        together |= {"precision": "pure-bf16"} if _has_bf16(workload) else {}
        together |= {"optimizer_in_backward": True, "gradient_accumulation": None}
    yield change("the cheap changes together", "all of their costs", 2, **together)
    if length > 512:
        yield change(f"seq_len={length // 2}", "shorter samples", 3, seq_len=length // 2)


def _has_bf16(workload: TrainingWorkload) -> bool:
    """Whether the card computes in bf16, as far as is known."""
    return workload.gpu is None or workload.gpu.bf16_supported is not False


def _serving_options(workload: InferenceWorkload) -> Iterator[_Option]:
    change = partial(_changed, workload)
    kind = workload.model.kind
    if kind in _DENOISERS:
        yield from _pipeline_options(workload)
    elif kind in _SERVED_AS_TEXT:
        yield from _text_options(workload)
    batch = workload.batch or workload.concurrency or 1
    if batch > 1:
        yield change(
            f"batch={batch // 2}",
            "half the requests at a time",
            2,
            batch=batch // 2,
            concurrency=None,
        )


_DENOISERS = ("diffusion-unet", "dit")
_SERVED_AS_TEXT = ("decoder-lm", "moe-lm", "vlm")
"""What engines with a paged cache and checkpoints in AWQ, GPTQ or GGUF serve."""


def _pipeline_options(workload: InferenceWorkload) -> Iterator[_Option]:
    """Parts of an image or video pipeline that wait, and its autoencoder piece by piece."""
    change = partial(_changed, workload)
    if (workload.batch or workload.concurrency or 1) > 1:
        yield change("vae_slicing=true", "decodes one image after the other", 1, vae_slicing=True)
    yield change("vae_tiling=true", "decodes tile by tile; seams are rare", 1, vae_tiling=True)
    if workload.pipeline_offload is None:
        yield change(
            "pipeline_offload=model", "one model on the card at a time; seconds more an image", 1,
            pipeline_offload="model",
        )  # fmt: skip
    yield change(
        "pipeline_offload=sequential", "one layer on the card at a time; many times slower", 3,
        pipeline_offload="sequential", vae_tiling=True,
    )  # fmt: skip
    yield change(
        "weight_format=fp8", "8-bit weights, computed in 16 bit", 2, weight_format="fp8"
    )  # fmt: skip
    if workload.model.kind == "dit":
        yield change("weight_format=nf4", "4-bit weights by bitsandbytes", 3, weight_format="nf4")
        if workload.pipeline_offload is None:
            yield change(
                "pipeline_offload=model-nf4", "4-bit weights, one model on the card at a time", 2,
                pipeline_offload="model", weight_format="nf4",
            )  # fmt: skip


def _text_options(workload: InferenceWorkload) -> Iterator[_Option]:
    change = partial(_changed, workload)
    yield change("enforce_eager=true", "slower decoding: no CUDA graphs", 1, enforce_eager=True)
    yield change("kv_dtype=fp8", "8-bit keys and values", 1, kv_dtype="fp8")
    yield change(
        "weight_format=fp8", "8-bit weights; needs FP8 hardware or Marlin", 2, weight_format="fp8"
    )
    yield change(
        "weight_format=awq-int4", "4-bit weights, a little quality", 3, weight_format="awq-int4"
    )
    yield change(
        "weight_format=gguf-q4_k_m", "4-bit weights in llama.cpp", 3,
        weight_format="gguf-q4_k_m", engine="llama.cpp",
    )  # fmt: skip
    context = workload.context_len or 4096
    if context > 1024:
        yield change(
            f"context_len={context // 2}", "half the context", 3,
            context_len=context // 2, prompt_len=None,
        )  # fmt: skip
