"""What kind of question a text is, by itself and as a turn of a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from agent.answer import Intent
from agent.request import Goal, Pasted, Request
from agent.understanding.kinds.intent import choose_intent, features_of, frame_features, has_frame
from agent.understanding.kinds.scope import is_unfinished, points_back
from agent.understanding.lexicon.frames import with_signs
from agent.understanding.lexicon.phrases import table
from agent.understanding.lexicon.topics import has_telling_topic
from agent.understanding.settling.goal import goal_of
from agent.understanding.turn import Turn, read_turn
from agent.understanding.turns.terse import (
    asks_card_figure,
    asks_trait_of_type,
    is_only_settings,
)

_PASTED = {
    "cuda_oom": "pasted_oom",
    "host_kill": "pasted_kill",
    "nvidia_smi": "pasted_smi",
    "serve_command": "pasted_serve",
    "yaml_config": "pasted_config",
    "training_arguments": "pasted_config",
    "error_message": "error_message",
}
_OF_A_CARD = ("fit_check", "catalog_lookup", "network_distributed", "gpu_compare", "serving_plan")
"""Kinds that a question about a figure of one card may be taken for."""


_BY_ITS_WORDS = ("io_bottleneck", "multi_gpu_plan", "network_distributed", "spot_checkpoint")
"""Kinds that a question without any subject cannot be of: none of their words stands in it."""


def intent_by_itself(turn: Turn, goal: Goal | None, history: Sequence[Request]) -> Intent:
    """The kind of question that a text is when nothing is taken over from earlier turns."""
    text = turn.document.text
    intent = choose_intent(features(turn, goal), with_signs(turn.prose, turn.board))
    if intent == "concept" and history and points_back(text, turn.board):
        intent = _asked_of_job(turn.prose, history[-1]) or intent
    if intent in ("fit_check", "recommend_instance") and _is_paid_job(turn, intent):
        intent = "cost_estimate"
    if intent in _BY_ITS_WORDS and is_unfinished(text):
        intent = "fit_check"
    if intent in _OF_A_CARD and asks_card_figure(text, turn.out):
        intent = "concept"
    return intent


def features_in(text: str) -> tuple[str, set[str]]:
    """A question with signs for its names, and the features that hold for it."""
    turn = read_turn(text)
    return with_signs(turn.prose, turn.board), features(turn, goal_of(turn.prose, turn.out))


def features(turn: Turn, goal: Goal | None = None) -> set[str]:
    """Features of the text for the choice of its kind."""
    extra = _extra(turn.pasted, turn.topics) | frame_features(turn.asked)
    mentions = [reading.value for reading in turn.board.of("instance_mention")]
    if mentions and all(f.category == "cpu" for m in mentions for f in m.lookup.families):
        extra.add("cpu_instance")
    kinds = [{f.category for f in m.lookup.families} for m in mentions]
    if any(k == {"cpu"} for k in kinds) and any("cpu" not in k and k for k in kinds):
        extra.add("cpu_and_gpu_types")
    if goal is not None:
        extra.add(f"goal_{goal}")
    if turn.board.has("asks_pictures"):
        extra.add("asks_pictures")
    return features_of(turn.prose, turn.out, extra)


def _extra(pasted: list[Pasted], topics: tuple[str, ...]) -> set[str]:
    features = {_PASTED[item.kind] for item in pasted if item.kind in _PASTED}
    if any(item.kind == "nvidia_smi" and not item.fields for item in pasted):
        features = features - {"pasted_smi"} | {"pasted_list"}
    messages = {f"error_{item.fields.get('message')}" for item in pasted}
    return features | messages | ({"topic"} if has_telling_topic(topics) else set())


def intent_of_turn(own: Intent, turn: Turn, base: Request, history: Sequence[Request]) -> Intent:
    """Its own where a follow-up asks something itself, else that of the turn before."""
    if own in _OF_A_TYPE and asks_trait_of_type(turn.document.text.strip(), turn.board, base):
        return base.intent
    of_job = {"define", "term", "time"} if base.intent in _OF_WORK else {"define", "term"}
    if own == "concept" and turn.asked <= of_job and _changes_job(turn, base):
        return base.intent  # "换qlora省多少": the job before with another setting
    if base.intent in _SUMS and is_only_settings(turn.document.text.strip(), turn.board):
        return base.intent  # "and at 10 hours?": the same sum with another number
    if base.intent == "concept" and not turn.asked and _brings_job(turn):
        return "fit_check"
    if base.intent == "catalog_lookup" and own == "fit_check" and _brings_size(turn):
        return own  # "能跑7B吗": a job on the type that was looked up
    if turn.asked or has_frame(turn.prose):
        return own
    if base.intent in ("out_of_scope", "invalid_input"):
        return choose_intent(features(turn), with_signs(turn.prose, turn.board))
    if base.intent == "multi_gpu_plan" and any(r.intent == "fit_check" for r in history):
        return "fit_check"  # the question about links was an aside
    return "fit_check" if base.intent == "oom_diagnosis" else base.intent


def _is_paid_job(turn: Turn, intent: Intent) -> bool:
    """Whether a training of so much data stands beside a sum of money and nothing is asked."""
    if intent == "fit_check":
        is_bare = not turn.asked and not has_frame(turn.prose)
    else:
        is_bare = is_only_settings(turn.document.text.strip(), turn.board)
    get = turn.out.get
    has_work = any(get(slot) is not None for slot in ("samples", "tokens", "steps"))
    is_total = getattr(get("budget"), "per", None) == "total"
    return is_bare and is_total and has_work


_OF_MEMORY = ("fit_check", "oom_diagnosis", "serving_plan", "multi_gpu_plan")
"""Kinds of questions about what a job needs of its cards."""
_OF_WORK = ("time_estimate", "cost_estimate")
"""Kinds of questions about the hours and the money of a job."""
_OF_A_TYPE: tuple[Intent, ...] = ("concept", "fit_check", "network_distributed")
"""Kinds that a question about a trait of a type may be taken for."""
_SUMS: tuple[Intent, ...] = ("cost_estimate", "time_estimate", "spot_checkpoint", "io_bottleneck")
"""Kinds of questions whose answer is one sum of the numbers said."""


def _brings_job(turn: Turn) -> bool:
    """Whether a turn names a size and a card of its own."""
    get = turn.out.get
    return _brings_size(turn) and (get("gpu") is not None or get("gpu_mem_gb") is not None)


def _brings_size(turn: Turn) -> bool:
    """Whether a turn names a model or a size of its own."""
    return any(turn.board.has(slot) for slot in ("model_match", "params_b", "model_family"))


_SETTINGS = ("method", "quantization", "precision", "batch", "seq_len", "gpu", "gpu_count")


def _changes_job(turn: Turn, base: Request) -> bool:
    """Whether a turn gives a setting to the sized job before it."""
    is_job = base.intent in (*_OF_MEMORY, *_OF_WORK)
    sized = base.slots.has_model
    said = {slot for slot in turn.out.values if slot not in turn.out.inferred}
    return (
        is_job and sized and any(slot in said and slot in turn.out.readings for slot in _SETTINGS)
    )


def _asked_of_job(text: str, last: Request) -> Intent | None:
    """Money or time of the job before, where one was spoken of."""
    slots = last.slots
    if not slots.has_model and slots.gpu is None:
        return None
    if table("cues", "cost").has(text):
        return "cost_estimate"
    return "time_estimate" if table("cues", "time").has(text) else None
