"""What an endpoint is sent: rules, earlier turns, and the findings fenced as data."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agent.answer import Answer, Language
from agent.backends.messages import is_embedded_step, last_question_index, results_in
from agent.settings import Settings
from agent.toolbox.guidance import GuidanceReport

VERSION = "v1"
"""Version of the prompts in use: agent/prompts/<name>.<version>.md."""
_LANGUAGE_MARK = re.compile(r"<!-- (zh|en) -->\n")
_CHARACTERS_PER_TOKEN = 3
_MOST_FIGURES = 60
_LONGEST_PASSAGE = 900


@cache
def prompt_text(name: str, language: Language) -> str:
    """A prompt file's part in one language."""
    text = files("agent.prompts").joinpath(f"{name}.{VERSION}.md").read_text("utf-8")
    parts = _LANGUAGE_MARK.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[language].strip()


def prompt_for(
    settings: Settings, messages: Sequence[BaseMessage], draft: Answer
) -> list[BaseMessage]:
    """The whole prompt for the current step of a turn.

    The fence is drawn anew for each prompt, so that no text can close it.
    """
    fence = f"=={secrets.token_hex(4)}=="
    start = last_question_index(messages)
    system = SystemMessage(prompt_text("author", draft.language).format(fence=fence))
    question = HumanMessage(
        prompt_text("findings", draft.language).format(
            question=fenced(messages[start].text, fence),
            findings=fenced(_findings(messages[start:], draft), fence),
        )
    )
    steps = [m for m in messages[start + 1 :] if _is_endpoint_step(m)]
    used = sum(_tokens(m) for m in (system, question, *steps))
    history = _history(messages[:start], settings.context_tokens - used)
    return [system, *history, question, *steps]


def fenced(text: str, fence: str) -> str:
    """Text between marks that it cannot contain."""
    return f"{fence}\n{text.replace(fence, '')}\n{fence}"


def complaint(found: Sequence[Any], language: Language) -> str:
    """What the endpoint is told about a text that does not hold."""
    reasons = "\n".join(f"- {problem.reason}" for problem in found[:12])
    return prompt_text("complaint", language).format(reasons=reasons)


def _is_endpoint_step(message: BaseMessage) -> bool:
    """A tool call that the endpoint made, or its result."""
    is_step = isinstance(message, ToolMessage) or (
        isinstance(message, AIMessage) and bool(message.tool_calls)
    )
    return is_step and not is_embedded_step(message)


def _tokens(message: BaseMessage) -> int:
    return len(message.text) // _CHARACTERS_PER_TOKEN + 8


def _history(earlier: Sequence[BaseMessage], budget_tokens: int) -> list[BaseMessage]:
    """Questions and answers of earlier turns, newest kept, as plain text."""
    kept: list[BaseMessage] = []
    for message in reversed(earlier):
        budget_tokens -= _tokens(message)
        if budget_tokens < 0:
            break
        plain = AIMessage if isinstance(message, AIMessage) else HumanMessage
        kept.append(plain(message.text))
    kept.reverse()
    while kept and isinstance(kept[0], AIMessage):
        kept.pop(0)
    return kept


def _findings(turn: Sequence[BaseMessage], draft: Answer) -> str:
    """The tools' findings as JSON: verdict, figures, offers, passages, and a draft text."""
    passages = [
        {"id": p.passage_id, "title": p.title, "text": p.text[:_LONGEST_PASSAGE], "trust": p.trust}
        for result in results_in(turn, embedded=True)
        if isinstance(result.report, GuidanceReport)
        for p in result.report.passages
    ]
    request = {k: v for k, v in draft.request.items() if v is not None}
    found = {
        "intent": draft.intent,
        "verdict": draft.verdict,
        "request": request,
        "memory": draft.memory.model_dump() if draft.memory else None,
        "assumptions": [a.model_dump() for a in draft.assumptions],
        "corrections": [c.model_dump() for c in draft.corrections],
        "figures": [
            f"{f.name} = {f.value} {f.unit}" for f in draft.figures[:_MOST_FIGURES]
        ],
        "offers": [o.model_dump(mode="json") for o in draft.offers],
        "passages": passages,
        "question_to_ask": draft.clarifying_question,
        "draft": draft.text,
    }  # fmt: skip
    return json.dumps({k: v for k, v in found.items() if v}, ensure_ascii=False, default=str)
