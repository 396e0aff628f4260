"""Checks behind the rows of data/premises.yaml: whether a premise is there, with its figures."""

from __future__ import annotations

import re
from collections.abc import Callable

from agent.understanding.premises import adapters, cards, catalog, formats, software, types
from agent.understanding.premises.scene import Fields, Scene, short_name
from tools.units import format_gib

_BYTES_PER_PARAM = {
    "fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "q8_0": 1.06, "int4": 0.5,
    "awq": 0.5, "gptq": 0.5, "nf4": 0.5, "q4_k_m": 0.6, "q4": 0.56, "mxfp4": 0.53,
}  # fmt: skip


def active_params(scene: Scene) -> list[Fields]:
    """Memory reckoned from the active parameters of a mixture of experts."""
    spec = scene.out.spec
    total, active = scene.out.get("params_b"), scene.out.get("active_b")
    if spec is not None and spec.params_active and spec.params_active < 0.9 * spec.params_total:
        total, active = spec.params_total / 1e9, spec.params_active / 1e9
    if not total or not active:
        return []
    cards = (scene.out.get("gpu_mem_gb") or 0) * (scene.out.get("gpu_count") or 1)
    claimed = scene.board.value("need_gb") or cards
    by_size = scene.says("is_enough") and 0.4 * active <= claimed < 0.4 * total
    by_size = by_size and not scene.says("part_in_host")
    said_size = any(
        abs(reading.value - active) <= 0.05 * active and reading.value < 0.5 * total
        for reading in scene.board.of("params_b")
    )  # "Scout - 17B params": the size of what is active
    if not (scene.says("active_only") or by_size or (spec is not None and said_size)):
        return []
    name = scene.out.get("model") or f"{total:g}B-A{active:g}B"
    source = spec.source.id if spec is not None else "rule:experts_resident"
    return [{"model": name, "total": f"{total:.4g}", "active": f"{active:.3g}", "source": source}]


def adapter_share(scene: Scene) -> list[Fields]:
    """Memory reckoned from the share of weights that an adapter trains."""
    out = scene.out
    params, method = out.get("params_b"), str(out.get("method") or "")
    if not params or not method.endswith("lora") or method.endswith("qlora"):
        return []
    if not scene.says("so_it_fits"):
        return []
    width = _BYTES_PER_PARAM.get(str(out.get("quantization") or out.get("precision")), 2.0)
    source = out.spec.source.id if out.spec is not None else "rule:weights"
    return [
        {
            "params": f"{params:.4g}", "width": f"{width:g}", "weights": f"{params * width:.0f}",
            "four": f"{params * 0.5:.0f}", "source": source,
        }
    ]  # fmt: skip


def slower_decode(scene: Scene) -> list[Fields]:
    """A card with the greater bandwidth taken for the slower one at generating."""
    if len(scene.cards) != 2 or not (scene.says("decode_words") and scene.says("slower_there")):
        return []
    first, second = scene.cards
    between = scene.text[first.end : second.start]
    behind = scene.text[second.end : second.end + _NEAR_CLAIM]
    own, theirs = first.spec.mem_bandwidth_gbs, second.spec.mem_bandwidth_gbs
    is_claim = re.search(r"比|不如|than|slower", between + behind) is not None
    if not own or not theirs or own < 1.1 * theirs or not is_claim:
        return []
    if not re.search(r"慢|不如|弱|差|slower|weaker|worse", between + behind):
        return []
    name, other = short_name(first.name), short_name(second.name)
    tflops = [card.spec.bf16_dense for card in (first, second)]
    if None in tflops:
        return []
    return [
        {
            "card": name, "other": other, "own": f"{own:,.0f}", "theirs": f"{theirs:,.0f}",
            "own_tf": f"{tflops[0]:g}", "other_tf": f"{tflops[1]:g}",
            "source": f"data:gpus.csv#{first.name}",
        }
    ]  # fmt: skip


_NEAR_CLAIM = 12
"""Characters behind the second card in which the comparison ends."""


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
    bare = None if scene.cards else out.get("gpu_mem_gb")
    claimed = scene.board.value("need_gb") or scene.board.value("claimed_gb") or bare
    params = out.get("params_b")
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


def tp_heads(scene: Scene) -> list[Fields]:
    """A tensor parallel size taken for one that works, which does not divide the heads."""
    spec, tp = scene.out.spec, scene.out.get("tp")
    heads = getattr(spec, "num_attention_heads", None)
    kv = getattr(spec, "num_key_value_heads", None) or heads
    knows = any(item.fields.get("message") == "tp_divisibility" for item in scene.pasted)
    if not heads or not kv or not tp or knows or scene.says("divisible"):
        return []
    allowed = [n for n in range(1, heads + 1) if heads % n == 0 and (kv % n == 0 or n % kv == 0)]
    if tp in allowed or not scene.says("sure_of_it"):
        return []
    return [
        {
            "model": spec.name, "heads": heads, "kv": kv, "tp": tp, "source": spec.source.id,
            "allowed": ", ".join(map(str, allowed[:_MOST_SIZES])),
        }
    ]  # fmt: skip


_MOST_SIZES = 5


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


_LEAST_RESERVED = 2**29
"""Bytes that PyTorch holds beside its tensors from which a doubt about them is answered."""


def reserved_counts(scene: Scene) -> list[Fields]:
    """Only what tensors hold taken for what a process uses of a card that is full."""
    for item in scene.pasted:
        used = item.fields.get("allocated_bytes")
        held = item.fields.get("reserved_unallocated_bytes") or 0
        held = held or (item.fields.get("reserved_bytes") or 0) - (used or 0)
        if item.kind != "cuda_oom" or held < _LEAST_RESERVED or not used:
            continue
        if not scene.says("thinks_there_is_room") or item.fields.get("other_process_bytes"):
            return []
        this = item.fields.get("this_process_bytes") or held + used
        return [
            {
                "used": format_gib(used), "held": format_gib(held), "this": format_gib(this),
                "source": "rule:reserved_memory",
            }
        ]  # fmt: skip
    return []


def host_ram(scene: Scene) -> list[Fields]:
    """A kill by the system taken for a lack of GPU memory."""
    if any(item.kind == "cuda_oom" for item in scene.pasted):
        return []
    pasted = any(item.kind == "host_kill" for item in scene.pasted) and scene.says("kill_words")
    told = "failures.killed_by_system" in scene.marks
    told = told or "failures.killed" in scene.marks and scene.out.get("host_ram_gb") is not None
    told = told and scene.says("gpu_memory_blamed")
    return [{}] if pasted or told else []


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
    "long_run": _when(lambda scene: (scene.out.get("hours") or 0) > 1),
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
    "several_cards": _when(
        lambda scene: scene.out.get("gpu_count") != 1 or "gpu_count" in scene.out.inferred
    ),
    "no_specific_failure": _when(lambda scene: not scene.pasted),
    "card_total_below_label": _card_total_below_label,
}
"""What `needs` of a row may name; a condition may bring fields for its text."""


def _checks() -> dict[str, Callable[[Scene], list[Fields]]]:
    own = (
        active_params, adapter_share, slower_decode, spot_fixed, too_little_claimed,
        kv_heads, tp_heads, four_copies, other_process, reserved_counts, host_ram,
        full_on_quantized, mb_for_gb,
    )  # fmt: skip
    checks: dict[str, Callable[[Scene], list[Fields]]] = {c.__name__: c for c in own}
    for module in (adapters, cards, catalog, formats, software, types):
        checks |= module.CHECKS
    return checks


CHECKS = _checks()
"""Check of every row without phrases, by the row's name."""
