"""From readings to slots: which reading counts, and what follows from what was said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agent.request import Slots
from agent.understanding.readers.counts import node_count_before
from agent.understanding.readers.names import Card
from agent.understanding.readings import Board, Reading
from agent.understanding.text import Document

_DIRECT = (
    "precision", "framework", "optimizer", "gradient_checkpointing", "attention", "strategy",
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
    _model(board, out)
    _cards(document, board, out)
    _places(board, out)
    _prices(board, out)
    _method_and_task(board, out)
    _quantization(board, out)
    _tidy(board, out)
    return out


def _model(board: Board, out: Resolution) -> None:
    reading = board.best("model_match")
    if reading is not None:
        match = reading.value
        out.spec = match.spec
        out.put("model", match.spec.name, reading)
        out.put("params_b", round(match.spec.params_total / 1e9, 4), reading, inferred=True)
        return
    size = board.best("params_b")
    if size is not None:
        out.put("params_b", size.value, size)
    small = board.best("model_small")
    if small is not None and size is None:
        out.put("model", small.value, small)
        return
    family = board.best("model_family")
    if family is not None and size is None:
        out.put("model", family.value, family)
        out.ambiguities.append("model")


def _cards(document: Document, board: Board, out: Resolution) -> None:
    cards: list[Card] = [reading.value for reading in board.of("card")]
    out.cards = cards
    distinct = list(dict.fromkeys(card.name for card in cards))
    if not cards:
        _cards_without_name(board, out)
        return
    first = cards[0]
    reading = board.of("card")[0]
    if len(distinct) > 1:
        out.put("gpus", tuple(_labelled(card) for card in _unique(cards)), reading)
    else:
        out.put("gpu", first.name, reading)
        out.put("gpu_count", *_count(document, board, cards, out))
        memory = next((card.memory_gb for card in cards if card.memory_gb), None)
        out.put("gpu_mem_gb", memory or board.value("gpu_mem_gb"), reading)
    if any(card.also for card in cards):
        out.ambiguities.append("gpu")


def _unique(cards: list[Card]) -> list[Card]:
    return list({(card.name, card.count): card for card in cards}.values())


def _labelled(card: Card) -> str:
    return f"{card.count}x{card.name}" if card.count else card.name


def _count(
    document: Document, board: Board, cards: list[Card], out: Resolution
) -> tuple[int, Reading]:
    reading = board.of("card")[0]
    per_node = board.best("per_node")
    if per_node is not None:
        return int(per_node.value) * int(board.best("nodes").value), per_node  # type: ignore[union-attr]
    counted = next((card for card in cards if card.count), None)
    if counted is not None and counted.count:
        nodes = node_count_before(document.text, counted.start) or 1
        if nodes > 1:
            out.put("nodes", nodes, reading)
        return counted.count * nodes, reading
    loose = board.of("loose_count")
    if loose:
        return int(loose[0].value), loose[0]
    out.inferred.add("gpu_count")
    return 1, reading


def _cards_without_name(board: Board, out: Resolution) -> None:
    memory = board.best("gpu_mem_gb")
    if memory is not None:
        out.put("gpu_mem_gb", memory.value, memory)
    loose = board.best("loose_count")
    per_node = board.best("per_node")
    nodes = board.best("nodes")
    if per_node is not None and nodes is not None:
        out.put("gpu_count", per_node.value * nodes.value, per_node)
    elif loose is not None:
        out.put("gpu_count", loose.value, loose)
    if board.has("gpu_none") and memory is None:
        out.put("gpu", "none", board.best("gpu_none"))


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


def _method_and_task(board: Board, out: Resolution) -> None:
    cues = board.of("task_cue")
    kinds = {reading.value for reading in cues}
    scales = list(dict.fromkeys(reading.value for reading in board.of("method_scale")))
    goal = board.best("method_goal")
    four_bit = any(r.value in ("int4", "nf4") for r in board.of("quantization"))
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
    task = _task(kinds, out)
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


def _task(kinds: set[str], out: Resolution) -> str | None:
    if "quantize" in kinds:
        return "quantize"
    if "train" in kinds:
        return "train"
    if "infer" in kinds or "run" in kinds:
        return "infer"
    if out.spec is not None or out.get("params_b") is not None:
        return "infer"
    return None


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
    elif out.get("params_b") or out.spec is not None:
        out.put("method", "lora", inferred=True)


def _quantization(board: Board, out: Resolution) -> None:
    named = board.best("quantization_named")
    said = board.best("quantization")
    reading = said or named
    if named is not None and (said is None or said.value in str(named.value)):
        reading = named
    value = None if reading is None else reading.value
    if value in ("fp16", "bf16", "fp32"):
        out.put("precision", value, reading)
        value = None
    if (
        value is not None
        and out.get("task") == "train"
        and str(out.get("method") or "").endswith("qlora")
    ):
        explicit = any(r.value == "qlora" for r in board.of("method_scale"))
        if not explicit or value == "nf4":
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
