"""From readings to slots: which reading counts, and what follows from what was said."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from agent.request import Slots
from agent.understanding.phrases import table
from agent.understanding.readers.counts import node_count_before
from agent.understanding.readers.names import Card
from agent.understanding.readings import Board, Reading
from agent.understanding.text import Document

_DIRECT = (
    "precision", "framework", "library", "optimizer", "gradient_checkpointing", "attention", "strategy",
    "storage", "os", "billing", "region", "kv_cache_dtype", "zero_stage", "offload", "batch",
    "grad_accum", "seq_len", "input_len", "output_len", "img_size", "lora_rank", "lora_targets",
    "concurrency", "request_rate_per_s", "tp", "pp", "num_workers", "vcpu", "nodes", "epochs",
    "steps", "samples", "tokens_per_sample", "tokens", "rows", "columns", "instance_count",
    "hours", "ckpt_minutes", "mtbf_hours", "step_s", "steps_per_s", "latency_s",
    "bandwidth_gbps", "throughput_mb_s", "img_kb", "gpu_img_s", "gpu_util_pct", "discount",
    "budget", "host_ram_gb", "total_mem_gb", "need_gb", "model_size_mb", "gpu_mem_used_mib",
    "gpu_mem_total_mib", "probe", "dataset",
)  # fmt: skip
"""Slots whose best reading is the slot."""


@dataclass(slots=True)
class Resolution:
    """Slots with the readings they rest on."""

    values: dict[str, Any] = field(default_factory=dict)
    readings: dict[str, Reading] = field(default_factory=dict)
    inferred: set[str] = field(default_factory=set)
    ambiguities: list[str] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    spec: Any = None
    """ModelSpec of the model meant, where one is."""
    model_candidates: tuple[str, ...] = ()

    def put(
        self, slot: str, value: Any, reading: Reading | None = None, *, inferred: bool = False
    ) -> None:
        """Settle a slot."""
        if value is None:
            return
        self.values[slot] = value
        if reading is not None:
            self.readings[slot] = reading
        if inferred or (reading is not None and reading.origin == "inferred"):
            self.inferred.add(slot)

    def get(self, slot: str) -> Any:
        """Value of a slot, or None."""
        return self.values.get(slot)

    def slots(self) -> Slots:
        """The typed slots."""
        return Slots(**self.values)


def resolve(document: Document, board: Board) -> Resolution:
    """Settle every slot."""
    out = Resolution()
    for slot in _DIRECT:
        reading = board.best(slot)
        if reading is not None:
            out.put(slot, reading.value, reading)
    if board.has("nodes"):
        most = max(board.of("nodes"), key=lambda reading: (reading.weight >= 3, reading.value))
        out.put("nodes", most.value, most)
    _model(document, board, out)
    _cards(document, board, out)
    _places(board, out)
    _prices(board, out)
    _method_and_task(document, board, out)
    _quantization(document, board, out)
    _tidy(board, out)
    return out


def _model(document: Document, board: Board, out: Resolution) -> None:
    readings = board.of("model_match")
    if readings:
        reading = _model_meant(document, readings)
        out.spec = reading.value.spec
        written = document.span(reading.start, reading.end).text
        is_checkpoint = str(reading.value.quantization).startswith(("awq", "gptq"))
        out.put("model", written if is_checkpoint else out.spec.name, reading)
        out.put("params_b", round(out.spec.params_total / 1e9, 4), reading, inferred=True)
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
    if size is not None:
        return
    if small is not None:
        out.put("model", small.value, small)
    elif family is not None:
        out.put("model", _family_name(family.value), family)
        out.model_candidates = family.value.candidates
        out.ambiguities.append("model")


def _from_config(reading: Reading, out: Resolution) -> None:
    """A model described by its config.json."""
    from tools.errors import AdvisorError
    from tools.models import model_from_hf_config

    try:
        out.spec = model_from_hf_config(reading.value)
    except (AdvisorError, ValueError, TypeError, KeyError, ArithmeticError):
        return
    out.put("params_b", round(out.spec.params_total / 1e9, 4), reading)


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


def _cards(document: Document, board: Board, out: Resolution) -> None:
    readings = [reading for reading in board.of("card") if not _is_claim(document, board, reading)]
    cards: list[Card] = [reading.value for reading in readings]
    out.cards = cards
    if not cards:
        _cards_without_name(board, out)
        return
    first, reading = cards[0], readings[0]
    if len({card.label for card in cards}) > 1:
        out.put("gpus", tuple(_labelled(card) for card in _unique(cards)), reading)
        if _is_comparison(document, cards):
            return
    spec, is_open = _card_meant(board, first)
    out.put("gpu", first.label if first.slice_name else spec, reading)
    out.put("gpu_count", *_count(document, board, cards, out))
    memory = first.memory_gb or next(
        (c.memory_gb for c in cards if c.name == first.name and c.memory_gb), None
    )
    out.put("gpu_mem_gb", memory or board.value("gpu_mem_gb"), reading)
    if first.spec.is_unified and out.get("host_ram_gb") is None:
        out.put("host_ram_gb", memory or board.value("loose_gb"), reading)
    if is_open:
        out.ambiguities.append("gpu")


def _is_claim(document: Document, board: Board, reading: Reading) -> bool:
    """A card that a question only mentions: what an instance is said to hold, a lower bound."""
    behind = document.text[reading.end : reading.end + 8]
    if table("resolve", "or_better").has(behind.lstrip()[:6]):
        return True
    is_about_type = board.has("instance_mention") and not any(
        board.has(slot) for slot in ("model_match", "params_b", "method_scale", "model_family")
    )
    return is_about_type


def _is_comparison(document: Document, cards: list[Card]) -> bool:
    """Whether cards are set against each other, not a second one named in passing."""
    between = document.text[cards[0].end : cards[-1].start]
    after = document.text[cards[-1].end : cards[-1].end + 24]
    return (
        len(between) <= 4
        or table("resolve", "against").has(between)
        or table("resolve", "which").has(after)
    )


def _card_meant(board: Board, card: Card) -> tuple[str, bool]:
    """Row of a card, by the total of a pasted log where the name leaves the size open."""
    total = board.value("log_total_bytes")
    if not card.also or total is None:
        return card.name, bool(card.also)
    from tools.gpus import get_gpu

    specs = [card.spec, *(get_gpu(name) for name in card.also)]
    known = [spec for spec in specs if spec.usable_bytes]
    if not known:
        return card.name, True
    return min(known, key=lambda spec: abs((spec.usable_bytes or 0) - total)).name, False


def _unique(cards: list[Card]) -> list[Card]:
    return list({(card.label, card.count): card for card in cards}.values())


def _labelled(card: Card) -> str:
    return f"{card.count}x{card.label}" if card.count else card.label


def _count(
    document: Document, board: Board, cards: list[Card], out: Resolution
) -> tuple[int, Reading]:
    reading = board.of("card")[0]
    impossible = board.best("impossible_count")
    if impossible is not None:
        return int(impossible.value), impossible
    per_node = board.best("per_node")
    if per_node is not None:
        return int(per_node.value) * int(board.best("nodes").value), per_node  # type: ignore[union-attr]
    counted = next((card for card in cards if card.count), None)
    if counted is not None and counted.count:
        nodes = node_count_before(document.text, counted.start) or 1
        if nodes > 1:
            out.put("nodes", nodes, reading)
        return counted.count * nodes, reading
    pasted = board.best("gpu_count_pasted")
    if pasted is not None:
        nodes = out.get("nodes") or 1
        return int(pasted.value) * (nodes if nodes * pasted.value > pasted.value else 1), pasted
    loose = board.of("loose_count")
    if loose:
        return int(loose[0].value), loose[0]
    out.inferred.add("gpu_count")
    return 1, reading


def _cards_without_name(board: Board, out: Resolution) -> None:
    memory = board.best("gpu_mem_gb")
    if memory is not None:
        out.put("gpu_mem_gb", memory.value, memory)
    loose, per_node, nodes = board.best("loose_count"), board.best("per_node"), board.best("nodes")
    if per_node is not None and nodes is not None:
        out.put("gpu_count", per_node.value * nodes.value, per_node)
    elif loose is not None:
        out.put("gpu_count", loose.value, loose)
    elif memory is not None and not board.has("asks_count"):
        out.put("gpu_count", 1, memory, inferred=True)
    if board.has("gpu_none") and memory is None:
        out.put("gpu", "none", board.best("gpu_none"))
    elif board.has("apple"):
        out.put("gpu", "Apple Silicon", board.best("apple"))
        out.ambiguities.append("gpu")


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
        out.put("instance", types[0], found[0])
        if len(types) > 1:
            out.put("instances", tuple(types), found[0])
    if not names:
        implied = board.best("provider_implied")
        if implied is not None:
            out.put("provider", implied.value, implied, inferred=True)


def _prices(board: Board, out: Resolution) -> None:
    prices = board.of("price")
    if len(prices) == 1:
        out.put("price", prices[0].value, prices[0])
    elif prices:
        out.put("price", tuple(reading.value for reading in prices), prices[0])


def _method_and_task(document: Document, board: Board, out: Resolution) -> None:
    cues = board.of("task_cue")
    scales = list(dict.fromkeys(reading.value for reading in board.of("method_scale")))
    goal = board.best("method_goal")
    formats = [*board.of("quantization"), *board.of("quantization_named")]
    four_bit = any(reading.value in ("int4", "nf4") for reading in formats)
    scale = _scale(scales, four_bit=four_bit)
    if goal is not None and goal.value == "rm":
        goal = None
    if goal is not None:
        out.put(
            "method",
            goal.value if scale is None or goal.value in ("pretrain",) else f"{goal.value}+{scale}",
            goal,
        )
    elif scale is not None:
        out.put("method", scale, board.best("method_scale"))
    task = _task(document, board, out)
    if task is not None:
        said = next((r for r in cues if r.value == task), None)
        out.put("task", task, said, inferred=said is None)
    _assumed_method(goal, scale, out)


def _scale(scales: list[str], *, four_bit: bool) -> str | None:
    if "qlora" in scales:
        return "qlora"
    if "lora" in scales and four_bit:
        return "qlora"
    for name in ("full", "lora"):
        if scales and scales[0] == name:
            return name
    return scales[0] if scales and scales[0] in ("full", "lora") else None


def _task(document: Document, board: Board, out: Resolution) -> str | None:
    cues = board.of("task_cue")
    kinds = {reading.value for reading in cues}
    if "quantize" in kinds:
        return "quantize"
    if {"train", "infer"} <= kinds and _are_joined(document, cues):
        return "both"
    if "train" in kinds:
        return "train"
    kind = getattr(out.spec, "kind", None)
    if board.has("model_small") or (
        kind in _TRAINED_KINDS and out.get("batch") and "infer" not in kinds
    ):
        return "train"
    if "infer" in kinds or "run" in kinds or out.spec is not None:
        return "infer"
    return "infer" if out.get("params_b") is not None else None


def _are_joined(document: Document, cues: list[Reading]) -> bool:
    """Training and serving named side by side ("vllm / lora", "训练和推理")."""
    for first, second in pairwise(cues):
        between = document.text[first.end : second.start].strip()
        is_pair = {first.value, second.value} == {"train", "infer"}
        if is_pair and between in (
            "/",
            "和",
            "and",
            "+",
            "&",
            "或",
            "或者",
            "or",
            "、",
            "与",
            "以及",
            "",
        ):
            return True
    return False


_QLORA = re.compile(r"q[ \-_]?lora")
_TRAINED_KINDS = {"encoder", "cnn", "detector", "vit", "segmentation"}
_SMALL_KINDS = {
    "encoder",
    "embedding",
    "reranker",
    "seq2seq",
    "speech",
    "vit",
    "cnn",
    "detector",
    "segmentation",
}


def _assumed_method(goal: Reading | None, scale: str | None, out: Resolution) -> None:
    """Training without a method: LoRA for language models, all weights for small networks."""
    if out.get("task") != "train" or scale is not None:
        return
    kind = getattr(out.spec, "kind", None)
    if goal is not None:
        if goal.value == "cpt":
            out.put("method", "cpt+full", goal, inferred=True)
        return
    if kind in _SMALL_KINDS:
        out.put("method", "full", inferred=True)
    elif out.get("zero_stage") == 3 or out.get("offload") or out.get("strategy") == "fsdp":
        out.put("method", "full", inferred=True)
    elif out.get("params_b") or out.spec is not None:
        out.put("method", "lora", inferred=True)


def _quantization(document: Document, board: Board, out: Resolution) -> None:
    named = board.best("quantization_named")
    said = board.best("quantization")
    reading = said or named
    if named is not None and (said is None or said.value in str(named.value)):
        reading = named
    value = None if reading is None else reading.value
    if value == "nf4" and out.get("task") == "train" and out.get("method") in (None, "lora"):
        out.put("method", "qlora", reading)
    if value in ("fp16", "bf16", "fp32"):
        out.put("precision", value, reading)
        value = None
    if (
        value is not None
        and out.get("task") == "train"
        and str(out.get("method") or "").endswith("qlora")
    ):
        explicit = any(
            _QLORA.search(document.text[r.start : r.end]) for r in board.of("method_scale")
        )
        if not explicit or value == "nf4" or (reading and reading.origin == "pasted"):
            value = None
    if value is not None and not (board.has("not_quantized") and said is None):
        out.put("quantization", value, reading)
    elif (
        out.get("framework") == "ollama" and out.spec is not None and not board.has("not_quantized")
    ):
        out.put("quantization", "q4_k_m", inferred=True)


def _tidy(board: Board, out: Resolution) -> None:
    """Values that only make sense together."""
    if out.get("gpu") and out.get("provider") is None and out.get("providers") is None:
        return
