"""False premises put right beside those that the reader of a text finds by its phrases.

Most need a registry's figures: the size that was left out, or the card that a type really carries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from agent.answer import Correction
from agent.answering.concepts import premise_claims
from agent.answering.concepts.premise_claims import worded
from agent.answering.telling.phrases import phrase
from agent.request import Request
from tools.units import format_significant

_CONCLUDES = re.compile(
    r"(?<![a-z])so(?![a-z])|right\?|correct\?|yes\?|(?<![a-z])since|because|only|just|enough|fits?(?![a-z])"
    r"|所以|因此|那就|既然|只有|只要|才|就够|够了|对吧|对吗|是吧|吧",
    re.IGNORECASE,
)
_SMALL_SHARE = re.compile(
    r"(?:<|less than|under|below|only|just|about|~|不到|只|仅|才|约)\D{0,14}[\d.]{1,5}\s?%"
    r"[^.。?]{0,30}(?:weights|param|参数|权重)"
    r"|[\d.]{1,5}\s?%\s?(?:of )?(?:the |its |all |的)?(?:weights|param|参数|权重)",
    re.IGNORECASE,
)
_RECOMPUTE = re.compile(
    r"(?:gradient|activation)[- ]checkpoint\w*|checkpointing|recomput(?:e|ation)"
    r"|梯度检查点|激活检查点|重计算|重算",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"optimi[sz]er(?:'s)?(?: states?| memory)?|adam(?:w)?(?: states?)?|优化器(?:状态|显存)?|动量",
    re.IGNORECASE,
)
_SHRINKS = re.compile(
    r"smaller|shrink|reduc|less|halv|cut|save|drop|lower|also|as well|变小|减少|减半|降低|省|少|也",
    re.IGNORECASE,
)
_SEGMENTS = re.compile(r"expandable[_ ]segments|max_split_size_mb", re.IGNORECASE)
_HELPS = re.compile(
    r"\bfix|solve|enough|what (?:does|is|do)|actually do"
    r"|make .{0,20}fit|help|解决|管用|有用|有什么用|作用"
    r"|干嘛|什么意思|就能|够|省",
    re.IGNORECASE,
)
_CARRIES = (
    r"(?:comes?|came|ships?|shipped)\s(?:with|out)|(?<![a-z])(?:with|has|have|having|carries|is|gives|being|got)(?![a-z])"
    r"|'s|=|自带|带|配|有|是|的"
)
_BESIDE = re.compile(
    r"(?<![a-z])(?:or|and|vs|versus|against|than)(?![a-z])|和|与|还是|或|比|跟", re.IGNORECASE
)
"""Words that set something else beside the type: the size is then not said of it."""
_SIZE = re.compile(r"(?<![\w.])(?P<gb>\d{1,3})\s?(?:g|gb|gib)(?![a-z/])", re.IGNORECASE)


def corrected(request: Request) -> Request:
    """The request with the premises of this module among its corrections."""
    known = {(c.source, c.premise) for c in request.corrections}
    sources = {c.source for c in request.corrections}
    is_told = any(c.kind == "adapter_share" for c in request.corrections)
    added = tuple(
        c for check in _CHECKS if not (is_told and check is _frozen_base) for c in check(request)
        if (c.source, c.premise) not in known and c.source not in sources
    )  # fmt: skip
    if not added:
        return request
    kept = request.corrections
    if premise_claims.real_card_of_type(request) is not None:
        kept = tuple(c for c in kept if c.kind != "instance_card")  # told with its memory too
    changed = request.model_copy(update={"corrections": kept + added})
    slots = request.slots
    has_run = slots.params_b is not None and (slots.gpu or slots.gpu_mem_gb) is not None
    if has_run and request.intent == "concept":
        changed = changed.model_copy(update={"intent": "fit_check"})
    return _on_real_card(changed)


def _frozen_base(request: Request) -> Iterator[Correction]:
    """The small share that LoRA trains taken for all that it needs."""
    slots, text = request.slots, request.search_query
    is_lora = (slots.method or "").rpartition("+")[2] == "lora"
    if not is_lora or slots.params_b is None or slots.quantization is not None:
        return
    if _SMALL_SHARE.search(text) and _CONCLUDES.search(text):
        width = 4 if slots.precision == "fp32" else 2
        name = (slots.model or f"{slots.params_b:g}B").rsplit("/", 1)[-1]
        yield worded(request, "frozen", "rule:lora_base", model=name, width=width,
                      params=f"{slots.params_b:.3g}",
                      bytes=format_significant(width * slots.params_b, 3))  # fmt: skip


def _states(request: Request) -> Iterator[Correction]:
    """Gradient checkpointing taken to make optimizer states smaller."""
    text = request.search_query
    both = _RECOMPUTE.search(text) is not None and _STATES.search(text) is not None
    if both and request.intent in ("concept", "fit_check", "oom_diagnosis") and _near_claim(text):
        yield worded(request, "states", "rule:gradient_checkpointing")


def _segments(request: Request) -> Iterator[Correction]:
    """The allocator's switch taken for more memory."""
    text = request.search_query
    if _SEGMENTS.search(text) and _HELPS.search(text):
        yield worded(request, "segments", "rule:expandable_segments")


def _near_claim(text: str) -> bool:
    """Whether the states are said, or asked, to shrink in the clause that names them."""
    for found in _STATES.finditer(text):
        around = text[max(0, found.start() - 24) : found.end() + 32]
        if _SHRINKS.search(around):
            return True
    return False


def _type_memory(request: Request) -> Iterator[Correction]:
    """A type said to carry a card with more or less memory than it has."""
    found = _real_card(request)
    if found is not None and premise_claims.real_card_of_type(request) is None:
        name, said, card, memory, source = found
        yield worded(request, "type", source, name=name, said=f"{said:g}", card=card,
                      memory=f"{memory:g}", total=_in_all(request, name, memory))  # fmt: skip


def _in_all(request: Request, name: str, memory: float) -> str:
    """What all cards of a type have together, where it has several."""
    from tools.catalog import find_instance

    offers = find_instance(name, request.slots.provider).offers
    counts = {offer.gpu_count for offer in offers if offer.gpu_count}
    cards = counts.pop() if len(counts) == 1 else 1
    if cards < 2:
        return ""
    total = f"{cards * memory:g}"
    return phrase("premises.in_all", request.language, cards=cards, total=total)


def _real_card(request: Request) -> tuple[str, float, str, float, str] | None:
    """(type, memory said, card, its memory, source) where the two sizes differ."""
    slots = request.slots
    if slots.instance is None or slots.instances is not None:
        return None
    from tools.catalog import find_instance

    lookup = find_instance(slots.instance, slots.provider)
    offers = lookup.offers or tuple(o for family in lookup.families for o in family.offers)
    cards = {
        (o.gpu_name or o.gpu_model, o.card_memory_gb) for o in offers
        if o.card_memory_gb and o.category == "gpu"
    }  # fmt: skip
    if len(cards) != 1:
        return None
    card, memory = next(iter(cards))
    short = slots.instance.removeprefix("ecs.")
    pattern = rf"{re.escape(short)}[^,.;，。；]{{0,12}}?(?:{_CARRIES})[^,.;，。；?？]{{0,24}}"
    claim = re.search(pattern, request.search_query, re.IGNORECASE)
    size = _SIZE.search(claim[0], len(short)) if claim is not None else None
    if claim is not None and _BESIDE.search(claim[0][len(short) :]):
        return None
    if size is None or memory is None or abs(float(size["gb"]) - memory) <= 0.08 * memory:
        return None
    source = f"data:{offers[0].file}#{offers[0].instance_type}"
    return short, float(size["gb"]), str(card), float(memory), source


def _on_real_card(request: Request) -> Request:
    """The request computed for the card that the type carries, not for the one it was said to."""
    if _real_card(request) is None and premise_claims.real_card_of_type(request) is None:
        return request
    settled = {"gpu": None, "gpu_mem_gb": None}
    kept = tuple(c for c in request.corrections if c.source != _OF_THE_SIZE_SAID)
    slots = request.slots.model_copy(update=settled)
    return request.model_copy(update={"slots": slots, "corrections": kept})


_OF_THE_SIZE_SAID = "rule:devices"
"""A correction that reckons with the size said, which the type does not have."""


_CHECKS: tuple[Callable[[Request], Iterator[Correction]], ...] = (
    _frozen_base, _states, _segments, _type_memory,
    premise_claims.spot_never_ends, premise_claims.newer_is_faster, premise_claims.card_of_type,
    premise_claims.more_cards_of_type,
)  # fmt: skip
