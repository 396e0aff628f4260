"""Training of neural networks that are not language models."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tools.catalog import Recommendation, gpu_of
from tools.errors import UserInputError
from tools.placement.constants import Work, assumed, computed, given, value
from tools.placement.language import gpu_kind, gpu_reasons
from tools.placement.machines import (
    SETUP_HOURS,
    cheapest_cpu,
    cpu_flops,
    gpu_flops,
    gpu_offers,
    gpu_option,
    is_worth_a_gpu,
    plain_gpu,
)
from tools.placement.task import Kind, Option, Placement, Reason, Task
from tools.provenance import Assumption, Figure, Source
from tools.units import GIB

if TYPE_CHECKING:
    from tools.models import ModelSpec

_TRAIN_VCPU = 4
_BACKWARD = 3.0
"""Forward and backward pass over the forward pass alone."""
GPU_SHARE = 0.3
"""Share of the dense 16-bit peak that small networks reach; assumed."""
_TRAIN_BATCH = 32
_TRAIN_GPU_BYTES = 3 * GIB
"""A small network at a usual batch, with the CUDA context; assumed."""
_USUAL_SAMPLES, _USUAL_EPOCHS = 10_000, 10
"""A fine-tuning run; assumed."""
_DENOISERS = ("diffusion-unet", "dit")


def training_work(model: ModelSpec, work: Work | None) -> Work:
    """A model of the registry as work of known size a sample, on the data set that is named.

    Raises:
        UnsupportedError: If it is a diffusion model of which the work of one step is not known.
    """
    from tools.speed import image_model, speech_work

    if model.kind == "speech":
        forward = speech_work(model.name)[0]
    else:
        forward = 2 * image_model(model.name, None, model.params_total / 1e9).macs
    return Work(
        names=(model.name,),
        kind="network",
        has_gpu_code=True,
        flops_per_sample=forward,
        samples=work.samples if work else _USUAL_SAMPLES,
        epochs=work.epochs if work else _USUAL_EPOCHS,
        params=float(model.params_total),
    )


def place_training_by_memory(task: Task) -> Placement:
    """Training of a model of which the work of a step is not known: the memory alone decides."""
    found = _training_offers(task)
    note = Assumption("work", "unknown", "1", "no speed is known: the place follows the memory")
    return Placement(
        gpu_kind(found), gpu_reasons(found), None, gpu_option(found), (), (note,), found
    )


def place_network_training(task: Task, work: Work) -> Placement:
    """Training of a network whose FLOP per sample is known."""
    epochs = task.epochs or work.epochs or 1
    samples = task.samples or work.samples or 1
    flop = assumed("flop_per_sample", work.flops_per_sample or 0, "FLOP",
                   "one forward pass, computed from the layers")  # fmt: skip
    total = computed(
        "training_flop", float(flop.value) * _BACKWARD * samples * epochs, "FLOP",
        "3 * forward * samples * epochs", flop, given("samples", samples, "1"),
        given("epochs", epochs, "1"),
    )  # fmt: skip
    cpu_h, vcpu = _cpu_training_hours(task, work, total, epochs)
    cpu = cheapest_cpu(vcpu, 8 * GIB, provider=task.provider, region=task.region)
    cpu = cpu._replace(hours=float(cpu_h.value)) if cpu else None
    found = _training_offers(task)
    gpu, gpu_h = _cheapest_training(total, samples * epochs, task, found)
    limit = task.deadline_hours or value("patience_hours")
    reasons: list[Reason] = []
    kind: Kind = "cpu"
    if float(cpu_h.value) <= limit and not is_worth_a_gpu(cpu, gpu):
        reasons.append(Reason("short_on_cpu", (cpu_h,)))
    else:
        reasons.append(Reason("long_on_cpu", (cpu_h,)))
        if gpu is not None:
            kind = "vgpu_slice" if gpu.offer is not None and gpu.offer.is_slice else "one_gpu"
            if gpu_h is not None:
                reasons.append(faster_on_gpu(cpu_h, gpu_h))
    notes = [
        Assumption(name, number, "1", "a usual run")
        for name, number, said in (
            ("epochs", epochs, task.epochs), ("samples", samples, task.samples),
        )
        if not said
    ]  # fmt: skip
    return Placement(kind, tuple(reasons), cpu, gpu, (), tuple(notes), found)


def faster_on_gpu(cpu_h: Figure, gpu_h: Figure) -> Reason:
    """The time on a GPU and how many times shorter it is."""
    seconds = computed("gpu_seconds", float(gpu_h.value) * 3600, "s", "hours * 3600", gpu_h)
    ratio = float(cpu_h.value) / float(gpu_h.value)
    return Reason(
        "faster_on_gpu",
        (gpu_h, seconds, computed("speed_up", ratio, "1", "CPU time / GPU time", cpu_h, gpu_h)),
    )


def _training_offers(task: Task) -> Recommendation:
    """GPU offers that hold the training: by the calculator for a model of the registry."""
    if task.model is None:
        return plain_gpu(_TRAIN_GPU_BYTES, task)
    from tools.memory import TrainingWorkload

    method = task.method or ("lora" if task.model.kind in _DENOISERS else "full")
    return gpu_offers(TrainingWorkload(task.model, method=method), task)


def _trained_per_s(task: Task, option: Option) -> float | None:
    """Samples per second of a vision model of the registry on the first card of an option."""
    spec = gpu_of(option.offer) if option.offer is not None else None
    if task.model is None or spec is None or option.offer is None:
        return None
    if task.model.kind == "speech":
        return None
    from tools.speed import ImageJob, cached_image_speed

    try:
        speed = cached_image_speed(
            ImageJob(
                gpu=spec.name,
                model=task.model.name,
                params_b=task.model.params_total / 1e9,
                batch=1 if task.model.kind in _DENOISERS else _TRAIN_BATCH,
            )
        )
    except UserInputError:
        return None
    return speed.samples_per_s.value * float(option.offer.gpu_fraction or 1)


def _cpu_training_hours(task: Task, work: Work, total: Figure, epochs: float) -> tuple[Figure, int]:
    """Hours on a CPU: from the measured epoch where there is one, else from FLOP."""
    vcpu = task.vcpu_count or _TRAIN_VCPU
    if work.measured_cpu_s_per_epoch is not None and task.samples is None:
        epoch = Figure("measured_epoch", work.measured_cpu_s_per_epoch, "s",
                       (_measured(work),))  # fmt: skip
        hours = work.measured_cpu_s_per_epoch * epochs / 3600
        figure = computed("cpu_hours", hours, "h", "measured seconds per epoch * epochs", epoch)
        return figure, vcpu
    speed = cpu_flops(vcpu)
    if task.vcpu_count is None and float(total.value) / float(speed.value) > 3600:
        vcpu = 32
        speed = cpu_flops(vcpu)
    hours = float(total.value) / float(speed.value) / 3600
    return computed("cpu_hours", hours, "h", "FLOP / CPU FLOP/s / 3600", total, speed), vcpu


def _measured(work: Work) -> Source:
    return Source("measured:mnist-cpu", "measured", f"MNIST on {work.measured_on}")


def _cheapest_training(
    total: Figure, seen: float, task: Task, found: Recommendation
) -> tuple[Option | None, Figure | None]:
    """The GPU offer that trains for the least money, and its hours."""
    best: tuple[Option | None, Figure | None] = (None, None)
    least = math.inf
    for number in range(len(found.offers)):
        option = gpu_option(found, number=number)
        peak = gpu_flops(option)
        if option is None or peak is None or option.per_hour is None:
            continue
        rate = _trained_per_s(task, option)
        if rate is None:
            hours = float(total.value) / (float(peak.value) * GPU_SHARE) / 3600
            figure = computed("gpu_hours", hours, "h", "FLOP / (30 % of the peak) / 3600",
                              total, peak)  # fmt: skip
        else:
            hours = seen / rate / 3600
            speed = computed("gpu_images_per_s", rate, "image/s", "tools.speed.image_speed")
            figure = computed("gpu_hours", hours, "h", "images * epochs / rate / 3600", speed)
        if float(option.per_hour) * (hours + SETUP_HOURS) < least:
            least = float(option.per_hour) * (hours + SETUP_HOURS)
            best = (option._replace(hours=hours), figure)
    return best
