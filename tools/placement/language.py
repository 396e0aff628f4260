"""Language models: serving on a CPU or a GPU, and training."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools.catalog import Recommendation
from tools.errors import UserInputError
from tools.placement.constants import computed, constant, given, value
from tools.placement.machines import (
    VCPU_SIZES,
    cheapest_cpu,
    cpu_bandwidth,
    cpu_flops,
    gpu_offers,
    gpu_option,
    is_worth_a_gpu,
    plain_gpu,
    price_figure,
)
from tools.placement.task import Kind, Option, Placement, Reason, Task, TrainMethod
from tools.provenance import Assumption, Figure
from tools.units import GIB

if TYPE_CHECKING:
    from tools.models import ModelSpec
    from tools.speed import ServingSpeed

_ENCODERS = ("encoder", "embedding", "reranker")
_CPU_FORMAT = "gguf-q4_k_m"
_CPU_FORMAT_WORDS = "gguf Q4_K_M"
_BITS_PER_PARAM = 4.85
"""Q4_K_M, bits per weight."""
_GPU_FORMAT = "awq-int4"
_CONTEXT = 4096
_PROMPT = 512
"""Tokens of a prompt; assumed where none is given."""
_FIRST_TOKEN_S = 10.0
"""Seconds that a reader waits for the first token; assumed where no limit is given."""
_RAM_MARGIN = 1.25
_TRAIN_VCPU = 64
_ASSUMED_TOKENS = 10e6
"""Ten million tokens: 20,000 samples of 500 tokens, or one small fine-tuning run."""
_FLOPS_PER_PARAM = {"full": 6, "lora": 4, "qlora": 4}
_BYTES_PER_PARAM = {"full": 16, "lora": 3, "qlora": 1}
"""Weights, gradients and states where the calculator does not know the architecture."""
_ACTIVATION_BYTES = 4 * GIB
_PRICE_ONLY = {"no_price", "no_dated_price", "not_in_region", "speed"}
"""Reasons that do not speak against a single machine."""


def place_serving(task: Task, model: ModelSpec) -> Placement:
    """Serving of a language model: tokens per second of each stream decide."""
    streams = task.concurrency or 1
    wanted = _wanted_rate(task)
    weights = computed(
        "weights_4bit", model.params_total * _BITS_PER_PARAM / 8, "B", "params * 4.85 bits / 8",
        given("params", model.params_total, "param"),
    )  # fmt: skip
    ram = int(float(weights.value) * _RAM_MARGIN) + 4 * GIB
    cpu, rate, first, bandwidth = _cpu_for(task, model, streams, float(wanted.value), ram)
    found = _gpu_serving(task, model, streams, float(wanted.value))
    gpu = gpu_option(found)
    if gpu is not None:
        gpu = gpu._replace(rate=found.offers[0].tokens_per_s)
    notes = (
        Assumption("cpu_weight_format", _CPU_FORMAT, "1", "what is served on CPUs, 4 bits"),
        Assumption(
            "gpu_weight_format",
            task.weight_format or _GPU_FORMAT,
            "1",
            "given" if task.weight_format else "4 bits too, to compare like with like",
        ),
        Assumption("prompt_len", task.prompt_len or _PROMPT, "token", "a usual prompt"),
        Assumption("streams", streams, "1", "given" if task.concurrency else "one at a time"),
    )
    figures = tuple(f for f in (rate, first, bandwidth, weights, wanted) if f is not None)
    reasons: tuple[Reason, ...]
    enough = _is_enough(task, rate, first, float(wanted.value))
    if not enough or cpu is None:
        reasons = (Reason("cpu_too_slow_per_stream", figures), *gpu_reasons(found))
        return Placement(gpu_kind(found), reasons, cpu, gpu, (), notes, found)
    reasons = (Reason("cpu_fast_enough_per_stream", figures),)
    if gpu is None or gpu.per_hour is None or cpu.per_hour is None:
        return Placement("cpu", reasons, cpu, gpu, (), notes, found)
    prices = (price_figure("cpu", cpu), price_figure("gpu", gpu))
    if task.vcpu_count is None and gpu.per_hour < cpu.per_hour:
        reasons = (*reasons, Reason("cheaper_on_gpu", prices), *gpu_reasons(found))
        return Placement(gpu_kind(found), reasons, cpu, gpu, (), notes, found)
    reasons = (*reasons, Reason("cheaper_on_cpu", prices))
    return Placement("cpu", reasons, cpu, gpu, (), notes, found)


def _wanted_rate(task: Task) -> Figure:
    """Tokens per second that one stream needs: of its limit, else reading speed."""
    if task.latency_s is not None and task.output_len is not None:
        return computed(
            "wanted_tokens_per_s", task.output_len / task.latency_s, "token/s",
            "answer length / latency", given("output_len", task.output_len, "token"),
            given("latency_s", task.latency_s, "s"),
        )  # fmt: skip
    reading = constant("reading_tokens_per_s")
    return computed(
        "wanted_tokens_per_s", float(reading.value), "token/s", "reading speed", reading
    )


class _Cpu(NamedTuple):
    """A CPU instance for a language model, with its rates."""

    option: Option | None
    rate: Figure | None
    """Tokens per second of one stream."""
    first_token: Figure | None
    bandwidth: Figure | None


def _is_enough(task: Task, rate: Figure | None, first: Figure | None, wanted: float) -> bool:
    if rate is None or first is None:
        return False
    limit = task.latency_s or _FIRST_TOKEN_S
    return float(rate.value) >= wanted and float(first.value) <= limit


def _cpu_for(task: Task, model: ModelSpec, streams: int, wanted: float, ram: int) -> _Cpu:
    """The smallest CPU instance that is fast enough, else the fastest there is."""
    sizes = (task.vcpu_count,) if task.vcpu_count else VCPU_SIZES[1:]
    active = float(model.params_active or model.params_total)
    best = _Cpu(None, None, None, None)
    for vcpu in sizes:
        bandwidth, arithmetic = cpu_bandwidth(vcpu), cpu_flops(vcpu)
        speed = _cpu_speed(task, model, vcpu, float(bandwidth.value), streams)
        if speed is None:
            return best
        by_flops = float(arithmetic.value) / (2 * active * streams)
        rate = computed(
            "cpu_tokens_per_s", min(speed.decode_tokens_per_s.value, by_flops), "token/s",
            "min(bandwidth * share / bytes per token, FLOP/s / (2 * params * streams))",
            bandwidth, arithmetic,
        )  # fmt: skip
        prompt = task.prompt_len or _PROMPT
        first = computed(
            "cpu_first_token_s", 2 * active * prompt / float(arithmetic.value), "s",
            "2 * params * prompt tokens / FLOP/s", arithmetic,
            given("prompt_len", prompt, "token"),
        )  # fmt: skip
        option = cheapest_cpu(vcpu, ram, provider=task.provider, region=task.region)
        if option is not None:
            option = option._replace(rate=float(rate.value))
        best = _Cpu(option, rate, first, bandwidth)
        if _is_enough(task, rate, first, wanted):
            return best
    return best


def _cpu_speed(
    task: Task, model: ModelSpec, vcpu: int, bandwidth_gb_s: float, streams: int
) -> ServingSpeed | None:
    from tools.speed import ServingJob, serving_speed

    named = {"params_b": model.params_total / 1e9} if model.is_reference else {"model": model.name}
    try:
        return serving_speed(
            ServingJob(
                gpu=f"CPU {vcpu} vcpu {bandwidth_gb_s:.1f} GB/s",
                engine="llama.cpp",
                weight_format=_CPU_FORMAT_WORDS,
                num_gpus=0,
                concurrency=streams,
                prompt_len=task.prompt_len,
                output_len=task.output_len,
                **named,
            )
        )
    except UserInputError:
        return None


def _gpu_serving(task: Task, model: ModelSpec, streams: int, wanted: float) -> Recommendation:
    from tools.memory import InferenceWorkload

    context = (task.prompt_len or 0) + (task.output_len or 0) or task.seq_len or _CONTEXT
    workload = InferenceWorkload(
        model,
        context_len=context,
        concurrency=streams,
        weight_format=task.weight_format or _GPU_FORMAT,
    )
    return gpu_offers(workload, task, min_tokens_per_s=wanted)


def place_training(task: Task, model: ModelSpec) -> Placement:
    """Training of a language model: hours and memory decide, and a CPU almost never does."""
    is_encoder = model.kind in _ENCODERS
    method: TrainMethod = task.method or ("full" if is_encoder else "lora")
    tokens = task.tokens or _tokens(task) or _ASSUMED_TOKENS
    factor = _FLOPS_PER_PARAM[method]
    flop = computed(
        "training_flop", factor * model.params_total * tokens, "FLOP",
        f"{factor} * params * tokens", given("params", model.params_total, "param"),
        given("tokens", tokens, "token"),
    )  # fmt: skip
    vcpu = task.vcpu_count or _TRAIN_VCPU
    speed = cpu_flops(vcpu)
    hours = float(flop.value) / float(speed.value) / 3600
    reasons: tuple[Reason, ...]
    cpu_h = computed("cpu_hours", hours, "h", "FLOP / CPU FLOP/s / 3600", flop, speed)
    ram = int(model.params_total * _BYTES_PER_PARAM[method] * _RAM_MARGIN)
    cpu = cheapest_cpu(vcpu, ram, provider=task.provider, region=task.region)
    cpu = cpu._replace(hours=hours) if cpu else None
    found = _gpu_training(task, model, method, tokens)
    gpu = gpu_option(found)
    gpu_h = None
    if found.offers and found.offers[0].tokens_per_s:
        rate = found.offers[0].tokens_per_s
        number = tokens / rate / 3600
        speed_figure = computed("gpu_tokens_per_s", rate, "token/s", "tools.speed.training_speed")
        gpu_h = computed("gpu_hours", number, "h", "tokens / rate / 3600", speed_figure)
        gpu = gpu._replace(hours=number, rate=rate) if gpu else None
    notes: list[Assumption] = []
    if task.method is None:
        why = "small encoders are trained whole" if is_encoder else "LoRA is the usual fine-tuning"
        notes.append(Assumption("method", method, "1", why))
    if task.tokens is None and _tokens(task) is None:
        notes.append(Assumption("tokens", tokens, "token", "no amount of data was given"))
    limit = task.deadline_hours or value("patience_hours")
    if hours <= limit and not is_worth_a_gpu(cpu, gpu):
        reasons = (Reason("short_on_cpu", (cpu_h,)),)
        return Placement("cpu", reasons, cpu, gpu, (), tuple(notes), found)
    figures = (cpu_h,) if gpu_h is None else (cpu_h, gpu_h)
    reasons = (Reason("long_on_cpu", figures), *gpu_reasons(found))
    return Placement(gpu_kind(found), reasons, cpu, gpu, (), tuple(notes), found)


def _tokens(task: Task) -> float | None:
    if task.samples is None:
        return None
    return task.samples * (task.seq_len or 512) * (task.epochs or 1)


def _gpu_training(
    task: Task, model: ModelSpec, method: TrainMethod, tokens: float
) -> Recommendation:
    from tools.memory import TrainingWorkload

    workload = TrainingWorkload(model, method=method, seq_len=task.seq_len)
    found = gpu_offers(workload, task, tokens=tokens)
    codes = {m.code for miss in found.near_misses for m in miss.misses}
    if found.offers or "unsupported" not in codes:
        return found
    per_param = _BYTES_PER_PARAM[method]
    return plain_gpu(model.params_total * per_param + _ACTIVATION_BYTES, task)


def gpu_kind(found: Recommendation) -> Kind:
    """Place by the best offer; where no single machine holds the job, a managed platform."""
    if not found.offers:
        only_price = any({m.code for m in miss.misses} <= _PRICE_ONLY for miss in found.near_misses)
        return "one_gpu" if only_price else "managed"
    best = found.offers[0]
    if best.offer.is_slice:
        return "vgpu_slice"
    return "several_gpus" if best.need.gpus_used > 1 else "one_gpu"


def gpu_reasons(found: Recommendation) -> tuple[Reason, ...]:
    """What the best GPU offer rests on, or why there is none."""
    if not found.offers:
        memory = tuple(
            computed("gpu_memory_needed", float(m.needed), "B", "need of one GPU of the largest")
            for miss in found.near_misses[:1]
            for m in miss.misses
            if m.code in ("memory", "tight") and m.needed is not None
        )
        return (Reason("no_single_machine" if memory else "no_offer", memory),)
    best = found.offers[0]
    figures = tuple(f for f in best.figures if f.name in ("usable_memory", "process"))
    reasons = [Reason("gpu_memory", figures, best.offer.instance_type)]
    if best.offer.is_slice:
        reasons.append(Reason("slice_is_enough", (), best.offer.instance_type))
    elif best.need.gpus_used > 1:
        gpus = computed("gpus", best.need.gpus_used, "GPU", "fewest that hold the job")
        reasons.append(Reason("several_for_memory", (gpus,), best.need.parallelism))
    return tuple(reasons)
