"""From readings to slots: which reading counts, and what follows from what was said."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from agent.understanding.lexicon.phrases import table
from agent.understanding.lexicon.readings import Board, Reading
from agent.understanding.lexicon.text import Document
from agent.understanding.settling.batches import settle_batches, settle_rollouts
from agent.understanding.settling.card_hours import settle_card_hours
from agent.understanding.settling.cards import settle_cards
from agent.understanding.settling.job import (
    settle_engine,
    settle_job,
    settle_layers,
    settle_quantization,
)
from agent.understanding.settling.load import settle_load
from agent.understanding.settling.more_cards import settle_added
from agent.understanding.settling.resolution import Resolution
from tools.models import DENOISER_KINDS, SEEING_KINDS

_DIRECT = (
    "precision", "precision_mode", "framework", "library", "optimizer",
    "gradient_checkpointing", "attention", "fused_ce", "num_generations", "prompts_per_step",
    "strategy", "storage", "os", "billing", "region", "kv_cache_dtype", "zero_stage", "offload",
    "batch", "grad_accum", "seq_len", "input_len", "output_len", "img_size", "lora_rank",
    "lora_targets",
    "gpu_memory_utilization", "gpu_layers", "concurrency", "request_rate_per_s",
    "rate_is_mean", "peak_factor", "side_by_side", "tp", "pp",
    "num_workers", "vcpu", "nodes", "epochs",
    "steps", "steps_done", "runs", "copies", "samples", "tokens_per_sample", "tokens", "rows",
    "columns", "instance_count",
    "hours", "hours_per_day", "days", "ckpt_minutes", "ckpt_interval_minutes", "mtbf_hours",
    "step_s", "steps_per_s",
    "latency_s",
    "bandwidth_gbps", "busbw_gb_s", "throughput_mb_s", "img_kb", "gpu_img_s", "gpu_util_pct",
    "discount",
    "budget", "host_ram_gb", "total_mem_gb", "need_gb", "model_size_mb", "gpu_mem_used_mib",
    "gpu_mem_total_mib", "probe", "dataset", "beams", "clip_s", "frames", "pipeline_offload",
    "vae_slicing", "vae_tiling", "blocks_to_swap", "documents",
)  # fmt: skip
"""Slots whose best reading is the slot."""


_PICTURE_KINDS = (*SEEING_KINDS, *DENOISER_KINDS)


def resolve(document: Document, board: Board) -> Resolution:
    """Settle every slot."""
    out = Resolution()
    out.not_whole = tuple(reading.value for reading in board.of("not_whole"))
    for slot in _DIRECT:
        reading = board.best(slot)
        if reading is not None:
            out.put(slot, reading.value, reading)
    if len(board.of("epochs")) > 1:  # "one epoch takes 6 h, 5 epochs": the job has the most
        most_epochs = max(board.of("epochs"), key=lambda reading: reading.value)
        out.put("epochs", most_epochs.value, most_epochs)
    _steps_of_epochs(document, out)
    links = tuple(dict.fromkeys(reading.value for reading in board.of("bandwidth_gbps")))
    if len(links) > 1:  # "40G RoCE or 100G RoCE?"
        out.put("bandwidths_gbps", links, board.best("bandwidth_gbps"))
    if board.has("nodes"):
        most = max(board.of("nodes"), key=lambda reading: (reading.weight >= 3, reading.value))
        out.put("nodes", most.value, most)
    _model(document, board, out)
    settle_cards(document, board, out)
    settle_added(document.text, board, out)
    settle_card_hours(document.text, board, out)
    is_rate = getattr(out.get("budget"), "per", None) == "hour"
    if (
        out.get("hours") == 1
        and not board.has("runs")
        and (is_rate or table("cues", "cost").has(document.text))
    ):
        out.values.pop("hours")  # "多少钱一小时" asks for a rate
        out.readings.pop("hours", None)
    if out.get("input_len") and out.get("img_size") is None:
        if getattr(out.spec, "kind", None) in SEEING_KINDS:  # "yolov8s 640输入": pixels
            out.put("img_size", out.values.pop("input_len"), out.readings.pop("input_len", None))
    _bare_side(document, out)
    _tokens_each(out)
    _lengths_vary(document, out)
    _bare_length(document, board, out)
    _places(board, out)
    _prices(document, board, out)
    settle_job(document, board, out)
    settle_quantization(document, board, out)
    settle_layers(board, out)
    settle_load(document, board, out)
    _pure_precision(document, out)
    settle_batches(document, board, out)
    settle_rollouts(out)
    settle_engine(out)
    if out.get("framework") == "vllm" and "Ascend" in str(out.get("gpu")):
        out.put("framework", "vllm-ascend", out.readings["framework"])
    return out


def _pure_precision(document: Document, out: Resolution) -> None:
    """The 16-bit format beside words for training in nothing else ("不留 fp32 主权重")."""
    if out.get("precision_mode") != "pure" or out.get("precision") is not None:
        return
    named = table("words", "precision").values(document.text) & {"bf16", "fp16"}
    if len(named) == 1:
        out.put("precision", named.pop(), out.readings.get("precision_mode"))


def _model(document: Document, board: Board, out: Resolution) -> None:
    readings = board.of("model_match")
    if readings:
        reading = _model_meant(document, readings)
        out.spec = reading.value.spec
        written = document.span(reading.start, reading.end).text
        is_checkpoint = str(reading.value.quantization).startswith(("awq", "gptq"))
        out.put("model", written if is_checkpoint else out.spec.name, reading)
        out.put("params_b", round(out.spec.params_total / 1e9, 4), reading, inferred=True)
        nothing = next((r for r in board.of("params_b") if r.value <= 0), None)
        if nothing is not None:  # "make it 0B": no size that a model can have
            out.put("params_b", nothing.value, nothing)
            out.inferred.discard("params_b")
        names = tuple(dict.fromkeys(r.value.spec.name for r in readings))
        if len(names) > 1:
            out.put("models", names, reading)
        return
    config = board.best("hf_config")
    if config is not None:
        _from_config(config, out)
        return
    size = board.best("params_b")
    if size is not None:
        out.put("params_b", size.value, size)
        out.put("active_b", board.value("active_b"), size)
    small, family = board.best("model_small"), board.best("model_family")
    if size is not None and not board.has("model_unlisted"):
        return
    if small is not None:
        kinds = tuple(dict.fromkeys(str(r.value) for r in board.of("model_small")))
        if len(kinds) > 1:  # "k-means + logistic regression"
            out.put("models", kinds, small)
        out.put("model", small.value, small)
        out.is_classic = not board.has("model_unlisted")
    elif family is not None:
        out.put("model", _family_name(family.value), family)
        out.model_candidates = family.value.candidates
        out.ambiguities.append("model")


def _from_config(reading: Reading, out: Resolution) -> None:
    """A model described by its config.json."""
    from tools.errors import AdvisorError
    from tools.models import find_model, written_config

    try:
        name = written_config(reading.value)
        out.spec = find_model(name).spec
    except AdvisorError as error:
        out.unreadable = str(getattr(error, "reason", error))
        return
    except (ValueError, TypeError, KeyError, ArithmeticError):
        return
    out.put("model", name, reading)
    out.put("params_b", round(out.spec.params_total / 1e9, 4), reading)
    written = str(reading.value.get("torch_dtype") or reading.value.get("dtype") or "")
    precision = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}.get(written)
    if out.get("precision") is None and out.get("quantization") is None:
        out.put("precision", precision, reading, inferred=True)


_JOINED = 4
"""Characters between two names that stand side by side ("baichuan13b/qwen7b")."""


def _model_meant(document: Document, readings: list[Reading]) -> Reading:
    """Of several models the one that is said to fail ("A worked, B OOMs"), else the first."""
    for reading, following in pairwise([*readings, None]):
        assert reading is not None
        until = following.start if following is not None else reading.end + 40
        behind = document.text[reading.end : min(until, reading.end + 40)]
        if following is not None and len(behind) <= _JOINED:
            break
        if len(readings) > 1 and table("cues", "diagnose").has(behind):
            return reading
    return readings[0]


def _family_name(mention: Any) -> str:
    """Latin spelling of a family."""
    if mention.key.isascii():
        return str(mention.key)
    return next(iter(table("words", "chinese_families").values(mention.key)), str(mention.key))


_LONGEST_SAMPLE = 200_000


def _is_budget(document: Document, price: Reading, out: Resolution) -> bool:
    """Whether an amount beside a job is what may be spent, as in "$200 a month, what to rent?"."""
    is_rate = price.value.per == "hour" and price.value.period not in ("day", "week")
    if out.get("budget") is not None or out.get("instance") or is_rate:
        return False
    has_job = out.spec is not None or out.get("params_b") is not None
    has_work = any(out.get(slot) is not None for slot in _WORK)
    if has_job and has_work and price.value.per == "total":
        return not table("resolve", "is_paid").has(document.text)
    return has_job and out.get("gpu") is None and table("cues", "recommend").has(document.text)


_WORK = ("samples", "tokens", "steps", "epochs")
"""Amounts of work that a sum of money may pay for."""


def _tokens_each(out: Resolution) -> None:
    """Tokens said beside a number of samples are those of one ("50k samples of 1024 tokens")."""
    tokens, samples = out.get("tokens"), out.get("samples")
    each = out.get("tokens_per_sample") or tokens
    if samples is None and out.get("rows") is not None and each is not None:
        samples = out.values.pop("rows")  # rows of text: a table's have no tokens
        out.put("samples", samples, out.readings.pop("rows", None))
    if tokens is None or samples is None or out.get("tokens_per_sample") is not None:
        return
    if tokens <= _LONGEST_SAMPLE and (samples > 1 or tokens < samples):
        out.put("tokens_per_sample", out.values.pop("tokens"), out.readings.pop("tokens", None))


_NEAR = 12
"""Characters beside a length in which it is called an average."""


def _lengths_vary(document: Document, out: Resolution) -> None:
    """Note whether the tokens of a sample are an average ("50k samples, 300 tokens on average")."""
    reading = out.readings.get("tokens_per_sample")
    if reading is not None:
        near = document.text[max(0, reading.start - _NEAR) : reading.end + _NEAR]
        out.put("lengths_vary", table("resolve", "average").has(near), reading)


_OF_AN_EPOCH = re.compile(
    r"(?:每个?|一个?|每一?|per|an|each|one)\s?(?:epoch|轮)[^\d,。;\n]{0,8}?\d[\d,.]*\s?[k万千]?\s?(?:步|个?steps?)"
    r"|\d[\d,.]*\s?[k万千]?\s?(?:步|steps?)\s?(?:/|per|an?|each|一个?|每个?)\s?(?:epoch|轮)"
)


def _steps_of_epochs(document: Document, out: Resolution) -> None:
    """Steps of one epoch times the epochs ("一个 epoch 3200 步, 训 5 个 epoch")."""
    steps, epochs = out.get("steps"), out.get("epochs")
    if steps and epochs and epochs > 1 and _OF_AN_EPOCH.search(document.text):
        out.put("steps", int(steps * epochs), out.readings.get("steps"))


_SIDES = re.compile(
    r"(?<![\w.,*/x])(224|256|288|320|384|416|448|480|512|608|640|736|768|800|896|960|1024|1280|1536)"
    r"(?![\w.,%*/]|\s?(?:张|条|个|步|轮|k|g|gb|mb|元|块|小时|核|images?|samples?|epochs?|steps?|total|x))"
)
"""Sides that images usually have."""


def _bare_side(document: Document, out: Resolution) -> None:
    """A usual side said bare beside a network that looks at images ("yolov8s 640 100轮")."""
    seeing = getattr(out.spec, "kind", None) in SEEING_KINDS
    if not seeing or any(out.get(s) is not None for s in ("img_size", "seq_len", "input_len")):
        return
    found = _SIDES.findall(document.rest())
    if len(found) == 1:
        out.put("img_size", int(found[0]))


_USUAL_LENGTHS = {2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144}


def _bare_length(document: Document, board: Board, out: Resolution) -> None:
    """A bare "32k" beside a model is its context."""
    loose = [r for r in board.of("loose_tokens") if not document.text[: r.start].endswith("-")]
    has_job = out.get("params_b") is not None or out.spec is not None
    amount = any(out.get(slot) is not None for slot in ("samples", "epochs", "seq_len", "steps"))
    has_job = has_job or board.has("hf_config")
    of_cache = table("resolve", "cache").has(document.text)
    if (
        has_job and not amount and (of_cache or out.get("tokens") in _USUAL_LENGTHS)
    ):  # "QLoRA a 13B at 2k tokens"
        tokens, said = out.values.pop("tokens", None), out.readings.pop("tokens", None)
        out.put("seq_len", tokens, said)
    if out.get("seq_len") is None and has_job and len(loose) == 1:
        is_length = loose[0].value in _USUAL_LENGTHS or loose[0].weight > 1
        slot = "img_size" if getattr(out.spec, "kind", None) in _PICTURE_KINDS else "seq_len"
        if is_length and out.get("samples") is None and out.get(slot) is None:
            out.put(slot, loose[0].value, loose[0])


def _places(board: Board, out: Resolution) -> None:
    names = list(dict.fromkeys(reading.value for reading in board.of("provider")))
    first = board.best("provider")
    if len(names) > 1:
        out.put("providers", tuple(names), first)
    elif first is not None:
        out.put("provider", first.value, first)
    found = board.of("instance")
    types = list(dict.fromkeys(reading.value for reading in found))
    if types:
        first = next(
            (r for r in found if "." in str(r.value)), found[0]
        )  # a type before its family
        out.put("instance", first.value, first)
        if len(types) > 1:
            out.put("instances", tuple(types), found[0])
    if not names:
        implied = board.best("provider_implied")
        if implied is not None:
            out.put("provider", implied.value, implied, inferred=True)


def _prices(document: Document, board: Board, out: Resolution) -> None:
    prices = board.of("price")
    if len(prices) == 1 and _is_budget(document, prices[0], out):
        out.put("budget", prices[0].value, prices[0])
        return
    if len(prices) == 1:
        out.put("price", prices[0].value, prices[0])
    elif prices:
        out.put("price", tuple(reading.value for reading in prices), prices[0])
