"""find_model and find_gpu: what a written name stands for, and the row's facts."""

from __future__ import annotations

import re
from typing import Any

from pydantic import Field

from agent.answer import FigureOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Row, Tool, description_of
from agent.toolbox.resolve import resolve_card, resolve_model
from tools.errors import UserInputError
from tools.gpus import GpuSpec
from tools.models import ModelSpec


class ModelArguments(Arguments):
    """A model to look up."""

    name: str | None = Field(None, description="Name in any spelling / 模型名")
    params_b: float | None = Field(None, gt=0, description="Nominal size in billions")


class ModelReport(Report):
    """Facts of one model."""

    name: str
    kind: str
    params: int
    params_active: int | None
    layers: int | None
    hidden_size: int | None
    attention_heads: int | None
    kv_heads: int | None
    head_dim: int | None
    vocab_size: int | None
    max_tokens: int | None
    kv_elems_per_token: int | None
    dtype: str | None
    quantization: str | None
    is_reference: bool
    notes: tuple[str, ...]
    source: str

    def summary(self) -> str:
        """Name and size."""
        return f"{self.name}: {self.params / 1e9:.3g}B params"


def build_find_model(settings: Settings) -> Tool[ModelArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="find_model",
        description=description_of("find_model"),
        arguments=ModelArguments,
        report=ModelReport,
        function=find_model,
    )


def find_model(arguments: ModelArguments) -> ModelReport:
    """Looks a model up.

    Raises:
        UnknownModelError, AmbiguousModelError: With the candidates.
    """
    found = resolve_model(arguments.name, arguments.params_b)
    spec = found.spec
    return ModelReport(
        figures=_model_figures(spec),
        name=spec.name,
        kind=spec.kind,
        params=spec.params_total,
        params_active=spec.params_active if spec.is_moe else None,
        layers=spec.num_hidden_layers,
        hidden_size=spec.hidden_size,
        attention_heads=spec.num_attention_heads,
        kv_heads=spec.num_key_value_heads,
        head_dim=spec.head_dim,
        vocab_size=spec.vocab_size,
        max_tokens=spec.max_position_embeddings,
        kv_elems_per_token=spec.kv_elems_per_token,
        dtype=spec.dtype,
        quantization=found.quantization,
        is_reference=spec.is_reference,
        notes=found.notes,
        source=spec.source.id,
    )


def _model_figures(spec: ModelSpec) -> tuple[FigureOut, ...]:
    counts: dict[str, int | None] = {
        "params": spec.params_total,
        "params_active": spec.params_active,
        "layers": spec.num_hidden_layers,
        "attention_heads": spec.num_attention_heads,
        "kv_heads": spec.num_key_value_heads,
        "max_tokens": spec.max_position_embeddings,
    }
    return tuple(
        FigureOut(name=name, value=value, unit="1", sources=(spec.source.id,))
        for name, value in counts.items()
        if value is not None
    )


class GpuArguments(Arguments):
    """A card to look up."""

    name: str = Field(description="Card in any spelling / 显卡,任意写法")
    memory_gb: float | None = Field(None, gt=0, description="Size written beside it, GB")


class VariantOut(Row):
    """Another card that the bare name may mean."""

    name: str
    usable_bytes: int


class GpuReport(Report):
    """Facts of one card; null = not known."""

    name: str
    vendor: str | None
    architecture: str | None
    compute_capability: float | None
    memory_label_gb: float | None
    memory_smi_mib: int | None
    memory_usable_mib: int | None
    slice_memory_gb: float | None
    usable_bytes: int | None
    mem_bandwidth_gbs: float | None
    fp32_tflops: float | None
    bf16_tflops: float | None
    fp16_tflops: float | None
    fp8_tflops: float | None
    int8_tops: float | None
    bf16_supported: bool | None
    fp8_supported: bool | None
    flash_attention2_supported: bool | None
    nvlink: bool | None
    nvlink_total_gbs: float | None
    mig: bool | None
    tdp_w: float | None
    is_unified: bool
    variants: tuple[VariantOut, ...]
    notes: tuple[str, ...]
    source: str

    def summary(self) -> str:
        """Name and memory."""
        return f"{self.name}: {self.memory_label_gb or 0:g} GB, usable {self.memory_usable_mib} MiB"


def build_find_gpu(settings: Settings) -> Tool[GpuArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="find_gpu",
        description=description_of("find_gpu"),
        arguments=GpuArguments,
        report=GpuReport,
        function=find_gpu,
    )


def find_gpu(arguments: GpuArguments) -> GpuReport:
    """Looks a card up.

    Raises:
        UnknownGpuError, AmbiguousGpuError: With the candidates.
    """
    card = resolve_card(arguments.name, memory_gb=arguments.memory_gb)
    assert card is not None
    spec = card.spec
    return GpuReport(
        figures=_gpu_figures(spec, card.usable_bytes)
        + tuple(
            FigureOut(
                name=f"{v.name}: memory_usable",
                value=v.usable_bytes,
                unit="B",
                sources=("data:gpus.csv",),
            )
            for v in _variants(spec)
        ),
        name=spec.name,
        vendor=spec.vendor,
        architecture=spec.architecture,
        compute_capability=spec.compute_capability,
        memory_label_gb=spec.memory_label_gb,
        memory_smi_mib=spec.memory_smi_mib,
        memory_usable_mib=spec.memory_usable_mib,
        slice_memory_gb=card.slice_memory_gb,
        usable_bytes=card.usable_bytes,
        mem_bandwidth_gbs=spec.mem_bandwidth_gbs,
        fp32_tflops=spec.fp32_tflops,
        bf16_tflops=spec.bf16_dense,
        fp16_tflops=spec.fp16_tensor_dense,
        fp8_tflops=spec.fp8_dense,
        int8_tops=spec.int8_dense,
        bf16_supported=spec.bf16_supported,
        fp8_supported=spec.fp8_supported,
        flash_attention2_supported=spec.flash_attention2_supported,
        nvlink=spec.nvlink,
        nvlink_total_gbs=spec.nvlink_total_gbs,
        mig=spec.mig,
        tdp_w=spec.tdp_w,
        is_unified=spec.is_unified,
        variants=_variants(spec),
        notes=tuple(note for note in (*card.notes, spec.notes) if note),
        source=spec.source.id,
    )


def _variants(spec: GpuSpec) -> tuple[VariantOut, ...]:
    """Rows of the same card with another memory size."""
    from tools.gpus import find_gpu as find

    bare = re.search(r"[A-Za-z]+\d+[A-Za-z]*", spec.name)
    if bare is None:
        return ()
    try:
        match = find(bare[0])
    except UserInputError:
        return ()
    rows = {row.name: row for row in (match.spec, *match.also)}
    if spec.name not in rows:
        return ()
    seen = {spec.usable_bytes}
    variants = []
    for row in rows.values():
        if row.usable_bytes is not None and row.usable_bytes not in seen:
            seen.add(row.usable_bytes)
            variants.append(VariantOut(name=row.name, usable_bytes=row.usable_bytes))
    return tuple(variants)


def _gpu_figures(spec: GpuSpec, usable_bytes: int | None) -> tuple[FigureOut, ...]:
    rows: tuple[tuple[str, Any, str], ...] = (
        ("memory_label", spec.memory_label_gb, "GB"),
        ("memory_smi", spec.memory_smi_mib, "MiB"),
        ("memory_usable", usable_bytes, "B"),
        ("memory_bandwidth", spec.mem_bandwidth_gbs, "GB/s"),
        ("fp32", spec.fp32_tflops, "TFLOPS"),
        ("bf16", spec.bf16_dense, "TFLOPS"),
        ("fp16", spec.fp16_tensor_dense, "TFLOPS"),
        ("fp8", spec.fp8_dense, "TFLOPS"),
        ("nvlink", spec.nvlink_total_gbs, "GB/s"),
        ("tdp", spec.tdp_w, "W"),
        ("compute_capability", spec.compute_capability, "1"),
    )
    return tuple(
        FigureOut(name=f"{spec.name}: {name}", value=value, unit=unit, sources=(spec.source.id,))
        for name, value, unit in rows
        if value is not None
    )
