"""A fake advisor: the outside world of the faces. It answers by plain rules, at a chosen speed."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from threading import Lock
from typing import Any

from agent import Answer, Answered, Event, TextDelta, ToolFinished, ToolStarted, Withdrawn
from tools.errors import EndpointTimeout, UnknownGpuError

GIB = 1024**3


def an_answer(**changes: Any) -> Answer:
    """A full answer: every part of the card has something to show."""
    values: dict[str, Any] = {
        "language": "en",
        "intent": "fit_check",
        "text": "QLoRA of a 7B model **fits** on an A10 (21.95 GiB usable).\n\n"
        "| method | GiB |\n|---|---|\n| full | 58.1 |\n| LoRA | 17.2 |\n",
        "verdict": "fits",
        "memory": {
            "scope": "per_gpu",
            "low_bytes": 16 * GIB,
            "high_bytes": 19 * GIB,
            "usable_bytes": 22_476 * 1024**2,
        },
        "request": {"model": "Qwen2.5-7B", "gpu": "A10", "method": "lora"},
        "assumptions": [
            {"name": "seq_len", "value": 2048, "unit": "token", "why": "usual for fine-tuning"},
            {"name": "method", "value": "lora", "unit": "1", "why": "not said"},
            {"name": "batch", "value": 1, "unit": "1", "why": "smallest"},
        ],
        "figures": [
            {"name": "weights", "value": 15 * GIB, "unit": "B", "formula": "7.6e9 × 2 B"},
            {"name": "activations", "value": 2 * GIB, "unit": "B", "sources": ["rule:act"]},
            {"name": "framework_overhead", "value": GIB // 2, "unit": "B", "sources": ["x:y"]},
        ],
        "citations": [{"id": "guide:vram#p3", "title": "VRAM by method", "locator": "note vram"}],
        "corrections": [
            {"premise": "7B needs 24 GB", "fact": "It depends on the method.", "source": "guide:x"}
        ],
        "offers": [an_offer("ecs.gn7i-c8g1.2xlarge", "10.5"), an_offer("ecs.gn7i-c16g1.4xlarge")],
        "follow_ups": ["And with QLoRA?"],
        "tool_calls": [
            {"name": "estimate_memory", "arguments": {"m": 1}, "ok": True, "elapsed_ms": 2}
        ],
        "elapsed_ms": 12.0,
        "version": "0.1.0",
    }
    return Answer.model_validate(values | changes)


def an_offer(instance_type: str, price: str | None = None, **changes: Any) -> dict[str, Any]:
    """One row of offers."""
    return {
        "provider": "alibaba",
        "instance_type": instance_type,
        "gpu_name": "A10",
        "gpu_count": 1,
        "region": "cn-hangzhou",
        "price": None if price is None else Decimal(price),
        "currency": None if price is None else "CNY",
        "priced_on": None if price is None else "2026-05-01",
        "billing": "on_demand",
    } | changes


def an_app(advisor: FakeAdvisor) -> Any:
    """The whole application with its page.

    The page's library leaves event loops unclosed while it builds; they are collected here, where
    that warning is silenced.
    """
    from agent import Settings
    from ui.config import ServiceSettings
    from ui.service import create_app

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        app = create_app(Settings(own_machine=True), config=ServiceSettings(), advisor=advisor)
        gc.collect()
    return app


def collect() -> None:
    """Collects what the page's library leaves behind, where its warnings are silenced."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


class FakeAdvisor:
    """Answers with its question inside, so that a mix-up of conversations shows."""

    def __init__(
        self,
        *,
        delay_s: float = 0.0,
        make: Callable[[str, str | None, int], Answer] | None = None,
    ) -> None:
        self.delay_s = delay_s
        self.asked: list[tuple[str, str | None]] = []
        self.languages: list[str | None] = []
        """Languages that were asked for, one a question."""
        self._turns: dict[str | None, list[str]] = {}
        self._lock = Lock()
        self._make = make or self._echo

    @staticmethod
    def _echo(question: str, thread: str | None, turn: int) -> Answer:
        is_zh = any("\u4e00" <= c <= "\u9fff" for c in question)
        return an_answer(
            language="zh" if is_zh else "en",
            text=f"Turn {turn} of this conversation. You asked: {question}",
        )

    def ask(
        self, question: str, *, thread: str | None = None, language: str | None = None
    ) -> Answer:
        """The answer alone."""
        for event in self.stream(question, thread=thread, language=language):
            if isinstance(event, Answered):
                return event.answer
        raise AssertionError("no answer")

    def stream(
        self, question: str, *, thread: str | None = None, language: str | None = None
    ) -> Iterator[Event]:
        """Two steps, the text in pieces, the answer; words in the question choose a failure."""
        with self._lock:
            self.asked.append((question, thread))
            self.languages.append(language)
            turns = self._turns.setdefault(thread, [])
            turns.append(question)
            turn = len(turns)
        if "unknown card" in question:
            raise UnknownGpuError("A10O", ["A10", "A100"])
        if "backend down" in question:
            raise EndpointTimeout("The endpoint did not answer within 20 s.")
        if "bug" in question:
            raise RuntimeError("secret path /srv/key")
        yield ToolStarted("estimate_memory", {"model": "7B", "note": "<b>x</b>"}, "1")
        time.sleep(self.delay_s)
        yield ToolFinished("estimate_memory", "1", True, 2.5, "15 GiB", {"model": "7B"})
        if "withdraw" in question:
            yield TextDelta("half an ans")
            yield Withdrawn("endpoint died")
        answer = self._make(question, thread, turn)
        if "degraded" in question:
            answer = answer.model_copy(update={"degraded": "endpoint timed out after 20 s"})
        for piece in answer.text.split(" "):
            time.sleep(self.delay_s / 4)
            yield TextDelta(piece + " ")
        yield Answered(answer)
