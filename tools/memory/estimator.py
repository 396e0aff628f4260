"""`estimate`: the memory of a workload on one card, as three counters with their parts."""

from __future__ import annotations

import dataclasses
import math

from tools.memory.overhead import communication_bytes, context_bytes, cublas_bytes
from tools.memory.params import decoder_of
from tools.memory.reserve import training_slack
from tools.memory.resolve import TrainRun, resolve_training
from tools.memory.result import MemoryEstimate, Part
from tools.memory.serving.serve import estimate_inference
from tools.memory.training import Peak, training_peak
from tools.memory.workload import InferenceWorkload, TrainingWorkload, Workload


def estimate(workload: Workload) -> MemoryEstimate:
    """Memory of one card for this workload, in bytes.

    Args:
        workload: What was said; the rest is assumed and reported.

    Returns:
        Allocated, reserved and process bytes, the parts that sum to them, what was assumed.

    Raises:
        BadQuantityError: If a value or a name in it cannot be; names the field.
        UnsupportedError: If the combination cannot run or is not modelled; says why.
    """
    spec = decoder_of(workload.model)
    if spec is None:
        from tools.memory.other import estimate_other

        return estimate_other(workload)
    if spec is not workload.model:
        workload = dataclasses.replace(workload, model=spec)
    if isinstance(workload, InferenceWorkload):
        return estimate_inference(workload)
    return _training(workload)


def _training(workload: TrainingWorkload) -> MemoryEstimate:
    run = resolve_training(workload)
    peak = training_peak(run)
    parts = _training_parts(run, peak)
    allocated = sum(part.bytes for part in parts)
    slack = training_slack(run, peak, allocated)
    cards = workload.gpu_count or 1
    context = context_bytes(workload.gpu)
    communication = communication_bytes(cards)
    rollout = _rollout_bytes(workload)
    parts += [
        Part("allocator_slack", slack, "reserved beyond live tensors", _SLACK, "reserved"),
        Part("cuda_context", context, "context of the architecture", _CONTEXT, "process"),
    ]
    if rollout:
        parts.append(
            Part("rollout_engine", rollout, "weights and cache of vLLM", _ROLLOUT, "process")
        )
    if communication:
        parts.append(Part("communication", communication, "NCCL buffers", _NCCL, "process"))
    return MemoryEstimate(
        workload=workload,
        allocated_bytes=allocated,
        reserved_bytes=allocated + slack,
        process_bytes=allocated + slack + context + communication + rollout,
        weights_bytes=math.ceil(peak.states.weights + peak.states.adapters),
        kv_cache_bytes=0,
        host_ram_bytes=math.ceil(peak.states.host),
        gpu_count=cards,
        parts=tuple(parts),
        assumed=run.assumed,
        notes=(),
        peak_moment=peak.moment.name,
    )


def _rollout_bytes(workload: TrainingWorkload) -> int:
    """What vLLM takes beside the trainer on the same card: its share, at least its weights."""
    if not workload.vllm_colocated:
        return 0
    gpu = workload.gpu
    usable = (gpu.usable_bytes or 0) if gpu is not None else 0
    return max(math.ceil(_ROLLOUT_SHARE * usable), 2 * workload.model.params_total)


_ROLLOUT_SHARE = 0.3
"""TRL's default of vllm_gpu_memory_utilization when the engine runs on the trainer's card."""
_ROLLOUT = ("code:trl.GRPOConfig",)
_RULES = ("rule:memory-training",)
_SOURCES = {
    "weights": ("data:models.jsonl", "data:formats.json"),
    "adapters": ("code:peft.tuners.lora", "data:targets.json"),
    "optimizer_states": ("data:optimizers.json",),
    "activations": ("rule:autograd-tape", "data:families.json"),
    "logits": ("rule:loss-path", "data:frameworks.json"),
    "resident_copies": ("rule:sharding",),
    "allocator_rounding": ("code:c10/cuda/CUDACachingAllocator.cpp",),
    "cublas_workspace": ("code:ATen/cuda/CublasHandlePool.cpp",),
}
_SLACK = ("measured:reserved-over-allocated",)
_CONTEXT = ("measured:cuda-context",)
_NCCL = ("measured:nccl",)


def _training_parts(run: TrainRun, peak: Peak) -> list[Part]:
    states, moment = peak.states, peak.moment
    values = (
        ("weights", states.weights, "parameters x bytes of their dtype"),
        ("adapters", states.adapters, "rank x (in + out) of each adapted linear x bytes"),
        ("optimizer_states", states.optimizer, "trained parameters x state bytes"),
        ("resident_copies", states.extras, "copies that sharding or the objective keeps"),
        ("gradients", moment.gradients, "gradients alive at the peak"),
        ("activations", moment.activations, "kept for backward, and one layer's working set"),
        ("logits", moment.logits, "vocabulary x tokens x bytes alive per logit"),
        ("step_workspace", moment.workspace, "temporaries of the moment"),
        ("inputs", states.inputs, "8 bytes a token"),
        ("allocator_rounding", states.rounding, "2 MiB segments of large matrices"),
        (
            "cublas_workspace",
            float(cublas_bytes(run.asked.gpu, build=run.asked.torch_build)),
            "one handle",
        ),
    )
    return [
        Part(name, math.ceil(value), text, _SOURCES.get(name, _RULES))
        for name, value, text in values
        if value
    ]
