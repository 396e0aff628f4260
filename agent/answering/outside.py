"""What is not answered: questions of another field, and values that cannot be."""

from __future__ import annotations

import re

from agent.answering.draft import HEAD, Draft
from agent.answering.plan import Context, Plan
from agent.request import Request


def compose(request: Request, context: Context) -> Plan:
    """One polite sentence, or what is wrong with a value and what is allowed."""
    draft = Draft(request)
    if request.intent == "invalid_input" or request.invalid:
        _refuse_values(draft)
    else:
        draft.say("outside.out_of_scope", importance=HEAD)
        draft.follow_ups += [
            draft.phrase("outside.follow_fit"),
            draft.phrase("outside.follow_rent"),
        ]
    return draft.finish("not_applicable")
    yield ()


def _refuse_values(draft: Draft) -> None:
    is_chinese = draft.language == "zh"
    messages = [p.message_zh if is_chinese else p.message_en for p in draft.request.invalid]
    joined = (";" if is_chinese else "; ").join(re.sub(r"[。.;;]+$", "", m) for m in messages)
    draft.say("outside.invalid", problems=joined + ("。" if is_chinese else "."), importance=HEAD)
    draft.say("outside.invalid_then")
