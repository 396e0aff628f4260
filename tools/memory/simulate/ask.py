"""From a workload to the simulated step that stands for it. No torch here."""

from __future__ import annotations

import dataclasses
from typing import Any

from tools.errors import UnsupportedError
from tools.memory.simulate.configs import denoisers, hf_config
from tools.memory.simulate.request import SimulationRequest, sharding_word
from tools.memory.simulate.runner import Limits, Progress, Simulation, simulate
from tools.memory.workload import TrainingWorkload, Workload
from tools.models import ModelSpec

_BY_OBJECTIVE = {"mlm": "mlm", "contrastive": "embed"}
_PREFIXES = (("timm/", "timm"), ("ultralytics/", "yolo"), ("nvidia/seg", "segformer"),
             ("facebook/detr", "detr"), ("facebook/sam", "sam"),
             ("openai/clip", "clip"))  # fmt: skip
_OPTIMIZERS = {"adam": "adamw", "sgd-momentum": "sgd-momentum"}
_SAME = (
    "precision", "lora_rank", "lora_targets", "seq_len", "gradient_checkpointing", "attention",
    "optimizer_impl", "double_quant", "kbit_prepared", "lora_dropout", "padding_mask",
    "logits_held_through_backward", "gradients_kept_across_steps", "image_px", "audio_samples",
    "target_len", "autocast", "frames",
)  # fmt: skip


def kind_of(spec: ModelSpec, objective: str | None = None) -> str:
    """Which kind of step a model runs.

    Raises:
        UnsupportedError: If no kind simulates it.
    """
    if spec.formula == "bert":
        fallback = "embed" if spec.kind == "embedding" else "bert"
        return _BY_OBJECTIVE.get(str(objective), fallback)
    if spec.kind in ("decoder-lm", "moe-lm", "reranker") or spec.formula == "decoder":
        return "decoder"
    if spec.formula == "t5":
        return "t5"
    if spec.kind == "speech":
        return "whisper" if "whisper" in spec.name else "wav2vec2"
    for prefix, kind in _PREFIXES:
        if spec.name.startswith(prefix):
            return kind
    if spec.name in denoisers():
        return str(denoisers()[spec.name]["kind"])
    raise UnsupportedError(
        f"simulating {spec.name}",
        reason=f"models of kind {spec.kind} are not simulated",
        instead="Use the closed form, or --custom module:function on your own machine.",
    )


def request_of(workload: Workload) -> SimulationRequest:
    """The step that a workload stands for, with what was not said as the estimate assumes it.

    Raises:
        UnsupportedError: If the model or the method is not simulated.
    """
    from tools.memory.estimator import estimate

    spec = workload.model
    filled = {**dict(estimate(workload).assumed), **_said(workload)}
    kind = kind_of(spec, str(filled.get("objective")))
    fields = {name: filled[name] for name in _SAME if filled.get(name) is not None}
    if fields.get("attention") == "flash":
        fields["attention"] = "sdpa"
    if fields.get("gradient_checkpointing") == "selective":
        raise UnsupportedError("selective checkpointing", reason="it is not simulated")
    if isinstance(workload, TrainingWorkload):
        _refuse_what_is_left_out(filled, kind)
        optimizer = str(filled.get("optimizer", "adamw"))
        fields |= {
            "method": filled.get("method", "full"),
            "optimizer": _OPTIMIZERS.get(optimizer, optimizer),
            "batch": filled.get("micro_batch_size", 1),
            **_cards(workload, filled),
        }
    else:
        fields |= {
            "task": "infer", "method": None, "optimizer": None,
            "precision": "fp32" if filled.get("weight_format") == "fp32" else "pure-bf16",
            "batch": filled.get("batch") or filled.get("concurrency") or 1,
            "seq_len": filled.get("prompt_len") or filled.get("context_len") or 1024,
        }  # fmt: skip
    if fields.get("precision") == "fp8":
        raise UnsupportedError("fp8 training", reason="it is not simulated")
    if kind not in ("decoder", "bert", "mlm", "embed"):
        fields.pop("attention", None)
        if filled.get("method") == "lora" and spec.name in denoisers():
            fields |= {"precision": "pure-bf16", "autocast": True,
                       "lora_targets": ("to_q", "to_k", "to_v", "to_out.0")}  # fmt: skip
    return SimulationRequest(model=spec.name, kind=kind, config=hf_config(spec), **fields)


_PLAIN = ("sft", "pretrain", "None")
_OBJECTIVES = {
    "bert": (*_PLAIN, "classify"), "mlm": (*_PLAIN, "mlm"), "embed": (*_PLAIN, "contrastive"),
}  # fmt: skip
_LEFT_OUT = (
    "fused_ce", "torch_compile", "activation_offload", "optimizer_in_backward", "packed",
    "modules_to_save", "sequence_parallel", "vllm_colocated",
)  # fmt: skip
_SPLITS = ("tensor_parallel_size", "pipeline_parallel_size", "context_parallel_size",
           "expert_parallel_size")  # fmt: skip
_OWN_KERNELS = ("unsloth",)


def _refuse_what_is_left_out(filled: dict[str, Any], kind: str) -> None:
    """Refuses a training run of which the simulated step would be another run.

    Raises:
        UnsupportedError: Names the setting.
    """
    objective = str(filled.get("objective"))
    if objective not in _OBJECTIVES.get(kind, _PLAIN):
        raise UnsupportedError(f"simulating {objective}", reason="that objective is not simulated")
    named = next((name for name in _LEFT_OUT if filled.get(name)), None)
    named = named or next((name for name in _SPLITS if int(filled.get(name) or 1) > 1), None)
    if named is None and str(filled.get("framework")).casefold() in _OWN_KERNELS:
        named = str(filled["framework"])
    if named is not None:
        raise UnsupportedError(f"simulating {named}", reason="it is not simulated")


def _cards(workload: TrainingWorkload, filled: dict[str, Any]) -> dict[str, Any]:
    """Number of cards and what they share."""
    cards = workload.gpu_count or 1
    word = filled.get("parallelism")
    offload = bool(workload.cpu_offload or workload.offload)
    sharding = sharding_word(None if word is None else str(word), cards, offload=offload)
    return {"world_size": cards, "sharding": sharding}


def _said(workload: Workload) -> dict[str, Any]:
    values = {f.name: getattr(workload, f.name) for f in dataclasses.fields(workload)}
    return {name: value for name, value in values.items() if value is not None}


def simulate_workload(
    workload: Workload, *, limits: Limits | None = None, progress: Progress | None = None
) -> Simulation:
    """Peak of one real step of a workload on one card.

    Raises:
        MissingExtraError: If torch, transformers or peft is not installed.
        UnsupportedError: If it is not simulated, fails, or reaches a limit.
    """
    return simulate(request_of(workload), limits=limits, progress=progress)
