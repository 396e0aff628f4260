"""Texts per second of an encoder run without training: embeddings, rerankers, classifiers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tools.provenance import Assumption, Figure
from tools.speed.hardware import card
from tools.speed.results import Interval, Worked, require_positive
from tools.speed.training import training_speed
from tools.speed.workload import TrainingJob

_TOKENS = 256
_BATCH = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingJob:
    """Texts through an encoder; None = not said, assumed and reported."""

    gpu: str
    model: str | None = None
    params_b: float | None = None
    tokens: int | None = None
    """Tokens of one text, padding included."""
    batch: float | None = None
    """Texts of one pass and GPU."""
    precision: str | None = None
    num_gpus: int = 1


@dataclass(frozen=True, slots=True)
class EncodingSpeed(Worked):
    """Throughput of an encoder; parts are seconds of one pass."""

    texts_per_s: Interval
    """Texts per second of all GPUs together."""
    tokens_per_s: Interval

    def seconds_for(self, texts: float) -> Interval:
        """Seconds for that many texts.

        Raises:
            BadQuantityError: If the number is not above zero.
        """
        require_positive("texts", texts)
        return self.texts_per_s.inverse(texts, "s")


def encoding_speed(job: EncodingJob) -> EncodingSpeed:
    """Texts per second of an encoder, or of a decoder that embeds.

    Args:
        job: The run; fields that are None are assumed and reported.

    Raises:
        BadQuantityError: If a number is not above zero, or no model is given.
        UnknownModelError: If the model is not known and no size is given.
        UnknownGpuError: If the card is not known.

    Source: 2N FLOP a token and the attention sums at the shares of the peak learnt from training
    (data/training.json), one pass over the weights, a third of a training step's launches.
    Assumes: the texts arrive tokenised and in time; texts of one batch are equally long.
    """
    require_positive("tokens", job.tokens)
    run, assumed = _resolve(job)
    speed = training_speed(run)
    figures = tuple(
        Figure(figure.name.replace("samples", "texts"), figure.value,
               figure.unit.replace("sample", "text"), figure.sources, figure.formula,
               figure.inputs)
        for figure in speed.figures()
        if figure.name.startswith(("samples_per_s", "tokens_per_s"))
    )  # fmt: skip
    return EncodingSpeed(
        texts_per_s=speed.samples_per_s.scaled(1.0, "text/s"),
        tokens_per_s=speed.tokens_per_s,
        parts=speed.parts,
        assumptions=(*assumed, *speed.assumptions),
        _figures=figures,
    )


def _resolve(job: EncodingJob) -> tuple[TrainingJob, list[Assumption]]:
    """The forward passes of a job, and what was assumed of them."""
    assumed: list[Assumption] = []
    tokens, batch = job.tokens, job.batch
    if tokens is None:
        tokens = _TOKENS
        assumed.append(Assumption("tokens", tokens, "token", "a paragraph"))
    if batch is None:
        batch = _BATCH
        assumed.append(Assumption("batch", batch, "text", "the usual batch of embedding services"))
    precision = job.precision or ("fp32" if card(job.gpu).is_cpu else "fp16")
    if job.precision is None:
        assumed.append(Assumption("precision", precision, "", "what embedding services run in"))
    run = TrainingJob(
        gpu=job.gpu,
        model=job.model,
        params_b=job.params_b,
        stage="pretrain",
        method="forward",
        precision=precision,
        num_gpus=job.num_gpus,
        micro_batch=batch,
        seq_len=tokens,
        checkpointing="none",
        compiled=False,
        flash="32" not in precision,
    )
    return run, assumed


@lru_cache(maxsize=256)
def cached_encoding_speed(job: EncodingJob) -> EncodingSpeed:
    """`encoding_speed` of a run asked before costs a look-up."""
    return encoding_speed(job)
