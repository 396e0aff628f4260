"""What is not answered: questions of another field, and values that cannot be."""

from __future__ import annotations

from agent.answering.plan import Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.request import Request


def compose(request: Request, context: Context) -> Plan:
    """One polite sentence, or what is wrong with a value and what is allowed."""
    draft = Draft(request)
    if request.intent == "invalid_input" or request.invalid:
        _refuse_values(draft)
    elif request.opening == "greeting":
        question = draft.phrase("beginnings.question")
        draft = Draft(request.model_copy(update={"clarifying_question": question}))
        draft.say("outside.greeting", importance=HEAD)
        _show_questions(draft)
    else:
        draft.say("outside.out_of_scope", importance=HEAD)
        _show_questions(draft)
    return draft.finish("not_applicable")
    yield ()


def _show_questions(draft: Draft) -> None:
    names = ("follow_fit", "follow_rent")
    draft.follow_ups += [draft.phrase(f"outside.{name}") for name in names]


def _refuse_values(draft: Draft) -> None:
    is_chinese = draft.language == "zh"
    messages = [p.message_zh if is_chinese else p.message_en for p in draft.request.invalid]
    joined = (";" if is_chinese else "; ").join(m.rstrip("。.; ") for m in messages)
    draft.say("outside.invalid", problems=joined + ("。" if is_chinese else "."), importance=HEAD)
    draft.say("outside.invalid_then")
