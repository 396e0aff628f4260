"""A process that a container's memory limit killed: host memory, and what the limit must exceed."""

from __future__ import annotations

from agent.answering.failures.killed_load import MOST, for_cards, ranks_of
from agent.answering.failures.oom import with_host_memory
from agent.answering.fitting.serving import serving
from agent.answering.fitting.training import training
from agent.answering.plan import Context, Plan
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.found import Found, settled
from agent.answering.telling.joining import in_front
from agent.answering.telling.numbers import gib
from agent.request import Request

_ROOM = 1.2
"""Times the largest need that a limit should be: libraries and the page cache come on top."""


def applies(request: Request, context: Context) -> bool:
    """True for a kill inside a container with a job whose weights are known."""
    is_killed = request.says("failures.killed_by_limit") and request.says("failures.container")
    is_asked = request.intent in ("oom_diagnosis", "fit_check")
    return request.slots.has_model and is_killed and is_asked


def compose(request: Request, context: Context) -> Plan:
    """The limit first, then what loading takes of it, then whether the cards hold the run."""
    sized = with_host_memory(request)
    draft = Draft(sized.model_copy(update={"clarifying_question": None}))
    cards = Draft(for_cards(sized))
    found = yield from training(cards) if request.slots.task == "train" else serving(cards)
    is_job = request.says("failures.scheduler")
    draft.lead("container_oom.head_job" if is_job else "container_oom.head", limit=_limit(draft))
    for correction in draft.corrections:  # the first sentence says it
        if "OOM killer" in correction.fact:
            draft.tell_correction(correction)
    _say_need(draft, found)
    draft.say("container_oom.fix_job" if is_job else "container_oom.fix", importance=BODY)
    verdict = found.verdict if found.verdict == "does_not_fit" else "depends"
    told = draft.finish(verdict, memory=found.memory, intent="oom_diagnosis",
                        slots=settled(found))  # fmt: skip
    behind = cards.finish(verdict, memory=found.memory)
    return in_front(told, behind, most=MOST[draft.language], request=told.request,
                    intent="oom_diagnosis")  # fmt: skip


def _limit(draft: Draft) -> str:
    ram = draft.request.slots.host_ram_gb
    if ram is None:
        return ""
    draft.figure("limit", ram, "GiB", sources=("user:host_ram_gb",))
    return draft.phrase("container_oom.limit", ram=f"{ram:g}")


def _say_need(draft: Draft, found: Found) -> None:
    """Weights as stored: what all ranks read together, and one rank at a time."""
    report, slots = found.report, draft.request.slots
    if report is None:
        return
    # Weights of serving are split over the cards; those of training are read in 16 bits.
    split = report.weights_bytes * max(report.gpu_count, 1)
    whole = round(report.params * 2) if slots.task == "train" else split
    ranks = max(ranks_of(draft.request), slots.gpu_count or 1)
    draft.figure("weights_on_disk", whole, "B", formula="weights as stored")
    draft.figure("limit_for_one", whole * _ROOM, "B", formula="weights * 1.2")
    draft.figure("weights_of_all_ranks", whole * ranks, "B", formula="weights * ranks")
    draft.say("container_oom.need", whole=gib(whole), room=gib(whole * _ROOM), importance=HEAD)
    if ranks > 1:
        draft.figure("ranks", ranks, "1", sources=("user:gpu_count",))
        draft.say("container_oom.ranks", ranks=ranks, all=gib(whole * ranks), importance=HEAD)
