"""Rows of measured or simulated runs: from a row's fields to a workload, and to the answer line.

A field that a row leaves null stays unsaid, so the calculator assumes and reports it.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from tools.errors import AdvisorError, AmbiguousModelError, UnknownModelError, UnsupportedError
from tools.gpus import GpuSpec, find_gpu, memory_class
from tools.memory.case_words import (
    attention_word,
    engine_word,
    format_word,
    framework_word,
    kv_word,
    optimizer_word,
    parallelism_word,
    precision_word,
    quantization_word,
    targets_word,
)
from tools.memory.estimator import estimate
from tools.memory.fitting import fit
from tools.memory.result import MemoryEstimate
from tools.memory.workload import (
    InferenceWorkload,
    Objective,
    TrainingWorkload,
    Workload,
    split_method,
)
from tools.models import ModelSpec, find_model, get_model, reference_model
from tools.units import bytes_from_gb, bytes_from_gib, bytes_from_mib

Row = Mapping[str, Any]
_COMMON_SIZE = 7_000_000_000
"""Parameters of the commonest size: which row stands for a family named without one."""
_SMI_TO_USABLE_MIB = 460
"""What nvidia-smi counts and a process cannot get, on current drivers."""


class CaseModel(NamedTuple):
    """The model of a row, with the weight format that its name carries."""

    spec: ModelSpec
    quantization: str | None
    is_reference: bool


_KIND_OBJECTIVES: dict[str, Objective] = {
    "bert": "classify", "mlm": "mlm", "embed": "contrastive",
}  # fmt: skip


def case_model(row: Row) -> CaseModel:
    """The model a row names; a nominal size stands in for a name that is not registered.

    Raises:
        UnknownModelError: If the name is not known and the row gives no size.
    """
    name = str(row.get("model") or "")
    params_b = row.get("params_b")
    try:
        match = find_model(name)
    except AmbiguousModelError as error:
        if not params_b:
            rows = map(get_model, error.candidates)
            nearest = min(rows, key=lambda spec: abs(spec.params_total - _COMMON_SIZE))
            return CaseModel(nearest, None, True)
        return CaseModel(reference_model(float(params_b)), None, True)
    except UnknownModelError:
        if not params_b:
            raise
        return CaseModel(reference_model(float(params_b)), None, True)
    return CaseModel(match.spec, match.quantization, False)


def training_case(row: Row) -> TrainingWorkload:
    """The training workload of a row."""
    extra: Row = row.get("extra") or {}
    simulated = _is_simulated(row)
    return TrainingWorkload(
        case_model(row).spec,
        **_sample_fields(row),
        **_number_fields(row, simulated=simulated),
        **_adapter_fields(row),
        **_text_fields(row),
        **_loop_fields(row, simulated=simulated),
        gpu=case_gpu(row),
        gpu_count=row.get("num_gpus"),
        parallelism=parallelism_word(row.get("parallelism")),
        sequence_parallel=extra.get("sequence_parallel"),
        cpu_offload=row.get("cpu_offload"),
        offload=extra.get("offload"),
    )


def _is_simulated(row: Row) -> bool:
    """Whether a row's truth is a simulated step: torch's CPU build made it."""
    return "+cpu" in str((row.get("versions") or {}).get("torch", ""))


def _number_fields(row: Row, *, simulated: bool) -> dict[str, Any]:
    """Formats of weights and states, and the optimizer."""
    extra: Row = row.get("extra") or {}
    precision = row.get("precision")
    autocast = extra.get("autocast")
    if simulated:
        autocast = bool(autocast) or precision in ("bf16-mixed", "fp16-mixed")
    return {
        "precision": precision_word(precision),
        "autocast": autocast,
        "weights_dtype": extra.get("weights_dtype"),
        "quantization": quantization_word(row.get("quantization")),
        "double_quant": extra.get("double_quant"),
        "quant_storage": extra.get("quant_storage"),
        "kbit_prepared": extra.get("kbit_prepared"),
        "lm_head_quantized": extra.get("lm_head_quantized"),
        "keeps_quantized_inputs": bool(extra.get("bitsandbytes")) or None,
        "optimizer": optimizer_word(row.get("optimizer")),
        "optimizer_impl": row.get("optimizer_impl") or extra.get("optimizer_impl"),
        "optimizer_in_backward": extra.get("optimizer_in_backward")
        or extra.get("per_layer_update"),
        "galore_rank": extra.get("galore_rank"),
    }


def _adapter_fields(row: Row) -> dict[str, Any]:
    """What is trained and to what end."""
    extra: Row = row.get("extra") or {}
    goal = split_method(str(row.get("method") or "full"))
    method = goal.method
    if method is None:
        is_lora = "lora" in str(extra.get("trainable") or "") or row.get("lora_rank")
        method = "lora" if is_lora else "full"
    saved = extra.get("modules_to_save")
    return {
        "method": method,
        "objective": _KIND_OBJECTIVES.get(str(row.get("kind")), goal.objective),
        "lora_rank": row.get("lora_rank"),
        "lora_targets": targets_word(row.get("lora_targets")),
        "lora_dropout": row.get("lora_dropout") or extra.get("lora_dropout"),
        "adapter_dtype": extra.get("adapter_dtype"),
        "modules_to_save": tuple(saved) if saved else None,
        "reference_model": "copy" in str(extra.get("ref_model") or "") or None,
    }


def _text_fields(row: Row) -> dict[str, Any]:
    """Sequences and how they are filled."""
    extra: Row = row.get("extra") or {}
    return {
        "micro_batch_size": row.get("micro_batch_size"),
        "seq_len": row.get("seq_len"),
        "seq_len_is_cap": extra.get("seq_len_is_cap"),
        "variable_length": extra.get("variable_length"),
        "packed": row.get("packed"),
        "padding_mask": extra.get("padding_mask"),
        "response_len": extra.get("response_length"),
        "max_prompt_len": extra.get("longest_prompt") or extra.get("max_prompt_length"),
        "completion_len": extra.get("max_completion_length"),
    }


def _loop_fields(row: Row, *, simulated: bool) -> dict[str, Any]:
    """The program and what its loop keeps, recomputes and frees."""
    extra: Row = row.get("extra") or {}
    accumulation = extra.get("gradient_accumulation")
    framework = framework_word(extra.get("framework"))
    return {
        "latents_cached": simulated or bool(extra.get("cached_latents")) or None,
        "text_cached": simulated or bool(extra.get("cached_text_embeddings")) or None,
        "framework": framework or ("plain loop" if simulated else None),
        "torch_build": "cpu" if simulated else None,
        "attention": attention_word(row.get("attention")),
        "gradient_accumulation": 2 if accumulation is True else accumulation,
        "gradients_kept_across_steps": extra.get("gradients_kept_across_steps"),
        "gradient_checkpointing": row.get("gradient_checkpointing"),
        "activation_offload": extra.get("activation_offload"),
        "fused_ce": row.get("fused_ce"),
        "logits_held_through_backward": extra.get("logits_held_through_backward"),
        "logits_fp32": extra.get("logits_fp32"),
        "logits_shift_copy": extra.get("logits_shift_copy"),
        "gqa_kv_expanded": extra.get("gqa_kv_expanded"),
        "torch_compile": extra.get("torch_compile"),
        "vllm_colocated": extra.get("vllm_colocated"),
    }


def inference_case(row: Row) -> InferenceWorkload:
    """The serving workload of a row."""
    extra: Row = row.get("extra") or {}
    model = case_model(row)
    offload = extra.get("cpu_offload_gb")
    cache = str(extra.get("kv_cache") or "")
    simulated = _is_simulated(row)
    at_load = "(load)" in str(row.get("what_measured") or "") and row.get("context_len") is None
    return InferenceWorkload(
        model.spec,
        **_sample_fields(row),
        pipeline=False if simulated else None,
        gpu=case_gpu(row),
        gpu_total_bytes=_card_total(extra),
        gpu_count=row.get("num_gpus"),
        attention=attention_word(row.get("attention")),
        torch_build="cpu" if simulated else None,
        engine=engine_word(row.get("engine")) or ("transformers" if simulated else None),
        engine_version=row.get("engine_version"),
        weight_format=format_word(row.get("weight_format") or model.quantization) or _dtype(row),
        batch=row.get("batch") or row.get("micro_batch_size"),
        prompt_len=1 if at_load else row.get("prompt_len") or row.get("seq_len"),
        generated_len=row.get("generated_len"),
        context_len=1
        if at_load
        else row.get("prompt_len" if simulated else "context_len") or row.get("seq_len"),
        kv_dtype=kv_word(row.get("kv_dtype")),
        kv_cache_kind="legacy" if cache.startswith("legacy") else None,
        logits=row.get("logits"),
        gpu_memory_utilization=extra.get("gpu_memory_utilization"),
        mem_fraction_static=extra.get("mem_fraction_static"),
        cpu_offload_bytes=None if offload is None else bytes_from_gib(offload),
        kv_tokens=extra.get("kv_tokens"),
        includes_context=extra.get("includes_cuda_context"),
    )


def _sample_fields(row: Row) -> dict[str, Any]:
    """Image, video and audio sizes of a row, under the names that publishers give them."""
    extra: Row = row.get("extra") or {}
    side = row.get("image_px") or extra.get("image_size") or extra.get("resolution")
    side = side or extra.get("crop")
    height, width = extra.get("height"), extra.get("width")
    written = re.match(r"(\d+)x(\d+)", str(extra.get("image") or ""))
    if written:
        height, width = int(written[1]), int(written[2])
    elif extra.get("image_short_side"):  # the longer side is capped, the shorter one drawn
        low_high = [int(v) for v in re.findall(r"\d+", str(extra["image_short_side"]))]
        height = sum(low_high) // len(low_high)
        width = extra.get("image_long_side_max")
    return {
        "image_px": side,
        "image_height": height,
        "image_width": width,
        "frames": extra.get("frames"),
        "audio_samples": row.get("audio_samples"),
        "target_len": row.get("target_len"),
    }


def _dtype(row: Row) -> str | None:
    """Weight format of a forward that names only its precision."""
    precision = row.get("precision")
    if precision is None or row.get("quantization") not in (None, "none"):
        return None
    return "bf16" if precision in ("pure-bf16", "pure-fp16") else "fp32"


def case_workload(row: Row) -> Workload:
    """The workload of a row of any of the files."""
    if row.get("task") == "infer" or ("engine" in row and row.get("task") != "train"):
        return inference_case(row)
    return training_case(row)


def case_gpu(row: Row) -> GpuSpec | None:
    """The card of a row, by name or by the size on its box; None when it is not known."""
    name = row.get("gpu")
    try:
        if name:
            return find_gpu(str(name)).spec
        if row.get("gpu_mem_gb"):
            return memory_class(float(row["gpu_mem_gb"]))
    except AdvisorError:
        return None
    return None


def _card_total(extra: Row) -> int | None:
    if extra.get("torch_total_gib"):
        return bytes_from_gib(float(extra["torch_total_gib"]))
    if extra.get("smi_total_mib"):
        return bytes_from_mib(int(extra["smi_total_mib"]) - _SMI_TO_USABLE_MIB)
    return None


def case_usable_bytes(row: Row) -> int | None:
    """Memory that a process can get on the row's card, in bytes."""
    total = _card_total(row.get("extra") or {})
    if total is not None:
        return total
    gpu = case_gpu(row)
    if gpu is None:
        return None
    return gpu.usable_bytes or (bytes_from_gb(gpu.memory_label_gb) if gpu.memory_label_gb else None)


def answer_case(row: Row) -> dict[str, Any]:
    """The answer line of a row: contract of `python -m tools estimate --cases`."""
    started = time.perf_counter()
    answer: dict[str, Any] = {"id": row.get("id"), "status": "ok", "reason": None}
    try:
        need = estimate(case_workload(row))
    except UnsupportedError as error:
        answer |= {"status": "unsupported", "reason": str(error)}
    except AdvisorError as error:
        answer |= {"status": "invalid", "reason": str(error)}
    else:
        answer |= _figures(row, need)
    answer["elapsed_ms"] = round((time.perf_counter() - started) * 1000, 3)
    return answer


def _figures(row: Row, need: MemoryEstimate) -> dict[str, Any]:
    bounds = need.interval_for(str(row.get("counter") or "allocated"))
    usable = case_usable_bytes(row)
    return {
        "allocated_bytes": need.allocated_bytes,
        "reserved_bytes": need.reserved_bytes,
        "process_bytes": _process_bytes(row, need, usable),
        "low_bytes": bounds.low_bytes,
        "high_bytes": bounds.high_bytes,
        "scope": need.scope,
        "kv_cache_bytes": need.kv_cache_bytes,
        "weights_bytes": need.weights_bytes,
        "host_ram_bytes": need.host_ram_bytes,
        "verdict": None if usable is None else fit(need, usable).verdict,
        "assumptions": [
            {"name": a.name, "value": a.value, "unit": a.unit, "why": a.why}
            for a in need.assumptions
        ],
        "parts": {part.name: part.bytes for part in need.parts},
        "peak_moment": need.peak_moment,
        "notes": list(need.notes),
    }


def _process_bytes(row: Row, need: MemoryEstimate, usable: int | None) -> int:
    """What nvidia-smi shows: a server with a pool shows the pool, not what it needs."""
    if row.get("counter") != "process" or need.pool_share is None or usable is None:
        return need.process_bytes
    return max(need.process_bytes, math.floor(usable * need.pool_share))
