"""Checks about export cards, and about what a program or technique does and does not do."""

from __future__ import annotations

import re
from collections.abc import Callable

from agent.understanding.premises.scene import Fields, Scene, short_name

_ORIGINALS = {"A800": "A100", "H800": "H100", "H20": "H100", "RTX 4090 D": "RTX 4090"}
"""Cards made for export rules, and the card that each stands for."""
_LESS = re.compile(
    r"(?:less|smaller|lower|reduced|fewer|cut|half|crippled)[a-z ]{0,16}?(?:vram|memory|gpu ram)"
    r"|(?:vram|memory)[a-z ]{0,16}?(?:is |was |are )?"
    r"(?:less|smaller|lower|reduced|cut|halved|crippled)"
    r"|显存[^,。;\n]{0,8}?(?:小|少|缩水|阉割|砍|减半|降)|(?:砍|阉割|缩水|削减|少)[^,。;\n]{0,4}?显存"
)
_GAP = 60
_CACHE = re.compile(r"kv[- ]?cache|kv 缓存|kv缓存|key[- ]value cache|(?<![a-z])kv(?![a-z])")
_SHRINKS = re.compile(
    r"reduc|shrink|smaller|less|lower|save|cut|halve"
    r"|减少|减小|变小|缩小|降低|省|压缩|少占|小了|降下来"
)
_KV_GAP = 40
_SKLEARN = re.compile(r"(?<![a-z])(?:sklearn|scikit[- ]?learn)(?![a-z])")
_GPU_WORDS = re.compile(r"(?<![a-z])(?:gpus?|cuda)(?![a-z])|显卡")
_GPU_PORT = re.compile(r"cuml|rapids|sklearnex|intelex")
_SPLITS = re.compile(
    r"(?:ddp|distributeddataparallel|dataparallel|data parallel|数据并行)[^,。;\n]{0,24}?"
    r"(?:split|shard|divid|spread|partition|切|拆|分到|分摊|平分|分散)[a-z]*[^,。;\n]{0,8}?"
    r"(?:the )?(?:model|weights|parameters|模型|权重|参数)"
    r"|(?:ddp|dataparallel|data parallel|数据并行)[^,。;\n]{0,16}?(?:model|weights|模型|权重|参数)"
    r"[^,。;\n]{0,8}?(?:split|shard|divid|切|拆|分到|分摊|平分|分散)"
    r"|(?:model|weights|模型|权重|参数)[^,。;\n]{0,16}?(?:split|shard|divid|切|拆|分到|分摊|平分)"
    r"[^,。;\n]{0,12}?(?:ddp|dataparallel|data parallel|数据并行)"
)
_NOT = re.compile(r"(?:(?<!是)不(?!是)|没|not|n't|never)[^,。;\n]{0,6}\Z")


def export_card(scene: Scene) -> list[Fields]:
    """Less memory said of a card whose export rule cut something else."""
    hits = list(_LESS.finditer(scene.text))
    for card in scene.cards:
        original = _original(short_name(card.spec.name))
        near = any(abs(hit.start() - card.end) <= _GAP for hit in hits)
        if original is None or not near:
            continue
        fields = _compared(card.spec, original)
        if fields is not None:
            return [fields]
    return []


def _original(name: str) -> str | None:
    return _ORIGINALS.get(name)


def _compared(spec: object, original: str) -> Fields | None:
    """Memory of both, and what is lower on the export card."""
    from tools.gpus import find_gpu

    label = getattr(spec, "memory_label_gb", None)
    match = find_gpu(original)
    twin = match.spec
    if label and twin.memory_label_gb and twin.memory_label_gb > label:
        twin = next((row for row in match.also if row.memory_label_gb == label), twin)
    if not label or not twin.memory_label_gb or label < twin.memory_label_gb:
        return None
    cuts = [
        (zh, en, was, now)
        for zh, en, field in (
            ("NVLink", "NVLink", "nvlink_total_gbs"), ("16 位算力", "16-bit compute", "bf16_dense"),
        )
        if (was := getattr(twin, field)) and (now := getattr(spec, field)) and now < 0.95 * was
    ]  # fmt: skip
    units = {"NVLink": "GB/s", "16-bit compute": "TFLOPS"}
    told_zh = "、".join(f"{zh} {was:g}→{now:g} {units[en]}" for zh, en, was, now in cuts)
    told_en = " and ".join(f"{en} ({was:g} to {now:g} {units[en]})" for _, en, was, now in cuts)
    return {
        "card": short_name(str(getattr(spec, "name", ""))), "original": original,
        "memory": f"{label:g}", "twin": f"{twin.memory_label_gb:g}",
        "cut_zh": told_zh or "算力", "cut_en": told_en or "compute",
        "source": f"data:gpus.csv#{getattr(spec, 'name', '')}",
    }  # fmt: skip


def flash_cache(scene: Scene) -> list[Fields]:
    """A smaller KV cache expected of FlashAttention."""
    if not scene.says("flash_attention"):
        return []
    for shrink in _SHRINKS.finditer(scene.text):
        for cache in _CACHE.finditer(scene.text):
            apart = max(shrink.start(), cache.start()) - min(shrink.end(), cache.end())
            if apart <= _KV_GAP and not _NOT.search(scene.text[: shrink.start()]):
                return [{}]
    return []


def sklearn_gpu(scene: Scene) -> list[Fields]:
    """A faster scikit-learn expected of a GPU."""
    if not _SKLEARN.search(scene.text) or _GPU_PORT.search(scene.text):
        return []
    has_gpu_type = any(
        family.category != "cpu"
        for mention in scene.instances
        for family in mention.lookup.families
    )
    names_gpu = bool(scene.cards) or has_gpu_type or _GPU_WORDS.search(scene.text) is not None
    return [{}] if names_gpu else []


def ddp_splits(scene: Scene) -> list[Fields]:
    """A model split over the cards expected of data parallelism."""
    found = _SPLITS.search(scene.text)
    if found is None or re.search(r"不(?:会|能)?(?:切|拆|分)|doesn't|does not|not split", found[0]):
        return []
    count = scene.out.get("gpu_count") or 0
    told = (f"{count} 张卡", f"{count} cards") if count > 1 else ("每张卡", "all cards")
    return [{"cards_zh": told[0], "cards_en": told[1]}]


CHECKS: dict[str, Callable[[Scene], list[Fields]]] = {
    check.__name__: check for check in (export_card, flash_cache, sklearn_gpu, ddp_splits)
}
