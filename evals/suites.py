"""The suites: where their rows are, how one is run, how it is judged and summed up."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from evals import summaries
from evals.sample import CaseResult, Row, Score, read_rows, shipped
from evals.scorers import catalog, memory, questions, retrieval, scripted, speed
from evals.summaries import Summary
from tools.errors import UserInputError


class Subject(Protocol):
    """What is judged: asks the advisor, the calculators and the index."""

    def converse(self, row: Row) -> list[dict[str, Any]]:
        """Answers (as JSON) to the question and each follow-up of one conversation."""

    def estimate(self, row: Row) -> dict[str, Any]:
        """Memory estimate of a case row."""

    def speed(self, row: Row) -> dict[str, Any]:
        """Speed estimate of a case row."""

    def search(self, row: Row) -> list[dict[str, Any]]:
        """Ranked passages of a query."""

    def look_up(self, row: Row) -> dict[str, Any]:
        """What the catalog, the GPU table or the model registry says of a name."""

    def scripted(self, row: Row) -> dict[str, Any]:
        """The answer to a question when an endpoint follows the row's script."""


@dataclass(frozen=True, slots=True)
class Suite:
    """One suite, ready to run."""

    name: str
    title: str
    files: tuple[str, ...]
    """Names of the shipped files in evals/suites, without the ending."""
    run: Callable[[Subject, Row], Any]
    judge: Callable[[Row, Any], list[Score]]
    tags: Callable[[Row], dict[str, str]]
    summarize: Callable[[Sequence[Row], Sequence[CaseResult]], Summary]
    goals: Mapping[str, tuple[str, float]]
    """Metric of the summary -> (">=" or "<=", threshold)."""
    held: Mapping[str, float] = field(default_factory=dict)
    """Metric with a goal -> how much worse than the baseline it may get before that counts as a
    regression, beside the cases that passed."""

    def rows(self) -> list[dict[str, Any]]:
        """All shipped rows."""
        return [row for name in self.files for row in read_rows(shipped(name))]


def _registry_key(text: str) -> str:
    return re.sub("[^a-z0-9.+\u4e00-\u9fff]", "", text.casefold())


@functools.cache
def _row_of(slot: str, written: str) -> str | None:
    from tools.gpus import find_gpu
    from tools.models import find_model

    try:
        return find_model(written).spec.name if slot == "model" else find_gpu(written).spec.name
    except UserInputError:
        return None


def same_registry_row(slot: str, written: str, given: str) -> bool:
    """True when two spellings name the same row of the model registry or the GPU table."""
    if _registry_key(written.rpartition("/")[2]) == _registry_key(given.rpartition("/")[2]):
        return True
    left = _row_of(slot, written)
    return left is not None and left == _row_of(slot, given)


def _judge_questions(row: Row, output: Any) -> list[Score]:
    return questions.judge(row, output, same_registry_row)


SUITES: Mapping[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite(
            name="questions",
            title="Questions and follow-ups, answered end to end",
            files=("questions", "questions_fresh", "added"),
            run=lambda subject, row: subject.converse(row),
            judge=_judge_questions,
            tags=summaries.question_tags,
            summarize=summaries.questions_summary,
            goals={
                "pass_rate": (">=", 0.95),
                "must_pass_rate": (">=", 1.0),
                "best_verdict_rate": (">=", 0.70),
                "slot_f1": (">=", 0.95),
            },
            held={"slot_f1": 0.005},
        ),
        Suite(
            name="memory",
            title="Published and simulated memory of real runs",
            files=("memory_training", "memory_inference", "simulated"),
            run=lambda subject, row: subject.estimate(memory.without_truth(row)),
            judge=memory.judge,
            tags=summaries.memory_tags,
            summarize=summaries.memory_summary,
            goals={
                "answered_rate": (">=", 1.0),
                "interval_rate": (">=", 0.80),
                "verdict_rate": (">=", 0.90),
                "simulated_median_error": ("<=", 0.002),
                "training_median_error": ("<=", 0.04),
                "training_p90_error": ("<=", 0.20),
                "serving_median_error": ("<=", 0.025),
                "serving_p90_error": ("<=", 0.16),
            },
            held={
                "interval_rate": 0.01,
                "verdict_rate": 0.01,
                "simulated_median_error": 0.0005,
                "training_median_error": 0.005,
                "serving_median_error": 0.005,
            },
        ),
        Suite(
            name="speed",
            title="Measured training and serving speed",
            files=("speed_training", "speed_inference"),
            run=lambda subject, row: subject.speed(speed.without_truth(row)),
            judge=speed.judge,
            tags=summaries.speed_tags,
            summarize=summaries.speed_summary,
            goals={
                "answered_rate": (">=", 0.90),
                "interval_rate": (">=", 0.80),
                "training_median_error": ("<=", 0.25),
                "decode_median_error": ("<=", 0.20),
            },
            held={
                "interval_rate": 0.02,
                "training_median_error": 0.01,
                "decode_median_error": 0.01,
            },
        ),
        Suite(
            name="retrieval",
            title="Guidance found by question, in both languages",
            files=("retrieval",),
            run=lambda subject, row: subject.search(row),
            judge=retrieval.judge,
            tags=summaries.retrieval_tags,
            summarize=summaries.retrieval_summary,
            goals={
                **{f"{lang}_hit1": (">=", 0.85) for lang in ("zh", "en")},
                **{f"{lang}_hit3": (">=", 0.95) for lang in ("zh", "en")},
                **{f"{lang}_mrr": (">=", 0.90) for lang in ("zh", "en")},
                "off_corpus_silent": (">=", 0.90),
            },
            held={f"{lang}_mrr": 0.01 for lang in ("zh", "en")},
        ),
        Suite(
            name="catalog",
            title="Spot checks of instances, cards, models and prices against their sources",
            files=("catalog",),
            run=lambda subject, row: subject.look_up(row),
            judge=catalog.judge,
            tags=summaries.catalog_tags,
            summarize=summaries.plain_summary,
            goals={"pass_rate": (">=", 1.0)},
        ),
        Suite(
            name="conversation",
            title="Conversations of ten follow-ups",
            files=("conversation",),
            run=lambda subject, row: subject.converse(row),
            judge=_judge_questions,
            tags=summaries.question_tags,
            summarize=summaries.conversation_summary,
            goals={"turn_rate": (">=", 0.95)},
            held={"turn_rate": 0.001},
        ),
        Suite(
            name="faults",
            title="An endpoint that fails in every known way",
            files=("faults",),
            run=lambda subject, row: subject.scripted(row),
            judge=scripted.judge_fault,
            tags=summaries.fault_tags,
            summarize=summaries.plain_summary,
            goals={"pass_rate": (">=", 1.0)},
        ),
        Suite(
            name="grounding",
            title="An endpoint that lies, and one that rewords the truth",
            files=("grounding",),
            run=lambda subject, row: subject.scripted(row),
            judge=scripted.judge_grounding,
            tags=summaries.grounding_tags,
            summarize=summaries.grounding_summary,
            goals={"lies_caught": (">=", 1.0), "truths_passed": (">=", 0.97)},
        ),
    )
}


def get_suite(name: str) -> Suite:
    """The suite of this name.

    Raises:
        UserInputError: If there is none; names the known ones.
    """
    try:
        return SUITES[name]
    except KeyError:
        raise UserInputError(f"Unknown suite {name!r}. Known: {', '.join(SUITES)}.") from None
