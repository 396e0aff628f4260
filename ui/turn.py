"""One turn of a conversation, drawn as its events arrive."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tools.errors import AdvisorError, BackendError
from tools.units import format_significant
from ui.markup import markdown, tag, text
from ui.render import answer_card, error_card
from ui.wording import Language, say

if TYPE_CHECKING:
    from agent import Answer, Event

log = logging.getLogger("xuanka.ui")

_REDRAW_S = 0.05
"""Text that streams in is redrawn at most this often; steps and the answer at once."""


class Adviser(Protocol):
    """What every face needs of the advisor; `agent.Advisor` is one."""

    def ask(
        self, question: str, *, thread: str | None = None, language: Language | None = None
    ) -> Answer:
        """One answer."""

    def stream(
        self, question: str, *, thread: str | None = None, language: Language | None = None
    ) -> Iterator[Event]:
        """The events of one answer, the answer itself last."""


@dataclass
class Step:
    """One tool call as shown."""

    name: str
    arguments: dict[str, Any]
    ok: bool | None = None
    elapsed_ms: float | None = None
    summary: str = ""


@dataclass
class Turn:
    """What is known of the turn so far."""

    language: Language
    steps: dict[str, Step] = field(default_factory=dict)
    text: str = ""
    started: float = field(default_factory=time.perf_counter)
    answer: Answer | None = None

    def apply(self, event: Event) -> None:
        """Takes one event in."""
        from agent import Answered, TextDelta, ToolFinished, ToolStarted, Withdrawn

        match event:
            case ToolStarted():
                self.steps[event.id] = Step(event.name, event.arguments)
            case ToolFinished():
                step = self.steps.setdefault(event.id, Step(event.name, event.arguments))
                step.ok, step.elapsed_ms = event.ok, event.elapsed_ms
                step.summary = event.summary
            case TextDelta():
                self.text += event.delta
            case Withdrawn():
                self.text = ""
            case Answered():
                self.answer = event.answer

    def html(self, question: str) -> str:
        """The turn as it stands: steps, then the text so far or the finished card."""
        steps = steps_html(list(self.steps.values()), self.language, done=self.answer is not None,
                           seconds=time.perf_counter() - self.started)  # fmt: skip
        if self.answer is not None:
            return steps + answer_card(question, self.answer)
        if not self.text:
            waiting = tag("p", text(say("working", self.language)), class_="xk-working")
            return steps + waiting
        body = tag("div", markdown(self.text), class_="xk-text")
        return steps + tag("article", body, class_="xk-answer xk-partial")


def steps_html(steps: list[Step], language: Language, *, done: bool, seconds: float) -> str:
    """The tool calls as a collapsible list with arguments and time; open while running."""
    if not steps:
        return ""
    key = "steps_title" if done else "steps_running"
    title = say(key, language, count=len(steps), seconds=format_significant(seconds, 2))
    items = "".join(tag("li", _step(step, language)) for step in steps)
    return tag(
        "details",
        tag("summary", text(title)),
        tag("ol", items),
        class_="xk-steps",
        open=not done,
        lang=language,
    )


def _step(step: Step, language: Language) -> str:
    if step.ok is None:
        state, shown = "running", say("step_running", language)
    else:
        state = "ok" if step.ok else "failed"
        elapsed = f"{format_significant(step.elapsed_ms or 0.0)} ms"
        shown = elapsed if step.ok else f"{say('step_failed', language)} · {elapsed}"
    arguments = json.dumps(step.arguments, ensure_ascii=False, default=str)
    parts = [
        tag("code", text(step.name), class_="xk-tool"),
        tag("span", text(shown), class_=f"xk-state xk-{state}"),
        tag("code", text(arguments), class_="xk-arguments"),
    ]
    if step.summary:
        parts.append(tag("p", text(step.summary)))
    return "".join(parts)


def draw_turn(advisor: Adviser, question: str, *, thread: str, language: Language) -> Iterator[str]:
    """The turn's HTML, again and again until it is finished; errors become a card."""
    turn = Turn(language)
    yield turn.html(question)
    drawn_at = 0.0
    try:
        for event in advisor.stream(question, thread=thread):
            turn.apply(event)
            now = time.perf_counter()
            if _is_text(event) and now - drawn_at < _REDRAW_S:
                continue
            drawn_at = now
            yield turn.html(question)
        if turn.answer is None:
            yield error_card(question, say("interrupted", language), language)
    except Exception as error:
        yield error_card(question, words_for(error, language), language)


def _is_text(event: Event) -> bool:
    from agent import TextDelta

    return isinstance(event, TextDelta)


def words_for(error: Exception, language: Language) -> str:
    """An error in the reader's words: what can be done, and never a path or a trace."""
    if isinstance(error, BackendError):
        log.warning("backend failed: %s", type(error).__name__)
        return say("failed_backend", language, reason=str(error))
    if isinstance(error, AdvisorError):
        return say("failed_input", language, reason=str(error))
    reference = secrets.token_hex(4)
    log.error("turn failed, reference %s", reference, exc_info=error)
    return say("failed_internal", language, reference=reference)
