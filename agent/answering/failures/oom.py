"""oom_diagnosis: what really happened, and the changes that fit with their new figures."""

from __future__ import annotations

from collections.abc import Generator

from agent.answer import Answer, MemoryRange, Verdict
from agent.answering.failures.cuda_error import say_cuda_error, say_refused
from agent.answering.failures.engine_start import say_no_blocks, says_no_blocks
from agent.answering.failures.killed_load import for_cards, loaded
from agent.answering.failures.logged_card import on_logged_card, say_logged_card
from agent.answering.failures.one_block import block_told
from agent.answering.failures.symptoms import (
    free_bytes,
    grows,
    is_explained,
    pasted,
    say_checks,
    say_remedies,
    symptoms_of,
)
from agent.answering.fitting import occupied
from agent.answering.fitting.serving import serving
from agent.answering.fitting.training import method_is_open, training
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting.fewer_cards import say_before_more_cards
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.found import Found, settled
from agent.answering.telling.run_words import memory_arguments, run_text
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.request import Pasted, Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from tools.memory import GGUF_ENGINES
from tools.units import bytes_from_gb, format_significant

_HOST_LOW, _HOST_HIGH = 0.95, 1.4
"""Host memory around the computed states: buffers, pinned copies, loading and the system."""
_HOST_SHARE = 0.9
"""Share of host memory that a job can use."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def compose(request: Request, context: Context) -> Plan:
    """By what failed: the host's memory, a card held by others, or the run itself."""
    draft = Draft(request)
    slots = request.slots
    has_model = slots.has_model
    is_host = pasted(request, "host_kill") is not None or bool(slots.offload and slots.host_ram_gb)
    if is_host and has_model and slots.task == "train" and slots.offload:
        return (yield from _host(draft))
    log = pasted(request, "cuda_oom")
    if has_model and log is None and free_bytes(request) is not None:
        return (yield from occupied.compose(request, context))
    refused = say_refused(draft)
    if _was_killed(request) and log is None:
        if not refused:
            _say_killed(draft)
        draft.request = with_host_memory(request)
    if log is not None:
        draft.request = on_logged_card(request, log)
        draft.request = yield from block_told(draft, log)
    if not has_model:
        _say_cause(draft, log, None)
        return (yield from _no_model(draft))
    is_killed = _was_killed(request) and log is None and not refused
    cards = Draft(for_cards(draft.request)) if is_killed else draft
    found = yield from training(cards) if slots.task == "train" else serving(cards)
    if is_killed:
        verdict = _verdict(request, found, is_blocked=False)
        return loaded(draft, cards, found, verdict)
    if log is not None and request.cards_added and slots.task != "train":
        yield from say_before_more_cards(draft, log)
        return draft.finish(found.verdict, memory=found.memory, slots=settled(found))
    is_blocked = _say_cause(draft, log, found.report)
    if refused:
        return draft.finish(found.verdict, memory=found.memory, slots=settled(found))

    if found.report is not None and says_no_blocks(request):
        say_no_blocks(draft, found.report)
    is_told = found.report is not None and bool(found.report.changes)
    say_checks(draft, importance=BODY, told=("serving",) if is_told else ())
    verdict = _verdict(request, found, is_blocked=is_blocked)
    return draft.finish(verdict, memory=found.memory, slots=settled(found))


def _say_cause(draft: Draft, log: Pasted | None, report: MemoryReport | None) -> bool:
    """What the words and the error's numbers say; True when another process is to blame."""
    if grows(draft.request):
        draft.lead("symptoms.grows")
    if log is None:
        return False
    is_blocked = say_cuda_error(draft, log, report)
    say_logged_card(draft, log)
    return is_blocked


def _was_killed(request: Request) -> bool:
    """Whether the system killed the process: by what was pasted, or said beside the RAM."""
    is_host = request.says("failures.killed") and request.slots.host_ram_gb is not None
    is_system = request.says("failures.killed_by_system")
    return is_host or is_system or pasted(request, "host_kill") is not None


def _say_killed(draft: Draft) -> None:
    """A process that the system killed ran out of host memory: said before anything else."""
    said = (c.fact for c in draft.corrections)
    fact = next((f for f in said if "OOM killer" in f), draft.phrase("symptoms.killed_fact"))
    draft.say("symptoms.killed", fact=fact, importance=HEAD)
    is_gguf = draft.request.slots.framework in GGUF_ENGINES
    draft.say("symptoms.killed_checks_gguf" if is_gguf else "symptoms.killed_checks",
              importance=HEAD)  # fmt: skip


def with_host_memory(request: Request) -> Request:
    """The request with a bare memory size as the host's, which is what ran out."""
    slots = request.slots
    if slots.gpu is not None or slots.gpu_mem_gb is None or slots.host_ram_gb is not None:
        return request
    moved = {"host_ram_gb": slots.gpu_mem_gb, "gpu_mem_gb": None}
    return request.model_copy(update={"slots": slots.model_copy(update=moved)})


def _verdict(request: Request, found: Found, *, is_blocked: bool) -> Verdict:
    """The estimate's verdict; open where the run's details were not said."""
    if is_blocked:
        return "does_not_fit" if found.verdict == "does_not_fit" else "depends"
    has_log = pasted(request, "cuda_oom") is not None or says_no_blocks(request)
    symptoms = symptoms_of(request)
    is_open = bool(symptoms) and not is_explained(request, found, symptoms)
    if is_open and found.verdict != "not_applicable":
        return found.verdict if has_log and found.verdict == "does_not_fit" else "depends"
    if found.verdict == "does_not_fit":
        return found.verdict
    if found.verdict == "not_applicable":
        return found.verdict
    is_thin = request.slots.seq_len is None and request.slots.task == "train"
    return "depends" if is_thin or method_is_open(request) and is_thin else found.verdict


def _no_model(draft: Draft) -> Steps:
    """Without a model: what the symptoms point to, and what to say for a figure."""
    results = yield (guidance_call(draft.request, k=2),)
    draft.use(*results)
    slots = draft.request.slots
    is_failing = bool(draft.request.pasted or symptoms_of(draft.request))
    if not is_failing:
        say_remedies(draft)
    say_checks(draft, importance=HEAD if is_failing else BODY)
    if slots.zero_stage in (1, 2) or slots.strategy == "ddp":
        draft.say("memory.replicated")
    draft.say("memory.ask_model")
    say_cited(draft, passages_in(results)[:2])
    question = draft.request.clarifying_question or draft.phrase("memory.ask_question")
    return draft.finish("depends").model_copy(update={"clarifying_question": question})


def _host(draft: Draft) -> Steps:
    """Offloaded training whose host memory ran out."""
    slots = draft.request.slots
    arguments = memory_arguments(
        slots, task="train", method=slots.method or "full", offload=True,
        zero_stage=slots.zero_stage or 3,
    )  # fmt: skip
    results = yield (Call("estimate_memory", arguments),)
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, MemoryReport) or not report.host_ram_bytes:
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("depends")
    low = int(report.host_ram_bytes * _HOST_LOW)
    high = int(report.host_ram_bytes * _HOST_HIGH)
    ram = slots.host_ram_gb
    usable = bytes_from_gb(ram * _HOST_SHARE) if ram else None
    for name, size in (("host_low", low), ("host_high", high), ("host_ram", report.host_ram_bytes)):
        draft.figure(name, size, "B", formula="offloaded states and buffers")
    have = draft.phrase("symptoms.host_have", ram=f"{ram:g}") if ram else ""
    if ram:
        draft.figure("host_ram_given", ram, "GB", sources=("user:host_ram_gb",))
    need = f"{low / 1e9:,.0f}–{high / 1e9:,.0f} GB"
    draft.say("symptoms.host_killed", what=run_text(draft, report), need=need, have=have,
              importance=HEAD)  # fmt: skip
    per_param = report.host_ram_bytes / report.params
    draft.figure("host_bytes_per_parameter", round(per_param, 1), "B", formula="host RAM / params")
    draft.say("symptoms.bytes_of_host", bytes=format_significant(per_param, 2),
              params=f"{report.params / 1e9:.3g}B",
              product=f"{report.host_ram_bytes / 1e9:,.0f} GB")  # fmt: skip
    draft.say("symptoms.host_fix")
    say_assumptions(draft, report)
    was_killed = pasted(draft.request, "host_kill") is not None
    verdict = _host_verdict(low, high, usable)
    if was_killed and verdict == "tight":
        verdict = "does_not_fit"
    return draft.finish(
        verdict,
        memory=MemoryRange(scope="host_ram", low_bytes=low, high_bytes=high, usable_bytes=usable),
        slots=settled(Found("depends", None, report)),
    )


def _host_verdict(low: int, high: int, usable: int | None) -> Verdict:
    if usable is None:
        return "depends"
    if low > usable:
        return "does_not_fit"
    return "tight" if high > usable else "fits"
