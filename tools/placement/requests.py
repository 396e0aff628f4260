"""Requests to a model that is not a language model, and batches of them: images, texts, speech."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from tools.catalog import Recommendation, gpu_of
from tools.errors import UnsupportedError, UserInputError
from tools.placement.constants import computed, constant, find_work, given, value
from tools.placement.language import gpu_kind, gpu_reasons
from tools.placement.machines import (
    MOST_VCPU_PER_REQUEST,
    SETUP_HOURS,
    cheapest_cpu,
    gpu_flops,
    gpu_offers,
    gpu_option,
    plain_gpu,
    price_figure,
    round_up_vcpus,
    vcpus_for,
)
from tools.placement.networks import GPU_SHARE, faster_on_gpu
from tools.placement.task import Kind, Option, Placement, Reason, ReasonCode, Task
from tools.provenance import Assumption, Figure
from tools.units import GIB

_DEFAULT_LATENCY_S = 1.0
_SLOW_LATENCY_S = 30.0
"""For an image that is generated or half a minute of speech."""
_DEFAULT_RATE = 1.0
_BYTES_PER_PARAM = 4
_RAM_FACTOR = 4
_BATCH_SIZES = (2, 4, 8, 16, 32)
"""vCPUs of a CPU instance that works a pile off."""
_ENCODERS = ("encoder", "embedding", "reranker")
_IMAGES = ("cnn", "vit", "detector", "segmentation")
_DENOISERS = ("diffusion-unet", "dit")
_MOST_BATCH, _SPEECH_BATCH = 64, 8
_CLIP_LATENCY_S = 3600.0
"""A clip an hour: videos are made one after another, and nobody waits for them at a page."""
_MOST_CARDS = 64
_BALANCING = 1.15
"""What several machines behind a balancer cost beside their price; assumed."""


class Request(NamedTuple):
    """What one request costs, and how many a card answers."""

    flop: Figure
    weights: Figure
    assumptions: tuple[Assumption, ...]
    per_s: Callable[[str, int], float] | None
    """Requests per second of a whole card by name and batch (tools.speed); None = from its peak."""
    latency_s: float = _DEFAULT_LATENCY_S
    rate: float = _DEFAULT_RATE
    """Requests a second where none were said."""


def place_requests(task: Task) -> Placement:
    """Serving of an encoder, a vision, speech or image model or a small file at a request rate."""
    try:
        request = request_of(task)
    except UnsupportedError:
        return _place_by_memory(task)
    if task.samples is not None and task.requests_per_s is None:
        return _place_batch(task, request)
    flop, weights, notes = request.flop, request.weights, request.assumptions
    rate = task.requests_per_s or request.rate
    latency = task.latency_s or request.latency_s
    if task.requests_per_s is None:
        notes += (Assumption("requests_per_s", rate, "1/s", "no rate was given"),)
    if task.latency_s is None:
        notes += (Assumption("latency_s", latency, "s", "no limit was given"),)
    needed = _vcpus_needed(flop, rate, latency)
    per_vcpu = value("cpu_gflops_per_vcpu") * 1e9
    vcpu = task.vcpu_count or round_up_vcpus(max(float(needed.value), 2))
    cpu = cheapest_cpu(vcpu, _ram(weights), provider=task.provider, region=task.region)
    capacity = per_vcpu * vcpu * value("utilisation") / float(flop.value)
    carried = computed("cpu_requests_per_s", capacity, "1/s",
                       "vCPU * FLOP/s per vCPU * utilisation / FLOP", flop)  # fmt: skip
    seconds = float(flop.value) / (per_vcpu * min(vcpu, MOST_VCPU_PER_REQUEST))
    one = computed("cpu_request_seconds", seconds, "s", "FLOP / (FLOP/s of up to 16 vCPU)", flop)
    cpu = cpu._replace(rate=capacity) if cpu else None
    found = _offers(task, weights)
    gpu, machines = _cheapest_with(rate, latency, request, found)
    kind, reasons = _chosen(task, cpu, (gpu, machines), needed, carried, one, latency)
    if kind != "cpu" and gpu is not None and _cards(gpu) * machines > 1:
        count = computed("gpus", _cards(gpu) * machines, "GPU", "rate / rate of one card")
        kind, reasons = "several_gpus", (*reasons, Reason("several_for_load", (count,)))
    return Placement(kind, reasons, cpu, gpu, (), notes, found)


def _place_by_memory(task: Task) -> Placement:
    """A diffusion model of which the work of a step is not known: the memory alone decides."""
    if task.model is None or task.model.kind not in _DENOISERS:
        raise UnsupportedError("placement of this model", reason="its work is not known")
    found = _offers(task, _weights(task))
    note = Assumption("work", "unknown", "1", "no speed is known: the place follows the memory")
    return Placement(
        gpu_kind(found), gpu_reasons(found), None, gpu_option(found), (), (note,), found
    )


def _cards(option: Option) -> int:
    return max(1, option.offer.gpu_count or 1) if option.offer is not None else 1


def _vcpus_needed(flop: Figure, rate: float, latency: float) -> Figure:
    per_vcpu = value("cpu_gflops_per_vcpu") * 1e9
    for_rate = vcpus_for(float(flop.value) * rate)
    for_latency = float(flop.value) / (per_vcpu * latency)
    return computed(
        "vcpu_needed", max(for_rate, for_latency, 1), "1",
        "max(rate * FLOP / (FLOP/s per vCPU * utilisation), FLOP / (FLOP/s per vCPU * latency))",
        flop, given("requests_per_s", rate, "1/s"), given("latency_s", latency, "s"),
        constant("cpu_gflops_per_vcpu"), constant("utilisation"),
    )  # fmt: skip


def _ram(weights: Figure) -> int:
    return int(float(weights.value) * _RAM_FACTOR + GIB)


def _offers(task: Task, weights: Figure) -> Recommendation:
    """GPU offers that hold the model: by the calculator for image generators."""
    if task.model is not None and task.model.kind in _DENOISERS:
        from tools.memory import InferenceWorkload

        return gpu_offers(InferenceWorkload(task.model), task)
    return plain_gpu(float(weights.value) * 1.5 + 1.5 * GIB, task)


def _place_batch(task: Task, request: Request) -> Placement:
    """A pile of texts, images or windows of speech that is worked off once."""
    samples = float(task.samples or 1)
    limit = task.deadline_hours or value("patience_hours")
    cpu, cpu_h = _cpu_batch(task, request, samples, limit)
    found = _offers(task, request.weights)
    gpu, gpu_h = _cheapest_batch(samples, request, found)
    is_short = float(cpu_h.value) <= limit
    reasons = [Reason("short_on_cpu" if is_short else "long_on_cpu", (cpu_h,))]
    if gpu is None or gpu_h is None:
        return Placement("cpu", tuple(reasons), cpu, gpu, (), request.assumptions, found)
    faster = faster_on_gpu(cpu_h, gpu_h)
    is_cheaper = _job_cost(gpu) < _job_cost(cpu)
    if is_short and not is_cheaper:
        return Placement("cpu", tuple(reasons), cpu, gpu, (), request.assumptions, found)
    kind: Kind = "vgpu_slice" if gpu.offer is not None and gpu.offer.is_slice else "one_gpu"
    reasons.append(faster)
    if is_cheaper and cpu is not None and cpu.per_hour is not None:
        costs = tuple(
            computed(f"{name}_job_cost", _job_cost(option), "CNY", "price * (hours + 15 min)",
                     price_figure(name, option))
            for name, option in (("cpu", cpu), ("gpu", gpu))
        )  # fmt: skip
        reasons.append(Reason("cheaper_on_gpu", costs))
    return Placement(kind, tuple(reasons), cpu, gpu, (), request.assumptions, found)


def _cpu_batch(
    task: Task, request: Request, samples: float, limit: float
) -> tuple[Option | None, Figure]:
    """The smallest CPU instance that works the pile off in time, else the largest usual one."""
    per_vcpu = constant("cpu_gflops_per_vcpu")
    one = float(per_vcpu.value) * 1e9 / float(request.flop.value)
    sizes = (task.vcpu_count,) if task.vcpu_count else _BATCH_SIZES
    vcpu = next((n for n in sizes if samples / (one * n) / 3600 <= limit), sizes[-1])
    rate = one * vcpu
    cpu_h = computed("cpu_hours", samples / rate / 3600, "h",
                     "samples * FLOP / (vCPU * FLOP/s per vCPU) / 3600",
                     given("samples", samples, "1"), request.flop, per_vcpu)  # fmt: skip
    cpu = cheapest_cpu(vcpu, _ram(request.weights), provider=task.provider, region=task.region)
    return cpu._replace(hours=float(cpu_h.value), rate=rate) if cpu else None, cpu_h


def _job_cost(option: Option | None) -> float:
    if option is None or option.per_hour is None or option.hours is None:
        return math.inf
    return float(option.per_hour) * (option.hours + SETUP_HOURS)


def _cheapest_batch(
    samples: float, request: Request, found: Recommendation
) -> tuple[Option | None, Figure | None]:
    """The GPU offer that works the pile off for the least money, and its hours."""
    best: tuple[Option | None, Figure | None] = (None, None)
    for number in range(len(found.offers)):
        option = gpu_option(found, number=number)
        rate = _rate(option, request, _MOST_BATCH)
        if option is None or rate is None or option.per_hour is None:
            continue
        option = option._replace(hours=samples / rate / 3600, rate=rate)
        if _job_cost(option) < _job_cost(best[0]):
            speed = computed("gpu_requests_per_s", rate, "1/s", "tools.speed", request.flop)
            hours = computed("gpu_hours", samples / rate / 3600, "h", "samples / rate / 3600",
                             given("samples", samples, "1"), speed)  # fmt: skip
            best = (option, hours)
    return best


def _rate(option: Option | None, request: Request, batch: int) -> float | None:
    """Requests per second of all cards of an option, or of its slice."""
    peak = gpu_flops(option)
    spec = gpu_of(option.offer) if option is not None and option.offer is not None else None
    if peak is None or option is None or option.offer is None or spec is None:
        return None
    cards = _cards(option)
    if request.per_s is None:
        return float(peak.value) * GPU_SHARE / float(request.flop.value) * cards
    try:
        return request.per_s(spec.name, batch) * float(option.offer.gpu_fraction or 1) * cards
    except UserInputError:
        return None


def _batch_for(rate: float, latency: float) -> int:
    """Requests that gather in half of the time one of them may take, as a power of two."""
    gathered = min(_MOST_BATCH, max(1.0, rate * latency / 2))
    return int(2 ** math.floor(math.log2(gathered)))


def _cheapest_with(
    rate: float, latency: float, request: Request, found: Recommendation
) -> tuple[Option | None, int]:
    """The machines that carry a rate at the planned utilisation for the least, and their number."""
    batch = _batch_for(rate, latency)
    best: tuple[Option | None, int] = (None, 1)
    least = math.inf
    for number in range(len(found.offers)):
        option = gpu_option(found, number=number)
        whole = _rate(option, request, batch)
        if option is None or whole is None or option.per_hour is None:
            continue
        carried = whole * value("utilisation")
        machines = math.ceil(rate / carried)
        cost = float(option.per_hour) * machines * (_BALANCING if machines > 1 else 1.0)
        if machines <= _MOST_CARDS and cost < least:
            least = cost
            best = option._replace(rate=carried), machines
    return best


def _chosen(
    task: Task, cpu: Option | None, found: tuple[Option | None, int], needed: Figure,
    carried: Figure, one: Figure, latency: float,
) -> tuple[Kind, tuple[Reason, ...]]:  # fmt: skip
    """CPU when it is fast enough for one request and not dearer than the cheapest GPUs."""
    gpu, machines = found
    gpu_kind: Kind = "one_gpu"
    if gpu is not None and gpu.offer is not None and gpu.offer.is_slice:
        gpu_kind = "vgpu_slice"
    too_slow = float(one.value) > latency
    too_many = float(needed.value) > (task.vcpu_count or 128)
    if too_slow or too_many or cpu is None:
        code: ReasonCode = "cpu_too_slow_per_request" if too_slow else "cpu_cores_for_the_load"
        reason = Reason(code, (one, needed))
        if gpu is not None:
            return gpu_kind, (reason, *_slice_reason(gpu_kind, gpu))
        if too_slow:  # no number of priced machines carries it, and a CPU still less
            return "several_gpus", (reason,)
    reasons = [Reason("cpu_carries_the_load", (carried, one, needed))]
    if cpu is None or gpu is None or cpu.per_hour is None or gpu.per_hour is None:
        return "cpu", tuple(reasons)
    prices = (price_figure("cpu", cpu), price_figure("gpu", gpu))
    if task.vcpu_count is None and gpu.per_hour * machines < cpu.per_hour:
        return gpu_kind, (Reason("cheaper_on_gpu", (needed, *prices)),)
    return "cpu", (*reasons, Reason("cheaper_on_cpu", prices))


def _slice_reason(kind: Kind, gpu: Option) -> tuple[Reason, ...]:
    if kind != "vgpu_slice" or gpu.offer is None:
        return ()
    return (Reason("slice_is_enough", (), gpu.offer.instance_type),)


def request_of(task: Task) -> Request:
    """What one request of a task costs: from the layers where the model is known."""
    kind = task.model.kind if task.model is not None else None
    if kind == "speech":
        return _speech_request(task)
    if kind in _ENCODERS:
        return _text_request(task)
    if kind in _IMAGES or kind in _DENOISERS:
        return _image_request(task)
    return _plain_request(task)


def _weights(task: Task) -> Figure:
    assert task.model is not None
    return given("weights", float(task.model.params_total) * _BYTES_PER_PARAM, "B")


def _image_request(task: Task) -> Request:
    """One image through a vision model, or one that is generated."""
    from tools.speed import ImageJob, cached_image_speed, find_denoiser, image_model

    assert task.model is not None
    name, size = task.model.name, task.model.params_total / 1e9
    net = image_model(name, None, size)
    passes = net.usual_steps * (2 if net.is_guided else 1)
    notes: tuple[Assumption, ...] = ()
    if net.usual_steps > 1:
        notes = (Assumption("steps", net.usual_steps, "1", "usual denoising steps"),)
    notes += (Assumption("image_px", net.px, "px", "side of one image"),)
    flop = computed("flop_per_request", 2 * net.macs * passes, "FLOP",
                    "2 * multiply-adds of the layers * passes",
                    given("multiply_adds", net.macs, "1"))  # fmt: skip

    def per_s(gpu: str, batch: int) -> float:
        images = 1 if net.usual_steps > 1 else batch
        job = ImageJob(
            gpu=gpu, model=name, params_b=size, task="infer", batch=images, steps=net.usual_steps
        )
        return cached_image_speed(job).samples_per_s.value

    if net.usual_steps == 1:
        return Request(flop, _weights(task), notes, per_s)
    shape = find_denoiser(name)
    if shape is not None and shape.frames > 1:
        return Request(flop, _weights(task), notes, per_s, _CLIP_LATENCY_S, 1 / _CLIP_LATENCY_S)
    return Request(flop, _weights(task), notes, per_s, _SLOW_LATENCY_S)


def _text_request(task: Task) -> Request:
    """One text through an encoder."""
    from tools.speed import EncodingJob, cached_encoding_speed, shape_of

    assert task.model is not None
    model = task.model
    notes: tuple[Assumption, ...] = ()
    tokens = task.prompt_len or task.seq_len
    if tokens is None:
        usual = constant("encoder_tokens")
        tokens = int(usual.value)
        notes = (Assumption("tokens", tokens, "token", "length of a request to an encoder"),)
    named = {"params_b": model.params_total / 1e9} if model.is_reference else {"model": model.name}
    params = shape_of(**{"model": None, **named}).matmul_params
    flop = computed("flop_per_request", 2 * params * tokens, "FLOP", "2 * params * tokens",
                    given("params", params, "param"), given("tokens", tokens, "token"))  # fmt: skip

    def per_s(gpu: str, batch: int) -> float:
        job = EncodingJob(gpu=gpu, tokens=tokens, batch=batch, **named)
        return cached_encoding_speed(job).texts_per_s.value

    return Request(flop, _weights(task), notes, per_s)


def _speech_request(task: Task) -> Request:
    """Half a minute of speech through a speech model."""
    from tools.speed import SpeechJob, cached_speech_speed, speech_work

    assert task.model is not None
    name = task.model.name
    work, window_s = speech_work(name)
    notes = (Assumption("window", window_s, "s", "one request is 30 s of speech"),)
    flop = computed("flop_per_request", work, "FLOP", "encoder + 2 * decoder weights * tokens")

    def per_s(gpu: str, batch: int) -> float:
        job = SpeechJob(gpu=gpu, model=name, batch=min(batch, _SPEECH_BATCH))
        return cached_speech_speed(job).hours_per_hour.value / window_s

    return Request(flop, _weights(task), notes, per_s, _SLOW_LATENCY_S)


def _plain_request(task: Task) -> Request:
    """A model that is known by its size or its file alone, or a network known by name."""
    notes: tuple[Assumption, ...] = ()
    work = find_work(task.work)
    if task.model is not None:
        params = float(task.model.params_active or task.model.params_total)
        name = f"parameters of {task.model.name}"
        weights = _weights(task)
    elif task.params is not None:
        params, name = task.params, "parameters"
        weights = given("weights", params * _BYTES_PER_PARAM, "B")
    elif work is not None and work.flops_per_sample and work.params:
        weights = given("weights", work.params * _BYTES_PER_PARAM, "B")
        flop = computed("flop_per_request", work.flops_per_sample, "FLOP", "from the layers",
                        given("params", work.params, "param"))  # fmt: skip
        return Request(flop, weights, notes, None)
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
    return Request(flop, weights, notes, None)
