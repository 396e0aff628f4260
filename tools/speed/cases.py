"""Rows of published measurements, read as jobs; the figure that a row's metric asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tools.speed.encoding import EncodingJob
from tools.speed.results import load_data
from tools.speed.speech import SpeechJob
from tools.speed.vision import ImageJob
from tools.speed.workload import Checkpointing, Method, ServingJob, TrainingJob, parse_layout

Row = Mapping[str, Any]
SAMPLE_UNITS = ("images/s", "sequences/s", "sentences/s")
TOKEN_BATCH = 65_536
"""A global batch above this many is stated in tokens: no published run has as many sequences."""
SAMPLE_TASKS = ("vision-train", "nlp-train", "vision")


def wants_samples(row: Row) -> bool:
    """Whether a row of text asks for samples per second of all GPUs rather than tokens.

    A row that says how many of its tokens are real counts tokens.
    """
    return (
        str(row.get("unit") or "").startswith(SAMPLE_UNITS)
        and row.get("task") in SAMPLE_TASKS
        and row.get("token_fill") is None
    )


def method_of(text: str | None) -> Method:
    """Method as this room names it, out of the row's wording."""
    folded = (text or "full").casefold()
    if "qlora" in folded:
        return "qlora"
    adapters = ("lora", "dora", "ia3", "adapter", "vera", "oft", "boft", "loha", "lokr", "prefix")
    return "lora" if any(word in folded for word in adapters) else "full"


def adapter_of(row: Row) -> str | None:
    """Kind of adapter that the method or the run's own name states; None for plain LoRA."""
    text = str(row.get("method") or "").casefold()
    kinds = load_data("training")["adapters"]["cost"]
    return next((kind for kind in kinds if kind in text), None)


def _sequences(batch: float | None, seq_len: int | None) -> float | None:
    """Global batch in sequences; some sources state it in tokens."""
    if batch is not None and seq_len and batch > TOKEN_BATCH:
        return batch / seq_len
    return batch


def checkpointing_of(value: object) -> Checkpointing | None:
    """Gradient checkpointing as this room names it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "full" if value else "none"
    text = str(value).casefold()
    return "selective" if "selective" in text else ("none" if text in ("none", "false") else "full")


def mean_tokens_of(fill: str | None, cap: int | None) -> float | None:
    """Mean real tokens of a sample where the row says that its samples are short."""
    text = (fill or "").casefold()
    if not text.startswith("short"):
        return None
    counts = re.search(r"total tokens (\d+) over (\d+) samples", text)
    if counts:
        return int(counts[1]) / int(counts[2])
    return 0.35 * cap if cap else None


def _memory_suffix(row: Row) -> str:
    """The card as written, with its memory where that tells two cards apart."""
    name = str(row.get("gpu") or "")
    size = row.get("gpu_mem_gb")
    if size and not re.search(r"\d+\s*G", name) and re.match(r"(A100|A800|V100|H100)\b", name):
        return f"{name} {size:g}GB"
    return name


def training_job(row: Row) -> TrainingJob:
    """A training row as a job."""
    task = str(row.get("task") or "")
    gpus = int(row.get("num_gpus") or 1)
    seq = row.get("seq_len")
    seq_len = int(seq) if seq else None
    flash = row.get("flash_attn")
    metric = str(row.get("metric") or "")
    pretrain = task in ("llm-pretrain", "mlperf") or "pretrain" in str(row.get("method"))
    return TrainingJob(
        gpu=_memory_suffix(row),
        model=row.get("model"),
        params_b=row.get("params_b"),
        stage="pretrain" if pretrain else "finetune",
        method=method_of(row.get("method")),
        adapter=adapter_of(row),
        precision=row.get("precision"),
        quantization=row.get("quant"),
        num_gpus=gpus,
        nodes=row.get("nodes"),
        layout=parse_layout(row.get("parallelism"), num_gpus=gpus),
        interconnect=row.get("intra_node"),
        link=row.get("inter_node"),
        micro_batch=row.get("micro_batch"),
        grad_accum=int(row["grad_accum"]) if row.get("grad_accum") else None,
        global_batch=_sequences(row.get("global_batch"), seq_len),
        seq_len=seq_len,
        mean_tokens=mean_tokens_of(row.get("token_fill"), seq_len),
        checkpointing=checkpointing_of(row.get("grad_ckpt")),
        flash=None if flash is None else flash is not False,
        compiled=bool(row.get("compile")) if row.get("compile") is not None else None,
        whole_run=metric.startswith("gpu_hours"),
    )


def concurrency_of(value: object) -> int:
    """Sequences at the same time out of a number or the load in words."""
    if isinstance(value, int | float):
        return max(1, int(value))
    text = str(value or "1").casefold()
    found = re.search(r"\d+", text)
    if found:
        return max(1, min(256, int(found[0])))
    return 64 if any(word in text for word in ("max", "saturat", "load", "throughput")) else 1


def _length_of(value: object) -> int | None:
    if isinstance(value, int | float):
        return max(1, int(value))
    found = re.search(r"\d+", str(value or ""))
    return int(found[0]) if found else None


def serving_job(row: Row) -> ServingJob:
    """A serving row as a setup."""
    engine = str(row.get("engine") or "") or None
    written = row.get("weight_format")
    return ServingJob(
        gpu=_memory_suffix(row),
        model=row.get("model"),
        params_b=row.get("params_b"),
        engine=engine,
        weight_format=None if written is None else _format_by_engine(str(written), engine),
        num_gpus=int(row.get("num_gpus") or 0),
        interconnect=row.get("interconnect"),
        concurrency=concurrency_of(row.get("batch")),
        prompt_len=_length_of(row.get("prompt_len")),
        output_len=_length_of(row.get("gen_len")),
    )


def _format_by_engine(written: str, engine: str | None) -> str:
    """`int8` inside transformers means bitsandbytes unless it says GPTQ."""
    folded = written.casefold()
    library = (engine or "").casefold()
    if "transformers" in library and folded in ("int8", "8bit"):
        return "bnb int8"
    return written


def includes_prefill(row: Row) -> bool:
    """Whether the row's figure counts the prompt's time."""
    metric = str(row.get("metric") or "")
    return metric.startswith(("speed_", "total_throughput", "output_throughput", "tokens_s"))


def image_job(row: Row) -> ImageJob:
    """A row of an image model as a run."""
    serving = "engine" in row
    engine = str(row.get("engine") or row.get("parallelism") or "") or None
    precision = row.get("weight_format") if serving else row.get("precision")
    batch = row.get("batch") if serving else row.get("micro_batch")
    return ImageJob(
        gpu=_memory_suffix(row),
        model=str(row.get("model") or ""),
        params_b=row.get("params_b"),
        task="infer" if serving else "train",
        precision=precision,
        engine=engine,
        batch=float(batch) if isinstance(batch, int | float) else None,
        global_batch=row.get("global_batch"),
        num_gpus=max(1, int(row.get("num_gpus") or 1)),
        nodes=row.get("nodes"),
        interconnect=row.get("intra_node") or row.get("interconnect"),
        link=row.get("inter_node"),
    )


REMOVED = {
    "measured", "tok_s_gpu", "tok_s_gpu_how", "mfu_pct", "hfu_pct", "tflops_gpu", "cost_usd",
    "decode_tok_s", "decode_how", "total_tok_s", "ttft_ms", "req_s", "figures", "notes", "source",
    "confidence", "extra", "core",
}  # fmt: skip
"""Fields that hold the truth or its wording."""


def without_truth(row: Row) -> dict[str, Any]:
    """The row as it is handed over to be answered."""
    return {key: value for key, value in row.items() if key not in REMOVED}


def is_image_row(row: Row) -> bool:
    """Whether the row is about images: its task or its unit says so."""
    task, unit = str(row.get("task") or ""), str(row.get("unit") or "")
    if task in ("vision-train", "diffusion-train", "vision", "diffusion"):
        return True
    return (
        task in ("network-case", "data-loading-case", "mlperf")
        and "seq_len" in row
        and (unit.startswith(("images/s", "examples/s")) or "samples/s" in unit)
    )


def encoding_job(row: Row) -> EncodingJob:
    """A row of an encoder that is run without training."""
    return EncodingJob(
        gpu=_memory_suffix(row),
        model=row.get("model"),
        params_b=row.get("params_b"),
        precision=row.get("weight_format"),
        num_gpus=max(1, int(row.get("num_gpus") or 1)),
        batch=concurrency_of(row.get("batch")),
        tokens=_length_of(row.get("prompt_len")),
    )


def speech_job(row: Row) -> SpeechJob:
    """A row of a speech model."""
    batch = row.get("batch")
    return SpeechJob(
        gpu=_memory_suffix(row),
        model=str(row.get("model") or ""),
        engine=str(row.get("engine") or "") or None,
        weight_format=row.get("weight_format"),
        batch=int(batch) if isinstance(batch, int | float) else None,
        num_gpus=int(row.get("num_gpus") or 0),
    )


def audio_seconds(row: Row) -> float | None:
    """Seconds of audio that a row's unit names: `s (13 min audio)`; None where it names none."""
    text = f"{row.get('unit') or ''} {row.get('metric') or ''}".casefold()
    found = re.search(r"(\d+(?:\.\d+)?)\s*(h|min|s)\w*\s+(?:of\s+)?audio", text)
    if found is None:
        return None
    return float(found[1]) * {"h": 3600.0, "min": 60.0, "s": 1.0}[found[2]]
