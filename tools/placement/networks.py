"""Neural networks that are not language models: small training jobs, and requests to a service."""

from __future__ import annotations

import math

from tools.catalog import Recommendation
from tools.placement.constants import Work, assumed, computed, constant, given, value
from tools.placement.machines import (
    MOST_VCPU_PER_REQUEST,
    cheapest_cpu,
    cpu_flops,
    gpu_flops,
    gpu_option,
    plain_gpu,
    price_figure,
    round_up_vcpus,
    vcpus_for,
)
from tools.placement.task import Kind, Option, Placement, Reason, ReasonCode, Task
from tools.provenance import Assumption, Figure, Source
from tools.units import GIB

_TRAIN_VCPU = 4
_BACKWARD = 3.0
"""Forward and backward pass over the forward pass alone."""
_GPU_SHARE = 0.3
"""Share of the dense 16-bit peak that small networks reach; assumed."""
_SETUP_HOURS = 0.25
"""Paid time before a small job starts; assumed."""
_TRAIN_GPU_BYTES = 3 * GIB
"""A small network at a usual batch, with the CUDA context; assumed."""
_DEFAULT_LATENCY_S = 1.0
_DEFAULT_RATE = 1.0
_BYTES_PER_PARAM = 4
_RAM_FACTOR = 4


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
    found = plain_gpu(_TRAIN_GPU_BYTES, task)
    gpu, gpu_h = _cheapest_training(total, found)
    limit = task.deadline_hours or value("patience_hours")
    reasons: list[Reason] = []
    kind: Kind = "cpu"
    if float(cpu_h.value) <= limit:
        reasons.append(Reason("short_on_cpu", (cpu_h,)))
    else:
        reasons.append(Reason("long_on_cpu", (cpu_h,)))
        if gpu is not None:
            kind = "vgpu_slice" if gpu.offer is not None and gpu.offer.is_slice else "one_gpu"
            reasons.append(Reason("faster_on_gpu", (gpu_h,) if gpu_h else ()))
    notes = () if task.epochs else (Assumption("epochs", epochs, "1", "a usual run"),)
    return Placement(kind, tuple(reasons), cpu, gpu, (), notes, found)


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


def _cheapest_training(total: Figure, found: Recommendation) -> tuple[Option | None, Figure | None]:
    """The GPU offer that trains for the least money, and its hours."""
    best: tuple[Option | None, Figure | None] = (None, None)
    least = math.inf
    for number in range(len(found.offers)):
        option = gpu_option(found, number=number)
        peak = gpu_flops(option)
        if option is None or peak is None or option.per_hour is None:
            continue
        hours = float(total.value) / (float(peak.value) * _GPU_SHARE) / 3600
        figure = computed("gpu_hours", hours, "h", "FLOP / (30 % of the peak) / 3600", total, peak)
        if float(option.per_hour) * (hours + _SETUP_HOURS) < least:
            least = float(option.per_hour) * (hours + _SETUP_HOURS)
            best = (option._replace(hours=hours), figure)
    return best


def _first_with(flops_per_s: float, found: Recommendation) -> Option | None:
    """The cheapest GPU offer that carries a rate of FLOP at the planned utilisation."""
    for number in range(len(found.offers)):
        option = gpu_option(found, number=number)
        peak = gpu_flops(option)
        if option is None or peak is None:
            continue
        carried = float(peak.value) * _GPU_SHARE * value("utilisation")
        if carried >= flops_per_s:
            return option
    return None


def place_requests(task: Task) -> Placement:
    """Serving of an encoder, a vision model or a small file at a request rate."""
    flop, weights, notes = _request_flop(task)
    rate = task.requests_per_s or _DEFAULT_RATE
    latency = task.latency_s or _DEFAULT_LATENCY_S
    if task.requests_per_s is None:
        notes += (Assumption("requests_per_s", rate, "1/s", "no rate was given"),)
    if task.latency_s is None:
        notes += (Assumption("latency_s", latency, "s", "no limit was given"),)
    for_rate = vcpus_for(float(flop.value) * rate)
    per_vcpu = value("cpu_gflops_per_vcpu") * 1e9
    for_latency = float(flop.value) / (per_vcpu * latency)
    needed = computed(
        "vcpu_needed", max(for_rate, for_latency, 1), "1",
        "max(rate * FLOP / (FLOP/s per vCPU * utilisation), FLOP / (FLOP/s per vCPU * latency))",
        flop, given("requests_per_s", rate, "1/s"), given("latency_s", latency, "s"),
        constant("cpu_gflops_per_vcpu"), constant("utilisation"),
    )  # fmt: skip
    vcpu = task.vcpu_count or round_up_vcpus(max(float(needed.value), 2))
    cpu = cheapest_cpu(
        vcpu, int(float(weights.value) * _RAM_FACTOR + GIB), provider=task.provider,
        region=task.region,
    )  # fmt: skip
    capacity = per_vcpu * vcpu * value("utilisation") / float(flop.value)
    carried = computed("cpu_requests_per_s", capacity, "1/s",
                       "vCPU * FLOP/s per vCPU * utilisation / FLOP", flop)  # fmt: skip
    seconds = float(flop.value) / (per_vcpu * min(vcpu, MOST_VCPU_PER_REQUEST))
    one = computed("cpu_request_seconds", seconds, "s", "FLOP / (FLOP/s of up to 16 vCPU)", flop)
    cpu = cpu._replace(rate=capacity) if cpu else None
    found = plain_gpu(float(weights.value) * 1.5 + 1.5 * GIB, task)
    gpu = _first_with(float(flop.value) * rate, found)
    if gpu is not None:
        peak = gpu_flops(gpu)
        share = _GPU_SHARE * value("utilisation")
        carries = float(peak.value) * share / float(flop.value) if peak else None
        gpu = gpu._replace(rate=carries)
    kind, reasons = _chosen(task, cpu, gpu, needed, carried, one, latency)
    return Placement(kind, reasons, cpu, gpu, (), notes, found)


def _chosen(
    task: Task, cpu: Option | None, gpu: Option | None, needed: Figure, carried: Figure,
    one: Figure, latency: float,
) -> tuple[Kind, tuple[Reason, ...]]:  # fmt: skip
    """CPU when it is fast enough for one request and not dearer than the cheapest GPU."""
    gpu_kind: Kind = "one_gpu"
    if gpu is not None and gpu.offer is not None and gpu.offer.is_slice:
        gpu_kind = "vgpu_slice"
    too_slow = float(one.value) > latency
    too_many = float(needed.value) > (task.vcpu_count or 128)
    if gpu is not None and (too_slow or too_many or cpu is None):
        code: ReasonCode = "cpu_too_slow_per_request" if too_slow else "cpu_cores_for_the_load"
        return gpu_kind, (Reason(code, (one, needed)), *_slice_reason(gpu_kind, gpu))
    reasons = [Reason("cpu_carries_the_load", (carried, one, needed))]
    if cpu is None or gpu is None or cpu.per_hour is None or gpu.per_hour is None:
        return "cpu", tuple(reasons)
    prices = (price_figure("cpu", cpu), price_figure("gpu", gpu))
    if task.vcpu_count is None and gpu.per_hour < cpu.per_hour:
        return gpu_kind, (Reason("cheaper_on_gpu", (needed, *prices)),)
    return "cpu", (*reasons, Reason("cheaper_on_cpu", prices))


def _slice_reason(kind: Kind, gpu: Option) -> tuple[Reason, ...]:
    if kind != "vgpu_slice" or gpu.offer is None:
        return ()
    return (Reason("slice_is_enough", (), gpu.offer.instance_type),)


def _request_flop(task: Task) -> tuple[Figure, Figure, tuple[Assumption, ...]]:
    """FLOP of one request and bytes of the weights."""
    notes: tuple[Assumption, ...] = ()
    if task.model is not None:
        params = float(task.model.params_active or task.model.params_total)
        name = f"parameters of {task.model.name}"
        weights = given("weights", float(task.model.params_total) * _BYTES_PER_PARAM, "B")
    elif task.params is not None:
        params, name = task.params, "parameters"
        weights = given("weights", params * _BYTES_PER_PARAM, "B")
    else:
        size = float(task.model_bytes or 100e6)
        if task.model_bytes is None:
            notes += (Assumption("model_bytes", size, "B", "no size was given: a small model"),)
        params, name = size / _BYTES_PER_PARAM, "file size / 4 B"
        weights = given("weights", size, "B")
    counted = computed("params", params, "param", name)
    tokens = task.prompt_len or task.seq_len
    if tokens is not None:
        flop = computed("flop_per_request", 2 * params * tokens, "FLOP", "2 * params * tokens",
                        counted, given("tokens", tokens, "token"))  # fmt: skip
    else:
        factor = constant("flops_per_param")
        flop = computed("flop_per_request", params * float(factor.value), "FLOP",
                        "params * FLOP per parameter", counted, factor)  # fmt: skip
    return flop, weights, notes
