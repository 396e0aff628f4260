"""Training speed of language models and encoders on a card, with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tools.provenance import Assumption, Figure
from tools.speed.hardware import Card, card, intra_link
from tools.speed.results import (
    Interval,
    constants_of,
    data_source,
    load_data,
    require_positive,
)
from tools.speed.shapes import Shape, shape_of
from tools.speed.training_model import (
    GPUS_PER_NODE,
    Step,
    model_flops_per_token,
    parts,
    passes,
)
from tools.speed.workload import TrainingJob

SHARDED_ABOVE_PARAMS = 2.5e9
"""Full training of more parameters does not fit a card unsharded."""
SELECTIVE_RECOMPUTE = 0.15
_POSITIVE = (
    "num_gpus", "nodes", "micro_batch", "grad_accum", "seq_len", "global_batch", "params_b",
)  # fmt: skip
PADDING = 1.35
"""Padded tokens per real token where short samples are batched to the longest."""


@dataclass(frozen=True, slots=True)
class SpeedResult:
    """Training speed of one run."""

    tokens_per_s_per_gpu: Interval
    samples_per_s: Interval
    """Sequences per second of all GPUs together."""
    step_s: float
    """Seconds of one micro-step."""
    mfu: float
    """Model FLOPs (recompute left out) as a share of the card's dense 16-bit peak."""
    peak_share: float
    """Executed FLOPs, recompute included, as a share of the peak of the precision used."""
    num_gpus: int
    parts: dict[str, float]
    """Seconds of a micro-step by part."""
    assumptions: tuple[Assumption, ...]
    _figures: tuple[Figure, ...]

    @property
    def tokens_per_s(self) -> Interval:
        """Tokens per second of all GPUs together."""
        return self.tokens_per_s_per_gpu.scaled(self.num_gpus, "token/s")

    def figures(self) -> tuple[Figure, ...]:
        """Speed with its interval (token/s), MFU (1) and FLOPs per token."""
        return self._figures


class _Assumed:
    """Collects what was chosen for the caller."""

    def __init__(self) -> None:
        self.found: list[Assumption] = []

    def note(self, name: str, value: int | float | str | bool, unit: str, why: str) -> None:
        self.found.append(Assumption(name, value, unit, why))


def _precision(job: TrainingJob, device: Card, assumed: _Assumed) -> tuple[str, bool]:
    """(what the matrix units multiply, fp32 beside it)."""
    text = (job.precision or "").casefold()
    if not text:
        chosen = "bf16" if device.tf32_flops else "fp16"
        assumed.note("precision", chosen, "", "mixed 16-bit training is the usual choice")
        return "16", job.method == "full"
    if "fp8" in text or "float8" in text:
        return ("fp8" if device.fp8_flops else "16"), True
    if any(word in text for word in ("amp", "mixed", "fp16", "bf16", "bfloat16", "float16", "16")):
        pure = "pure" in text or "true" in text or job.method != "full"
        return "16", not pure
    if "tf32" in text:
        return ("tf32" if device.tf32_flops else "fp32"), True
    return "fp32", True


def _seq_len(job: TrainingJob, shape: Shape, assumed: _Assumed) -> int:
    if job.seq_len is not None:
        return job.seq_len
    value = 128 if shape.is_encoder else (4096 if job.stage == "pretrain" else 2048)
    value = min(value, shape.positions or value)
    assumed.note("seq_len", value, "token", "usual length for this kind of training")
    return value


def _micro_batch(job: TrainingJob, data_ranks: float, seq_len: int, assumed: _Assumed) -> float:
    if job.micro_batch is not None:
        return job.micro_batch
    if job.global_batch is not None:
        return max(1.0, job.global_batch / data_ranks / (job.grad_accum or 1))
    tokens = 8192 if job.stage == "pretrain" or job.method == "full" else 4096
    value = max(1.0, round(tokens / seq_len))
    assumed.note("micro_batch", value, "sequence", "a micro-step of about 4k to 8k tokens")
    return value


def _grad_accum(job: TrainingJob, micro_batch: float, data_ranks: float) -> int:
    """Micro-steps of one update: as given, or what the global batch takes."""
    if job.grad_accum is not None:
        return job.grad_accum
    if job.global_batch is None:
        return 1
    return max(1, round(job.global_batch / micro_batch / data_ranks))


def _recompute(job: TrainingJob, shape: Shape, assumed: _Assumed) -> float:
    if job.checkpointing is not None:
        return {"none": 0.0, "selective": SELECTIVE_RECOMPUTE, "full": 1.0}[job.checkpointing]
    if shape.is_encoder or shape.params_total < 2e9:
        chosen = "none"
    elif job.stage == "pretrain" or job.layout.pipeline > 1:
        chosen = "selective"
    else:
        chosen = "full"
    assumed.note("gradient_checkpointing", chosen, "", "usual for a model of this size")
    return {"none": 0.0, "selective": SELECTIVE_RECOMPUTE, "full": 1.0}[chosen]


def _sharding(job: TrainingJob, shape: Shape, assumed: _Assumed) -> str:
    if job.num_gpus == 1:
        return job.layout.sharding or "single"
    if job.layout.sharding not in (None, "single"):
        return str(job.layout.sharding)
    if job.layout.tensor * job.layout.pipeline > 1:
        return "zero1"
    big = shape.params_total > SHARDED_ABOVE_PARAMS
    chosen = "fsdp" if big and job.method == "full" else "ddp"
    assumed.note("parallelism", chosen, "", "replicated while it fits a card, sharded above")
    return chosen


def resolve(job: TrainingJob, device: Card, shape: Shape) -> tuple[Step, tuple[Assumption, ...]]:
    """A job with every open field chosen, and the list of what was chosen."""
    assumed = _Assumed()
    precision, mixed = _precision(job, device, assumed)
    nodes = job.nodes or max(1, -(-job.num_gpus // GPUS_PER_NODE))
    layout = job.layout
    split = layout.tensor * layout.pipeline
    seq_len = _seq_len(job, shape, assumed)
    if job.mean_tokens is not None:
        seq_len = max(1, round(min(seq_len, job.mean_tokens * PADDING)))
    data_ranks = max(1.0, job.num_gpus / split / layout.context)
    eager = _is_eager(job) and not shape.is_encoder
    micro_batch = _micro_batch(job, data_ranks, seq_len, assumed)
    fused = shape.is_encoder and job.stage == "pretrain" and job.compiled is None
    step = Step(
        method=job.method,
        precision=precision,
        mixed=mixed,
        quantized=job.method == "qlora" or _is_quantized(job.quantization),
        encoder=shape.is_encoder,
        micro_batch=micro_batch,
        seq_len=seq_len,
        grad_accum=_grad_accum(job, micro_batch, data_ranks),
        recompute=_recompute(job, shape, assumed),
        flash=job.flash if job.flash is not None else fused or not shape.is_encoder,
        eager=eager,
        compiled=bool(job.compiled) or fused,
        sharding=_sharding(job, shape, assumed),
        tensor=layout.tensor,
        pipeline=layout.pipeline,
        context=layout.context,
        expert=layout.expert,
        virtual_stages=layout.virtual_stages,
        num_gpus=job.num_gpus,
        nodes=nodes,
        zero_over_node=layout.zero_over_node,
        cpu_offload=layout.cpu_offload,
        intra=intra_link(device, job.interconnect),
        link=job.link,
        vendor_kernels=layout.engine == "megatron" or layout.pipeline > 1,
    )
    return step, (*shape.assumptions, *assumed.found)


def _is_quantized(written: str | None) -> bool:
    text = (written or "none").casefold()
    return any(
        word in text for word in ("nf4", "int4", "gptq", "awq", "4-bit", "4bit", "int8", "8bit")
    )


def _is_eager(job: TrainingJob) -> bool:
    """Fine-tuning scripts launch kernel by kernel; pre-training code is tuned."""
    if job.compiled or job.layout.engine in ("megatron", "unsloth") or job.layout.pipeline > 1:
        return False
    return job.stage != "pretrain"


def training_speed(
    job: TrainingJob, *, constants: Mapping[str, float] | None = None
) -> SpeedResult:
    """Tokens per second and GPU of a training run.

    Args:
        job: The run; fields that are None are assumed and reported.
        constants: Constants in place of data/training.json; for calibration.

    Raises:
        BadQuantityError: If a number is not above zero or the model is not given.
        UnknownModelError: If the model's name is not known and no size is given.
        UnknownGpuError: If the card's name is not known.
        UnsupportedError: If the card's limits are not known.

    Source: time = k N tokens / (share of peak) + bytes / (share of bandwidth) + costs per layer +
    communication that is not hidden; shares learnt from published rows (data/training.json).
    """
    for name in _POSITIVE:
        require_positive(name, getattr(job, name))
    device = card(job.gpu)
    shape = shape_of(job.model, job.params_b)
    table = load_data("training")
    step, assumptions = resolve(job, device, shape)
    found = parts(step, device, shape, constants or constants_of("training"))
    micro_s = sum(found.values())
    split = step.tensor * step.pipeline * step.context
    counted = step.micro_batch * (job.mean_tokens or step.seq_len)
    rate = counted / micro_s / split
    if job.whole_run:
        rate *= table["whole_run"]["value"]
    answers = _objective_cost(job.objective, step)
    rate /= adapter_cost(job.adapter) * answers
    correction, spread = _learnt(table, job, device, step, shape)
    rate *= correction
    interval = Interval(rate, rate / spread, rate * spread, "token/s/GPU")
    per_token = model_flops_per_token(shape, method=job.method, seq_len=step.seq_len, recompute=0.0)
    samples = interval.scaled(job.num_gpus / max(1.0, counted / step.micro_batch), "sample/s")
    mfu = rate * answers * per_token / device.tensor16_flops
    return SpeedResult(
        tokens_per_s_per_gpu=interval,
        samples_per_s=samples,
        step_s=micro_s / correction,
        mfu=mfu,
        peak_share=rate * answers * _executed(shape, step) / device.flops(step.precision),
        num_gpus=job.num_gpus,
        parts=found,
        assumptions=(*assumptions, *_passes_of_a_sample(answers)),
        _figures=_figures(interval, mfu, per_token, device, samples),
    )


def _executed(shape: Shape, step: Step) -> float:
    """FLOPs of the matrix products of one token, recompute included."""
    return 2 * shape.matmul_params * passes(step)


def _passes_of_a_sample(answers: float) -> tuple[Assumption, ...]:
    """How often a sample is scored, where the objective asks for more than once."""
    if answers <= 1:
        return ()
    why = "each sample is scored as often as the objective asks, a frozen reference included"
    return (Assumption("passes_of_a_sample", round(answers, 2), "1", why),)


def _objective_cost(objective: str | None, step: Step) -> float:
    """Work of one sample against its own tokens: two answers, a reference beside the policy."""
    row = load_data("training")["objectives"]["kinds"].get((objective or "").casefold())
    if row is None:
        return 1.0
    return float(row["sequences"] * (1 + row["reference"] / passes(step)))


def adapter_cost(adapter: str | None) -> float:
    """Step time of an adapter kind against plain LoRA; 1 when it is not named or not known."""
    rows = load_data("training")["adapters"]["cost"]
    return float(rows.get((adapter or "").casefold(), 1.0))


def _learnt(
    table: Mapping[str, Any], job: TrainingJob, device: Card, step: Step, shape: Shape
) -> tuple[float, float]:
    """(correction, half-width factor) of the groups that the run belongs to."""
    correction = 1.0
    for kind, key in groups(job, device, step).items():
        row = table["groups"].get(kind, {}).get(key)
        if row:
            correction *= row["factor"]
    spread = table["spread"].get(spread_group(job, step, shape)) or table["spread"]["default"]
    return correction, float(spread["factor"])


def groups(job: TrainingJob, device: Card, step: Step) -> dict[str, str]:
    """Groups whose rows share a learnt correction."""
    return {
        "architecture": device.generation,
        "card": device.name,
        "way": f"{job.method}-{_kind(job, step)}-{step.precision}",
        "layout": _layout_group(step),
    }


def _kind(job: TrainingJob, step: Step) -> str:
    """Encoders differ by stage: packed pre-training, or fine-tuning on padded samples."""
    return f"encoder-{job.stage or 'finetune'}" if step.encoder else "decoder"


def _layout_group(step: Step) -> str:
    """Data-parallel scheme, with the style of the code that runs it."""
    scheme = "model-parallel" if step.tensor * step.pipeline > 1 else step.sharding
    return f"{scheme}-{'eager' if step.eager else 'tuned'}"


def spread_group(job: TrainingJob, step: Step, shape: Shape) -> str:
    """Group that an interval's width is learnt for."""
    if step.encoder:
        return "encoder"
    if shape.is_moe:
        return "experts"
    if job.whole_run:
        return "whole-run"
    return f"{job.method}-{job.stage or 'finetune'}"


def _figures(
    interval: Interval, mfu: float, per_token: float, device: Card, samples: Interval
) -> tuple[Figure, ...]:
    origin = data_source("training", "constants")
    peak = Figure(
        "peak_dense_16bit",
        device.tensor16_flops / 1e12,
        "TFLOP/s",
        (data_source("cards", device.name),),
    )
    flops = Figure(
        "flops_per_token", per_token, "FLOP", formula="k * N + attention; k = 6 full, 4 adapter"
    )
    formula = "tokens / (matrix + memory + attention + launch + waiting time)"
    return (
        *interval.figures(
            "tokens_per_s_per_gpu", formula=formula, inputs=(flops, peak), sources=(origin,)
        ),
        *samples.figures("samples_per_s", formula="tokens_per_s_per_gpu * GPUs / length"),
        Figure("mfu", mfu, "1", formula="tokens/s * flops_per_token / peak", inputs=(flops, peak)),
    )


def ppo_hours(
    *,
    gpu: str,
    num_gpus: int,
    tokens: float,
    model: str | None = None,
    params_b: float | None = None,
) -> Interval:
    """Hours of one PPO epoch: answers generated, scored and trained on.

    Args:
        gpu: The card.
        num_gpus: Cards.
        tokens: Prompt and answer tokens over all samples.
        model: The actor, by any spelling.
        params_b: Its size in billions, where the name is not known.

    Raises:
        BadQuantityError: If a number is not above zero.
        UnknownModelError: If the model is not known and no size is given.
        UnknownGpuError: If the card is not known.

    Source: 10 N FLOPs a token at the share of the peak that nine DeepSpeed-Chat runs reached
    (data/training.json, ppo).
    """
    require_positive("tokens", tokens)
    require_positive("num_gpus", num_gpus)
    row = load_data("training")["ppo"]
    work = row["flops_per_param_and_token"] * shape_of(model, params_b).params_active * tokens
    peak = card(gpu).tensor16_flops * num_gpus * 3600
    hours = [work / (peak * row[share]) for share in ("share_of_peak", "high", "low")]
    return Interval(hours[0], hours[1], hours[2], "h")


@lru_cache(maxsize=1024)
def cached_training_speed(job: TrainingJob) -> SpeedResult:
    """`training_speed` of a job asked before costs a look-up."""
    return training_speed(job)
