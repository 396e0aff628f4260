"""Visitors of the page, who carry no token: what they may name, and how often they may ask."""

from __future__ import annotations

import math
import re
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from threading import Lock

from tools.errors import AdvisorError, BadQuantityError
from ui.desk import Desk
from ui.render import error_card
from ui.turn import Adviser, draw_turn, words_for
from ui.wording import Language, say

_NAME = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
"""What the page's script draws at random: 122 bits or more that nobody can guess."""
_MINUTE_S = 60.0
_MOST_CLIENTS = 10_000
"""Addresses that are remembered at a time; the one seen longest ago is forgotten first."""


def own_conversation(given: str | None) -> str:
    """A conversation's name inside the service: no visitor can name one of another face.

    Raises:
        BadQuantityError: If it is not such a name as the page's script draws.

    >>> own_conversation("0b8f3c1e-6d2a-4c57-9d0e-8a4f5b6c7d8e")
    'page:0b8f3c1e-6d2a-4c57-9d0e-8a4f5b6c7d8e'
    """
    if given is None or not _NAME.fullmatch(given):
        shown = None if given is None else given[:80]
        allowed = "32 hexadecimal digits that the page drew at random; reload the page"
        raise BadQuantityError(field="conversation", given=shown, allowed=allowed)
    return f"page:{given}"


class Visitors:
    """Answers the page's questions, so many a minute from one address.

    Args:
        advisor: Answers.
        desk: Where the answers are worked on.
        per_minute: Questions a minute and address (count); None for any number.
    """

    def __init__(self, advisor: Adviser, desk: Desk, *, per_minute: int | None = None) -> None:
        self._advisor = advisor
        self._desk = desk
        self._per_minute = per_minute
        self._asked: dict[str, deque[float]] = {}
        self._lock = Lock()

    async def turn(
        self, question: str, *, conversation: str | None, language: Language, address: str
    ) -> AsyncGenerator[str, None]:
        """One turn as HTML, again and again until it is finished; a refusal is a card too."""
        wait_s = self._wait_s(address)
        if wait_s > 0:
            words = say("page_too_often", language, most=self._per_minute or 0,
                        seconds=math.ceil(wait_s))  # fmt: skip
            yield error_card(question, words, language)
            return
        try:
            thread = own_conversation(conversation)
            work = partial(draw_turn, self._advisor, question, thread=thread, language=language)
            async with aclosing(self._desk.run(work)) as pieces:
                async for piece in pieces:
                    yield piece
        except AdvisorError as error:
            yield error_card(question, words_for(error, language), language)

    def _wait_s(self, address: str) -> float:
        """Seconds until this address may ask again; 0 when it may now, which counts."""
        if self._per_minute is None:
            return 0.0
        now = time.monotonic()
        with self._lock:
            asked = self._asked.pop(address, deque())
            self._asked[address] = asked  # last in the order, which is that of the last question
            if len(self._asked) > _MOST_CLIENTS:
                del self._asked[next(iter(self._asked))]
            while asked and now - asked[0] >= _MINUTE_S:
                asked.popleft()
            if len(asked) >= self._per_minute:
                return _MINUTE_S - (now - asked[0])
            asked.append(now)
        return 0.0
