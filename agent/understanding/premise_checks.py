"""Checks behind the rows of data/premises.yaml: whether a premise is there, with its figures."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from agent.request import Pasted
from agent.understanding.phrases import table
from agent.understanding.readers.names import Card
from agent.understanding.readings import Board
from agent.understanding.resolution import Resolution
from tools.units import format_gib

if TYPE_CHECKING:
    from tools.catalog import InstanceMention

Fields = dict[str, Any]
_NEAR = 24
"""Characters between a property and the card that it is said of."""
_BYTES_PER_PARAM = {
    "fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "q8_0": 1.06, "int4": 0.5,
    "awq": 0.5, "gptq": 0.5, "nf4": 0.5, "q4_k_m": 0.6, "q4": 0.56, "mxfp4": 0.53,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that a check may look at."""

    text: str
    """Folded, orders included: what they claim is put right as well."""
    board: Board
    out: Resolution
    cards: tuple[Card, ...]
    """Every card named, also those that are only claimed."""
    instances: tuple[InstanceMention, ...]
    pasted: tuple[Pasted, ...]

    def near(self, words: str, card: Card) -> bool:
        """Whether a word group stands beside a card with no other card between."""
        others = [other for other in self.cards if other is not card]
        for hit in table("premise_words", words).find(self.text):
            if self.is_denied(hit.start, hit.end):
                continue
            low, high = sorted((hit.start, card.start))
            gap = max(hit.start, card.start) - min(hit.end, card.end)
            if gap <= _NEAR and not any(low < o.start < high for o in others):
                return True
        return False

    def is_denied(self, start: int, end: int) -> bool:
        """Whether the text itself says that it is not so ("A10 没有 NVLink")."""
        around = self.text[max(0, start - 10) : start] + " | " + self.text[end : end + 10]
        return table("premise_words", "denied").has(around)

    def says(self, words: str) -> bool:
        """Whether a word group of data/premise_words.yaml is in the text."""
        return table("premise_words", words).has(self.text)

    def claims(self, words: str) -> bool:
        """Whether a word group is in the text and not denied there."""
        hits = table("premise_words", words).find(self.text)
        return any(not self.is_denied(hit.start, hit.end) for hit in hits)


def _cc(card: Card) -> str:
    return "?" if card.spec.compute_capability is None else f"{card.spec.compute_capability:.1f}"


@cache
def short_name(name: str) -> str:
    """Row of the GPU table without vendor, form factor and size: A100, RTX A6000, V100."""
    words = [w for w in name.split() if w not in ("NVIDIA", "Tesla", "GeForce", "PCIe", "Huawei")]
    kept = [w for w in words if not re.fullmatch(r"SXM\d?|\d+GB|\(.*\)?", w)]
    return " ".join(kept) or name


def card_size(scene: Scene) -> list[Fields]:
    """A card with a memory size that none of its kind has."""
    found = []
    for card in scene.cards:
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
    r"(?![a-z0-9])(?:\s?(?:的)?(?:显存|vram|版))?"
)


def _size_said_of(text: str, card: Card) -> float | None:
    """Size that a verb gives a card ("A10 有 80G 显存"), in GB."""
    if card.slice_name or card.spec.is_unified:
        return None
    found = _SAID_SIZE.match(text, card.end)
    return float(found["gb"]) if found is not None else None


@cache
def sizes_of(name: str) -> list[float]:
    """Memory labels (GB) of all cards of one short name."""
    from tools.gpus import all_gpus

    labels = {other.memory_label_gb for other in all_gpus() if short_name(other.name) == name}
    return sorted(label for label in labels if label)


def nvlink(scene: Scene) -> list[Fields]:
    """NVLink said of a card that has none."""
    return [
        {"card": short_name(card.spec.name), "source": card.spec.source.id}
        for card in scene.cards
        if card.spec.nvlink is False and scene.near("nvlink", card)
    ]


def pooled_memory(scene: Scene) -> list[Fields]:
    """Cards whose summed memory is set against a need that no single one meets."""
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
        is_sum = (
            re.search(rf"(?:=|共|total(?: of)?|就是|有)\s?{total:g}\s?g", scene.text) is not None
        )
        if is_sum or (each < claimed <= total and scene.says("fits_by_sum")):
            return [
                {
                    "count": count,
                    "total": f"{total:g}",
                    "each": f"{each:g}",
                    "source": card.spec.source.id,
                }
            ]
    return []


def _pooled_class(scene: Scene) -> list[Fields]:
    """The same of cards that are only known by their size ("8*24G=192G")."""
    count, each = scene.out.get("gpu_count") or 1, scene.out.get("gpu_mem_gb")
    total = each * count
    if count < 2 or not re.search(rf"(?:=|共|total(?: of)?|就是|有)\s?{total:g}\s?g", scene.text):
        return []
    return [{"count": count, "total": f"{total:g}", "each": f"{each:g}", "source": "rule:devices"}]


def _unsupported(scene: Scene, words: str, flag: str) -> list[Card]:
    if not scene.claims(words):
        return []
    cards = [card for card in scene.cards if getattr(card.spec, flag) is False]
    return [card for card in cards if scene.near(words, card) or len(scene.cards) == 1]


def bf16(scene: Scene) -> list[Fields]:
    """BF16 on a card without it."""
    return [
        {"card": short_name(card.spec.name), "cc": _cc(card), "source": card.spec.source.id}
        for card in _unsupported(scene, "bf16", "bf16_supported")
    ]


def fp8(scene: Scene) -> list[Fields]:
    """FP8 on a card without it."""
    found = []
    for card in _unsupported(scene, "fp8", "fp8_supported"):
        known = card.spec.compute_capability is not None
        found.append(
            {
                "card": short_name(card.spec.name),
                "cc_zh": f"(计算能力 {_cc(card)})" if known else "",
                "cc_en": f" (compute capability {_cc(card)})" if known else "",
                "source": card.spec.source.id,
            }
        )
    return found


def flash_attention(scene: Scene) -> list[Fields]:
    """FlashAttention-2 on a card older than Ampere."""
    return [
        {"card": short_name(card.spec.name), "cc": _cc(card), "source": card.spec.source.id}
        for card in _unsupported(scene, "flash_attention", "flash_attention2_supported")
        if card.spec.compute_capability is not None
    ]


def mig(scene: Scene) -> list[Fields]:
    """MIG on a card that cannot be split."""
    return [
        {"card": short_name(card.spec.name), "source": card.spec.source.id}
        for card in scene.cards
        if card.spec.mig is False and scene.near("mig", card)
    ]


def active_params(scene: Scene) -> list[Fields]:
    """Memory reckoned from the active parameters of a mixture of experts."""
    spec = scene.out.spec
    total, active = scene.out.get("params_b"), scene.out.get("active_b")
    if spec is not None and spec.params_active and spec.params_active < 0.9 * spec.params_total:
        total, active = spec.params_total / 1e9, spec.params_active / 1e9
    if not total or not active:
        return []
    claimed = scene.board.value("need_gb") or scene.out.get("gpu_mem_gb") or 0
    by_size = scene.says("is_enough") and 0.4 * active <= claimed < 0.4 * total
    if not (scene.says("active_only") or by_size):
        return []
    name = scene.out.get("model") or f"{total:g}B-A{active:g}B"
    source = spec.source.id if spec is not None else "rule:experts_resident"
    return [{"model": name, "total": f"{total:.4g}", "active": f"{active:.3g}", "source": source}]


def spot_fixed(scene: Scene) -> list[Fields]:
    """A fixed or usual price of a tenth for spot."""
    from tools.catalog import observed_spot_shares, spot_policies

    discount = scene.board.best("discount")
    if scene.out.get("billing") != "spot" or discount is None or discount.value > 0.5:
        return []
    if not scene.says("always"):
        return []
    provider = scene.out.get("provider")
    seen = observed_spot_shares()
    row = next((observed for observed in seen if observed.provider == provider), seen[0])
    policy = spot_policies().get(provider or "alibaba")
    least = float(policy.least_share) if policy and policy.least_share else 0.1
    return [
        {
            "claim": scene.text[discount.start : discount.end],
            "most": f"{100 * (1 - least):.0f}",
            "cloud": row.provider.upper(),
            "pairs": row.pairs,
            "median": f"{100 * row.median_share:.0f}",
            "low": f"{100 * row.low_share:.0f}",
            "high": f"{100 * row.high_share:.0f}",
            "source": row.source.id,
        }
    ]


def too_little_claimed(scene: Scene) -> list[Fields]:
    """A need said for serving a model that its weights alone exceed."""
    out = scene.out
    claimed, params = (
        scene.board.value("need_gb") or scene.board.value("claimed_gb"),
        out.get("params_b"),
    )
    if not claimed or not params or out.get("task") == "train" or not scene.says("is_enough"):
        return []
    native = {"float8_e4m3fn": "fp8", "fp8": "fp8", "mxfp4": "mxfp4"}.get(
        str(getattr(out.spec, "dtype", "")), None
    )
    native = native or (
        "fp8" if str(out.get("model")).startswith("deepseek-ai/DeepSeek-R1") else "bf16"
    )
    wanted = out.get("quantization") or out.get("precision") or native
    weights = params * _BYTES_PER_PARAM.get(str(wanted), 0.5)
    if weights <= 1.05 * claimed:
        return []
    source = out.spec.source.id if out.spec is not None else "rule:weights"
    return [
        {
            "model": out.get("model") or f"{params:g}B",
            "claimed": f"{claimed:g}",
            "params": f"{params:.4g}",
            "format": str(wanted).upper(),
            "weights": f"{weights:.0f}",
            "four": f"{params * 0.5:.0f}",
            "source": source,
        }
    ]


def kv_heads(scene: Scene) -> list[Fields]:
    """Attention heads divide by tp and the KV heads do not."""
    spec, tp = scene.out.spec, [reading.value for reading in scene.board.of("tp")]
    tp += [int(n) for n in re.findall(r"(?:divisible by|被) ?(\d{1,2})(?!\d)", scene.text)]
    heads = getattr(spec, "num_attention_heads", None)
    kv = getattr(spec, "num_key_value_heads", None)
    if not heads or not kv or not tp or not scene.says("divisible"):
        return []
    bad = [n for n in tp if n > 1 and heads % n == 0 and kv % n and n % kv]
    if not bad:
        return []
    allowed = [n for n in range(1, heads + 1) if heads % n == 0 and (kv % n == 0 or n % kv == 0)]
    return [
        {
            "model": spec.name, "heads": heads, "kv": kv, "tp": bad[0],
            "allowed": ", ".join(map(str, allowed[:6])), "source": spec.source.id,
        }
    ]  # fmt: skip


def four_copies(scene: Scene) -> list[Fields]:
    """The 7x4x4 sum: sixteen bytes a parameter, of which the second four is no number of cards."""
    found = re.search(r"(?<![\d.])(\d+(?:\.\d+)?)b?\s?[x*]\s?4\s?[x*]\s?4(?!\d)", scene.text)
    if found is None:
        return []
    params = float(found[1])
    return [{"p": f"{params:g}", "total": f"{params * 16:g}", "source": "rule:adam_fp32"}]


def other_process(scene: Scene) -> list[Fields]:
    """An out-of-memory text in which another process holds a good part of the card."""
    for item in scene.pasted:
        others = item.fields.get("other_process_bytes")
        if item.kind != "cuda_oom" or not others:
            continue
        total = item.fields.get("total_bytes") or 4 * sum(others)
        if sum(others) < total / 10:
            continue
        own = item.fields.get("this_process_bytes")
        pids = ", ".join(str(pid) for pid in item.fields["other_process_ids"])
        return [
            {
                "pids": pids,
                "other": format_gib(sum(others)),
                "own": format_gib(own) if own else "?",
                "source": "user:pasted_log",
            }
        ]
    return []


def host_ram(scene: Scene) -> list[Fields]:
    """A kill by the system taken for a lack of GPU memory."""
    killed = any(item.kind == "host_kill" for item in scene.pasted)
    cuda = any(item.kind == "cuda_oom" for item in scene.pasted)
    return [{}] if killed and not cuda and scene.says("kill_words") else []


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


def mb_for_gb(scene: Scene) -> list[Fields]:
    """A computer's memory in megabytes where gigabytes are meant."""
    given = scene.board.value("mb_for_gb")
    return [{"given": given}] if given else []


def full_on_quantized(scene: Scene) -> list[Fields]:
    """Full fine-tuning of quantised weights."""
    quantization = scene.out.get("quantization")
    method = str(scene.out.get("method") or "")
    said = scene.board.best("method_scale")
    if quantization is None or not method.endswith("full") or said is None:
        return []
    if str(quantization) == "fp8":
        return []
    return [{"format": str(quantization)}]


def _card_total_below_label(scene: Scene) -> Fields | None:
    card = next((c for c in scene.cards if c.spec.memory_smi_mib and c.spec.usable_bytes), None)
    if card is None or card.spec.memory_label_gb is None:
        return None
    smi = card.spec.memory_smi_mib or 0
    return {
        "label": f"{card.spec.memory_label_gb:g}",
        "card": short_name(card.spec.name),
        "smi": smi,
        "gib": f"{smi / 1024:.1f}",
        "usable": f"{(card.spec.usable_bytes or 0) / 2**30:.1f}",
        "source": card.spec.source.id,
    }


def _when(holds: Callable[[Scene], bool]) -> Callable[[Scene], Fields | None]:
    return lambda scene: {} if holds(scene) else None


CONDITIONS: dict[str, Callable[[Scene], Fields | None]] = {
    "spot_billing": _when(lambda scene: scene.out.get("billing") == "spot"),
    "many_cards": _when(
        lambda scene: (scene.out.get("gpu_count") or 1) > 1 or scene.says("more_cards")
    ),
    "tencent": _when(lambda scene: scene.out.get("provider") == "tencent"),
    "seven_b_training": _when(
        lambda scene: (
            scene.out.get("task") == "train" and 6 <= (scene.out.get("params_b") or 0) <= 8.5
        )
    ),
    "unified": _when(lambda scene: bool(scene.cards) and scene.cards[0].spec.is_unified),
    "no_specific_failure": _when(lambda scene: not scene.pasted),
    "card_total_below_label": _card_total_below_label,
}
"""What `needs` of a row may name; a condition may bring fields for its text."""


def _checks() -> dict[str, Callable[[Scene], list[Fields]]]:
    from agent.understanding import premise_catalog

    own = (
        card_size, nvlink, pooled_memory, bf16, fp8, flash_attention, mig, active_params,
        spot_fixed, too_little_claimed, kv_heads, four_copies, other_process, host_ram,
        full_on_quantized, mb_for_gb, same_card,
    )  # fmt: skip
    checks = {check.__name__: check for check in own}
    return checks | premise_catalog.CHECKS


CHECKS = _checks()
"""Check of every row without phrases, by the row's name."""
