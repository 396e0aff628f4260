"""Names of models, cards and instance types, found by the registries that know them."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from agent.understanding.lexicon.numerals import english_words, parse_number
from agent.understanding.lexicon.phrases import table
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document, blanked
from agent.understanding.readers.variants import Card as Card
from agent.understanding.readers.variants import of_laptop, other_form

if TYPE_CHECKING:
    from tools.gpus import GpuMention, GpuSpec

MOST = 24
"""Names of one kind that are looked at: more is a list, not a question."""


_LENGTH = re.compile(
    r"(?<![\w.])\d{1,4}(?:\.\d)?\s?[km]\s?(?:-?\s?tokens?\s?)?(?:的|long\s)?\s?"
    r"(?:context|ctx|上下文|长度|tokens?)(?![a-z])"
)
"""A length in tokens behind a name is no size of it: "llama 4 scout 10M context"."""


def read_models(document: Document, board: Board) -> None:
    """Note models of the registry, families said without a size, and networks without a row."""
    from tools.models import scan_families, scan_models

    longer = _longer_names(document)
    text = _LENGTH.sub(lambda found: " " * len(found[0]), document.text)
    for mention in scan_models(text)[:MOST]:
        if not document.is_free(mention.start, mention.end):
            continue
        if any(low < mention.start and mention.end <= high for low, high in longer):
            continue
        board.add("model_match", mention.match, mention.start, mention.end)
        _read_format(document, board, mention)
        document.take(mention.start, mention.end)
    for hit in table("words", "unlisted_models").find(document.text):
        if document.is_free(hit.start, hit.end):
            written = document.span(hit.start, hit.end).text
            if not written.isascii():
                written = written.removeprefix("用").removesuffix("模型")
            board.add("model_small", written, hit.start, hit.end, weight=2.0)
            board.add("model_unlisted", True, hit.start, hit.end)
            _size_in_name(written, hit.start, hit.end, board)
    unlisted = [(reading.start, reading.end) for reading in board.of("model_unlisted")]
    _read_unknown(document, board)
    for family in scan_families(document.text):
        if any(low <= family.start < high for low, high in unlisted):
            continue
        if document.is_free(family.start, family.end):
            board.add("model_family", family, family.start, family.end)
            document.take(family.start, family.end)
    for hit in table("words", "small_models").find(document.rest()):
        board.add("model_small", hit.value, hit.start, hit.end)
        document.take(hit.start, hit.end)


def _longer_names(document: Document) -> list[tuple[int, int]]:
    """Names of networks without a row: RT-DETR is none of the DETR that it ends with."""
    return [
        (hit.start, hit.end)
        for hit in table("words", "unlisted_models").find(document.text)
        if document.text[hit.start].isascii()
    ]


def _read_format(document: Document, board: Board, mention: Any) -> None:
    """The format in a model's name; MLX is a program, its bits stand beside it."""
    named = mention.match.quantization
    if named == "mlx":
        board.add("framework", "mlx", mention.start, mention.end, weight=0.5)
        bits = table("words", "quantization").find(document.text[mention.start : mention.end])
        named = bits[0].value if bits else None
    span = document.text[mention.start : mention.end]
    if named == "q8":
        named = "q8_0"
    if named in ("gptq-int4", "awq-int4"):
        named = named.partition("-")[0]
    if named in ("int4", "int8"):
        scheme = next((name for name in ("gptq", "awq") if name in span), None)
        if scheme is not None:
            named = scheme if named == "int4" else f"{scheme}-{named}"
    if named:
        board.add("quantization_named", named, mention.start, mention.end)


_UNKNOWN = re.compile(
    r"(?<![a-z0-9/.\-])(?:[a-z0-9_.\-]{1,40}/)?[a-z][a-z0-9.]{1,24}(?:[\-_][a-z0-9.]{1,16}){0,3}?"
    r"[\-_]\d{1,4}(?:\.\d{1,2})?b(?:[\-_](?:instruct|chat|base|it|hf|awq|gptq|int4|int8|gguf|fp8)){0,3}"
    r"(?![a-z0-9])"
)
_SIZE_IN_NAME = re.compile(r"(?<![a-z0-9.])(\d{1,4}(?:\.\d{1,2})?)b(?![a-z0-9])", re.IGNORECASE)


def _read_unknown(document: Document, board: Board) -> None:
    """Note names in the form of a model with a size that no row carries ("codeqwen1.5-7b")."""
    for found in islice(_UNKNOWN.finditer(document.text), MOST):
        start, end = found.span()
        if not document.is_free(start, end):
            continue
        written = document.span(start, end).text
        board.add("model_small", written, start, end)
        board.add("model_unlisted", True, start, end)
        _size_in_name(written, start, end, board)
        document.take(start, end)


def _size_in_name(written: str, start: int, end: int, board: Board) -> None:
    size = _SIZE_IN_NAME.search(written)
    if size is not None:
        board.add("params_b", float(size[1]), start, end)


_OWN_LETTERS = 3
"""First letters of a card that must be free: a log's sizes behind it belong to it as well."""


def read_cards(document: Document, board: Board) -> None:
    """Note cards with their counts and the sizes beside them."""
    from tools.gpus import scan_gpus

    pictures = [
        (reading.start, reading.end) for slot in ("samples", "batch") for reading in board.of(slot)
    ]
    text = blanked(document.text, pictures)  # "1000张 4090" behind a verb counts no cards
    cards = [
        _card(text, mention)
        for mention in scan_gpus(text)
        if document.is_free(mention.start, min(mention.end, mention.start + _OWN_LETTERS))
        and not _is_article(text, mention)
    ]
    cards += [card for mention in scan_gpus(text) if (card := other_form(document, mention))]
    cards = [_without_link(document, board, card) for card in cards]
    cards = [of_laptop(text, card) for card in cards]
    for card in cards:
        if _is_sum(card):
            board.add("need_gb", card.memory_gb, card.start, card.end)
    cards = [replace(c, memory_gb=None, conflict=None) if _is_sum(c) else c for c in cards]
    for card in _merged_slices(cards)[:MOST]:
        board.add("card", card, card.start, card.end)
    for card in cards:
        document.take(card.start, card.end)


_LINK_BEHIND = re.compile(
    r"\s?(?:的)?(?:网络|内网|网卡|带宽|以太网|network|ethernet|nic|link|interconnect|fabric|ib|[hnefqsx]dr|infiniband|roce|rdma|efa)(?![a-z])"
)


def _without_link(document: Document, board: Board, card: Card) -> Card:
    """A size that is the speed of a link ("A10 25G 网络") is none of the card's memory."""
    is_link = card.memory_gb and not card.slice_name
    if not is_link or not _LINK_BEHIND.match(document.text, card.end):
        return card
    board.add("bandwidth_gbps", card.memory_gb, card.start, card.end)
    return replace(card, memory_gb=None, conflict=None)


_ARTICLE = re.compile(r"a \d+\Z")
_UNIT_BEHIND = re.compile(
    r"[ \-]?(?:days?|hours?|hrs?|minutes?|mins?|weeks?|months?|seconds?|epochs?|steps?|samples?)"
    r"(?![a-z])"
)


def _is_article(text: str, mention: GpuMention) -> bool:
    """Whether "a 30" is an article with a number ("a 30 day job"), not an A30."""
    written = text[mention.start : mention.end]
    return bool(_ARTICLE.match(written) and _UNIT_BEHIND.match(text, mention.end))


def _plural_count(text: str, mention: GpuMention) -> int | None:
    """Number in front of a plural: "100 H100s"."""
    if not text.startswith("s", mention.end):
        return None
    found = re.search(
        r"(?<![\d.a-z\-])(\d{1,5})\s\Z", text[max(0, mention.start - 7) : mention.start]
    )
    return int(found[1]) if found is not None else None


def _is_sum(card: Card) -> bool:
    """Whether the size behind several cards is that of all of them ("8xA100, 300GB")."""
    label = card.spec.memory_label_gb or 0
    return bool(card.conflict and (card.count or 1) > 1 and (card.memory_gb or 0) > 2 * label)


def _card(text: str, mention: GpuMention) -> Card:
    match = mention.match
    memory = match.slice_memory_gb or match.given_memory_gb
    spec = _without_size(mention) if match.conflict and match.given_memory_gb else match.spec
    return Card(
        name=spec.name,
        spec=spec,
        count=mention.count or _plural_count(text, mention),
        memory_gb=memory,
        conflict=match.conflict,
        also=() if match.given_memory_gb else tuple(other.name for other in match.also),
        slice_name=match.slice_name,
        start=mention.start,
        end=mention.end,
        text=mention.text,
    )


def _without_size(mention: GpuMention) -> GpuSpec:
    """Card of a mention whose written size no such card has."""
    from tools.errors import UserInputError
    from tools.gpus import find_gpu

    bare = re.sub(r"[(\[]?\s?各?\s?\d+(?:\.\d+)?\s?g(?:i?b)?\s?[)\]]?", " ", mention.text)
    try:
        return find_gpu(bare.strip(" -")).spec
    except UserInputError:
        return mention.match.spec


def _merged_slices(cards: list[Card]) -> list[Card]:
    """A slice named apart from its card ("1g.10gb on an A100-80GB") is one card."""
    sliced = [card for card in cards if card.slice_name]
    whole = [card for card in cards if not card.slice_name]
    if len(sliced) == 1 and len(whole) == 1 and (sliced[0].slice_name or "")[:1].isdigit():
        part, card = sliced[0], whole[0]
        return [replace(card, slice_name=part.slice_name, memory_gb=part.memory_gb, also=())]
    if (
        len(sliced) > 1
        and len(whole) == 1
        and all((c.slice_name or "")[:1].isdigit() for c in sliced)
    ):
        return sliced  # the card of a list of its slices
    return cards


_AWS_TYPE = re.compile(
    r"(?:ml\.)?[a-z]{1,3}\d[a-z]{0,3}\.(?:\d{0,2}x?large|medium|small|micro|nano|metal)"
)
"""In an English text a type without Alibaba's ecs. in front is Amazon's."""
_SPACED_TYPE = re.compile(
    r"(?<![a-z0-9])(?:standard[ _])?n[cdvg]\d{1,3}[a-z]{0,4}(?:[ _][a-z]{1,4}\d{1,3})?[ _]v\d"
    r"(?![a-z0-9])"
)
"""Azure's types as its pages write them, with blanks: NC24ads A100 v4."""


def read_instances(document: Document, board: Board) -> None:
    """Note instance types and families."""
    from tools.catalog import scan_instances

    text = _SPACED_TYPE.sub(lambda found: found[0].replace(" ", "_"), document.text)
    mentions = scan_instances(text)[:MOST]
    for mention in (*mentions, *_bare_families(text, mentions)):
        if not document.is_free(mention.start, mention.end):
            continue
        board.add("instance_mention", mention, mention.start, mention.end)
        is_aws = text.isascii() and _AWS_TYPE.fullmatch(mention.text.lower()) is not None
        board.add(
            "instance",
            _instance_name(mention, "aws" if is_aws else None),
            mention.start,
            mention.end,
        )
        if mention.provider or mention.lookup.provider:
            provider = mention.provider or mention.lookup.provider
            board.add("provider_implied", provider, mention.start, mention.end, origin="inferred")
        elif (
            len(
                owners := {offer.provider for offer in mention.lookup.offers}
                | {f.provider for f in mention.lookup.families}
            )
            == 1
        ):
            board.add(
                "provider_implied", owners.pop(), mention.start, mention.end, origin="inferred"
            )
        elif is_aws:
            board.add("provider_implied", "aws", mention.start, mention.end, origin="inferred")
        _read_multiple(document, board, mention.start, mention.end)
        document.take(mention.start, mention.end)


_BARE_FAMILY = re.compile(r"(?<![a-z0-9.\-])[pg][2-9](?![a-z0-9.\-])")
_IS_MACHINE = re.compile(
    r"\s?(?:这个|这种|是|的|系列)*\s?(?:什么|啥|哪种|哪款)?\s?(?:机器|机型|实例|规格|系列|instances?|family|machines?)(?![a-z])"
)


def _bare_families(text: str, mentions: list[Any]) -> list[Any]:
    """Families of two signs ("p5", "g6"), where the text shows that a machine is meant."""
    from tools.catalog import InstanceMention, find_instance

    found = []
    for hit in islice(_BARE_FAMILY.finditer(text), MOST):
        beside = any(
            0 <= max(hit.start(), m.start) - min(hit.end(), m.end) <= _LIST_GAP for m in mentions
        )
        if not beside and not _IS_MACHINE.match(text, hit.end()):
            continue
        if any(m.start <= hit.start() < m.end for m in mentions):
            continue
        lookup = find_instance(hit[0])
        if lookup.kind == "family":
            found.append(InstanceMention(lookup, hit.start(), hit.end(), hit[0], None))
    return found


_LIST_GAP = 8
"""Characters between two names that are set side by side ("p4d vs p5")."""
_TIMES = re.compile(
    r"(?<![a-z0-9.,])(?P<n>\d{1,3}|[一二两三四五六七八九十]|two|three|four|eight)\s?(?P<by>x|\*|台|个)?\s?(?:的)?\Z"
)
_NODES_BEHIND = re.compile(r"\s?(?:nodes|machines|servers|boxes|hosts|节点|机器|主机)")


def _read_multiple(document: Document, board: Board, start: int, end: int) -> None:
    """Machines of a type are nodes: "4 x g5.12xlarge", "two p4d nodes", "2台gn7i"."""
    found = _TIMES.search(document.text[max(0, start - 8) : start])
    if found is None:
        return
    count = parse_number(found["n"]) or english_words().get(found["n"], 0)
    is_nodes = _NODES_BEHIND.match(document.text, end) is not None
    if count < 1 or count != int(count) or not (found["by"] or is_nodes):
        return
    place = start - len(found[0])
    if count > 1:
        board.add("nodes", int(count), place, end)


def _instance_name(mention: Any, provider: str | None = None) -> str:
    """The vendor's spelling of a known type, else what was written."""
    lookup = mention.lookup
    if lookup.kind == "type" and lookup.offers:
        own = [offer for offer in lookup.offers if offer.provider == provider]
        return str((own or lookup.offers)[0].instance_type)
    if lookup.kind == "family" and lookup.families:
        return str(lookup.families[0].name)
    return str(mention.text)
