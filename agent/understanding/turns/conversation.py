"""What a turn takes over from the turns before it, and what it changes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent.request import Request
from agent.understanding.data import load
from agent.understanding.lexicon.numerals import DIGITS, parse_number
from agent.understanding.lexicon.phrases import table
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document
from agent.understanding.settling.batches import share_batch
from agent.understanding.settling.job import assume_method
from agent.understanding.settling.more_cards import carry_added
from agent.understanding.settling.resolution import Resolution
from agent.understanding.turns.terse import bare_number

if TYPE_CHECKING:
    from tools.models import ModelSpec


@dataclass(slots=True)
class Carried:
    """Outcome of joining a turn to the conversation."""

    inherited: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    base: Request | None = None
    """The request that this turn continues; None for a topic of its own."""


def carry_over(document: Document, board: Board, out: Resolution, base: Request) -> Carried:
    """Fill `out` with what the earlier request said and this turn leaves standing."""
    rules = load("conversation")
    before: dict[str, Any] = base.slots.model_dump(exclude_none=True)
    old = {slot: getattr(base.slots, slot) for slot in before}
    _read_again(document, board, out, base)
    if out.get("task") == "quantize" and out.get("quantization") and base.slots.task == "infer":
        out.values.pop("task")  # "量化成int4呢": another format of the same job
        out.readings.pop("task", None)
        out.inferred.discard("task")
    said = {slot for slot in out.values if slot not in out.inferred}
    dropped = _dropped(document, board, out, said, base)
    for slot in list(out.values):
        if (
            slot in out.inferred
            and slot in old
            and slot not in dropped
            and slot not in _follows(said)
        ):
            del out.values[slot]
            out.readings.pop(slot, None)
            out.inferred.discard(slot)
    carried = Carried(base=base)
    for slot, value in old.items():
        if slot in out.values or slot in dropped:
            continue
        out.values[slot] = value
        carried.inherited.add(slot)
        if slot in base.inferred:
            out.inferred.add(slot)
    _cards_of_nodes(out, said, base, carried)
    _again_a_day(out, said, old)
    carry_added(document.text, board, out, said, old)
    _rejoin(board, out, said, rules)
    share_batch(out)
    if "task" in said:
        assume_method(out)
    _states_into_ram(out, said, base)
    carried.inherited &= set(out.values)
    _keep_open(out, base, carried)
    carried.changed = {
        slot for slot in {*said, *dropped, *_follows(said)} if old.get(slot) != out.values.get(slot)
    }
    return carried


_PER_SECOND = re.compile(
    rf"(?:每秒|一秒)(?:要是|如果|是|能|跑|有|到)*\s?(?P<n>{DIGITS})\s?个?"
    rf"|(?<![a-z0-9.])(?P<m>{DIGITS})\s?(?:a|per|every)\s?sec"
)
_LONGEST_PROMPT = 262_144
_AMOUNT = ("samples", "tokens_per_sample", "epochs", "steps", "tokens")


def _read_lengths(document: Document, board: Board, out: Resolution, base: Request) -> None:
    """A length that only the job before shows: "8k", "with 8192 tokens", "no, 1024"."""
    loose, tokens = board.best("loose_tokens"), board.best("tokens")
    if loose is not None and out.get("seq_len") is None:
        out.put("seq_len", loose.value, loose)
    if tokens is not None and out.get("seq_len") is None and tokens.value <= _LONGEST_PROMPT:
        counts_data = any(getattr(base.slots, slot) is not None for slot in _AMOUNT)
        if not counts_data and all(out.get(slot) is None for slot in _AMOUNT[:-1]):
            out.put("seq_len", out.values.pop("tokens"), out.readings.pop("tokens", None))
    rate = _PER_SECOND.search(document.text)
    if rate is not None and base.slots.steps_per_s is not None and not out.values:
        value = parse_number(rate["n"] or rate["m"])
        if value:
            out.put("steps_per_s", value)
    number = bare_number(document.text.strip(), board)
    if number is None:
        return
    slot = _slot_of(number, base)
    if slot is not None and not out.values:
        out.put(slot, number)


_COUNTED = ("concurrency", "batch", "grad_accum", "gpu_count", "samples", "steps")
_LENGTHS = ("seq_len", "input_len", "output_len", "img_size")
_ROUND = 64
"""What lengths are usually a multiple of, and numbers of people or pictures hardly ever."""


def _slot_of(number: int, base: Request) -> str | None:
    """The slot that a bare number gives anew: the one changed last, else the one count said.

    A multiple of 64 is a length where one was said ("make it 2048"); people who are served come
    before other counts ("make that 500").
    """
    said = [s for s in base.spans if isinstance(getattr(base.slots, s, None), int)]
    replaced = [slot for slot in base.changed if slot in said]
    if len(replaced) == 1 and (replaced[0] not in _LENGTHS or number >= _ROUND):
        return replaced[0]
    lengths = [slot for slot in _LENGTHS if slot in said]
    if number >= 2 * _ROUND and number % _ROUND == 0 and len(lengths) == 1:
        return lengths[0]
    counts = [slot for slot in _COUNTED if slot in said and slot not in base.inferred]
    return counts[0] if counts and (len(counts) == 1 or counts[0] == "concurrency") else None


def _read_again(document: Document, board: Board, out: Resolution, base: Request) -> None:
    """What only the conversation makes clear: "8k" is a length, "70B" a size of the same family."""
    times = board.best("loose_times")
    if times is not None and base.slots.gpu is not None and out.get("gpu") is None:
        out.put("gpu_count", times.value, times)
    _read_lengths(document, board, out, base)
    size = out.get("params_b")
    if size is not None and out.spec is None and base.slots.model is not None:
        sibling = _of_size(base.slots.model, size)
        if sibling is not None:
            out.spec = sibling
            out.put("model", sibling.name, out.readings.get("params_b"))
            out.values["params_b"] = round(sibling.params_total / 1e9, 4)


_NEAR = 0.15
"""Share by which a size in a name may differ from the parameters counted."""


def _of_size(model: str, size: float) -> ModelSpec | None:
    """The model of the same series, or of the same family, with a size in billions."""
    from tools.models import find_family, try_find_model

    written = re.sub(r"\d+(?:\.\d+)?b(?![a-z])", f"{size:g}B", model, flags=re.IGNORECASE)
    names = [written] if written != model else []
    if not names:
        family = find_family(model)
        names += family.candidates if family is not None else ()
    matches = (try_find_model(name) for name in names)
    specs = (match.spec for match in matches if match is not None)
    return next((s for s in specs if abs(s.params_total / 1e9 - size) <= _NEAR * size), None)


def _keep_open(out: Resolution, base: Request, carried: Carried) -> None:
    """A family stays one whose size was not said, as long as no turn says it."""
    from tools.models import find_family

    is_open = "model" in base.ambiguities and "model" in carried.inherited
    if not is_open or out.get("params_b") is not None or "model" in out.ambiguities:
        return
    family = find_family(str(out.get("model")))
    if family is not None:
        out.model_candidates = family.candidates
        out.ambiguities.append("model")


_HOURS_OF_A_DAY = 24


def _cards_of_nodes(out: Resolution, said: set[str], base: Request, carried: Carried) -> None:
    """Cards of all machines, where a turn changes how many machines there are ("only one node")."""
    before, cards = base.slots.nodes, base.slots.gpu_count
    if "nodes" not in said or "gpu_count" in said or not cards or not before:
        return
    if cards % before == 0 and out.get("nodes") != before:
        out.values["gpu_count"] = cards // before * out.values["nodes"]
        carried.inherited.discard("gpu_count")


def _states_into_ram(out: Resolution, said: set[str], base: Request) -> None:
    """Host memory that is brought up against a training of all weights is to take its states."""
    is_new = "host_ram_gb" in said and base.slots.host_ram_gb is None
    is_whole = str(out.get("method")).split("+")[-1] in ("full", "pretrain")
    if is_new and is_whole and out.get("task") == "train" and out.get("offload") is None:
        out.put("offload", True, inferred=True)


def _again_a_day(out: Resolution, said: set[str], old: dict[str, Any]) -> None:
    """Hours a day times days, where a turn changes only one of them."""
    each, days, hours = old.get("hours_per_day"), old.get("days"), out.get("hours")
    if not each or not days or "hours" not in said or "hours_per_day" in said:
        return
    if hours <= _HOURS_OF_A_DAY:
        out.values["hours_per_day"] = hours
        out.values["hours"] = hours * days
    elif hours % _HOURS_OF_A_DAY == 0:  # "and 25 days?"
        out.values["days"] = hours / _HOURS_OF_A_DAY
        out.values["hours"] = each * out.values["days"]


def _follows(said: set[str]) -> set[str]:
    """Inferred slots that a newly said slot settles anew."""
    out: set[str] = set()
    if said & {"model", "params_b"}:
        out |= {"params_b"}
    if "task" in said or "method" in said:
        out |= {"task"}
    if said & {"gpu", "gpu_mem_gb"}:
        out |= {"gpu_mem_gb"}
    return out


def _dropped(
    document: Document, board: Board, out: Resolution, said: set[str], base: Request
) -> set[str]:
    """Old slots that this turn makes void."""
    old = base.slots.model_dump(exclude_none=True)
    rules = load("conversation")
    dropped: set[str] = set()
    for group in rules["groups"].values():
        if said & set(group):
            dropped |= set(group)
    if said & set(rules["card_replaced_by"]):
        dropped |= set(rules["groups"]["card"])
    elif "gpu_count" in said:
        dropped -= set(rules["groups"]["card"])
    dropped |= _void_counts(document, board, out, said)
    if "pp" in said and "tp" not in said:
        dropped.add("tp")
    if said & {"gpu", "gpus", "gpu_mem_gb", "provider"}:
        dropped |= set(rules["groups"]["type"])
    dropped |= _void_formats(board, out, said, old, base)
    is_alone = base.slots.instance is not None and not base.slots.has_model
    of_its_family = is_alone and table("conversation", "asks_size").has(document.text)
    is_new = table("cues", "recommend").has(document.text) and not of_its_family
    if is_new and "instance" not in said:
        dropped |= set(rules["groups"]["type"])
    task = out.get("task") if "task" in said else None
    if task == "infer" and old.get("task") == "train":
        dropped |= set(rules["training_only"])
    if task == "train" and old.get("task") == "infer":
        dropped |= {*rules["serving_only"], "quantization"}
        if old.get("framework") in rules["serving_frameworks"]:
            dropped.add("framework")
    if table("conversation", "process_stopped").has(document.text):
        dropped.add("gpu_mem_used_mib")
    return dropped - {slot for slot in dropped if slot in said}


def _void_counts(document: Document, board: Board, out: Resolution, said: set[str]) -> set[str]:
    """How many cards and how they share, where the cards are others or only one."""
    if "gpu_count" in said:
        return {"zero_stage", "tp", "pp"} if out.get("gpu_count") == 1 else set()
    if not said & {"gpu", "gpus", "gpu_mem_gb"}:
        return set()
    return set() if _swaps(document.text) and not board.has("asks_count") else {"gpu_count"}


def _swaps(text: str) -> bool:
    """Whether a card is exchanged for another, the number of cards standing."""
    return table("resolve", "swap").has(text) or table("conversation", "correction").has(text)


def _came_with_name(base: Request, slot: str) -> bool:
    """Whether a slot of the earlier turn was read in the model's name, or followed from it."""
    own, name = base.spans.get(slot), base.spans.get("model")
    if slot in base.inferred or own is None or name is None:
        return slot in base.inferred
    return name.start <= own.start and own.end <= name.end


def _void_formats(
    board: Board, out: Resolution, said: set[str], old: dict[str, Any], base: Request
) -> set[str]:
    dropped: set[str] = set()
    if board.has("not_quantized") or ("precision" in said and "quantization" not in said):
        dropped.add("quantization")
    if "quantization" in said and (out.get("task") or old.get("task")) != "train":
        dropped.add("precision")
    if "method" in said and str(out.get("method")).split("+")[-1] in ("full", "lora"):
        dropped.add("quantization")
    if "model" in said and _came_with_name(base, "quantization"):
        dropped.add("quantization")
    if "method" in said:
        dropped |= {"lora_rank"} if out.get("method") == "full" else set()
    return dropped


def _rejoin(board: Board, out: Resolution, said: set[str], rules: dict[str, Any]) -> None:
    """Values that only now, with the old ones beside them, have their meaning."""
    goal, _, scale = str(out.get("method") or "").rpartition("+")
    if out.get("task") == "train" and "quantization" in said and scale == "lora":
        if out.get("quantization") in ("int4", "nf4"):
            out.values["method"] = f"{goal}+qlora" if goal else "qlora"
            del out.values["quantization"]
