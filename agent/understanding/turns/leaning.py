"""Whether a turn continues an earlier one, and which."""

from __future__ import annotations

from collections.abc import Sequence

from agent.answer import Intent
from agent.request import Request
from agent.understanding.data import load
from agent.understanding.kinds.scope import asks_of_the_job
from agent.understanding.lexicon.phrases import table
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document
from agent.understanding.settling.resolution import Resolution
from agent.understanding.turns.terse import (
    asks_card_figure,
    asks_trait_of_it,
    asks_trait_of_type,
    is_only_settings,
)

_SUBJECT = ("model", "params_b", "model_size_mb")
_TOPIC = (*_SUBJECT, "gpu", "gpus", "instance", "gpu_mem_gb")
_SHORT = 48
"""Characters up to which a turn without a subject leans on the one before."""


def leans_on(
    document: Document,
    board: Board,
    out: Resolution,
    intent: Intent,
    history: Sequence[Request],
    *,
    corrected: bool,
    explains: bool = False,
    asks: bool = True,
) -> Request | None:
    """The earlier request that this turn continues, or None.

    Args:
        document: The text of the turn.
        board: What was read in it.
        out: Its slots.
        intent: The kind of question that it is by itself.
        history: Earlier requests, oldest first.
        corrected: Whether something said before is taken back.
        explains: Whether it asks how things are in general: a few words may be all of it.
        asks: Whether it asks anything by itself; what only states a setting changes the job.
    """
    if not history:
        return None
    text = document.text.strip()
    last = history[-1]
    if table("conversation", "fresh_start").has(text) or asks_card_figure(text, out):
        return None
    pointed = _pointed_at(text, board, out, history)
    if pointed is not None:
        return pointed
    marked = corrected or _is_marked(text) or _answers(last, text)
    has_subject = any(out.get(slot) is not None for slot in _SUBJECT)
    if is_only_settings(text, board) and (not has_subject or _is_other_size(out, last)):
        return _base(out, history)
    leaning = intent in load("conversation")["leaning_intents"] and len(text) <= _SHORT
    if has_subject and (not marked or _on_its_card(text, out, history)):
        return _of_its_machine(text, out, history)
    if explains and _asks_saving(text, out, last):
        return _base(out, history)
    turns = _resets(text, out, history) or _sets_on_its_card(text, out, intent, history)
    if not has_subject and not explains and turns:
        return last_job(history)
    if not has_subject and _same_sum(text, out, intent, last):
        return last
    wants_job = bool(out.values) and table("conversation", "same_job").has(text)
    if not has_subject and not asks and _states_setting(text, out, history):
        return _base(out, history, wants_job=wants_job)
    pointing = wants_job or _points_back(text, out, intent)
    if not marked and not leaning and not pointing and (explains or not _is_bare(text, out, last)):
        return None
    if has_subject and out.get("gpu") and out.get("method") and len(text) > _SHORT:
        return None
    return _base(out, history, wants_job=wants_job)


def _pointed_at(
    text: str, board: Board, out: Resolution, history: Sequence[Request]
) -> Request | None:
    """What a question about nothing of its own is about: a trait of it, or the job's why."""
    last = history[-1]
    if asks_of_the_job(text) and _is_about_job(out, history):
        return last_job(history)
    is_trait = asks_trait_of_it(text, out, last) or asks_trait_of_type(text, board, last)
    return last if is_trait else None


def _is_about_job(out: Resolution, history: Sequence[Request]) -> bool:
    """Whether a turn names nothing itself and a job was spoken of."""
    own = any(out.get(slot) is not None for slot in _TOPIC)
    return not own and _has_any(last_job(history), _SUBJECT)


def _is_other_size(out: Resolution, last: Request) -> bool:
    """Whether a size is all that is said, after a job on a card ("13B?")."""
    said = {slot for slot in out.values if slot not in out.inferred}
    is_job = _has_any(last, _SUBJECT) and _has_any(last, ("method", "gpu", "gpu_mem_gb"))
    return said == {"params_b"} and is_job


def _asks_saving(text: str, out: Resolution, last: Request) -> bool:
    """Whether a few words ask what another setting saves of the job before ("int4能省到多少")."""
    job = last.slots.has_model
    setting = any(out.get(slot) is not None for slot in ("quantization", "method", "precision"))
    own = any(out.get(slot) is not None for slot in (*_SUBJECT, "gpu", "gpus"))
    reasons = table("cues", "why").has(text)
    return job and setting and not own and not reasons and len(text) <= _SHORT // 2


_OF_SAVES = ("mtbf_hours", "ckpt_minutes", "ckpt_interval_minutes")


def _same_sum(text: str, out: Resolution, intent: Intent, last: Request) -> bool:
    """Whether a few words give another number to how often to save ("interrupted every 4 h")."""
    is_sum = intent == last.intent == "spot_checkpoint" and len(text) <= 2 * _SHORT
    return is_sum and any(out.get(slot) is not None for slot in _OF_SAVES)


def _resets(text: str, out: Resolution, history: Sequence[Request]) -> bool:
    """Whether a few words turn a setting of the job before ("sequence_len 降成 2048 就行了吧")."""
    job = last_job(history)
    sets = any(out.get(slot) is not None and slot not in out.inferred for slot in _SETTINGS)
    changes = table("conversation", "turns_a_setting").has(text)
    return _has_any(job, _SUBJECT) and sets and changes and len(text) <= 2 * _SHORT


def _sets_on_its_card(
    text: str, out: Resolution, intent: Intent, history: Sequence[Request]
) -> bool:
    """Whether another setting is asked for on the job's own card ("a q4 gguf on the 3090")."""
    job = last_job(history)
    sets = any(out.get(slot) is not None and slot not in out.inferred for slot in _OF_A_JOB)
    is_same = out.get("gpu") is not None and out.get("gpu") == job.slots.gpu
    is_of_job = intent in _ABOUT_A_JOB and _has_any(job, _SUBJECT)
    return is_of_job and sets and is_same and len(text) <= 2 * _SHORT


def _states_setting(text: str, out: Resolution, history: Sequence[Request]) -> bool:
    """Whether a turn only states a setting of the job ("they may cut me down to 4 of them")."""
    slots = (*_SETTINGS, "gpu_count")
    states = any(out.get(slot) is not None and slot not in out.inferred for slot in slots)
    is_question = table("conversation", "is_question").has(text)
    return (
        states
        and not is_question
        and len(text) <= 2 * _SHORT
        and _has_any(last_job(history), _SUBJECT)
    )


def _on_its_card(text: str, out: Resolution, history: Sequence[Request]) -> bool:
    """Whether other models are to run on the card of the job before ("这卡上再挂个 bge-m3")."""
    own = any(out.get(slot) is not None for slot in ("gpu", "gpus", "gpu_mem_gb", "instance"))
    job = last_job(history).slots
    points = table("conversation", "its_card").has(text)
    return points and not own and job.has_card and job.has_model and len(text) <= 4 * _SHORT


def _of_its_machine(text: str, out: Resolution, history: Sequence[Request]) -> Request | None:
    """What a turn with a model of its own takes its machine from."""
    if _on_its_card(text, out, history):
        return last_job(history)
    return history[-1] if _runs_on_it(text, out, history[-1]) else None


def _runs_on_it(text: str, out: Resolution, last: Request) -> bool:
    """Whether a new job is to run on "it": the machine that the turn before asked about."""
    own = any(out.get(slot) is not None for slot in ("gpu", "gpus", "gpu_mem_gb", "instance"))
    counts = "gpu_count" in out.values and "gpu_count" not in out.inferred
    is_another_job = _has_any(last, _SUBJECT) and not counts  # "7B on 8 cards": the ones spoken of
    if own or is_another_job or not (last.slots.instance or last.slots.gpu):
        return False
    if len(text) <= _SHORT and table("conversation", "asks_if_it_runs").find(text):
        return not table("conversation", "asks_which_machine").has(text)
    return len(text) <= 2 * _SHORT and table("conversation", "points_back").has(text)


def _points_back(text: str, out: Resolution, intent: Intent) -> bool:
    """Whether a longer turn without a card of its own speaks of "that" or "it"."""
    if len(text) > 4 * _SHORT or intent not in load("conversation")["leaning_intents"]:
        return False
    has_card = any(out.get(slot) is not None for slot in ("gpu", "gpus", "gpu_mem_gb", "instance"))
    return not has_card and table("conversation", "points_back").has(text)


def _is_marked(text: str) -> bool:
    if table("conversation", "correction").has(text[:40]):
        return True
    found = table("conversation", "markers").find(text)
    if any(hit.start <= 14 or hit.end >= len(text.rstrip("?。!~ .")) - 2 for hit in found):
        return len(text) <= 4 * _SHORT
    openers = table("conversation", "opens_like_a_follow_up").find(text[:12])
    return bool(openers) and openers[0].start == 0 and len(text) <= _SHORT


def _answers(last: Request, text: str) -> bool:
    """Whether a short turn answers the question that was asked back."""
    return last.clarifying_question is not None and len(text) <= _SHORT


def _is_bare(text: str, out: Resolution, last: Request) -> bool:
    """A few words that only make sense as a change of what was said ("8k", "两张卡", "fp8?")."""
    job = last.slots.has_model
    if table("cues", "define").has(text):
        return False
    topical = any(out.get(slot) is not None for slot in ("instance", "provider", "billing"))
    topical = topical and not table("cues", "cost").has(text)
    return job and len(text) <= 16 and bool(out.values) and not topical


def _base(out: Resolution, history: Sequence[Request], *, wants_job: bool = False) -> Request:
    """The latest turn with a job where this turn changes a job, else the last turn."""
    changes_job = any(
        out.get(slot) is not None
        for slot in (
            "method",
            "seq_len",
            "batch",
            "quantization",
            "precision",
            "gpu",
            "gpu_count",
            "gpu_mem_gb",
            "concurrency",
        )
    )
    last = history[-1]
    if wants_job and not _has_any(last, _SUBJECT):
        for request in reversed(history[-12:]):
            if _has_any(request, _SUBJECT):
                return _with_card_of(request, last)
    if last.intent == "concept" and not _has_any(last, _SUBJECT):
        if any(out.get(slot) is not None and slot not in out.inferred for slot in _OF_A_JOB):
            return last_job(history)  # the question about the card was an aside
    if changes_job and not _has_any(last, _TOPIC):
        for request in reversed(history[-12:]):
            if _has_any(request, _SUBJECT):
                return request
    if not _has_any(last, _TOPIC) and last.intent in ("out_of_scope", "invalid_input"):
        for request in reversed(history[-12:]):
            if _has_any(request, _TOPIC):
                return request
    return last


_SETTINGS = (
    "seq_len", "batch", "concurrency", "quantization", "precision", "method", "lora_rank",
    "grad_accum", "gradient_checkpointing", "kv_cache_dtype", "gpu_memory_utilization", "tp",
    "optimizer", "zero_stage", "offload", "attention", "img_size",
)  # fmt: skip
"""Settings that a follow-up may turn."""
_OF_A_JOB = ("method", "seq_len", "batch", "quantization", "concurrency", "tp")
"""Settings that only a job has."""
_ABOUT_A_JOB = ("fit_check", "serving_plan", "multi_gpu_plan", "oom_diagnosis", "time_estimate")


def last_job(history: Sequence[Request]) -> Request:
    """The latest request with a model or a size, else the last one."""
    for request in reversed(history[-12:]):
        if _has_any(request, _SUBJECT):
            return request
    return history[-1]


def _with_card_of(job: Request, last: Request) -> Request:
    """The job on the card spoken of since: "the same card" is the one named last."""
    if last.slots.gpu in (None, "none", job.slots.gpu):
        return job
    card = {slot: getattr(last.slots, slot) for slot in ("gpu", "gpus", "gpu_count", "gpu_mem_gb")}
    return job.model_copy(update={"slots": job.slots.model_copy(update=card)})


def _has_any(request: Request, slots: Sequence[str]) -> bool:
    return any(getattr(request.slots, slot) is not None for slot in slots)
