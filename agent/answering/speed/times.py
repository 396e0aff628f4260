"""time_estimate: how long a job takes, at what speed, and what that costs."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answer import Answer, AssumptionOut
from agent.answering.concepts import compare, concept
from agent.answering.hosts.host_states import say_step_in_ram
from agent.answering.money import cost
from agent.answering.plan import Call, Context, Plan
from agent.answering.speed import step_work
from agent.answering.speed.decode import asks_fit, asks_training_speed, say_ceiling
from agent.answering.speed.job_cost import NODE, named_call
from agent.answering.speed.job_cost import say_cost as say_cost
from agent.answering.speed.job_cost import types_call as types_call
from agent.answering.speed.time_fit import memory_call, room_for
from agent.answering.telling.draft import BODY, DETAIL, HEAD, Draft
from agent.answering.telling.found import quoted_hint
from agent.answering.telling.numbers import count, duration, gib, rate, whole
from agent.answering.telling.phrases import sentences
from agent.answering.telling.run_words import (
    joined,
    memory_arguments,
    memory_range,
    outcome,
    value_name,
)
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import ModelReport
from agent.toolbox.timing import TimeReport
from tools.models import WRITING_KINDS
from tools.units import format_significant

_EXAMPLE_B = 7.0
"""Size that stands in where the hours of a training are asked for and no model is named."""
_SAMPLES, _TOKENS_EACH = 50_000, 512
"""Work assumed when none was said: a common instruction set of this order."""
"""Kinds of models whose speed is told in tokens."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True where a run's speed is asked for in words of a fit, or a whole pre-training is told."""
    if request.intent == "fit_check" and asks_training_speed(request):
        return True
    slots = request.slots
    is_whole = slots.method == "pretrain" and slots.tokens is not None and slots.has_card
    is_told = is_whole and slots.has_model and request.intent == "multi_gpu_plan"
    return is_told and not asks_fit(request) and not request.says("speed.layout")


def compose(request: Request, context: Context) -> Plan:
    """Hours of a training job, or speed of serving."""
    draft = Draft(request)
    slots = request.slots
    if slots.step_s is not None:
        return (yield from cost.compose(request, context))
    if slots.has_model and not slots.has_card and slots.instance is not None:
        yield from _on_its_cards(draft)
        slots = draft.request.slots
    if slots.has_model and slots.gpus is not None and len(slots.gpus) > 1:
        return (yield from compare.compose(request, context))
    if slots.has_card and not slots.has_model and _asks_hours(request):
        return (yield from _by_example(draft))
    if not slots.has_model or not slots.has_card:
        return (yield from concept.compose(request, context))
    if slots.task == "infer":
        return (yield from _serving(draft))
    return (yield from training_time(draft))


def _asks_hours(request: Request) -> bool:
    """Whether the hours of a training are asked for, of a model that is not named."""
    is_training = request.slots.task == "train"
    return is_training and request.says("speed.in_all", "money.asks_hours")


def _by_example(draft: Draft) -> Steps:
    """Hours of a usual run where no model was named, and what they grow with."""
    slots = draft.request.slots.model_copy(update={"params_b": _EXAMPLE_B})
    draft.request = draft.request.model_copy(update={"slots": slots})
    draft.figure("example_size", _EXAMPLE_B, "1e9", formula="an example")
    draft.say("times.example", size=f"{_EXAMPLE_B:g}B", importance=HEAD)
    why = "no model was named; an example"
    draft.assume([AssumptionOut(name="params_b", value=_EXAMPLE_B, unit="1e9", why=why)])
    return (yield from training_time(draft))


def _on_its_cards(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Takes the cards of the type that was named; of a family those of its smallest type."""
    slots = draft.request.slots
    (result,) = yield (named_call(draft),)
    report = result.report
    rows = report.instances if isinstance(report, InstancesReport) else ()
    found = [row for row in rows if row.gpu is not None and row.category == "gpu"]
    fitting = [row for row in found if slots.gpu_count in (None, row.gpu_count)] or found
    if not fitting:
        return
    draft.use(result)
    best = min(fitting, key=lambda row: (row.gpu_count or 1, row.price is None))
    cards = (best.gpu_count or 1) * (slots.instance_count or 1)
    changed = {
        "gpu": best.gpu, "gpu_count": cards, "provider": best.provider,
        "instance": best.instance_type,
        "nodes": slots.nodes or slots.instance_count,
    }  # fmt: skip
    draft.request = draft.request.model_copy(update={"slots": slots.model_copy(update=changed)})


def time_arguments(draft: Draft, **changes: Any) -> dict[str, Any]:
    """Arguments of estimate_time_and_cost for what was said."""
    slots = draft.request.slots
    said: dict[str, Any] = {
        name: getattr(slots, name)
        for name in ("model", "params_b", "precision", "quantization", "framework", "gpu", "nodes",
                     "batch", "seq_len", "input_len", "output_len")
    }  # fmt: skip
    said["gpu_count"] = slots.gpu_count or 1
    is_spread = (slots.nodes or 1) > 1 or said["gpu_count"] > NODE
    if is_spread and slots.task != "infer" and slots.bandwidth_gbps is not None:
        said |= {"gbps": slots.bandwidth_gbps, "rdma": draft.request.says("links.with_rdma")}
    said.update(changes)
    return {name: value for name, value in said.items() if value is not None}


def training_time(draft: Draft) -> Steps:
    """Hours and cost of a training job on the card of the draft's request."""
    asked = draft.request
    draft.request = step_work.completed(asked)
    slots = draft.request.slots
    is_assumed = slots.tokens is None and slots.samples is None
    work: dict[str, Any] = {"tokens": slots.tokens, "samples": slots.samples}
    each = slots.tokens_per_sample or slots.seq_len or _TOKENS_EACH
    if slots.tokens is None:
        work = {"samples": slots.samples or _SAMPLES, "tokens_per_sample": each}
    length = slots.sample_length
    if slots.tokens is None and not slots.lengths_vary:
        length = int(each)
    method = slots.method or "lora"
    method = f"{method}+full" if step_work.is_sampled(slots) and "+" not in method else method
    changes = {"task": "train", "method": method, "epochs": slots.epochs or 1, "batch": None,
               "seq_len": slots.seq_len or length, **work}  # fmt: skip
    results = yield (
        Call("estimate_time_and_cost", time_arguments(draft, **changes)),
        types_call(draft),
        memory_call(draft, method, length),
    )
    report = results[0].report
    if not isinstance(report, TimeReport) or report.hours is None or report.tokens_per_s is None:
        draft.use(results[0], results[1])
        return cannot(draft, results[0])
    room = yield from room_for(draft, results[2], method, length)
    if room.is_homeless:
        draft.use(results[0])
        return (yield from _without_a_home(draft, report, results[2]))
    if room.is_moved:
        results = yield (
            Call("estimate_time_and_cost", time_arguments(draft, **changes)),
            types_call(draft),
        )
        report = results[0].report
        if not isinstance(report, TimeReport) or report.hours is None:
            return draft.finish(room.verdict)
    draft.use(results[0], results[1])
    if room.is_sharded:
        kept = tuple(a for a in report.assumptions if a.name != "parallelism")
        report = report.model_copy(update={"assumptions": kept})
    if is_assumed:
        _say_assumed_work(draft, report, each)
    if slots.method is None:
        why = "no method was said; LoRA is the usual one"
        draft.assume([AssumptionOut(name="method", value="lora", unit="1", why=why)])
    whole = yield from step_work.with_rollouts(draft, asked, report, int(each))
    _tell(draft, report, each)
    step_work.say_steps(draft, asked)
    report = whole
    say_step_in_ram(draft, report.tokens)
    _say_link(draft)
    yield from say_cost(draft, report, results[1])
    return draft.finish(room.verdict)


def _say_link(draft: Draft) -> None:
    """The network that was counted, where the run goes over several machines."""
    said = time_arguments(draft)
    if "gbps" in said:
        kind = "RDMA" if said["rdma"] else "TCP"
        draft.say("times.link", gbps=f"{said['gbps']:g}", kind=kind)


def _say_assumed_work(draft: Draft, report: TimeReport, each: float) -> None:
    """The amount of data that stands in where none was said."""
    why = "no amount of data was said"
    draft.assume(
        [
            AssumptionOut(name="samples", value=_SAMPLES, unit="1", why=why),
            AssumptionOut(name="tokens_per_sample", value=each, unit="token", why=why),
        ]
    )
    draft.say("times.assumed_work", samples=count(_SAMPLES, draft.language), each=each,
              tokens=count(report.tokens or 0, draft.language), importance=HEAD)  # fmt: skip


def _without_a_home(draft: Draft, report: TimeReport, memory: ToolResult) -> Steps:
    """No type holds the run: how many cards would, and the work as card hours alone."""
    from agent.answering.sizing.inverse import count_cards

    assert report.hours is not None
    if isinstance(memory.report, MemoryReport):
        yield from count_cards(draft, memory.report)
    hours = report.hours
    values = (hours.value, hours.low, hours.high)
    told = [duration(value * report.gpu_count, draft.language) for value in values]
    for name, value in zip(("card_hours", "card_hours_low", "card_hours_high"), values,
                           strict=True):  # fmt: skip
        draft.figure(name, value * report.gpu_count, "h", formula="hours * cards")
    draft.say("times.work_only", gpu=draft.request.slots.gpu, hours=told[0], low=told[1],
              high=told[2], importance=HEAD)  # fmt: skip
    need = memory_range(memory.report) if isinstance(memory.report, MemoryReport) else None
    return draft.finish("does_not_fit", memory=need)


def _tell(draft: Draft, report: TimeReport, each: int) -> None:
    slots = draft.request.slots
    assert report.hours is not None
    assert report.tokens_per_s is not None
    name = slots.gpu or ""
    gpu = f"{report.gpu_count}×{name}" if report.gpu_count > 1 else name
    sampled = step_work.is_sampled(slots) and slots.prompts_per_step is not None
    draft.say(
        "step_work.update" if sampled else "times.head",
        hours=duration(report.hours.value, draft.language),
        low=duration(report.hours.low, draft.language),
        high=duration(report.hours.high, draft.language),
        tokens=count(report.tokens or 0, draft.language),
        speed=rate(report.tokens_per_s.value),
        gpu=gpu,
        importance=HEAD,
    )
    draft.figure("tokens", report.tokens or 0, "token", formula="samples * tokens each * epochs")
    if report.samples is not None:
        draft.figure("tokens_per_sample", each, "token", sources=("user:tokens_per_sample",))
        draft.say(
            "times.work",
            samples=count(report.samples / (slots.epochs or 1), draft.language),
            each=each,
            epochs=f"{slots.epochs or 1:g}",
            tokens=count(report.tokens or 0, draft.language),
        )
    mfu = f"{(report.mfu or 0) * 100:.0f}%"
    draft.figure("mfu", report.mfu or 0, "1", formula="model FLOPs / (peak * time)")
    draft.say("times.rate", low=rate(report.tokens_per_s.low),
              high=rate(report.tokens_per_s.high), mfu=mfu)  # fmt: skip
    draft.say("times.depends", importance=DETAIL)
    draft.assume(report.assumptions)
    items = [
        draft.phrase(f"assumptions.{a.name}", value=value_name(draft, a.name, str(a.value)))
        for a in draft.assumptions
        if a.name in sentences("assumptions")
    ]
    if items:
        draft.say("times.assumed", items=joined(draft, items), importance=DETAIL)


def cannot(draft: Draft, result: ToolResult) -> Answer:
    """Says why the time cannot be computed."""
    draft.say("times.cannot", reason=quoted_hint(draft, result), importance=HEAD)
    slots = draft.request.slots
    if slots.task == "train":
        draft.say("times.measure", importance=HEAD)
        return draft.finish("depends")
    if (slots.gpu_count or 1) > 1 and slots.gpu is not None:
        draft.say("times.multi", gpu=slots.gpu)
    draft.say("times.depends")
    return draft.finish("depends")


def _serving(draft: Draft) -> Steps:
    slots = draft.request.slots
    concurrency = slots.concurrency or slots.batch or 1
    looked = yield (Call("find_model", {"name": slots.model, "params_b": slots.params_b}),)
    draft.use(*looked)
    model = looked[0].report
    if isinstance(model, ModelReport) and model.kind not in WRITING_KINDS:
        return cannot(draft, ToolResult("find_model", {}, False, 0.0, hint=model.name))
    results = yield (
        Call("estimate_time_and_cost",
             time_arguments(draft, task="infer", concurrency=concurrency, batch=None)),
        Call("estimate_memory", memory_arguments(slots, task="infer")),
    )  # fmt: skip
    report, memory = results[0].report, results[1].report
    is_short = isinstance(memory, MemoryReport) and memory.verdict == "does_not_fit"
    if is_short or asks_fit(draft.request):
        from agent.answering.speed.plans import serving_plan

        return (yield from serving_plan(draft))
    draft.use(*results)
    if not isinstance(report, TimeReport) or report.stream_tokens_per_s is None:
        return cannot(draft, results[0])
    say_serving_speed(draft, report, concurrency)
    if isinstance(memory, MemoryReport) and memory.usable_bytes is not None:
        draft.say("times.room", need=gib(memory.process_bytes), usable=gib(memory.usable_bytes),
                  outcome=outcome(draft, memory))  # fmt: skip
    if report.gpu_count > 1:
        draft.say("times.multi", gpu=slots.gpu)
    draft.assume(report.assumptions)
    return draft.finish("depends")


def say_serving_speed(
    draft: Draft, report: TimeReport, concurrency: int, *, importance: int = HEAD
) -> None:
    """Tokens per second of one stream and of all."""
    stream, total, ttft = report.stream_tokens_per_s, report.tokens_per_s, report.ttft_s
    if stream is None or total is None or ttft is None:
        return
    held = {a.name: a.value for a in report.assumptions}
    slots = draft.request.slots
    prompt = slots.input_len or held.get("prompt_len") or slots.seq_len
    output = slots.output_len or held.get("output_len")
    for name, tokens in (("prompt_len", prompt), ("output_len", output)):
        draft.figure(name, int(tokens or 0), "token", formula="of the speed that is told")
    for name, value in (("stream", stream.value), ("total", total.value)):
        draft.figure(f"{name}, as told", float(format_significant(value, 2)), "token/s",
                     formula=f"{name} tokens per s; two digits")  # fmt: skip
    draft.say(
        "times.serving" if concurrency > 1 else "times.serving_one",
        speed=rate(stream.value, 2),
        low=whole(stream.low),
        high=whole(stream.high),
        ttft=format_significant(ttft.value, 2),
        total=rate(total.value, 2),
        concurrency=concurrency,
        prompt=prompt,
        output=output,
        importance=importance,
    )
    say_ceiling(draft, report, concurrency, importance=max(importance, BODY))
