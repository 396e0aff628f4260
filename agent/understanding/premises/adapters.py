"""What adapters train: the base weights taken for weights that are updated as well."""

from __future__ import annotations

import re
from collections.abc import Callable

from agent.understanding.premises.scene import Fields, Scene

_BASE_ZH = (
    r"(?:(?:4|8|四|八)\s?-?\s?(?:bit|比特|位)|nf4|int[48]|量化(?:后|过)?|底座|基座|底模|主干|原(?:始)?模型|冻结"
    r"|base)"
)
_BASE_EN = r"(?:(?:4|8)-?\s?bit|nf4|int[48]|quanti[sz]ed|base|frozen|original|backbone|pretrained)"
_WEIGHTS = r"(?:weights?|params?|parameters|layers)"
_CLAIMS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_BASE_ZH}(?:模型|的|那部分|部分|model|\s)*(?:权重|参数|weights?)?(?:的|本身|自己|其实|\s)*"
        r"(?:是不是|会不会|也|都|会|在|要|一起|跟着|同时|同步|被|得)+(?:是|会|被|在|要|一起|跟着)*\s?"
        r"(?:更新|训练|训(?!练?(?:好|完)的)|学习?|改)",
        rf"{_BASE_EN}\s(?:model(?:'s)?\s)?{_WEIGHTS}(?:\s(?:themselves|too|also|still|really|do|all))*\s"
        r"(?:(?:are|get|is|being|be|also|still|all|will|actually|too)\s)*"
        r"(?:updated?|trained?|learn(?:ed|ing)?|change[sd]?|updating|training)",
        rf"(?<![a-z])(?:updat(?:es?|ing)|train(?:s|ing)?|optimi[sz](?:es?|ing))\s(?:(?:all|also|even)\s)?"
        rf"(?:the\s|its\s)?{_BASE_EN}\s(?:model\s)?{_WEIGHTS}",
    )
)
_DENIED = re.compile(
    r"不(?!是)|没|而不|冻结的?(?:吗|吧|对)|n't|(?<![a-z])(?:not?|never|without)(?![a-z])"
)
_BEFORE = 12
"""Characters in front of a claim in which it may be denied."""


def frozen_base(scene: Scene) -> list[Fields]:
    """Base weights said to be updated in a run that trains an adapter."""
    method = str(scene.out.get("method") or "").split("+")[-1]
    if method not in ("lora", "qlora"):
        return []
    for pattern in _CLAIMS:
        for found in pattern.finditer(scene.text[:_MOST]):
            around = scene.text[max(0, found.start() - _BEFORE) : found.end()]
            clause = re.split(r"[,。;?!\n]", around)[-1] or around
            if not _DENIED.search(re.sub(r"是不是|会不会|要不要", " ", clause)):
                return [_fields(method)]
    return []


_MOST = 2_000
"""Characters of a text that are looked at."""


def _fields(method: str) -> Fields:
    is_stored = method == "qlora"
    return {
        "method": "QLoRA" if is_stored else "LoRA",
        "stored_zh": "(量化的权重只存放着,计算时临时反量化)" if is_stored else "",
        "stored_en": " (they are stored quantised and only dequantised to compute)"
        if is_stored
        else "",
    }


CHECKS: dict[str, Callable[[Scene], list[Fields]]] = {"frozen_base": frozen_base}
