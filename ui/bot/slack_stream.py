"""An answer that grows in an assistant thread while it is made: Slack's streamed messages.

What is streamed is a preview: at the end the same message is replaced by the whole answer with
its blocks, which may be done twice without harm. So a stream that a killed process left half said
is finished by the next one. Where Slack refuses to stream, nothing was shown and the answer is
posted as ever.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from ui.bot.inbox import Note
from ui.turn import Adviser
from ui.wording import Language

if TYPE_CHECKING:
    from slack_sdk import WebClient

    from agent import Answer

log = logging.getLogger("xuanka.slack")
_WORTH_S = 0.7
"""An answer that is whole sooner after its first words is posted at once."""
_APPEND_S = 1.0
"""Slack takes about as many appends."""
_MOST_CHARACTERS = 8_000
"""Of a preview; Slack takes 12,000 a message."""
_OVER = frozenset({"message_not_in_streaming_state", "message_not_found"})


class Stream:
    """The message that grows; `ts` is None while there is none.

    Args:
        client: Speaks to Slack as the bot.
        asked: The event's question.
        note: Keeps what a successor must know.
        left: What a process that died had noted.
    """

    def __init__(
        self, client: WebClient, asked: dict[str, Any], note: Note, left: dict[str, Any] | None
    ) -> None:
        self._client, self._asked, self._note = client, asked, note
        self.ts: str | None = (left or {}).get("stream")
        if left is not None and self.ts is None:
            self.ts = self._orphan()
        self._is_open = left is None
        self._is_in_doubt = False
        """True when a stream may have begun whose name was not heard."""
        self._first_at: float | None = None
        self._sent_at = 0.0
        self._waiting, self._length = "", 0

    def ask(
        self, advisor: Adviser, question: str, thread: str, language: Language | None
    ) -> Answer:
        """The answer, shown as it grows."""
        from agent import Answered, TextDelta, Withdrawn

        answer: Answer | None = None
        for event in advisor.stream(question, thread=thread, language=language):
            if isinstance(event, TextDelta):
                self._write(event.delta)
            elif isinstance(event, Withdrawn):
                self._is_open = False  # what stands there is replaced at the end
            elif isinstance(event, Answered):
                answer = event.answer
        assert answer is not None, "a stream always ends with an answer"
        if self._is_in_doubt:
            self.ts = self._orphan()
        return answer

    def _write(self, delta: str) -> None:
        from slack_sdk.errors import SlackApiError

        now = time.monotonic()
        self._first_at = self._first_at or now
        self._waiting += delta
        is_due = now - self._sent_at >= _APPEND_S and now - self._first_at >= _WORTH_S
        if not self._is_open or not is_due:
            return
        self._sent_at = now
        text = self._waiting[: _MOST_CHARACTERS - self._length]
        try:
            if self.ts is None:
                self._begin(text)
            elif text:
                self._client.chat_appendStream(
                    channel=self._asked["channel"], ts=self.ts, markdown_text=text
                )
        except (SlackApiError, OSError) as error:
            self._is_in_doubt = self.ts is None and not isinstance(error, SlackApiError)
            log.info("not streamed: %s", type(error).__name__)
            self._is_open = False
            return
        self._waiting, self._length = self._waiting[len(text) :], self._length + len(text)

    def _begin(self, text: str) -> None:
        self._note({"is_partial": True, "stream": None})
        begun = self._client.chat_startStream(
            channel=self._asked["channel"], thread_ts=self._asked["thread"], markdown_text=text
        )
        self.ts = str(begun["ts"])
        self._note({"is_partial": True, "stream": self.ts})

    def _orphan(self) -> str | None:
        """The stream that a process began and died before it heard of its name."""
        cursor: str | None = None
        while True:
            found = self._client.conversations_replies(
                channel=self._asked["channel"], ts=self._asked["thread"],
                oldest=self._asked["since"], include_all_metadata=True, limit=100, cursor=cursor,
            )  # fmt: skip
            for message in found.get("messages") or []:
                if message.get("bot_id") and not message.get("metadata"):
                    return str(message["ts"])
            cursor = (found.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return None


def finish(client: WebClient, channel: str, ts: str, message: dict[str, Any]) -> None:
    """Puts the whole answer in the stream's place; a second time changes nothing.

    Raises:
        SlackApiError: If Slack refuses.
    """
    from slack_sdk.errors import SlackApiError

    try:
        client.chat_stopStream(channel=channel, ts=ts)
    except SlackApiError as error:
        if error.response.get("error") not in _OVER:
            raise
    client.chat_update(channel=channel, ts=ts, **message)
