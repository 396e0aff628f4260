"""`estimate_other`: the three counters and their parts for a model that is no language model."""

from __future__ import annotations

import math

from tools.errors import UnsupportedError
from tools.memory.other.forms import relative_of
from tools.memory.other.inference import forward
from tools.memory.other.training import TrainStep, train_step
from tools.memory.overhead import communication_bytes, context_bytes, cublas_bytes
from tools.memory.result import MemoryEstimate, Part
from tools.memory.workload import InferenceWorkload, TrainingWorkload, Workload
from tools.models import ModelSpec

_CONV_KINDS = frozenset({"cnn", "detector", "segmentation"})
_ADAPTERS = ("lora", "dora", "qlora")
_CONV_SLACK = 1.15
"""cuDNN workspaces and blocks of many sizes: ResNet-50 AMP batch 256 holds 1.2 x its tensors."""
_SLACK = 1.05
_STATES = ("data:models.jsonl", "data:optimizers.json")
_REGISTRY = ("data:models.jsonl",)


def has_form(spec: ModelSpec) -> bool:
    """Whether the model or a relative of it has an activation form here."""
    return relative_of(spec) is not None


def estimate_other(workload: Workload) -> MemoryEstimate:
    """Memory of one card for this workload, in bytes.

    Raises:
        UnsupportedError: If there is no form for the model.
    """
    if isinstance(workload, InferenceWorkload):
        return _inference(workload)
    adapts = workload.model.kind not in _CONV_KINDS
    if workload.method not in (None, "full", *(_ADAPTERS if adapts else ())):
        raise UnsupportedError(
            f"method {workload.method} for {workload.model.name}",
            reason=f"it is not modelled for models of kind {workload.model.kind}",
            instead="Use full or lora." if adapts else "Use full.",
        )
    return _training(workload)


def _training(workload: TrainingWorkload) -> MemoryEstimate:
    step = train_step(workload)
    values = (
        ("weights", step.weights, "parameters x bytes of their dtype", _REGISTRY),
        ("adapters", step.adapters, "adapter parameters x 4 bytes", _form_source(step)),
        ("optimizer_states", step.optimizer, "trained parameters x state bytes", _STATES),
        ("buffers", step.buffers, "statistics and position tables", _form_source(step)),
        ("text_encoders", step.text_encoders, "frozen text encoders x 2 bytes", _rest(step)),
        ("vae", step.vae, "frozen autoencoder", _rest(step)),
        ("resident_copies", step.copies, "gradient buckets of data parallelism", _STATES),
        ("gradients", step.gradients, "gradients alive at the peak", _STATES),
        (
            "activations", step.activations,
            "moment's coefficients x batch and size of a sample", _form_source(step),
        ),
        ("step_workspace", step.workspace, "temporaries of the optimizer", _STATES),
        _cublas(workload),
    )  # fmt: skip
    return _assemble(
        workload, values, step.moment, step.assumed, weights=step.weights + step.adapters,
        host=step.host,
    )  # fmt: skip


def _inference(workload: InferenceWorkload) -> MemoryEstimate:
    run = forward(workload)
    origin = (f"rule:simulated-lines ({run.origin})",)
    rest = (f"data:pipelines.json ({run.rest.origin})",) if run.rest is not None else ()
    values = (
        ("weights", run.weights, "parameters x bits of the format / 8", _REGISTRY),
        ("buffers", run.buffers, "statistics and position tables", origin),
        ("text_encoders", run.text_encoders, "text encoders x bytes", rest),
        ("vae", run.vae, "autoencoder x bytes", rest),
        ("kv_cache", run.cache, "2 x layers x width x tokens x bytes", _REGISTRY),
        ("activations", run.activations, "largest working set of the pass", origin),
        _cublas(workload),
    )
    return _assemble(
        workload, values, run.moment, run.assumed, weights=run.weights + run.text_encoders
        + run.vae, host=run.host, cache=run.cache,
    )  # fmt: skip


_Value = tuple[str, float, str, tuple[str, ...]]


def _cublas(workload: Workload) -> _Value:
    size = float(cublas_bytes(workload.gpu, build=workload.torch_build))
    return ("cublas_workspace", size, "one handle", ("code:ATen/cuda/CublasHandlePool.cpp",))


def _form_source(step: TrainStep) -> tuple[str, ...]:
    return (f"rule:simulated-lines ({step.form.origin})",)


def _rest(step: TrainStep) -> tuple[str, ...]:
    return (f"data:pipelines.json ({step.rest.origin})",) if step.rest is not None else ()


def _assemble(
    workload: Workload, values: tuple[_Value, ...], moment: str,
    assumed: tuple[tuple[str, int | float | str | bool], ...], *, weights: float, host: float,
    cache: float = 0.0,
) -> MemoryEstimate:  # fmt: skip
    parts = [Part(name, math.ceil(v), text, src) for name, v, text, src in values if v]
    allocated = sum(part.bytes for part in parts)
    factor = _CONV_SLACK if workload.model.kind in _CONV_KINDS else _SLACK
    slack = math.ceil(allocated * (factor - 1))
    cards = workload.gpu_count or 1
    context = context_bytes(workload.gpu)
    communication = communication_bytes(cards)
    parts += [
        Part("allocator_slack", slack, "reserved beyond live tensors",
             ("measured:reserved-over-allocated",), "reserved"),
        Part("cuda_context", context, "context of the architecture",
             ("measured:cuda-context",), "process"),
    ]  # fmt: skip
    if communication:
        parts.append(
            Part("communication", communication, "NCCL buffers", ("measured:nccl",), "process")
        )
    return MemoryEstimate(
        workload=workload,
        allocated_bytes=allocated,
        reserved_bytes=allocated + slack,
        process_bytes=allocated + slack + context + communication,
        weights_bytes=math.ceil(weights),
        kv_cache_bytes=math.ceil(cache),
        host_ram_bytes=math.ceil(host),
        gpu_count=cards,
        parts=tuple(parts),
        assumed=assumed,
        peak_moment=moment,
    )
