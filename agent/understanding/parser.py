"""Text and the conversation so far → one typed `Request`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.answer import Correction, Intent, Language
from agent.request import Goal, InvalidValue, MachineNeed, Pasted, Request
from agent.understanding.asking import clarifying_question
from agent.understanding.conversation import Carried, carry_over
from agent.understanding.frames import asked, with_signs
from agent.understanding.goal import goal_of, settle_goal
from agent.understanding.intent import choose_intent, features_of, frame_features, has_frame
from agent.understanding.language import language_asked, language_of
from agent.understanding.leaning import last_job, leans_on
from agent.understanding.marks import amounts_in, marks_in
from agent.understanding.phrases import table
from agent.understanding.premise_scene import scene_of
from agent.understanding.premises import corrections_for, is_of_a_run, on_the_real_card
from agent.understanding.readers.amounts import read_amounts
from agent.understanding.readers.clouds import clouds_of_types
from agent.understanding.readers.counts import (
    read_classes,
    read_counts,
    read_impossible_counts,
    read_loose_tokens,
    read_node_products,
    read_round_the_clock,
    read_token_totals,
    read_vgpu,
)
from agent.understanding.readers.data_amounts import read_data_amounts
from agent.understanding.readers.data_sets import read_data_sets
from agent.understanding.readers.durations import read_durations, read_rates, read_step_rates
from agent.understanding.readers.hosts import read_hosts
from agent.understanding.readers.id_tables import read_id_tables
from agent.understanding.readers.in_use import read_in_use
from agent.understanding.readers.links import read_links
from agent.understanding.readers.machine_need import read_machine_need
from agent.understanding.readers.money import read_money
from agent.understanding.readers.names import read_cards, read_instances, read_models
from agent.understanding.readers.other_kinds import read_other_kinds
from agent.understanding.readers.pairs import (
    read_in_and_out,
    read_patches,
    read_people,
    read_resolutions,
    read_screens,
    read_shorthand,
)
from agent.understanding.readers.pasted import read_pasted
from agent.understanding.readers.pictures import read_pictures_made
from agent.understanding.readers.processors import read_processor
from agent.understanding.readers.quantities import read_quantities
from agent.understanding.readers.regions import read_regions
from agent.understanding.readers.sizes import read_active, read_products, read_sizes
from agent.understanding.readers.stages import stages_in
from agent.understanding.readers.tallies import read_tallies
from agent.understanding.readers.words import read_programs, read_words
from agent.understanding.readings import Board
from agent.understanding.resolution import Resolution
from agent.understanding.resolve import resolve
from agent.understanding.scope import is_out_of_scope, opening_of, points_back, set_aside
from agent.understanding.taken_back import drop_taken_back
from agent.understanding.terse import (
    asks_card_figure,
    asks_trait_of_type,
    is_only_settings,
    said_again,
    still_ranges,
)
from agent.understanding.text import Document, blanked
from agent.understanding.topics import has_telling_topic, search_query, told_lines, topics_of
from agent.understanding.validity import absurd_slots, invalid_values

_NAMES = ("model_match", "model_family", "model_small", "card", "instance_mention", "quiet")
_PASTED = {
    "cuda_oom": "pasted_oom",
    "host_kill": "pasted_kill",
    "nvidia_smi": "pasted_smi",
    "serve_command": "pasted_serve",
    "yaml_config": "pasted_config",
    "training_arguments": "pasted_config",
    "error_message": "error_message",
}


_STOPS = " \n\t.,;!?。,;!?"
_OF_A_CARD = ("fit_check", "catalog_lookup", "network_distributed", "gpu_compare", "serving_plan")
"""Kinds that a question about a figure of one card may be taken for."""


@dataclass(slots=True)
class _Turn:
    """One text, read by itself."""

    document: Document
    whole: str
    """The folded text with the orders still in it."""
    orders: list[tuple[int, int]]
    board: Board
    pasted: list[Pasted]
    corrected: bool
    """Whether something said before is taken back."""
    out: Resolution
    prose: str
    topics: tuple[str, ...]
    asked: frozenset[str]
    """Kinds of questions whose frame stands in the text."""


def parse(
    text: str, history: Sequence[Request] = (), *, language: Language | None = None
) -> Request:
    """What is asked, as a typed request.

    Args:
        text: Anything a person types or pastes, of any length.
        history: Requests of the same conversation, oldest first.
        language: Language to answer in, where the caller knows; else that of the text.

    Returns:
        The request; it never raises on any text.
    """
    wanted, clauses = language_asked(text)
    if blanked(text, clauses).strip(_STOPS):  # more than a wish for the same in other words
        text = blanked(text, clauses)
    spoken = wanted or language or language_of(text, history[-1].language if history else None)
    turn = _read_turn(text)
    document, out = turn.document, turn.out
    again = said_again(document.text, out, history[-1], spoken) if history else None
    if again is not None:
        return again
    if history:
        turn.prose = blanked(turn.prose, still_ranges(turn.prose, turn.board, last_job(history)))
    terse = bool(history) and is_only_settings(document.text.strip(), turn.board)
    if not terse and is_out_of_scope(
        document, turn.board, turn.asked, had_orders=bool(turn.orders), has_history=bool(history)
    ):
        return _request(turn, spoken, "out_of_scope", Carried(), invalid=(), question=None)
    goal = goal_of(turn.prose, out)
    intent = _intent_by_itself(turn, goal, history)
    carried = Carried()
    base = leans_on(
        document, turn.board, out, intent, history,
        corrected=turn.corrected, explains=intent == "concept" and "define" in turn.asked,
        asks=bool(turn.asked) or has_frame(turn.prose),
    )  # fmt: skip
    if base is not None:
        if intent != "concept":  # the words of a whole question are learned, not of a follow-up
            intent = choose_intent(_features(turn, goal))
        carried = carry_over(document, turn.board, out, base)
        intent = _intent_of_turn(intent, turn, base, history)
        goal = goal or (base.goal if not (turn.asked or has_frame(turn.prose)) else None)
    settle_goal(goal, turn.board, out)
    _settle_task(out, intent)
    if intent == "probe_local":
        out.put("probe", True, inferred=True)
    invalid = invalid_values(document, out)
    if invalid:
        return _request(turn, spoken, "invalid_input", carried, invalid=invalid, question=None)
    is_beginner = intent == "recommend_instance" and "beginner" in turn.topics
    question = None if is_beginner else clarifying_question(out, intent, spoken)
    return _request(turn, spoken, intent, carried, goal=goal, invalid=(), question=question)


def _intent_by_itself(turn: _Turn, goal: Goal | None, history: Sequence[Request]) -> Intent:
    """The kind of question that a text is when nothing is taken over from earlier turns."""
    text = turn.document.text
    intent = choose_intent(_features(turn, goal), with_signs(turn.prose, turn.board))
    if intent == "concept" and history and points_back(text, turn.board):
        intent = _asked_of_job(turn.prose, history[-1]) or intent
    if intent in ("fit_check", "recommend_instance") and _is_paid_job(turn, intent):
        intent = "cost_estimate"
    if intent in _OF_A_CARD and asks_card_figure(text, turn.out):
        intent = "concept"
    return intent


def _read_turn(text: str) -> _Turn:
    """Everything that the text says by itself."""
    document = Document.of(text)
    whole = document.text
    orders = set_aside(document)
    board = Board()
    pasted = read_pasted(document, board)
    _read_all(document, board)
    corrected = drop_taken_back(document, board)
    out = resolve(document, board)
    prose = _without_settings(document, board)
    return _Turn(
        document, whole, orders, board, pasted, corrected, out, prose, topics_of(prose),
        asked(prose, board),
    )  # fmt: skip


def features_in(text: str) -> tuple[str, set[str]]:
    """A question with signs for its names, and the features that hold for it."""
    turn = _read_turn(text)
    return with_signs(turn.prose, turn.board), _features(turn, goal_of(turn.prose, turn.out))


def _features(turn: _Turn, goal: Goal | None = None) -> set[str]:
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


def _request(
    turn: _Turn,
    spoken: Language,
    intent: Intent,
    carried: Carried,
    *,
    invalid: tuple[InvalidValue, ...],
    question: str | None,
    goal: Goal | None = None,
) -> Request:
    document, out = turn.document, turn.out
    spoken_lines = told_lines(document, turn.orders)
    told = with_signs(spoken_lines, turn.board, products=False)
    corrections: tuple[Correction, ...] = ()
    if intent != "out_of_scope":
        scene = scene_of(turn.whole, turn.orders, turn.board, out, turn.pasted, told=told)
        corrections = corrections_for(scene, spoken)
    if intent == "concept" and is_of_a_run(corrections, out):
        intent = "fit_check"
    corrections = on_the_real_card(corrections, out)
    return Request(
        language=spoken,
        intent=intent,
        slots=out.slots(),
        goal=goal,
        spans={slot: document.span(r.start, r.end) for slot, r in out.readings.items()},
        inferred=tuple(sorted(out.inferred & set(out.values))),
        inherited=tuple(sorted(carried.inherited)),
        changed=tuple(sorted(carried.changed)),
        ambiguities=tuple(out.ambiguities),
        clarifying_question=question,
        corrections=corrections,
        invalid=invalid,
        absurd=absurd_slots(out),
        pasted=tuple(turn.pasted),
        ignored=tuple(document.span(start, end) for start, end in turn.orders),
        topics=turn.topics,
        search_query=search_query(document, turn.orders),
        opening=opening_of(document.text),
        id_table=turn.board.value("id_table"),
        data_set=turn.board.value("data_set"),
        processor=turn.board.value("processor"),
        stages=stages_in(told),
        marks=marks_in(told),
        amounts=amounts_in(told),
        clouds=clouds_of_types(turn.board),
        cards_added=turn.board.value("cards_added"),
        need=_need(spoken_lines, out),
    )


def _need(text: str, out: Resolution) -> MachineNeed | None:
    """What a machine must have, where one is looked for."""
    budget = out.readings.get("budget")
    place = (budget.start, budget.end) if budget is not None else None
    return read_machine_need(text, out.slots(), inferred=frozenset(out.inferred), budget=place)


def _read_all(document: Document, board: Board) -> None:
    """Run every reader of names, numbers and words."""
    read_programs(document, board)
    read_links(document, board)
    read_in_use(document, board)
    read_products(document, board)
    read_token_totals(document, board)
    read_instances(document, board)
    read_regions(document, board)
    read_models(document, board)
    read_pictures_made(document, board)
    read_round_the_clock(document, board)
    read_node_products(document, board)
    read_cards(document, board)
    read_vgpu(document, board)
    read_hosts(document, board)
    read_processor(document, board)
    read_classes(document, board)
    read_active(document, board)
    read_id_tables(document, board)
    read_sizes(document, board)
    read_tallies(document, board)
    read_money(document, board)
    read_tallies(document, board)
    read_patches(document, board)
    read_resolutions(document, board)
    read_screens(document, board)
    read_shorthand(document, board)
    read_in_and_out(document, board)
    read_other_kinds(document, board)
    read_step_rates(document, board)
    read_durations(document, board)
    read_rates(document, board)
    read_data_amounts(document, board)
    read_data_sets(document, board)
    read_quantities(document, board)
    read_people(document, board)
    read_amounts(document, board)
    read_counts(document, board)
    read_impossible_counts(document, board)
    read_loose_tokens(document, board)
    names = [
        (_path_start(document.text, r.start) if r.slot == "model_match" else r.start, r.end)
        for r in board.readings
        if r.slot in _NAMES
    ]
    read_words(document, board, names=names)


_OWNER = re.compile(r"[a-z0-9_.\-]{2,40}/\Z")


def _path_start(text: str, start: int) -> int:
    """Where a name begins with the owner of its repository: unsloth/Qwen3-14B runs no unsloth."""
    found = _OWNER.search(text[max(0, start - 48) : start])
    return start - len(found[0]) if found is not None else start


def _extra(pasted: list[Pasted], topics: tuple[str, ...]) -> set[str]:
    features = {_PASTED[item.kind] for item in pasted if item.kind in _PASTED}
    if any(item.kind == "nvidia_smi" and not item.fields for item in pasted):
        features = features - {"pasted_smi"} | {"pasted_list"}
    messages = {f"error_{item.fields.get('message')}" for item in pasted}
    return features | messages | ({"topic"} if has_telling_topic(topics) else set())


def _without_settings(document: Document, board: Board) -> str:
    """The text with log figures, settings and the budget blanked: what is given is not asked."""
    given = ("quiet", "budget")
    quiet = [(reading.start, reading.end) for reading in board.readings if reading.slot in given]
    return blanked(document.text, quiet)


def _intent_of_turn(own: Intent, turn: _Turn, base: Request, history: Sequence[Request]) -> Intent:
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
        return choose_intent(_features(turn), with_signs(turn.prose, turn.board))
    if base.intent == "multi_gpu_plan" and any(r.intent == "fit_check" for r in history):
        return "fit_check"  # the question about links was an aside
    return "fit_check" if base.intent == "oom_diagnosis" else base.intent


def _is_paid_job(turn: _Turn, intent: Intent) -> bool:
    """Whether a training of so much data stands beside a sum of money and nothing is asked."""
    if intent == "fit_check":
        is_bare = not turn.asked and not has_frame(turn.prose)
    else:
        is_bare = is_only_settings(turn.document.text.strip(), turn.board)
    get = turn.out.get
    has_work = any(get(slot) is not None for slot in ("samples", "tokens", "steps"))
    is_total = getattr(get("budget"), "per", None) == "total"
    return is_bare and is_total and has_work


_OF_WORK = ("time_estimate", "cost_estimate")
"""Kinds of questions about the hours and the money of a job."""
_OF_A_TYPE: tuple[Intent, ...] = ("concept", "fit_check", "network_distributed")
"""Kinds that a question about a trait of a type may be taken for."""
_SUMS: tuple[Intent, ...] = ("cost_estimate", "time_estimate", "spot_checkpoint", "io_bottleneck")
"""Kinds of questions whose answer is one sum of the numbers said."""


def _brings_job(turn: _Turn) -> bool:
    """Whether a turn names a size and a card of its own."""
    get = turn.out.get
    return _brings_size(turn) and (get("gpu") is not None or get("gpu_mem_gb") is not None)


def _brings_size(turn: _Turn) -> bool:
    """Whether a turn names a model or a size of its own."""
    return any(turn.board.has(slot) for slot in ("model_match", "params_b", "model_family"))


_SETTINGS = ("method", "quantization", "precision", "batch", "seq_len", "gpu", "gpu_count")


def _changes_job(turn: _Turn, base: Request) -> bool:
    """Whether a turn gives a setting to the sized job before it."""
    is_job = base.intent in ("fit_check", "oom_diagnosis", "serving_plan", *_OF_WORK)
    sized = base.slots.params_b is not None or base.slots.model is not None
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


def _settle_task(out: Resolution, intent: Intent) -> None:
    """Questions about input pipelines, networks and checkpoints are about training."""
    about_training = ("io_bottleneck", "network_distributed", "spot_checkpoint")
    if out.get("task") in (None, "infer") and intent in about_training:
        reading = out.readings.get("task")
        if reading is None or reading.value == "run":
            out.put("task", "train", inferred=True)
