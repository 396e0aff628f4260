"""estimate_memory: what a run needs on one card, whether it fits, and what would make it fit."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, NamedTuple

from pydantic import Field

from agent.answer import AssumptionOut, FigureOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Row, Tool, description_of, figure_out
from agent.toolbox.resolve import ResolvedCard, ResolvedModel, resolve_card, resolve_model
from agent.toolbox.workloads import usual_for_kind, workload_of
from tools.units import format_gib


class MemoryArguments(Arguments):
    """A training or serving run; what is left out is assumed and reported."""

    model: str | None = Field(None, description="Model name in any spelling / 模型名,任意写法")
    params_b: float | None = Field(
        None, gt=0, description="Size in billions when no model is named / 参数量(十亿)"
    )
    task: Literal["train", "infer"] = Field("train", description="train 训练微调, infer 推理部署")
    method: str | None = Field(
        None,
        description="full, lora or qlora, with an objective in front: dpo+lora, grpo+qlora, ppo",
    )
    precision: str | None = Field(None, description="fp32, fp16, bf16")
    precision_mode: Literal["pure", "mixed"] | None = Field(
        None, description="pure: nothing in fp32; mixed: fp32 master weights / 纯半精度或混合精度"
    )
    quantization: str | None = Field(None, description="int4, awq, gptq, nf4, fp8, q4_k_m ...")
    kv_cache_dtype: str | None = Field(None, description="fp16, fp8, q8_0 ...")
    optimizer: str | None = Field(None, description="adamw, adamw-8bit, adafactor, sgd ...")
    lora_rank: int | None = Field(None, ge=1)
    served_loras: int | None = Field(None, ge=1, description="Adapters a server holds")
    lora_targets: tuple[str, ...] | None = Field(None, description="Module names, or all-linear")
    batch: int | None = Field(None, ge=1, description="Sequences per card and step / 每卡批大小")
    documents: int | None = Field(
        None, ge=1, description="Contrastive: documents a query brings / 每条 query 的文档数"
    )
    grad_accum: int | None = Field(None, ge=1)
    gradient_checkpointing: Literal["none", "full", "selective"] | None = None
    attention: Literal["eager", "sdpa", "flash"] | None = None
    seq_len: int | None = Field(None, ge=1, description="Tokens per sequence / 上下文长度")
    output_len: int | None = Field(None, ge=1)
    concurrency: int | None = Field(None, ge=1, description="Sequences served at a time / 并发")
    gpu_memory_utilization: float | None = Field(
        None, gt=0, le=1, description="Share of the card a serving engine may take / 显存占用上限"
    )
    gpu_layers: int | None = Field(None, ge=0, description="llama.cpp: layers on the card (-ngl)")
    images: int | None = Field(
        None, ge=1, description="Images per sample of a vision-language model / 每条样本的图片数"
    )
    img_size: int | None = Field(None, ge=1, description="Pixels per side of an image")
    clip_s: float | None = Field(None, gt=0, description="Seconds of audio a sample / 每条音频秒数")
    frames: int | None = Field(None, ge=1, description="Frames of a video / 视频帧数")
    beams: int | None = Field(None, ge=1, description="Hypotheses of an encoder-decoder / 束宽")
    pipeline_offload: Literal["model", "sequential"] | None = Field(
        None, description="Diffusion: one model, or one layer, on the card at a time"
    )
    blocks_to_swap: int | None = Field(
        None, ge=0, description="Diffusion LoRA: blocks kept in host memory / 换出到内存的层数"
    )
    vae_slicing: bool | None = Field(None, description="Decode the images one after the other")
    vae_tiling: bool | None = Field(None, description="Decode an image tile by tile")
    framework: str | None = Field(None, description="vllm, ollama, llamafactory, unsloth ...")
    gpu: str | None = Field(None, description="Card in any spelling / 显卡,任意写法")
    gpu_mem_gb: float | None = Field(None, gt=0, description="Memory when no card is named, GB")
    gpu_count: int | None = Field(None, ge=1)
    instance: str | None = Field(None, description="Cloud instance type whose card is meant")
    provider: str | None = None
    tp: int | None = Field(None, ge=1, description="Tensor parallel size")
    pp: int | None = Field(None, ge=1, description="Pipeline parallel size")
    zero_stage: int | None = Field(None, ge=0, le=3)
    strategy: str | None = Field(None, description="fsdp or ddp")
    offload: bool | None = Field(None, description="Parameters and states in host memory")
    fused_ce: bool | None = Field(None, description="Fused or chunked cross entropy (Liger)")
    with_changes: bool = Field(True, description="Also compute what would make it fit")


class PartOut(Row):
    """One named share of the total."""

    name: str
    bytes: int
    formula: str


class ChangeOut(Row):
    """One change, with the new figure."""

    name: str
    after_bytes: int
    saving_bytes: int
    fits: bool
    cost: str
    cost_rank: int
    """0 free, 1 time, 2 a little quality, 3 shorter or more machines, 4 another method."""


class MemoryReport(Report):
    """Memory of one card, in bytes."""

    model: str
    kind: str
    """decoder-lm, moe-lm, vlm, encoder, diffusion, ..."""
    params: int
    params_active: int | None
    is_reference: bool
    task: Literal["train", "infer"]
    method: str | None
    """full, lora or qlora; None for serving."""
    objective: str | None
    """sft, pretrain, dpo, grpo, ppo, ...; None for serving."""
    weight_format: str | None
    gpu: str | None
    gpu_count: int
    usable_bytes: int | None
    pool_bytes: int | None
    """Share of the usable memory that the engine takes at its settings; None = all of it."""
    label_gb: float | None
    slice_memory_gb: float | None
    """Memory of the slice, where what is meant is less than a whole card."""
    allocated_bytes: int
    reserved_bytes: int
    process_bytes: int
    low_bytes: int
    high_bytes: int
    weights_bytes: int
    kv_cache_bytes: int
    host_ram_bytes: int
    parts: tuple[PartOut, ...]
    verdict: Literal["fits", "tight", "does_not_fit"] | None
    headroom_bytes: int | None
    reason: str
    assumptions: tuple[AssumptionOut, ...]
    dominant_unknown: str | None
    changes: tuple[ChangeOut, ...]
    notes: tuple[str, ...]

    def summary(self) -> str:
        """Model, need, card, verdict."""
        against = f" / {format_gib(self.usable_bytes)}" if self.usable_bytes else ""
        outcome = f" -> {self.verdict}" if self.verdict else ""
        return f"{self.model}: {format_gib(self.process_bytes)}{against}{outcome}"

    def part(self, *names: str) -> int:
        """Bytes of the parts with these names."""
        return sum(part.bytes for part in self.parts if part.name in names)


def build(settings: Settings) -> Tool[MemoryArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="estimate_memory",
        description=description_of("estimate_memory"),
        arguments=MemoryArguments,
        report=MemoryReport,
        function=estimate_memory,
    )


@lru_cache(maxsize=512)
def estimate_memory(arguments: MemoryArguments) -> MemoryReport:
    """Runs the calculator for one configuration.

    Raises:
        UserInputError: Unknown names and impossible values, with what is allowed or closest.
    """
    from tools import memory

    model, card, workload, chosen = planned_run(arguments)
    estimate = memory.estimate(workload)
    usable = card.usable_bytes if card is not None else None
    fit = memory.fit(estimate, usable) if usable is not None else None
    changes = _changes(workload, card, fit) if arguments.with_changes else ()
    return _report(arguments, model, card, estimate, fit, changes, chosen)


class PlannedRun(NamedTuple):
    """What the arguments stand for."""

    model: ResolvedModel
    card: ResolvedCard | None
    workload: Any
    """The calculator's workload."""
    chosen: dict[str, Any]
    """Arguments that were not said and are usual for the card or the kind of model."""


def planned_run(arguments: MemoryArguments) -> PlannedRun:
    """The run that the arguments stand for.

    Raises:
        UserInputError: Unknown names and impossible values, with what is allowed or closest.
    """
    model = resolve_model(arguments.model, arguments.params_b)
    card = resolve_card(
        arguments.gpu,
        memory_gb=arguments.gpu_mem_gb,
        instance=arguments.instance,
        provider=arguments.provider,
    )
    chosen = _usual_for_card(arguments, card) | usual_for_kind(arguments, model)
    workload = workload_of(arguments.model_copy(update=chosen), model, card)
    return PlannedRun(model, card, workload, chosen)


def _usual_for_card(arguments: MemoryArguments, card: ResolvedCard | None) -> dict[str, Any]:
    """fp16 where a card has no bf16 and no precision was named; MLX for training on a Mac."""
    if arguments.task != "train":
        return {}
    usual = {}
    if arguments.precision is None and _lacks_bf16(card):
        usual["precision"] = "fp16"
    if arguments.framework is None and card is not None and card.spec.vendor == "Apple":
        usual["framework"] = "mlx"
    return usual


def _lacks_bf16(card: ResolvedCard | None) -> bool:
    return card is not None and card.spec.bf16_supported is False


def _changes(workload: Any, card: ResolvedCard | None, fit: Any) -> tuple[Any, ...]:
    """Ranked changes; only where the run does not fit with room to spare."""
    from tools.memory import what_to_change

    if card is None or card.usable_bytes is None or fit.verdict == "fits":
        return ()
    return tuple(what_to_change(workload, card.usable_bytes))


def _report(
    arguments: MemoryArguments,
    model: ResolvedModel,
    card: ResolvedCard | None,
    estimate: Any,
    fit: Any,
    changes: tuple[Any, ...],
    chosen: dict[str, Any],
) -> MemoryReport:
    return MemoryReport(
        figures=_figures(estimate),
        **_what_runs(arguments, model, estimate, card),
        **_sizes(estimate),
        **_against(card, fit, estimate),
        assumptions=_assumptions(estimate, chosen, card),
        dominant_unknown=estimate.dominant_unknown,
        changes=tuple(
            ChangeOut(
                name=c.name,
                after_bytes=c.after_bytes,
                saving_bytes=c.saving_bytes,
                fits=c.fits,
                cost=c.cost,
                cost_rank=c.cost_rank,
            )
            for c in changes
        ),
        notes=(*model.notes, *(card.notes if card is not None else ()), *estimate.notes),
    )


def _figures(estimate: Any) -> tuple[FigureOut, ...]:
    bounds = {
        "weights_resident": estimate.weights_bytes,
        "process_low": estimate.low_bytes,
        "process_high": estimate.high_bytes,
    }
    return tuple(figure_out(figure) for figure in estimate.figures()) + tuple(
        FigureOut(name=name, value=size, unit="B", formula="process bounds")
        for name, size in bounds.items()
    )


def _what_runs(
    arguments: MemoryArguments, model: ResolvedModel, estimate: Any, card: ResolvedCard | None
) -> dict[str, Any]:
    """Fields that name the run."""
    workload, spec = estimate.workload, model.spec
    held = {a.name: a.value for a in estimate.assumptions}
    said: dict[str, Any] = {
        "model": spec.name,
        "kind": spec.kind,
        "params": spec.params_total,
        "params_active": spec.params_active if spec.is_moe else None,
        "is_reference": spec.is_reference,
        "task": arguments.task,
        "gpu_count": estimate.gpu_count,
    }
    if arguments.task == "train":
        method = workload.method or str(held.get("method", "full"))
        objective = workload.objective or "sft"
        return said | {"method": method, "objective": objective, "weight_format": None}
    form = str(workload.weight_format or held.get("weight_format") or "bf16")
    if form == "bf16" and arguments.precision is None and _lacks_bf16(card):
        form = "fp16"
    return said | {"method": None, "objective": None, "weight_format": form}


def _sizes(estimate: Any) -> dict[str, Any]:
    """Fields of sizes, in bytes."""
    names = (
        "allocated_bytes", "reserved_bytes", "process_bytes", "low_bytes", "high_bytes",
        "weights_bytes", "kv_cache_bytes", "host_ram_bytes",
    )  # fmt: skip
    parts = tuple(PartOut(name=p.name, bytes=p.bytes, formula=p.formula) for p in estimate.parts)
    return {name: getattr(estimate, name) for name in names} | {"parts": parts}


def _against(card: ResolvedCard | None, fit: Any, estimate: Any) -> dict[str, Any]:
    """Fields of the card and of the verdict."""
    from tools.memory import likely_verdict

    usable = card.usable_bytes if card is not None else None
    return {
        "gpu": card.spec.name if card is not None else None,
        "label_gb": card.spec.memory_label_gb if card is not None else None,
        "slice_memory_gb": card.slice_memory_gb if card is not None else None,
        "usable_bytes": usable,
        "pool_bytes": fit.usable_bytes if fit is not None and fit.usable_bytes != usable else None,
        "verdict": likely_verdict(estimate, usable) if usable is not None else None,
        "headroom_bytes": usable - estimate.process_bytes if usable is not None else None,
        "reason": fit.reason if fit is not None else "",
    }


def _assumptions(
    estimate: Any, chosen: dict[str, Any], card: ResolvedCard | None
) -> tuple[AssumptionOut, ...]:
    """What was assumed; 16-bit weights are fp16 on a card without bf16."""

    def value(a: Any) -> Any:
        is_wide = a.name in ("weight_format", "kv_dtype") and a.value == "bf16"
        return "fp16" if is_wide and _lacks_bf16(card) else a.value

    return tuple(
        AssumptionOut(name=a.name, value=value(a), unit=a.unit, why=a.why)
        for a in estimate.assumptions
    ) + tuple(
        AssumptionOut(name=name, value=value, unit="1", why="usual for models of this kind")
        for name, value in chosen.items()
    )
