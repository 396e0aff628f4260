"""What is asked: one training or serving run, and how it is spread over cards."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Method = Literal["full", "lora", "qlora", "forward"]
"""How a model is trained; `forward` runs it without training, as an embedding service does."""
Stage = Literal["pretrain", "finetune"]
Sharding = Literal["single", "ddp", "zero1", "zero2", "zero3", "fsdp"]
Checkpointing = Literal["none", "selective", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How one run is spread over GPUs."""

    sharding: Sharding | None = None
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    zero_over_node: bool = False
    """Sharded inside each machine only, so that the link between them carries gradients alone."""
    cpu_offload: bool = False
    virtual_stages: int = 1
    engine: str | None = None
    """megatron, deepspeed, ngc, oneflow, mxnet, tensorflow, paddle, unsloth, ... where named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """A training run; None = not said, assumed and reported."""

    gpu: str
    model: str | None = None
    params_b: float | None = None
    stage: Stage | None = None
    method: Method = "full"
    adapter: str | None = None
    """Kind of adapter beside plain LoRA: dora, adalora, oft, ...; None = LoRA."""
    objective: str | None = None
    """dpo, kto, orpo, ...: what is learnt beside the next token; None = the next token."""
    precision: str | None = None
    """bf16, fp16, amp, fp32, tf32, fp8; None = bf16 where the card has it, else fp16."""
    quantization: str | None = None
    num_gpus: int = 1
    nodes: int | None = None
    layout: Layout = Layout()
    interconnect: str | None = None
    """Inside a machine: nvlink or pcie."""
    link: str | None = None
    """Between machines, as written: `25 Gbps Ethernet`, `RoCE 4x100 Gbps per node`."""
    micro_batch: float | None = None
    """Sequences per GPU and micro-step."""
    grad_accum: int | None = None
    global_batch: float | None = None
    seq_len: int | None = None
    mean_tokens: float | None = None
    """Real tokens of a sample where the samples are shorter than seq_len and only those count."""
    checkpointing: Checkpointing | None = None
    flash: bool | None = None
    compiled: bool | None = None
    whole_run: bool = False
    """The figure covers a whole run with stops and saves, not a steady step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingJob:
    """One serving setup; None = not said, assumed and reported."""

    gpu: str
    model: str | None = None
    params_b: float | None = None
    engine: str | None = None
    """vllm, sglang, lmdeploy, transformers, llama.cpp, exllamav2, ...; None = vllm."""
    weight_format: str | None = None
    """bf16, fp8, awq, gptq-int4, gguf Q4_K_M, ...; None = 16 bit."""
    num_gpus: int = 1
    interconnect: str | None = None
    concurrency: int = 1
    """Sequences decoded at the same time."""
    prompt_len: int | None = None
    output_len: int | None = None


def _degree(text: str, *names: str) -> int:
    """Number behind TP, PP, ... in a layout as written; 1 when absent."""
    for name in names:
        found = re.search(rf"(?<![a-z]){name}[- ]?(\d+)", text)
        if found:
            return int(found[1])
    return 1


_ENGINES = (
    "unsloth", "megatron", "oneflow", "paddle", "mxnet", "tensorflow", "ngc", "deepspeed",
    "horovod", "lightcc", "aiacc", "ti-acc", "byteps", "colossal",
)  # fmt: skip


def _sharding(text: str, num_gpus: int) -> Sharding | None:
    """The data-parallel scheme that a layout as written names."""
    zero = re.search(r"zero-?([123])", text)
    if zero:
        return ("zero1", "zero2", "zero3")[int(zero[1]) - 1]
    if "no_shard" in text or "ddp" in text or "data parallel" in text or "horovod" in text:
        return "ddp"
    if "shard_grad_op" in text:
        return "zero2"
    if "fsdp" in text:
        return "fsdp"
    return "single" if num_gpus == 1 else None


def parse_layout(text: str | None, *, num_gpus: int) -> Layout:
    """Reads how a run is spread from words: `FSDP32+TP8`, `TP4 PP8 VP5`, `DeepSpeed ZeRO-3`.

    Args:
        text: As written; None reads as nothing said.
        num_gpus: GPUs of the run.

    >>> parse_layout("FSDP32+TP8", num_gpus=256).tensor
    8
    """
    folded = (text or "").casefold()
    dims = re.search(r"dpxtpxpp\s*=\s*(\d+)x(\d+)x(\d+)", folded)
    tensor = int(dims[2]) if dims else _degree(folded, "tp")
    pipeline = int(dims[3]) if dims else _degree(folded, "pp")
    return Layout(
        sharding=_sharding(folded, num_gpus),
        tensor=tensor,
        pipeline=pipeline,
        context=_degree(folded, "cp", "sequence parallel", "sp"),
        expert=_degree(folded, "ep"),
        zero_over_node="inside the node" in folded or "over 4" in folded,
        cpu_offload="offload" in folded,
        virtual_stages=_degree(folded, "vp"),
        engine=next((name for name in _ENGINES if name in folded), None),
    )


def link_gbps(text: str | None) -> float | None:
    """Gbit/s of one machine's link out of its description; None when none is stated.

    >>> link_gbps("RoCE 4x100 Gbps per node"), link_gbps("RDMA 400 Gbps per GPU")
    (400.0, 3200.0)
    """
    if not text:
        return None
    found = re.search(r"(?:(\d+)\s*x\s*)?(\d+(?:\.\d+)?)\s*(G|M)b(?:ps|it/s)", text)
    if found is None:
        return None
    speed = float(found[2]) * (1.0 if found[3] == "G" else 0.001) * float(found[1] or 1)
    return speed * 8 if "per GPU" in text else speed


def transport_of(text: str | None) -> Literal["tcp", "tcp-one-flow", "rdma"]:
    """Kind of transport that a link's description names; kernel TCP when it names none."""
    folded = (text or "").casefold()
    if "one tcp flow" in folded:
        return "tcp-one-flow"
    fast = ("rdma", "roce", "infiniband", " ib", "efa", "omni-path", "erdma", "user-space")
    return "rdma" if any(word in folded for word in fast) else "tcp"
