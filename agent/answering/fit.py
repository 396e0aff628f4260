"""fit_check: does it fit, with what figures, and what would make it fit."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

from agent.answer import Answer, AssumptionOut, MemoryRange, Verdict
from agent.answering import compare
from agent.answering import estimates as told
from agent.answering.concept import methods_compared
from agent.answering.doubtful import is_doubtful, say_doubtful
from agent.answering.draft import DETAIL, HEAD, Draft
from agent.answering.host import compose_host, is_host_question
from agent.answering.largest import asks_largest, compose_largest
from agent.answering.numbers import gib, quoted
from agent.answering.offload import can_offload, compose_offload
from agent.answering.phrases import sentences
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting import cards_to_rent, say_fitting_cards
from agent.answering.sources import guidance_call, say_guidance
from agent.answering.symptoms import record_symptom_figures, symptoms_of
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport
from tools.models import try_find_model
from tools.units import bytes_from_gb

METHODS = ("full", "lora", "qlora")
SERVED = ("bf16", "int8", "int4")
_LANGUAGE_KINDS = ("decoder-lm", "moe-lm", "vlm")
_MOVES = ("seq_len", "micro_batch_size", "context_len", "batch")
"""Assumptions that may be changed to make a run fit."""
_ENGINE_SHARE = 0.9
"""gpu_memory_utilization where none was said."""
_SHORT_SEQUENCE = 512
_SHORT_CONTEXT = 1024
_HOST_LIMIT_BYTES = bytes_from_gb(2000)
"""Host memory beyond which offloading is no way out: no common machine has it."""
_MORE_CARDS = (2, 4, 8)
_LIGHTER = {"full": ("lora", "qlora"), "lora": ("qlora",)}


@dataclass(frozen=True, slots=True)
class Found:
    """What the tools said about the configuration asked for."""

    verdict: Verdict
    memory: MemoryRange | None
    report: MemoryReport | None


Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Found]


def compose(request: Request, context: Context) -> Plan:
    """The answer to a question about fit."""
    draft = Draft(request)
    slots = request.slots
    if slots.model is None and slots.params_b is None:
        if slots.need_gb is not None and (slots.gpus or slots.gpu):
            return (yield from compare.compose(request, context))
        return (yield from _no_model(draft))
    if is_host_question(request):
        return (yield from compose_host(draft))
    if slots.task != "train" and asks_largest(request):
        return (yield from compose_largest(draft))
    found = yield from training(draft) if slots.task == "train" else serving(draft)
    symptoms = symptoms_of(request)
    record_symptom_figures(draft, symptoms)
    for symptom in symptoms:
        draft.say(f"symptoms.{symptom}")
    verdict = found.verdict
    if symptoms and verdict != "not_applicable":
        verdict = "depends"
    return draft.finish(verdict, memory=found.memory, slots=settled(found))


def settled(found: Found) -> dict[str, Any]:
    """Slots that the tools settled."""
    report = found.report
    if report is None or report.gpu is None or report.gpu.endswith("class"):
        return {}
    return {"gpu": report.gpu, "gpu_count": report.gpu_count}


def failed(draft: Draft, result: ToolResult) -> Found:
    """The tool could not compute: its hint is told, and no figure is given."""
    if result.fields.get("error") == "AmbiguousModelError":
        return _which_model(draft, result)
    draft.add(quoted_hint(draft, result), importance=HEAD)
    return Found("not_applicable", None, None)


def _which_model(draft: Draft, result: ToolResult) -> Found:
    """A family without a size: what holds for any size, and which one is meant."""
    slots = draft.request.slots
    draft.add(quoted_hint(draft, result), importance=HEAD)
    if slots.task == "train":
        if (slots.gpu_count or 1) > 1:
            draft.say("memory.replicated")
        draft.say("memory.levers_train")
    draft.say("memory.ask_model")
    return Found("depends", None, None)


def quoted_hint(draft: Draft, result: ToolResult) -> str:
    """Why a tool could not compute, in the reader's language where the error is a known one."""
    fields = result.fields
    kind = fields.get("error", "")
    candidates = told.joined(draft, [str(c) for c in fields.get("candidates") or ()][:5])
    if kind.startswith(("Unknown", "Ambiguous")) and candidates:
        key = "fit.unknown_name" if kind.startswith("Unknown") else "fit.ambiguous_name"
        return draft.phrase(key, name=quoted(str(fields.get("given"))), candidates=candidates)
    if kind == "BadQuantityError":
        given = quoted(str(fields.get("given")))
        return draft.phrase(
            "fit.bad_quantity",
            field=fields.get("field"),
            given=given,
            allowed=fields.get("allowed"),
        )
    if kind == "UnsupportedError":
        return draft.phrase("fit.unsupported", what=quoted(str(fields.get("what"))),
                            reason=fields.get("reason") or result.hint)  # fmt: skip
    return result.hint or ""


# ---- no model


def _no_model(draft: Draft) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]:
    """Without a model there is no one number: says what is needed and shows a 7B for scale."""
    slots = draft.request.slots
    draft.say("memory.ask_model", importance=HEAD)
    common = {
        "with_changes": False,
        "params_b": 7.0,
        "gpu": slots.gpu,
        "gpu_mem_gb": slots.gpu_mem_gb,
    }
    calls = [Call("estimate_memory", {**common, "task": "train", "method": m}) for m in METHODS]
    calls += [Call("estimate_memory", {**common, "task": "infer", "quantization": q})
              for q in ("bf16", "int4")]  # fmt: skip
    results = yield tuple(calls)
    draft.use(*results)
    items = []
    for call, result in zip(calls, results, strict=True):
        report = result.report
        if not isinstance(report, MemoryReport):
            continue
        label = (
            told.method_name(draft, report.method)
            if report.task == "train"
            else draft.phrase("memory.infer_label", format=call.arguments["quantization"])
        )
        items.append(f"{label}: {gib(report.process_bytes)}")
    draft.bullets(items, title=draft.phrase("memory.examples_title"))
    question = draft.request.clarifying_question or draft.phrase("memory.ask_question")
    return draft.finish("depends").model_copy(update={"clarifying_question": question})


# ---- training


def training(draft: Draft) -> Steps:
    """Memory of fine-tuning or pre-training, with the methods compared where none was said."""
    slots = draft.request.slots
    methods = _methods(draft)
    is_method_open = methods == METHODS
    calls = [
        Call(
            "estimate_memory",
            told.memory_arguments(
                slots, method=method, with_changes=method == "lora" or len(methods) == 1
            ),
        )
        for method in methods
    ]
    if slots.gpu is not None and slots.gpu != "none":
        calls.append(Call("find_gpu", {"name": slots.gpu, "memory_gb": slots.gpu_mem_gb}))
    if is_method_open:
        calls.append(guidance_call(draft.request))
    results = yield tuple(calls)
    draft.use(*results)
    reports = [r.report for r in results if isinstance(r.report, MemoryReport)]
    if len(reports) < len(methods):
        return failed(draft, results[0])
    card = next((r.report for r in results if isinstance(r.report, GpuReport)), None)
    chosen = reports[methods.index("lora")] if is_method_open else reports[0]
    found = yield from _asked(draft, chosen, card)
    report = found.report or chosen
    told.say_card(draft, report, card)
    if is_method_open:
        told.say_methods(draft, reports)
        told.say_why(draft, reports[methods.index("full")])
    told.say_images(draft, report)
    _say_training_reasons(draft, report, is_method_open=is_method_open)
    if found.verdict != "fits":
        told.say_changes(draft, report)
        is_open = yield from _ways_out(draft, report, is_method_open=is_method_open)
        if is_open and found.verdict == "does_not_fit":
            found = replace(found, verdict="depends")
    if not is_method_open:
        told.say_parts(draft, report)
    told.say_assumptions(draft, report)
    told.say_reference(draft, report)
    yield from _rent(draft, report, found.verdict)
    say_guidance(draft, results)
    draft.follow_ups += _training_follow_ups(draft, report)
    return found


def _methods(draft: Draft) -> tuple[str, ...]:
    """The method asked for; all three where it was left open, the usual one of other kinds."""
    slots = draft.request.slots
    if len(methods_compared(draft.request)) > 1 and is_language_model(slots.model):
        return METHODS
    if not method_is_open(draft.request) and slots.method is not None:
        return (slots.method,)
    if not is_language_model(slots.model):
        why = "models of this kind are usually trained whole"
        draft.assume([AssumptionOut(name="method", value="full", unit="1", why=why)])
        return ("full",)
    why = "no method was said; LoRA is the usual one"
    if draft.language == "zh":
        why = draft.phrase("memory.method_assumed")
    draft.assume([AssumptionOut(name="method", value="lora", unit="1", why=why)])
    return METHODS


def _asked(
    draft: Draft, chosen: MemoryReport, card: GpuReport | None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Found]:
    """The verdict on what was asked: sharded, at its leanest, or as it stands."""
    if is_doubtful(draft, chosen):
        verdict = yield from say_doubtful(draft, chosen, card)
        return Found(verdict, told.memory_range(chosen), chosen)
    found = yield from _sharded(draft, chosen)
    if found is None and chosen.verdict == "does_not_fit":
        found = yield from _leanest(draft, chosen)
    if found is None:
        told.say_verdict(draft, chosen)
        found = Found(verdict_of(chosen), told.memory_range(chosen), chosen)
    return found


def is_language_model(name: str | None) -> bool:
    """True for a language model, and for a model of which only the size is known."""
    match = try_find_model(name) if name is not None else None
    return match is None or match.spec.kind in _LANGUAGE_KINDS


def method_is_open(request: Request) -> bool:
    """True when fine-tuning was asked for and no method was said."""
    slots = request.slots
    if slots.method is None:
        return True
    said = request.spans.get("method")
    named = ("lora", "full", "全", "peft", "adapter", "4", "freeze", "qlora")
    is_named = said is not None and any(word in said.text.casefold() for word in named)
    return slots.method == "lora" and not is_named and "method" not in request.inherited


def _sharded(
    draft: Draft, replica: MemoryReport
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Found | None]:
    """Several cards without a scheme: sharding is tried where a full replica does not fit."""
    slots = draft.request.slots
    count = replica.gpu_count
    is_open = slots.zero_stage is None and slots.strategy is None and slots.tp is None
    if count < 2:
        return None
    if not is_open:
        _say_given_scheme(draft, replica)
        return None
    if replica.verdict in ("fits", None):
        draft.say("memory.replicated", importance=DETAIL)
        return None
    results = yield (
        Call(
            "estimate_memory",
            told.memory_arguments(slots, method=_said_method(replica), zero_stage=3),
        ),
    )
    draft.use(*results)
    shard = results[0].report
    if not isinstance(shard, MemoryReport) or shard.verdict is None:
        return None
    if replica.method == "full" or shard.verdict == "does_not_fit":
        told.say_verdict(draft, shard)
        draft.say("memory.sharded", count=count)
        draft.say("memory.replicated")
        told.say_total(draft, shard)
        return Found(shard.verdict, told.memory_range(shard), shard)
    told.say_verdict(draft, replica)
    draft.say(
        "memory.sharded_fits",
        replica=gib(replica.process_bytes),
        count=count,
        need=gib(shard.process_bytes),
        outcome=told.outcome(draft, shard),
        importance=HEAD,
    )
    return Found("depends", told.memory_range(replica), replica)


def _leanest(
    draft: Draft, report: MemoryReport
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Found | None]:
    """The same run with everything that was left open set to what needs least."""
    slots = draft.request.slots
    lean: dict[str, Any] = {
        "batch": slots.batch or 1,
        "seq_len": slots.seq_len or _SHORT_SEQUENCE,
        "gradient_checkpointing": slots.gradient_checkpointing or "full",
        "optimizer": slots.optimizer or "adamw-8bit",
        "fused_ce": True,
    }
    results = yield (
        Call("estimate_memory", told.memory_arguments(slots, method=_said_method(report), **lean)),
    )
    draft.use(*results)
    least = results[0].report
    if not isinstance(least, MemoryReport) or least.verdict in (None, "does_not_fit"):
        return None
    if slots.seq_len is None and told.is_language(report):
        told.say_verdict(draft, least.model_copy(update={"verdict": "tight"}))
        draft.say("fit.leanest_only", need=gib(report.process_bytes), seq=lean["seq_len"],
                  batch=lean["batch"], importance=HEAD)  # fmt: skip
        return Found("tight", told.memory_range(least), least)
    told.say_verdict(draft, report)
    draft.say("fit.leanest", need=gib(least.process_bytes), outcome=told.outcome(draft, least),
              seq=lean["seq_len"], batch=lean["batch"], importance=HEAD)  # fmt: skip
    return Found("does_not_fit", told.memory_range(report), report)


def _ways_out(
    draft: Draft, report: MemoryReport, *, is_method_open: bool
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], bool]:
    """Lighter methods, more cards, offload: each with its figure.

    Returns:
        True when a run that is sharded already fits once its states go to host memory.
    """
    slots = draft.request.slots
    base = {"method": _said_method(report)}
    count = report.gpu_count
    trials: list[tuple[str, dict[str, Any]]] = []
    if not is_method_open:
        trials += [("method", {"method": _with_base(report, m)})
                   for m in _LIGHTER.get(report.method or "", ())]  # fmt: skip
    trials += [("cards", {**base, "gpu_count": n, "zero_stage": 3, "instance": None})
               for n in _MORE_CARDS if n > count]  # fmt: skip
    if told.is_language(report) and (report.method == "full" or count > 1):
        trials.append(("offload", {**base, "zero_stage": 3, "offload": True}))
    results = yield tuple(
        Call("estimate_memory", told.memory_arguments(slots, **changes)) for _, changes in trials
    )
    draft.use(*results)
    items, enough_cards, is_saved = [], False, False
    is_sharded = slots.zero_stage == 3 or slots.strategy == "fsdp"
    for (kind, _), result in zip(trials, results, strict=True):
        other = result.report
        if not isinstance(other, MemoryReport) or other.verdict is None:
            continue
        fits = other.verdict != "does_not_fit"
        values = {"need": gib(other.process_bytes), "outcome": told.outcome(draft, other)}
        if kind == "method":
            name = told.report_method(draft, other)
            items.append(draft.phrase("fit.way_method", name=name, **values))
        elif kind == "cards" and fits and not enough_cards:
            enough_cards = True
            draft.figure("cards", other.gpu_count, "1", formula="fewest of 2, 4, 8 that fit")
            items.append(draft.phrase("fit.way_cards", count=other.gpu_count, **values))
        elif kind == "offload" and fits and other.host_ram_bytes < _HOST_LIMIT_BYTES:
            is_saved = count > 1 and (report.method == "full" or is_sharded)
            ram = f"{other.host_ram_bytes / 1e9:,.0f} GB"
            draft.figure("offload_host_ram", other.host_ram_bytes, "B", formula="offloaded states")
            items.append(draft.phrase("fit.way_offload", ram=ram, **values))
    draft.bullets(items, title=draft.phrase("fit.ways_title"))
    return is_saved


def _with_base(report: MemoryReport, method: str) -> str:
    return _said_method(report.model_copy(update={"method": method}))


def _said_method(report: MemoryReport) -> str:
    objective = "" if report.objective in (None, "sft") else f"{report.objective}+"
    return f"{objective}{report.method}".replace("pretrain+", "cpt+")


def _say_given_scheme(draft: Draft, report: MemoryReport) -> None:
    slots = draft.request.slots
    if slots.zero_stage == 3 or slots.strategy == "fsdp":
        draft.say("memory.sharded", count=report.gpu_count)
        told.say_total(draft, report)
    else:
        draft.say("memory.replicated")


def _say_training_reasons(draft: Draft, report: MemoryReport, *, is_method_open: bool) -> None:
    if report.objective in sentences("objective"):
        draft.say(f"objective.{report.objective}")
    told.say_why(draft, report)
    if not is_method_open:
        key = "memory.levers_train" if told.is_language(report) else "memory.levers_other"
        draft.say(key, importance=DETAIL)


def _training_follow_ups(draft: Draft, report: MemoryReport) -> list[str]:
    other = "qlora" if report.method != "qlora" else "full"
    return [
        draft.phrase("fit.follow_method", method=told.method_name(draft, other)),
        draft.phrase("fit.follow_longer"),
        draft.phrase("fit.follow_rent"),
    ]


# ---- serving


def serving(draft: Draft) -> Steps:
    """Memory of serving, with other weight formats beside it."""
    slots = draft.request.slots
    said = slots.quantization or slots.precision
    formats: list[str | None] = [said]
    formats += [f for f in SERVED if f != said]
    calls = [
        Call(
            "estimate_memory",
            told.memory_arguments(
                slots, task="infer", with_changes=number == 0, **_format(form), **_at_once(draft)
            ),
        )
        for number, form in enumerate(formats)
    ]
    if slots.gpu is not None and slots.gpu != "none":
        calls.append(Call("find_gpu", {"name": slots.gpu, "memory_gb": slots.gpu_mem_gb}))
    results = yield tuple(calls)
    draft.use(*results)
    chosen = results[0].report
    if not isinstance(chosen, MemoryReport):
        return failed(draft, results[0])
    others = _worth_telling(
        chosen, [r.report for r in results[1:] if isinstance(r.report, MemoryReport)]
    )
    card = next((r.report for r in results if isinstance(r.report, GpuReport)), None)
    if chosen.verdict == "does_not_fit" and slots.seq_len is None:
        chosen = yield from _short_context(draft, chosen, formats[0])
    split = None
    if can_offload(draft, chosen):
        arguments = told.memory_arguments(slots, task="infer", gpu_layers=None, **_format(said))
        split = yield from compose_offload(draft, chosen, arguments)
    if split is not None:
        verdict, chosen, others = split.verdict, split.report, []
    elif is_doubtful(draft, chosen):
        verdict = yield from say_doubtful(draft, chosen, card)
    else:
        verdict = verdict_of(chosen)
        told.say_verdict(draft, chosen)
    if split is None and _differs(card, chosen, slots.gpu_mem_gb):
        verdict = "depends"
    if card is not None and card.fp8_supported is False and slots.quantization == "fp8":
        verdict = "depends" if verdict != "does_not_fit" else verdict
    _say_serving_details(draft, chosen, others, card)
    if split is not None:
        yield from say_fitting_cards(draft, split.whole)
    else:
        yield from _rent(draft, chosen, verdict)
    draft.follow_ups += [draft.phrase("fit.follow_context"), draft.phrase("fit.follow_speed")]
    return Found(verdict, told.memory_range(chosen), chosen)


def _worth_telling(chosen: MemoryReport, others: list[MemoryReport]) -> list[MemoryReport]:
    """Formats that are another size; none between 16 bit and weights published in 4 bit."""
    apart = [o for o in others if abs(o.weights_bytes / max(chosen.weights_bytes, 1) - 1) > _SAME]
    is_narrow = chosen.weight_format in _PUBLISHED_IN_FOUR
    return [o for o in apart if not is_narrow or o.weight_format == "bf16"]


_SAME = 0.1
"""Two formats whose weights differ by less are one size."""
_PUBLISHED_IN_FOUR = ("mxfp4", "int4-experts", "fp4-experts")


def _short_context(
    draft: Draft, chosen: MemoryReport, form: str | None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], MemoryReport]:
    """The same with a short context, where no length was said: it may fit like that."""
    slots = draft.request.slots
    call = Call(
        "estimate_memory",
        told.memory_arguments(
            slots, task="infer", seq_len=_SHORT_CONTEXT, **_format(form), **_at_once(draft)
        ),
    )
    results = yield (call,)
    draft.use(*results)
    short = results[0].report
    if not isinstance(short, MemoryReport) or short.verdict in (None, "does_not_fit"):
        return chosen
    why = "no context length was said; a longer one does not fit"
    draft.assume([AssumptionOut(name="context_len", value=_SHORT_CONTEXT, unit="token", why=why)])
    draft.say("fit.short_only", context=_SHORT_CONTEXT, need=gib(chosen.process_bytes))
    return short.model_copy(update={"verdict": "tight"})


def _at_once(draft: Draft) -> dict[str, Any]:
    """One request at a time where only the server's cap was said."""
    return {} if told.concurrency_cap(draft.request) is None else {"concurrency": 1}


def _format(form: str | None) -> dict[str, Any]:
    """Arguments that set the weight format; None leaves it to the engine."""
    return {"quantization": form, "precision": None} if form else {}


def verdict_of(report: MemoryReport) -> Verdict:
    """An estimate's verdict; open at the border, and about nothing where no card was named."""
    if report.verdict is None:
        return "not_applicable"
    is_open = any(a.name in _MOVES for a in report.assumptions)
    return "depends" if is_open and told.is_borderline(report) else report.verdict


def _differs(card: GpuReport | None, report: MemoryReport, size_gb: float | None) -> bool:
    """True when the card comes in sizes of which some hold the run and some do not."""
    if card is None or size_gb is not None or not card.variants:
        return False
    sizes = [v.usable_bytes for v in card.variants] + [report.usable_bytes or 0]
    return len({size >= report.process_bytes for size in sizes}) > 1


def say_variants(draft: Draft, report: MemoryReport, card: GpuReport | None) -> None:
    """Other memory sizes of a card whose size was not said."""
    if card is None or not card.variants or draft.request.slots.gpu_mem_gb is not None:
        return
    items = [
        draft.phrase("plans.variant", gpu=v.name, usable=gib(v.usable_bytes),
                     outcome=draft.phrase("plans.holds" if v.usable_bytes >= report.process_bytes
                                          else "plans.short"))
        for v in card.variants if v.usable_bytes != report.usable_bytes
    ]  # fmt: skip
    if items:
        draft.say("plans.variants", gpu=card.name, items=told.joined(draft, items))


def _say_serving_details(
    draft: Draft, chosen: MemoryReport, others: list[MemoryReport], card: GpuReport | None
) -> None:
    slots = draft.request.slots
    told.say_card(draft, chosen, card)
    say_variants(draft, chosen, card)
    wide = next((o for o in others if o.weight_format == "bf16"), None)
    told.say_images(draft, chosen)
    is_native = told.say_native_format(draft, chosen, wide, card)
    told.say_why(draft, chosen)
    if chosen.gpu_count > 1:
        draft.say(
            "memory.tensor_parallel", count=chosen.gpu_count, weights=gib(chosen.weights_bytes)
        )
        told.say_total(draft, chosen)
    if chosen.verdict != "fits":
        told.say_changes(draft, chosen)
    items = [
        draft.phrase(
            "memory.alternative" if other.verdict else "memory.alternative_plain",
            format=told.format_name(str(other.weight_format)),
            need=gib(other.process_bytes),
            outcome=told.outcome(draft, other) if other.verdict else "",
        )
        for other in others if not (is_native and other is wide)
    ]  # fmt: skip
    if items:
        draft.say("memory.alternatives", items=told.joined(draft, items))
    if slots.framework in ("vllm", "vllm-ascend", "sglang") and chosen.verdict != "fits":
        share = slots.gpu_memory_utilization or _ENGINE_SHARE
        draft.say("memory.vllm", share=f"{share:g}")
    told.say_parts(draft, chosen)
    told.say_assumptions(draft, chosen)
    told.say_reference(draft, chosen)


# ---- what to rent


def _rent(
    draft: Draft, report: MemoryReport, verdict: Verdict
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Instances with the card asked for, or cards that would hold it."""
    from agent.answering.inverse import count_cards, is_too_large

    if is_too_large(report):
        yield from count_cards(draft, report)
        return
    if report.gpu is not None and verdict in ("fits", "tight") and not report.gpu.endswith("class"):
        yield from cards_to_rent(draft, report.gpu, count=report.gpu_count)
    else:
        yield from say_fitting_cards(draft, report)
