"""Values that cannot be, and values that can be computed but are out of all proportion."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from typing import Any

from agent.request import InvalidValue
from agent.understanding.data import load
from agent.understanding.lexicon.phrases import phrase_pattern
from agent.understanding.lexicon.text import Document
from agent.understanding.settling.resolution import Resolution

_MOST_NAMES = 12
_LEARNED_POSITIONS = {"encoder", "speech", "embedding", "reranker"}


def invalid_values(document: Document, out: Resolution) -> tuple[InvalidValue, ...]:
    """Impossible values, each with what is allowed, in both languages."""
    rules = load("validity")
    found: list[InvalidValue] = []
    for slot, rule in rules["ranges"].items():
        value = out.get(slot)
        if value is not None and not _is_inside(value, rule):
            found.append(_of_range(slot, value, rule))
    found += [_of_range(slot, value, rules["ranges"][slot]) for slot, value in out.not_whole]
    found += _no_size(document, out, rules["ranges"]["params_b"])
    found += _too_many_positions(out)
    found += _unknown_cards(document, out)
    if out.unreadable is not None and out.get("params_b") is None and out.get("model") is None:
        found.append(_no_model_in(out.unreadable))
    return tuple(found)


_NO_SIZE = re.compile(
    r"(?<![a-z0-9])-?(?:nan|inf|infinity|∞)\s?(?:b(?![a-z0-9])|亿)"
    r"|(?<![a-z0-9.])0(?:\.0)?[ -]?(?:param(?:eter)?s?(?![a-z])|个?参数)"
)


def _no_size(document: Document, out: Resolution, rule: dict[str, Any]) -> list[InvalidValue]:
    """A size that is no number ("NaNB")."""
    found = _NO_SIZE.search(document.text)
    if found is None or out.get("params_b") is not None or out.get("model") is not None:
        return []
    return [_of_range("params_b", document.span(found.start(), found.end()).text, rule)]


def _no_model_in(reason: str) -> InvalidValue:
    return InvalidValue(
        field="config.json",
        given="config.json",
        allowed="hidden_size, num_hidden_layers, num_attention_heads, vocab_size",
        message_zh=f"这段 config.json 算不出模型({reason});请补上缺的字段,或直接说模型名或参数量。",
        message_en=(
            f"This config.json does not give a model ({reason}); add the missing fields, "
            "or name the model or its size."
        ),
    )


def _number(value: Any) -> float:
    """A number, or the amount of a sum of money."""
    return float(getattr(value, "amount", value))


def _is_inside(value: Any, rule: dict[str, Any]) -> bool:
    number = _number(value)
    low, high = rule.get("above"), rule.get("most")
    return (low is None or number > low) and (high is None or number <= high)


def _of_range(slot: str, value: Any, rule: dict[str, Any]) -> InvalidValue:
    given = value if isinstance(value, str) else f"{_number(value):.12g}"
    most = rule.get("most")
    is_above = (
        most is not None
        and not isinstance(value, str)
        and _number(value) > most
        and not rule["allowed_en"].endswith(f"{most:g}")
    )
    limit_zh = f",不超过 {most:.12g}" if is_above else ""
    limit_en = f" and at most {most:.12g}" if is_above else ""
    return InvalidValue(
        field=slot,
        given=given,
        allowed=rule["allowed_en"] + limit_en,
        message_zh=f"{rule['name_zh']} {given} 无效,必须是{rule['allowed_zh']}{limit_zh}。",
        message_en=(
            f"{rule['name_en']} {given} is not valid; it must be {rule['allowed_en']}{limit_en}."
        ),
    )


def _too_many_positions(out: Resolution) -> list[InvalidValue]:
    """More tokens than a model with learned positions can number."""
    spec, tokens = out.spec, out.get("seq_len")
    limit = getattr(spec, "max_position_embeddings", None)
    is_fixed = spec is not None and (
        spec.learned_positions or spec.position == "learned" or spec.kind in _LEARNED_POSITIONS
    )
    if (
        not tokens
        or not limit
        or not is_fixed
        or tokens <= limit
        or spec.kind in ("embedding", "reranker")
    ):
        return []
    return [
        InvalidValue(
            field="seq_len",
            given=str(tokens),
            allowed=f"at most {limit}",
            message_zh=(
                f"{spec.name} 只有 {limit} 个位置编码,序列长度 {tokens} 超出上限,最多 {limit}。"
            ),
            message_en=(
                f"{spec.name} has {limit} positions; a sequence of {tokens} is more than it takes. "
                f"At most {limit}."
            ),
        )
    ]


def _unknown_cards(document: Document, out: Resolution) -> list[InvalidValue]:
    """Names in the form and place of a card that no row carries."""
    if out.cards or out.get("gpu") is not None:
        return []
    from tools.errors import AmbiguousGpuError, UnknownGpuError
    from tools.gpus import find_gpu

    for pattern in _card_shapes():
        for found in islice(pattern.finditer(document.text), _MOST_NAMES):
            if not document.is_free(found.start("name"), found.end("name")):
                continue
            span = document.span(found.start("name"), found.end("name"))
            try:
                find_gpu(span.text)
            except UnknownGpuError as error:
                return [_unknown_card(span.text, error.candidates)]
            except AmbiguousGpuError:
                return []
    return []


def _unknown_card(given: str, candidates: tuple[str, ...]) -> InvalidValue:
    near = ", ".join(candidates[:4])
    hint_zh = f";真实存在、名字最接近的是 {near}" if near else ""
    hint_en = f" The nearest real ones: {near}." if near else ""
    return InvalidValue(
        field="gpu",
        given=given,
        allowed=near or "a known card",
        message_zh=(
            f"没有查到 {given} 这款显卡:已知的卡里不存在这个型号{hint_zh}。"
            "请确认型号,或给出显存大小和计算能力。"
        ),
        message_en=(
            f"There is no such card as {given}: it is not in the table of known cards.{hint_en} "
            "Check the name, or give its memory and compute capability."
        ),
    )


@cache
def _card_shapes() -> tuple[re.Pattern[str], ...]:
    """Names with a maker's prefix anywhere, bare ones in the place of a card."""
    rows = load("validity")
    before = "|".join(phrase_pattern(p, open_end=True) for p in rows["card_place_before"])
    after = "|".join(phrase_pattern(p, open_start=True) for p in rows["card_place_behind"])
    named = (
        r"(?P<name>(?:rtx|gtx|geforce rtx|quadro|tesla|radeon|mi)\s?-?[a-z]?\d{2,4}[a-z]{0,2}"
        r"(?:\s?(?:ti|super)){0,2})(?![a-z0-9])"
    )
    hundreds = r"(?P<name>[abhlv][1-9]00[a-z]?)(?![a-z0-9.\-])"  # as makers of servers name them
    plain = r"(?P<name>[abhlvtp]\d{1,4}[a-z]{0,2})(?![a-z0-9.\-])"
    return (
        re.compile(rf"(?<![a-z0-9]){named}"),
        re.compile(rf"(?:(?<![a-z])(?:on|an?|the)\s|\d\s?[x*]\s?|[张块])(?:nvidia )?{hundreds}"),
        re.compile(rf"(?<![a-z0-9.\-]){hundreds}\s\d{{2,3}}\s?gi?b(?![a-z])"),
        re.compile(rf"(?:{before})\s{{0,2}}(?:nvidia |英伟达)?{plain}"),
        re.compile(rf"(?<![a-z0-9.\-]){plain}\s{{0,2}}(?:{after})"),
    )


def absurd_slots(out: Resolution) -> tuple[str, ...]:
    """Slots out of all proportion to anything that exists, though they can be computed."""
    found = []
    for slot, most in load("validity")["absurd"].items():
        value = out.get(slot)
        if isinstance(value, int | float) and value > most:
            found.append(slot)
    return tuple(found)
