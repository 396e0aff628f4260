"""Hours and speed of a workload on the machines of an offer, through tools.speed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools.catalog.constraints import GpuNeed, HoursInterval, Work
from tools.catalog.query import has_nvlink
from tools.errors import UserInputError

if TYPE_CHECKING:
    from tools.catalog.fitting import PlainNeed
    from tools.catalog.offer import InstanceOffer
    from tools.memory import InferenceWorkload, TrainingWorkload
    from tools.speed.workload import ServingJob, TrainingJob

SETUP_HOURS = 0.5
"""Paid time before a computed job starts: image, model and data; assumed."""
_FROZEN_BASE = ("lora", "dora", "freeze")


@dataclass
class Clock:
    """Speed of one workload on an offer; each card and layout once."""

    workload: TrainingWorkload | InferenceWorkload | PlainNeed
    work: Work | None
    _rates: dict[tuple[str | None, int, str | None, bool | None], HoursInterval | None] = field(
        default_factory=dict
    )

    @property
    def setup_hours(self) -> float:
        """Paid hours before a computed job starts; none where the reader gave the hours."""
        return SETUP_HOURS if self.work is not None and self.work.hours is None else 0.0

    def rate(self, offer: InstanceOffer, need: GpuNeed) -> HoursInterval | None:
        """Tokens per second: of all GPUs in training, of one stream in serving; None = unknown.

        A slice is sure of its share of the card; while the others rest it may get more.
        """
        if offer.gpu_name is None or offer.gpu_count is None:
            return None
        link = has_nvlink(offer)
        gpus = need.gpus_used if need.gpus_used > 1 else offer.gpu_count
        key = (offer.gpu_name, gpus, need.parallelism, link)
        if key not in self._rates:
            self._rates[key] = self._computed(offer.gpu_name, gpus, need.parallelism, link)
        rate, share = self._rates[key], float(offer.gpu_fraction or 1)
        if rate is None or share == 1:
            return rate
        return HoursInterval(rate.value * share, rate.low * share, rate.high)

    def hours(self, offer: InstanceOffer, need: GpuNeed) -> HoursInterval | None:
        """Hours of the work on an offer; None where nothing says how much there is to do."""
        if self.work is None:
            return None
        if self.work.hours is not None:
            return HoursInterval(self.work.hours, self.work.hours, self.work.hours)
        tokens = self.work.total_tokens
        rate = self.rate(offer, need) if tokens is not None else None
        if tokens is None or rate is None:
            return None
        return HoursInterval(
            *(tokens / value / 3600 for value in (rate.value, rate.high, rate.low))
        )

    def _computed(
        self, gpu: str, gpus: int, parallelism: str | None, nvlink: bool | None
    ) -> HoursInterval | None:
        from tools.memory import InferenceWorkload, TrainingWorkload

        if getattr(getattr(self.workload, "model", None), "kind", None) in _NO_TOKENS:
            return None
        try:
            if isinstance(self.workload, TrainingWorkload):
                return _training(training_job(self.workload, gpu, gpus, parallelism, nvlink))
            if isinstance(self.workload, InferenceWorkload):
                return _serving(serving_job(self.workload, gpu, gpus, parallelism, nvlink))
        except UserInputError:
            return None
        return None


_NO_TOKENS = frozenset({"dit", "diffusion-unet", "cnn", "vit", "detector", "segmentation"})
"""Kinds of models that read and write no text: they have no tokens a second."""


def _training(job: TrainingJob) -> HoursInterval:
    from tools.speed import training_speed

    found = training_speed(job).tokens_per_s
    return HoursInterval(found.value, found.low, found.high)


def _serving(job: ServingJob) -> HoursInterval:
    from tools.speed import serving_speed

    found = serving_speed(job).decode_tokens_per_s
    return HoursInterval(found.value, found.low, found.high)


def training_job(
    workload: TrainingWorkload,
    gpu: str,
    gpus: int,
    parallelism: str | None,
    nvlink: bool | None,
) -> TrainingJob:
    """A memory workload as a job of tools.speed."""
    from tools.speed.workload import Layout, TrainingJob, parse_layout

    method = workload.method or "full"
    layout = parse_layout(parallelism, num_gpus=gpus) if parallelism else Layout()
    model, params_b = _named(workload)
    return TrainingJob(
        gpu=gpu,
        model=model,
        params_b=params_b,
        method="qlora" if method == "qlora" else "lora" if method in _FROZEN_BASE else "full",
        precision=workload.precision,
        quantization=workload.quantization,
        num_gpus=gpus,
        layout=layout,
        interconnect=_link(nvlink),
        micro_batch=workload.micro_batch_size,
        grad_accum=workload.gradient_accumulation,
        seq_len=workload.seq_len,
        checkpointing=workload.gradient_checkpointing,
        flash=None if workload.attention is None else workload.attention == "flash",
    )


def serving_job(
    workload: InferenceWorkload,
    gpu: str,
    gpus: int,
    parallelism: str | None,
    nvlink: bool | None,
) -> ServingJob:
    """A memory workload as a serving setup of tools.speed: one replica."""
    from tools.speed.workload import ServingJob

    replicas = 1 if parallelism else gpus
    streams = workload.concurrency or workload.batch or 1
    model, params_b = _named(workload)
    return ServingJob(
        gpu=gpu,
        model=model,
        params_b=params_b,
        engine=workload.engine,
        weight_format=workload.weight_format,
        num_gpus=gpus // replicas,
        interconnect=_link(nvlink),
        concurrency=max(1, -(-streams // replicas)),
        prompt_len=workload.prompt_len or workload.context_len,
        output_len=workload.generated_len or None,
    )


def _named(workload: TrainingWorkload | InferenceWorkload) -> tuple[str | None, float | None]:
    """Model by name, or by size where it stands for a nominal one."""
    spec = workload.model
    return (None, spec.params_total / 1e9) if spec.is_reference else (spec.name, None)


def _link(nvlink: bool | None) -> str | None:
    return None if nvlink is None else "nvlink" if nvlink else "pcie"
