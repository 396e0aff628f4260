"""Text and the conversation so far → one typed `Request`."""

from __future__ import annotations

from collections.abc import Sequence

from agent.answer import Correction, Intent, Language
from agent.request import Goal, InvalidValue, MachineNeed, Request
from agent.understanding.kinds.choice import features, intent_by_itself, intent_of_turn
from agent.understanding.kinds.intent import choose_intent, has_frame
from agent.understanding.kinds.scope import is_out_of_scope, opening_of
from agent.understanding.lexicon.frames import with_signs
from agent.understanding.lexicon.language import language_asked, language_of
from agent.understanding.lexicon.marks import amounts_in, marks_in
from agent.understanding.lexicon.text import blanked
from agent.understanding.lexicon.topics import search_query, told_lines
from agent.understanding.premises.rows import corrections_for, is_of_a_run, on_the_real_card
from agent.understanding.premises.scene import scene_of
from agent.understanding.readers.clouds import clouds_of_types
from agent.understanding.readers.machine_need import read_machine_need
from agent.understanding.readers.stages import stages_in
from agent.understanding.settling.goal import goal_of, settle_goal
from agent.understanding.settling.resolution import Resolution
from agent.understanding.settling.validity import absurd_slots, invalid_values
from agent.understanding.turn import Turn, read_turn
from agent.understanding.turns.asking import clarifying_question
from agent.understanding.turns.conversation import Carried, carry_over
from agent.understanding.turns.leaning import last_job, leans_on
from agent.understanding.turns.terse import (
    is_only_settings,
    said_again,
    still_ranges,
)

_STOPS = " \n\t.,;!?。,;!?"


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
    turn = read_turn(text)
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
    intent = intent_by_itself(turn, goal, history)
    carried = Carried()
    base = leans_on(
        document, turn.board, out, intent, history,
        corrected=turn.corrected, explains=intent == "concept" and "define" in turn.asked,
        asks=bool(turn.asked) or has_frame(turn.prose),
    )  # fmt: skip
    if base is not None:
        if intent != "concept":  # the words of a whole question are learned, not of a follow-up
            intent = choose_intent(features(turn, goal))
        carried = carry_over(document, turn.board, out, base)
        intent = intent_of_turn(intent, turn, base, history)
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


def _request(
    turn: Turn,
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
    marks = marks_in(told)
    corrections: tuple[Correction, ...] = ()
    if intent != "out_of_scope":
        scene = scene_of(
            turn.whole, turn.orders, turn.board, out, turn.pasted, told=told, marks=marks
        )
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
        route=turn.board.value("route"),
        data_set=turn.board.value("data_set"),
        processor=turn.board.value("processor"),
        stages=stages_in(told),
        marks=marks,
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


def _settle_task(out: Resolution, intent: Intent) -> None:
    """Questions about input pipelines, networks and checkpoints are about training."""
    about_training = ("io_bottleneck", "network_distributed", "spot_checkpoint")
    if out.get("task") in (None, "infer") and intent in about_training:
        reading = out.readings.get("task")
        if reading is None or reading.value == "run":
            out.put("task", "train", inferred=True)
