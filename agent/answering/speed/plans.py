"""multi_gpu_plan and serving_plan: how to split a model over cards, and how many requests fit."""

from __future__ import annotations

from collections.abc import Generator
from math import ceil
from typing import Any

from agent.answer import Answer, AssumptionOut, Verdict
from agent.answering.failures.symptoms import record_symptom_figures, symptoms_of
from agent.answering.fitting.serving import serving
from agent.answering.fitting.training import training
from agent.answering.hosts.host import compose_host, is_host_question
from agent.answering.plan import Call, Context, Plan
from agent.answering.speed.decode import asks_speed
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import BODY, DETAIL, HEAD, Draft
from agent.answering.telling.found import Found, settled
from agent.answering.telling.numbers import count as told_count
from agent.answering.telling.numbers import gib
from agent.answering.telling.parts import say_parts
from agent.answering.telling.run_words import (
    concurrency_cap,
    joined,
    memory_arguments,
    memory_range,
    outcome,
    short_model,
)
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.answering.telling.verdicts import requests_held
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import ModelReport
from agent.toolbox.timing import TimeReport
from tools.memory import GGUF_ENGINES, cache_pool, is_gguf
from tools.models import LANGUAGE_KINDS, WRITING_KINDS, try_find_model
from tools.units import format_significant

_MOST_SHARE = 0.98
"""Share of a card that an engine can be given at most, with nothing else on it."""
_LONG_SEQUENCE = 16_384
_NODE = 8
"""GPUs of a full machine."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True for a fit of which the speed, or a split over cards, decides the answer."""
    task = request.slots.task
    is_served = (task == "infer" and asks_speed(request)) or (task != "train" and is_split(request))
    return request.intent == "fit_check" and is_served


def compose(request: Request, context: Context) -> Plan:
    """How to lay a run out over cards."""
    draft = Draft(request)
    slots = request.slots
    if not slots.has_model:
        return (yield from _without_model(draft))
    if is_host_question(request):
        return (yield from compose_host(draft))
    if slots.task == "train":
        return (yield from _training_plan(draft, context))
    is_plan = request.intent == "multi_gpu_plan" or is_split(request)
    is_dealt = (slots.pp or 1) > 1 and slots.tp is None  # layers go to any number of cards
    if is_plan and not is_dealt and ((slots.gpu_count or slots.tp or 1) > 1):
        return (yield from _layout(draft))
    return (yield from serving_plan(draft))


def _without_model(draft: Draft) -> Steps:
    slots = draft.request.slots
    results = yield (guidance_call(draft.request, k=2),)
    draft.use(*results)
    for key in symptoms_of(draft.request):
        draft.say(f"symptoms.{key}", importance=HEAD)
    if (slots.gpu_count or 1) > 1 and slots.task != "train":
        draft.say("symptoms.small_batch_parallel", importance=HEAD)
    if slots.task == "train" and (draft.request.stages or slots.zero_stage is not None):
        _say_stages(draft)
    draft.say("memory.ask_model")
    say_cited(draft, passages_in(results)[:2])
    question = draft.request.clarifying_question or draft.phrase("memory.ask_question")
    verdict: Verdict = "not_applicable" if slots.task != "train" else "depends"
    return draft.finish(verdict).model_copy(update={"clarifying_question": question})


def _say_stages(draft: Draft) -> None:
    """What the ways to share out a run split of it, and of an adapter's frozen base."""
    method = draft.request.slots.method or ""
    if method.endswith("lora"):
        draft.say("plans.frozen_base", importance=HEAD)
    if not draft.corrections:  # which say it already
        draft.say("plans.stages", importance=HEAD)


def _training_plan(draft: Draft, context: Context) -> Steps:
    slots = draft.request.slots
    if slots.seq_len is not None and slots.seq_len >= _LONG_SEQUENCE:
        draft.say(
            "plans.long_context", seq=told_count(slots.seq_len, draft.language), importance=HEAD
        )
    if _is_mixture(draft.request) and (slots.gpu_count or 1) > 1:
        draft.say("plans.experts", importance=HEAD)
    if (slots.nodes or 1) > 1:
        draft.say("plans.across_nodes")
    found = yield from training(draft, simulation=context.simulation)
    verdict: Verdict = found.verdict if found.verdict == "not_applicable" else "depends"
    is_short = found.report is not None and found.report.verdict == "does_not_fit"
    if draft.request.corrections and is_short:
        verdict = "does_not_fit"
    return draft.finish(verdict, memory=found.memory, slots=settled(found))


def _is_mixture(request: Request) -> bool:
    """Whether a mixture of experts is trained: by the registry, or by the words."""
    match = try_find_model(request.slots.model) if request.slots.model else None
    is_known = match is not None and match.spec.kind == "moe-lm"
    return is_known or request.says("speed.mixture")


# ---- layout over cards


def is_split(request: Request) -> bool:
    """Whether cards share a model: a tensor parallel size was said, or their number is none."""
    slots = request.slots
    if (slots.tp or 1) > 1:
        return True
    count = slots.gpu_count or 1
    if count < 2 or slots.pp or slots.framework in GGUF_ENGINES or slots.model is None:
        return False
    match = try_find_model(slots.model)
    heads = match.spec.num_attention_heads if match is not None else None
    if match is None or not heads or match.spec.kind not in LANGUAGE_KINDS:
        return False
    kv = match.spec.num_key_value_heads or heads
    return count not in valid_sizes(heads, kv, most=count)


def valid_sizes(heads: int, kv_heads: int, *, most: int) -> list[int]:
    """Tensor parallel sizes that divide the heads, up to a number of cards.

    >>> valid_sizes(64, 8, most=8), valid_sizes(40, 10, most=4), valid_sizes(25, 25, most=4)
    ([1, 2, 4, 8], [1, 2], [1])
    """
    return [
        size
        for size in range(1, most + 1)
        if heads % size == 0 and (kv_heads % size == 0 or size % kv_heads == 0)
    ]


def _layout(draft: Draft) -> Steps:
    slots = draft.request.slots
    cards = slots.gpu_count or slots.tp or 2
    results = yield (Call("find_model", {"name": slots.model, "params_b": slots.params_b}),)
    draft.use(*results)
    model = results[0].report
    if not isinstance(model, ModelReport) or not model.attention_heads:
        return (yield from serving_plan(draft))
    heads, kv = model.attention_heads, model.kv_heads or model.attention_heads
    if (slots.nodes or 1) > 1:
        return (yield from _cluster(draft, cards, heads, kv))
    sizes = valid_sizes(heads, kv, most=cards)
    asked = slots.tp or cards
    best = max(sizes)
    if asked in sizes:
        return (yield from serving_plan(draft, model=model, sizes=sizes))
    forms = [None, "int4"] if slots.quantization is None else [None]
    trials = [(form, size) for form in forms for size in sorted({1, best, *sizes[-2:]})]
    reports = yield tuple(_estimate(draft, form, size) for form, size in trials)
    draft.use(*reports)
    values = {
        "model": model.name.rsplit("/", 1)[-1],
        "heads": heads,
        "kv": kv,
        "count": max(cards, asked),
    }
    draft.figure("attention_heads", heads, "1", sources=(model.source,))
    draft.say("plans.tp_invalid", asked=asked, valid=joined(draft, map(str, sizes)),
              importance=HEAD, **values)  # fmt: skip
    found = _tell_trials(draft, trials, reports, best)
    larger = next((n for n in valid_sizes(heads, kv, most=2 * cards) if n > cards), None)
    if larger is not None and best > 1:
        draft.figure("next_size", larger, "1", formula="smallest valid size above")
        draft.figure("more", larger - cards, "1", formula="next_size - cards")
        draft.say("plans.rest", next=larger, more=larger - cards)
    if found is None:
        return draft.finish("depends")
    say_assumptions(draft, found)
    answer = draft.finish("depends", memory=memory_range(found), slots=settled_as(draft, found))
    return answer.model_copy(update={"request": {**answer.request, "gpu_count": found.gpu_count}})


def settled_as(draft: Draft, report: MemoryReport) -> dict[str, Any]:
    """Slots that an estimate settled."""
    return settled(Found("depends", None, report))


def _estimate(draft: Draft, form: str | None, size: int, **more: Any) -> Call:
    slots = draft.request.slots
    changed: dict[str, Any] = {"quantization": form, "precision": None} if form else {}
    return Call("estimate_memory", memory_arguments(
        slots, task="infer", tp=size, gpu_count=size, **changed, **more))  # fmt: skip


def _tell_trials(
    draft: Draft, trials: list[tuple[str | None, int]], results: tuple[ToolResult, ...], best: int
) -> MemoryReport | None:
    """What each layout needs; gives the one at the best size in the format asked for."""
    chosen = None
    for (form, size), result in zip(trials, results, strict=True):
        report = result.report
        if not isinstance(report, MemoryReport):
            continue
        if size == best and form is None:
            chosen = report
        single = report.verdict in ("fits", "tight") or (
            report.verdict is None and report.process_bytes < 22 * 1024**3
        )
        if size == 1 and form is None and single:
            draft.say("plans.one_gpu", need=gib(report.process_bytes), importance=HEAD)
        if size == 1 or report.verdict is None or report.usable_bytes is None:
            continue
        values: dict[str, Any] = {
            "tp": size,
            "need": gib(report.process_bytes),
            "outcome": outcome(draft, report),
        }
        if form is None:
            draft.say("plans.layout", usable=gib(report.usable_bytes), **values)
        else:
            draft.say("plans.layout_quantized", format=form, **values)
    return chosen


def _cluster(draft: Draft, cards: int, heads: int, kv: int) -> Steps:
    """Several machines: tensor parallelism inside, pipeline parallelism across."""
    slots = draft.request.slots
    nodes = slots.nodes or 1
    per_node = max(cards // nodes, 1)
    tp = max(valid_sizes(heads, kv, most=per_node))
    results = yield (
        Call("estimate_memory", memory_arguments(
            slots, task="infer", gpu_count=tp * nodes, tp=tp, pp=nodes)),
    )  # fmt: skip
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, MemoryReport) or report.usable_bytes is None:
        return (yield from serving_plan(draft))
    label = report.label_gb or 0
    weights = report.weights_bytes * report.gpu_count
    draft.figure("total_label", label * cards, "GB", formula="cards * label")
    draft.figure("label", label, "GB", sources=(f"data:gpus.csv#{report.gpu}",))
    draft.figure("weights_total", weights, "B", formula="weights per card * cards")
    draft.figure("cards", cards, "1", sources=("user:gpu_count",))
    draft.figure("nodes", nodes, "1", sources=("user:nodes",))
    draft.figure("cards_of_a_node", per_node, "1", formula="cards / nodes")
    is_said = slots.tp == tp and slots.pp == nodes  # the layout was said, and it is this one
    holds = report.verdict in ("fits", "tight")
    key = "cluster_holds" if is_said and holds else "cluster"
    draft.say(f"plans.{key}", nodes=nodes, per_node=per_node, count=cards, gpu=report.gpu,
              label=f"{label:g}", total=f"{label * cards:g}", weights=gib(weights),
              importance=HEAD)  # fmt: skip
    draft.say(
        "plans.cluster_how",
        tp=tp,
        nodes=nodes,
        need=gib(report.process_bytes),
        usable=gib(report.usable_bytes),
        outcome=outcome(draft, report),
        count=cards,
    )
    say_parts(draft, report)
    say_assumptions(draft, report)
    verdict: Verdict = "depends" if report.verdict != "does_not_fit" else "does_not_fit"
    if is_said:
        verdict = report.verdict or "depends"
    return draft.finish(verdict, memory=memory_range(report), slots=settled_as(draft, report))


# ---- serving


def serving_plan(
    draft: Draft, *, model: ModelReport | None = None, sizes: list[int] | None = None
) -> Steps:
    """Fit, room for the cache, and speed."""
    slots = draft.request.slots
    symptoms = symptoms_of(draft.request)
    record_symptom_figures(draft, symptoms)
    for key in symptoms:
        draft.say(f"symptoms.{key}", importance=HEAD)
    found = yield from serving(draft)
    report = found.report
    if report is None:
        return draft.finish(found.verdict, memory=found.memory)
    if model is not None and sizes is not None:
        draft.figure("attention_heads", model.attention_heads or 0, "1", sources=(model.source,))
        draft.say(
            "plans.tp_valid",
            model=short_model(report),
            heads=model.attention_heads,
            kv=model.kv_heads,
            valid=joined(draft, map(str, sizes)),
            importance=DETAIL,
        )
    fits_none = not found.is_split and _say_cache(draft, report)
    is_on_card = slots.has_card and report.kind in WRITING_KINDS and not found.is_split
    if is_on_card and found.verdict != "does_not_fit":
        yield from _speed(draft, report)
    verdict = found.verdict
    if "slow_parallel" in symptoms:
        verdict = "not_applicable"
    elif symptoms:
        verdict = "depends"
    elif fits_none and verdict == "fits":
        verdict = "tight"
    return draft.finish(verdict, memory=found.memory, slots=settled(found))


def _say_cache(draft: Draft, report: MemoryReport) -> bool:
    """Room for the KV cache and the requests it holds; True when there is none."""
    if report.usable_bytes is None or report.kv_cache_bytes <= 0:
        return False
    slots = draft.request.slots
    pool = cache_pool(slots.framework or ("llama.cpp" if is_gguf(report.weight_format) else None))
    if pool.of == "request":
        return False  # the context that is set is all that is taken
    util = slots.gpu_memory_utilization or pool.share
    if slots.gpu_memory_utilization is None:
        draft.assume([AssumptionOut(name="gpu_memory_utilization", value=util, unit="1",
                                    why=f"default of {pool.engine}")])  # fmt: skip
    told = {"util": f"{util:g}", "flag": pool.flag}
    cap = concurrency_cap(draft.request)
    held = {a.name: a.value for a in (*draft.assumptions, *report.assumptions)}
    batch = 1 if cap else int(slots.concurrency or slots.batch or held.get("batch") or 1)
    both = (slots.input_len or 0) + (slots.output_len or 0) if slots.input_len else 0
    context = int(slots.context_of_one or both or held.get("context_len") or 0)
    draft.figure("request_tokens", context, "token", formula="prompt + answer, or the context")
    each = report.kv_cache_bytes / batch
    total = report.usable_bytes
    fixed = report.process_bytes - report.kv_cache_bytes
    budget = (total - fixed) * util if pool.of == "free" else total * util - fixed
    if budget < each * 0.5:
        least = 1.0 if pool.of == "free" else ceil(100 * (fixed + each) / total) / 100
        if least <= _MOST_SHARE:
            draft.figure("least_utilization", least, "1", formula="(need of one request) / usable")
            draft.say("plans.kv_raise", importance=HEAD, least=f"{least:g}", **told)
        else:
            draft.say("plans.kv_none", importance=HEAD, **told)
        return True
    if cap is not None and budget < each * cap and context:
        mean = int(budget / each * context / cap)
        draft.figure("mean_tokens", mean, "token", formula="kv tokens / max_num_seqs")
        draft.say("plans.cap", cap=cap, mean=f"{float(format_significant(mean, 2)):,.0f}")
    sequences = budget / each
    for name, value in (("kv_budget", budget), ("kv_per_request", each)):
        draft.figure(name, int(value), "B", formula="usable * utilization - weights - overhead")
    draft.figure("requests", round(sequences, 2), "1", formula="kv_budget / kv_per_request")
    draft.figure("cache_tokens", sequences * context, "token", formula="requests * context")
    told_sequences = f"{sequences:.1f}" if sequences < 10 else format_significant(sequences, 2)
    draft.say(
        "plans.kv_budget" if sequences >= 1 else "plans.kv_budget_short",
        budget=gib(budget),
        weights=gib(report.weights_bytes),
        context=context,
        each=gib(each),
        sequences=told_sequences,
        tokens=f"{float(format_significant(sequences * context, 3)):,.0f}",
        importance=HEAD if draft.request.goal == "most_concurrent" else BODY,
        **told,
    )
    return False


def _speed(
    draft: Draft, report: MemoryReport
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    from agent.answering.speed.times import say_serving_speed, time_arguments

    slots = draft.request.slots
    concurrency = slots.concurrency or slots.batch or 1
    queue = requests_held(draft, report)
    if queue is not None:
        concurrency = queue[0]
    arguments = time_arguments(draft, task="infer", concurrency=concurrency, batch=None,
                               gpu=report.gpu, gpu_count=report.gpu_count)  # fmt: skip
    results = yield (Call("estimate_time_and_cost", arguments),)
    draft.use(*results)
    speed = results[0].report
    if isinstance(speed, TimeReport):
        is_asked = asks_speed(draft.request)
        say_serving_speed(draft, speed, concurrency, importance=HEAD if is_asked else DETAIL)
