"""Checks about cards: sizes that do not exist, NVLink, formats and features they lack."""

from __future__ import annotations

import re
from collections.abc import Callable

from agent.understanding.premises.scene import Fields, Scene, short_name, sizes_of
from agent.understanding.premises.types import type_carries
from agent.understanding.readers.names import Card
from tools.errors import UserInputError
from tools.gpus import GpuSpec
from tools.units import format_significant


def _cc(spec: GpuSpec) -> str:
    return "?" if spec.compute_capability is None else f"{spec.compute_capability:.1f}"


def card_size(scene: Scene) -> list[Fields]:
    """A card with a memory size that none of its kind has."""
    found = []
    for card in scene.cards:
        if _NOT_KNOWN in (card.conflict or ""):
            continue  # told by its name: there is no such card in any size
        given = card.memory_gb if card.conflict else _size_said_of(scene.text, card)
        sizes = sizes_of(short_name(card.spec.name))
        if given is None or not sizes or any(abs(given - size) < 0.08 * size for size in sizes):
            continue
        found.append(
            {
                "card": short_name(card.spec.name),
                "given": f"{given:g}",
                "sizes": "/".join(f"{size:g}" for size in sizes),
                "source": card.spec.source.id,
            }
        )
    return found


_SAID_SIZE = re.compile(
    r"\s?(?:有|带|是|的显存是|的显存有|has|have|with|comes with)\s?(?P<gb>\d{1,3})\s?gi?b?"
    r"(?![a-z0-9])(?!\s?(?:of\s)?(?:(?:system|host|cpu)\s)?(?:ram|内存|主机内存))"
    r"(?!/s|\s?(?:ib|infiniband|[hnefqsx]dr|roce|rdma|efa|ethernet|nics?|links?|interconnect|fabric|网|以太)(?![a-z]))"
    r"(?:\s?(?:的)?(?:显存|vram|版))?"
)


def _size_said_of(text: str, card: Card) -> float | None:
    """Size that a verb gives a card ("A10 有 80G 显存"), in GB."""
    if card.slice_name or card.spec.is_unified:
        return None
    found = _SAID_SIZE.match(text, card.end)
    return float(found["gb"]) if found is not None else None


def card_versions(scene: Scene) -> list[Fields]:
    """Several sizes that a card is said to come in, none of them its own."""
    found = []
    for card in scene.cards:
        sizes = sizes_of(short_name(card.spec.name))
        said = versions_said(scene.text, card)
        wrong = [gb for gb in said if all(abs(gb - size) >= 0.08 * size for size in sizes)]
        if wrong and sizes:
            found.append(
                {
                    "card": short_name(card.spec.name), "source": card.spec.source.id,
                    "given": "/".join(f"{gb:g}" for gb in wrong),
                    "sizes": "/".join(f"{size:g}" for size in sizes),
                }
            )  # fmt: skip
    return found


_VERSIONS = re.compile(
    r"[^,。;?\n\d]{0,28}?(?P<sizes>\d{1,3}\s?gi?b?(?:\s?(?:和|跟|与|或|还是|、|/|,|and|or|&|vs)\s?"
    r"(?:an?\s|the\s)?\d{1,3}\s?gi?b?){1,3})\s?(?:的|这)?(?:[一二两三几\d]|two|three|both)?\s?个?"
    r"(?:版|型号|规格|款|versions?|variants?|models?|editions?|options?|skus?|flavou?rs?|configs?)"
    r"|[^,。;?\n\d]{0,12}?(?:comes? in|versions?|variants?|版本)[^,。;?\n\d]{0,12}?"
    r"(?P<more>\d{1,3}\s?gi?b?(?:\s?(?:和|跟|与|或|、|/|,|and|or|&)\s?(?:an?\s)?\d{1,3}\s?gi?b?){1,3})"
)
"""Sizes that are named as versions of a card."""


def versions_said(text: str, card: Card) -> list[float]:
    """Sizes in GB of the versions that a card is said to come in ("H20 有 24G 和 48G 两个版本")."""
    found = _VERSIONS.match(text, card.end)
    if found is None or card.slice_name:
        return []
    return [float(n) for n in re.findall(r"\d+", found["sizes"] or found["more"])]


_NOT_KNOWN = "is not a known card"


def unknown_variant(scene: Scene) -> list[Fields]:
    """A card with a suffix that none of its name has ("RTX 4090 Ti")."""
    found = []
    for card in scene.cards:
        suffix = re.search(rf"\b(\w+) {_NOT_KNOWN}", card.conflict or "")
        if suffix is None:
            continue
        base = short_name(card.spec.name)
        name = f"{base} {suffix[1].title() if suffix[1] == 'TI' else suffix[1]}"
        sizes = sizes_of(base)
        found.append(
            {
                "name": name, "card": base, "source": card.spec.source.id,
                "sizes": "/".join(f"{size:g}" for size in sizes),
            }
        )  # fmt: skip
    return found


def nvlink(scene: Scene) -> list[Fields]:
    """NVLink said of a card that has none, or of a type that carries such cards."""
    found = [
        {"card": short_name(card.spec.name), "source": card.spec.source.id}
        for card in scene.cards
        if card.spec.nvlink is False and scene.near("nvlink", card)
    ]
    for mention in scene.instances if scene.claims("nvlink") and not scene.cards else ():
        specs = [_spec_of(label) for f in mention.lookup.families for label in f.gpu_labels]
        if specs and all(spec is not None and spec.nvlink is False for spec in specs):
            spec = next(spec for spec in specs if spec is not None)
            label = f"{mention.text} ({short_name(spec.name)})"
            found.append({"card": label, "source": spec.source.id})
    return found


def _spec_of(label: str) -> GpuSpec | None:
    from tools.gpus import find_gpu

    try:
        return find_gpu(label).spec
    except UserInputError:
        return None


def modified_card(scene: Scene) -> list[Fields]:
    """A board with memory that third parties put on it, taken for the maker's own."""
    if not scene.says("official"):
        return []
    found = []
    for card in scene.cards:
        own = card.spec.name.partition(" (modified)")[0]
        if own == card.spec.name:
            continue
        size = f"{card.spec.memory_label_gb:g}"
        base = own.removesuffix(f" {size}GB")
        sizes = [s for s in sizes_of(short_name(base)) if f"{s:g}" != size]
        found.append(
            {
                "card": short_name(base), "given": size, "source": card.spec.source.id,
                "sizes": "/".join(f"{s:g}" for s in sizes),
            }
        )  # fmt: skip
    return found


def pooled_memory(scene: Scene) -> list[Fields]:
    """Cards whose summed memory is set against a need that no single one meets."""
    if any(reading.value > 1 for reading in scene.board.of("tp")):
        return []  # the model is split, and the sum is what it is split over
    if not scene.cards and scene.out.get("gpu_mem_gb"):
        return _pooled_class(scene)
    for card in scene.cards:
        count = card.count or scene.board.value("loose_count") or 1
        each = card.memory_gb if not card.conflict else card.spec.memory_label_gb
        each = each or card.spec.memory_label_gb
        if count < 2 or not each:
            continue
        total = each * count
        claimed = scene.board.value("need_gb") or scene.board.value("total_mem_gb") or 0
        if _is_called_one(scene.text, total) or (
            each < claimed <= total and scene.says("fits_by_sum")
        ):
            return [
                {
                    "count": count,
                    "total": f"{total:g}",
                    "each": f"{each:g}",
                    "source": card.spec.source.id,
                }
            ]
    return []


def _is_called_one(text: str, total: float) -> bool:
    """Whether the sum is said of them all, or stands as the memory of one card."""
    said = re.search(
        rf"(?:=|共|total(?: of)?|就是|有|变成?了?|成了?|当|算)\s?{total:g}\s?g"
        rf"|(?:是|成|当|算|为)[了作]?\s?一[张块个]\s?大?\s?{total:g}\s?g"
        rf"|(?<![a-z])(?:is|be|becomes?|as|like|into|makes?)\s(?:it\s|they\s|that\s|this\s)?"
        rf"(?:one|a single|an?)\s(?:big\s|large\s)?{total:g}\s?g",
        text,
    )
    return said is not None


def _pooled_class(scene: Scene) -> list[Fields]:
    """The same of cards that are only known by their size ("8*24G=192G")."""
    count, each = scene.out.get("gpu_count") or 1, scene.out.get("gpu_mem_gb")
    total = each * count
    if count < 2 or not re.search(
        rf"(?:=|共|total(?: of)?|就是|有|变成?了?|成了?|当|算)\s?{total:g}\s?g", scene.text
    ):
        return []
    return [{"count": count, "total": f"{total:g}", "each": f"{each:g}", "source": "rule:devices"}]


def _unsupported(scene: Scene, words: str, flag: str) -> list[GpuSpec]:
    """Cards that a property is claimed of and that lack it; also those that misread types carry."""
    if not scene.claims(words):
        return []
    cards = [card for card in scene.cards if getattr(card.spec, flag) is False]
    said = [c.spec for c in cards if scene.near(words, c) or len(scene.cards) == 1]
    carried = (_spec_of(str(fields["card"])) for fields in type_carries(scene))
    real = [spec for spec in carried if spec is not None and getattr(spec, flag) is False]
    return list({spec.name: spec for spec in (*said, *real)}.values())


def bf16(scene: Scene) -> list[Fields]:
    """BF16 on a card without it."""
    return [
        {"card": short_name(spec.name), "cc": _cc(spec), "source": spec.source.id}
        for spec in _unsupported(scene, "bf16", "bf16_supported")
    ]


def fp8(scene: Scene) -> list[Fields]:
    """FP8 on a card without it; a cache kept in FP8 is stored, not computed with."""
    found: list[Fields] = []
    if scene.out.get("kv_cache_dtype") and scene.out.get("quantization") != "fp8":
        return found
    for spec in _unsupported(scene, "fp8", "fp8_supported"):
        known = spec.compute_capability is not None
        found.append(
            {
                "card": short_name(spec.name),
                "cc_zh": f"(计算能力 {_cc(spec)})" if known else "",
                "cc_en": f" (compute capability {_cc(spec)})" if known else "",
                "source": spec.source.id,
            }
        )
    return found


def flash_attention(scene: Scene) -> list[Fields]:
    """FlashAttention-2 on a card older than Ampere."""
    return [
        {"card": short_name(spec.name), "cc": _cc(spec), "source": spec.source.id}
        for spec in _unsupported(scene, "flash_attention", "flash_attention2_supported")
        if spec.compute_capability is not None
    ]


def mig(scene: Scene) -> list[Fields]:
    """MIG on a card that cannot be split."""
    return [
        {"card": short_name(card.spec.name), "source": card.spec.source.id}
        for card in scene.cards
        if card.spec.mig is False and scene.near("mig", card)
    ]


def newer_card(scene: Scene) -> list[Fields]:
    """The newer card taken for the faster at training, though it has less compute."""
    if len(scene.out.get("gpus") or ()) != 2:
        return []
    if scene.says("decode_words") and scene.out.get("task") != "train":
        return []
    first, other = (_spec_of(name) for name in scene.out.get("gpus"))
    if first is None or other is None or not (first.bf16_dense and other.bf16_dense):
        return []
    if first.bf16_dense >= other.bf16_dense:
        return []
    return [
        {
            "first": first.name, "other": other.name, "source": first.source.id,
            "work": f"{first.bf16_dense:g}", "other_work": f"{other.bf16_dense:g}",
            "share": format_significant(other.bf16_dense / first.bf16_dense, 2),
            "memory": f"{first.memory_label_gb or 0:g}",
            "other_memory": f"{other.memory_label_gb or 0:g}",
            "rate": f"{first.mem_bandwidth_gbs or 0:,.0f}",
            "other_rate": f"{other.mem_bandwidth_gbs or 0:,.0f}",
        }
    ]  # fmt: skip


_BRAND = re.compile(r"(?:tesla|nvidia|geforce|英伟达)[ \-]?\Z")


def same_card(scene: Scene) -> list[Fields]:
    """One card under two names, set against each other ("T4 还是 Tesla T4")."""
    names: set[str] = set()
    for card in scene.cards:
        brand = _BRAND.search(scene.text[max(0, card.start - 9) : card.start])
        names.add((brand[0] if brand else "") + re.sub(r"^\d+\s?[x*张块]?\s?", "", card.text))
    rows = {card.label for card in scene.cards}
    is_pair = len(scene.cards) == 2 and len(rows) == 1 and len(names) == 2
    if not is_pair or not scene.says("set_against"):
        return []
    source = scene.cards[0].spec.source.id
    return [{"names": " = ".join(sorted(names)), "source": source}]


CHECKS: dict[str, Callable[[Scene], list[Fields]]] = {
    check.__name__: check
    for check in (
        card_size,
        card_versions,
        unknown_variant,
        modified_card,
        nvlink,
        pooled_memory,
        bf16,
        fp8,
        flash_attention,
        mig,
        same_card,
        newer_card,
    )
}
