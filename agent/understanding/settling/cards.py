"""Which card is meant, how many of it, and whether cards are compared."""

from __future__ import annotations

import re

from agent.understanding.lexicon.phrases import table
from agent.understanding.lexicon.readings import Board, Reading
from agent.understanding.lexicon.text import Document
from agent.understanding.readers.counts import node_count_before
from agent.understanding.readers.names import Card
from agent.understanding.settling.resolution import Resolution


def settle_cards(document: Document, board: Board, out: Resolution) -> None:
    """Settle ``gpu``, ``gpus``, ``gpu_count`` and ``gpu_mem_gb``."""
    readings = [reading for reading in board.of("card") if not _is_claim(document, board, reading)]
    cards: list[Card] = [reading.value for reading in readings]
    out.cards = cards
    if not cards:
        _cards_without_name(board, out)
        return
    first, reading = cards[0], readings[0]
    if _is_question_of_need(document, board, cards):
        cards = cards[:1]
    if len({card.label for card in cards}) > 1:
        out.put("gpus", tuple(_labelled(card) for card in _unique(cards)), reading)
        if _is_comparison(document, cards):
            return
    spec, is_open = _card_meant(board, first)
    sized = _of_size_apart(board, first)
    if sized is not None:
        spec, is_open = sized, False
    if first.conflict and first.memory_gb is None:
        out.card_candidates = (first.name, *first.also)
    out.put("gpu", first.label if first.slice_name else spec, reading)
    count = _count(document, board, cards, out)
    if count is not None:
        out.put("gpu_count", *count)
    memory = first.memory_gb or next(
        (c.memory_gb for c in cards if c.name == first.name and c.memory_gb), None
    )
    size = memory or board.value("gpu_mem_gb")
    if _is_of_all(first, size, out.get("gpu_count")):
        out.put("total_mem_gb", size, reading)  # "4x L40S act as one 192GB card"
    else:
        out.put("gpu_mem_gb", size, reading)
    if first.spec.is_unified and out.get("host_ram_gb") is None:
        out.put("host_ram_gb", memory or board.value("loose_gb"), reading)
    if is_open:
        out.ambiguities.append("gpu")


_SUM_SLACK = 0.06
"""How far a sum of cards may be from the size that is said: 8 x 94 GB are told as 750."""


def _is_of_all(card: Card, size_gb: float | None, count: int | None) -> bool:
    """Whether a size is that of all cards together and none of one."""
    label = card.spec.memory_label_gb
    if size_gb is None or not label or not count or count < 2:
        return False
    return size_gb > label and abs(size_gb / (label * count) - 1) <= _SUM_SLACK


def _of_size_apart(board: Board, card: Card) -> str | None:
    """The row of a card that has the size said elsewhere in the text ("A100 单卡 40G")."""
    size = board.value("gpu_mem_gb")
    if card.memory_gb is not None or card.slice_name or not size or not card.also:
        return None
    from tools.gpus import get_gpu

    rows = [name for name in card.also if get_gpu(name).memory_label_gb == size]
    is_own = card.spec.memory_label_gb == size
    return rows[0] if rows and not is_own else None


def _is_claim(document: Document, board: Board, reading: Reading) -> bool:
    """A card that a question only mentions: what an instance is said to hold, a lower bound."""
    behind = document.text[reading.end : reading.end + 8]
    if table("resolve", "or_better").has(behind.lstrip()[:6]):
        return True
    is_about_type = board.has("instance_mention") and not any(
        board.has(slot) for slot in ("model_match", "params_b", "method_scale", "model_family")
    )
    return is_about_type


_NEEDS = re.compile(
    r"(?:,|;|\s)\s?or\s(?:(?:do|will|would|should|must)\s(?:i|we|one|it|you)\s(?:really\s|actually\s)?"
    r"(?:need|have|go|get|rent|buy|want|take|move|step)|(?:is|are|need)\s|have\sto\s)"
    r"|还是(?:说)?(?:得|要|必须|非得|只能|就得|需要)(?:上|用|换|买|租)?|不够(?:的话)?(?:就|得|要)"
)


def _is_question_of_need(document: Document, board: Board, cards: list[Card]) -> bool:
    """Whether a second card is what the job may need instead ("on one A10, or do I need H200s")."""
    has_job = any(board.has(slot) for slot in ("model_match", "params_b", "model_family"))
    if not has_job or len(cards) != 2:
        return False
    return _NEEDS.search(document.text[cards[0].end : cards[1].start]) is not None


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


_MOST_IN_A_NODE = 8
"""A number above it beside a number of machines is that of all of them."""


def _count(
    document: Document, board: Board, cards: list[Card], out: Resolution
) -> tuple[int, Reading] | None:
    """Number of cards and where it was read; None where the question asks for it."""
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
        if counted.count > _MOST_IN_A_NODE and counted.count % nodes == 0:
            return counted.count, reading  # "8机64卡": 64 in all
        return counted.count * nodes, reading
    pasted = board.best("gpu_count_pasted")
    if pasted is not None:
        nodes = out.get("nodes") or 1
        return int(pasted.value) * (nodes if nodes * pasted.value > pasted.value else 1), pasted
    loose = board.of("loose_count")
    if loose:
        return int(loose[0].value), loose[0]
    times = _times_behind(document, board, cards[-1])
    if times is not None:
        return int(times.value), times
    if board.has("asks_count"):
        return None
    out.inferred.add("gpu_count")
    return 1, reading


_NEAR = 32
"""Characters between a card and the sign of multiplication that counts it."""


def _times_behind(document: Document, board: Board, card: Card) -> Reading | None:
    """A multiplication behind a card and its settings: "H100 bf16 x2"."""
    for times in board.of("loose_times"):
        between = document.text[card.end : times.start]
        if times.start < card.end or len(between) > _NEAR or document.text[times.start] != "x":
            continue
        covered = {
            place
            for reading in board.readings
            if reading.slot != "loose_times"
            for place in range(reading.start, reading.end)
        }
        places = range(card.end, times.start)
        if all(document.text[p] in " ,()@" or p in covered for p in places):
            return times
    return None


_CARD_GB = (2, 192)


def _bare_size(board: Board) -> Reading | None:
    """The one size of a text that speaks of a model and of no other memory ("13b lora 24g")."""
    sizes = board.of("loose_gb")
    jobs = ("model_match", "params_b", "model_family", "hf_config")
    has_job = any(board.has(slot) for slot in jobs)
    other = any(
        board.has(s) for s in ("host_ram_gb", "need_gb", "total_mem_gb", "instance", "apple")
    )
    if len(sizes) != 1 or not has_job or other:
        return None
    return sizes[0] if _CARD_GB[0] <= sizes[0].value <= _CARD_GB[1] else None


def _count_without_name(board: Board, out: Resolution, memory: Reading | None) -> None:
    """How many cards, where none is named."""
    loose, per_node, nodes = board.best("loose_count"), board.best("per_node"), board.best("nodes")
    impossible = board.best("impossible_count")
    if impossible is not None:
        out.put("gpu_count", impossible.value, impossible)
    elif per_node is not None and nodes is not None:
        out.put("gpu_count", per_node.value * nodes.value, per_node)
    elif loose is not None:
        out.put("gpu_count", loose.value, loose)
    elif (pasted_count := board.best("gpu_count_pasted")) is not None:
        out.put("gpu_count", pasted_count.value, pasted_count)
    elif memory is not None and not board.has("asks_count"):
        out.put("gpu_count", 1, memory, inferred=True)


def _cards_without_name(board: Board, out: Resolution) -> None:
    memory = board.best("gpu_mem_gb")
    if memory is not None:
        out.put("gpu_mem_gb", memory.value, memory)
    elif not board.has("gpu_none") and (bare := _bare_size(board)) is not None:
        memory = bare
        out.put("gpu_mem_gb", bare.value, bare, inferred=True)
    _count_without_name(board, out, memory)
    pasted = board.best("pasted_card")
    if pasted is not None:
        out.put("gpu", pasted.value, pasted)
        out.put("gpu_count", board.value("gpu_count_pasted"), pasted)
        return
    if board.has("gpu_none") and memory is None:
        out.put("gpu", "none", board.best("gpu_none"))
        sizes = board.of("loose_gb") or board.of("need_gb")
        if len({reading.value for reading in sizes}) == 1 and out.get("host_ram_gb") is None:
            out.put("host_ram_gb", sizes[0].value, sizes[0])  # without a card it is the computer's
            out.values.pop("need_gb", None)
    elif board.has("apple"):
        out.put("gpu", "Apple Silicon", board.best("apple"))
        said = board.best("loose_gb") or board.best("need_gb")
        if said is not None and out.get("host_ram_gb") is None:
            out.put("host_ram_gb", said.value, said)
            if out.get("need_gb") == said.value:
                out.values.pop("need_gb")
        out.ambiguities.append("gpu")
