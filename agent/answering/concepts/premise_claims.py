"""Claims about spot, about newer cards and about what a type carries, put right with figures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.answer import Correction
from agent.answering.telling.phrases import phrase, tidy
from agent.request import Request
from tools.units import format_significant

_NEVER = re.compile(
    r"(?<!会)不会.{0,3}(?:被)?(?:回收|中断|释放|抢走|收走)"
    r"|从来(?:都)?(?:没有?|不)(?:被)?(?:回收|中断|收走|释放)"
    r"|(?:never|won'?t|don'?t|doesn'?t) (?:really |actually |ever |get |be |gets )*"
    r"(?:reclaimed|interrupted|preempted|evicted|taken|stopped|killed)",
    re.IGNORECASE,
)
_UNSAVED = re.compile(
    r"(?:不用?|没必要|无需|不需要|懒得)(?:存|保存|写|做)?\s?(?:checkpoint|ckpt|检查点|断点)"
    r"|(?:without|no need (?:to|for)|skip|don'?t need(?: to)?|no) (?:any |a |the )?(?:sav\w+ )?"
    r"(?:checkpoint|ckpt)",
    re.IGNORECASE,
)
_NEWER = re.compile(
    r"newer|latest|more recent|next[- ]gen|更新(?!换代)|新一代|新出|[比较更].{0,16}新",
    re.IGNORECASE,
)
_FASTER = re.compile(r"faster|quicker|outperform|beats?|更快|快(?!照)|更强", re.IGNORECASE)
_DECODES = re.compile(r"decod|generat|inference|serv|解码|推理|生成", re.IGNORECASE)
_IS = r"(?:\bis\b|\bare\b|'s|\buses?\b|\bcarr(?:y|ies)\b|\bhas\b|=|就是|是|用的?是?|配的?是?|带)"


def worded(request: Request, row: str, source: str, **fields: object) -> Correction:
    """A premise and its fact, in the language of the request."""
    told = [phrase(f"premises.{row}_{p}", request.language, **fields) for p in ("premise", "fact")]
    if request.language == "zh":
        told = [tidy(text) for text in told]
    return Correction(premise=told[0], fact=told[1], source=source)


def spot_never_ends(request: Request) -> Iterator[Correction]:
    """Spot taken for safe, or a long run on it without checkpoints."""
    text = request.search_query
    if request.slots.billing != "spot" or request.intent != "spot_checkpoint":
        return
    if _NEVER.search(text) or (_UNSAVED.search(text) and (request.slots.hours or 0) > 1):
        yield worded(request, "spot", "rule:spot_reclaim")


def newer_is_faster(request: Request) -> Iterator[Correction]:
    """The newer card taken for the faster at training, though it has less compute."""
    names, text = request.slots.gpus or (), request.search_query
    if len(names) != 2 or not (_NEWER.search(text) and _FASTER.search(text)):
        return
    if _DECODES.search(text) and request.slots.task != "train":
        return
    from tools.gpus import find_gpu

    first, other = (find_gpu(name).spec for name in names)
    if first is None or other is None or not (first.bf16_dense and other.bf16_dense):
        return
    if first.bf16_dense >= other.bf16_dense:
        return
    yield worded(request, "newer", first.source.id, first=first.name, other=other.name,
                 work=f"{first.bf16_dense:g}", other_work=f"{other.bf16_dense:g}",
                 share=format_significant(other.bf16_dense / first.bf16_dense, 2),
                 memory=f"{first.memory_label_gb or 0:g}",
                 other_memory=f"{other.memory_label_gb or 0:g}",
                 rate=f"{first.mem_bandwidth_gbs or 0:,.0f}",
                 other_rate=f"{other.mem_bandwidth_gbs or 0:,.0f}")  # fmt: skip


_MORE_CARDS = re.compile(
    r"(?:(?:has|have|with|gets?|gives?|comes? with|carr(?:y|ies)|offers?)\s)?"
    r"(?P<sign>more|fewer|less|twice (?:as many|the)|double the)\s(?:gpus?|cards?|gpu cards?)"
    r"|(?:gpu|卡|显卡)(?:数(?:量)?)?(?:更|要|就)?(?P<zh>多|少)|(?P<zh2>更多|更少)(?:的)?(?:gpu|卡|显卡)",
    re.IGNORECASE,
)


def more_cards_of_type(request: Request) -> Iterator[Correction]:
    """One type said to have more cards than another, which has as many or more."""
    names = request.slots.instances or ()
    found = _MORE_CARDS.search(request.search_query)
    if len(names) != 2 or found is None:
        return
    from tools.catalog import find_instance

    told = []
    for name in sorted(names, key=request.search_query.casefold().find):
        offers = find_instance(name, request.slots.provider).offers
        counts = {(o.gpu_count, o.gpu_name or o.gpu_model, o.vcpu_count) for o in offers}
        if len(counts) != 1:
            return
        told.append((name, *counts.pop(), f"data:{offers[0].file}#{offers[0].instance_type}"))
    (first, cards, gpu, vcpu, source), (other, other_cards, other_gpu, other_vcpu, _) = told
    is_fewer = (found["sign"] or "").startswith(("few", "less")) or "少" in (
        found["zh"] or found["zh2"] or ""
    )
    if cards is None or other_cards is None:
        return
    is_so = cards < other_cards if is_fewer else cards > other_cards
    if is_so:
        return
    yield worded(request, "counts_fewer" if is_fewer else "counts", source, first=first,
                 other=other, cards=cards, other_cards=other_cards, gpu=gpu or "GPU",
                 other_gpu=other_gpu or "GPU", vcpu=vcpu, other_vcpu=other_vcpu)  # fmt: skip


def card_of_type(request: Request) -> Iterator[Correction]:
    """A type said to be of a card that it does not carry."""
    found = real_card_of_type(request)
    if found is not None:
        name, said, card, memory, source = found
        yield worded(request, "carries", source, name=name, said=said, card=card,
                     memory=f"{memory:g}")  # fmt: skip


def real_card_of_type(request: Request) -> tuple[str, str, str, float, str] | None:
    """(type, card said, card it carries, its memory, source) where the two differ."""
    slots = request.slots
    if slots.instance is None or slots.instances is not None or not slots.has_card:
        return None
    from tools.catalog import find_instance
    from tools.gpus import find_gpu

    lookup = find_instance(slots.instance, slots.provider)
    offers = lookup.offers or tuple(o for family in lookup.families for o in family.offers)
    cards = {(o.gpu_name or o.gpu_model, o.card_memory_gb) for o in offers if o.category == "gpu"}
    if len(cards) != 1:
        return None
    card, memory = next(iter(cards))
    said = find_gpu(str(slots.gpu)).spec
    if not card or not memory or said is None:
        return None
    series = next((w for w in said.name.split() if any(c.isdigit() for c in w)), said.name)
    short = re.escape(slots.instance.removeprefix("ecs."))
    claim = re.search(rf"{short}\s?{_IS}[^,.;，。；?？]{{0,10}}?{re.escape(series)}(?![0-9])",
                      request.search_query, re.IGNORECASE)  # fmt: skip
    if claim is None or re.search(r"还是|\bor\b", claim[0]) or series.casefold() in card.casefold():
        return None
    source = f"data:{offers[0].file}#{offers[0].instance_type}"
    return slots.instance, series, str(card), float(memory), source
