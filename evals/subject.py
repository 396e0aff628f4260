"""What the suites judge: the advisor through its façade, the calculators, the index."""

from __future__ import annotations

import threading
import uuid
from typing import TYPE_CHECKING, Any

from evals.sample import Row

if TYPE_CHECKING:
    from agent import Advisor


class LocalSubject:
    """The advisor in this process, with the backend that the settings name."""

    def __init__(self, backend: str = "embedded") -> None:
        self._backend = backend
        self._advisor: Advisor | None = None
        self._lock = threading.Lock()
        self._embedded: dict[str, dict[str, Any]] = {}

    def _open(self) -> Advisor:
        from agent import Advisor, Settings

        with self._lock:
            if self._advisor is None:
                self._advisor = Advisor(Settings(backend=self._backend, simulation=False))
            return self._advisor

    def converse(self, row: Row) -> list[dict[str, Any]]:
        """Answers to a question and its follow-ups, in a conversation of their own."""
        from agent import ungrounded

        advisor = self._open()
        thread = f"evals-{uuid.uuid4().hex}"
        answers = []
        try:
            for text in [row["question"], *(row.get("turns") or [])]:
                answer = advisor.ask(text, thread=thread)
                shown = answer.model_dump(mode="json")
                shown["_orphan_numbers"] = [
                    str(found) for found in ungrounded(answer, question=text)
                ]
                answers.append(shown)
        finally:
            advisor.delete(thread)
        return answers

    def estimate(self, row: Row) -> dict[str, Any]:
        """Memory estimate of a case row, as `python -m tools estimate --cases` gives it."""
        from tools.memory import answer_case

        return dict(answer_case(row))

    def speed(self, row: Row) -> dict[str, Any]:
        """Speed estimate of a case row, as `python -m tools speed --cases` gives it."""
        from tools.speed import answer_case

        return dict(answer_case(row))

    def search(self, row: Row) -> list[dict[str, Any]]:
        """Ranked passages of a query."""
        from knowledge import search

        return [
            {"passage_id": p.passage_id, "claims": list(p.claims), "score": p.score}
            for p in search(str(row["query"]), k=5)
        ]

    def look_up(self, row: Row) -> dict[str, Any]:
        """What the catalog, the GPU table or the model registry says of a name."""
        from evals.lookups import look_up

        return look_up(row)

    def scripted(self, row: Row) -> dict[str, Any]:
        """The answer when an endpoint on loopback follows the row's script."""
        from agent import Advisor, Settings
        from evals.scripted import through_endpoint

        question = str(row["question"])
        if question not in self._embedded:
            with Advisor(Settings(backend="embedded")) as advisor:
                self._embedded[question] = advisor.ask(question).model_dump(mode="json")
        return through_endpoint(row, self._embedded[question])
