"""Tables and counted words: what they take by themselves, how long a CPU needs, no GPU bought."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from agent.answering import compose
from agent.answering.plan import Context, advance
from agent.settings import Settings
from agent.toolbox import ToolResult, build_toolbox
from agent.understanding import parse
from tools.placement import Task, place


def _ask(question: str) -> Answer:
    tools = {tool.name: tool for tool in build_toolbox(Settings())}
    results: list[ToolResult] = []
    plan = parse(question)
    while not isinstance(step := advance(compose(plan, Context()), results), Answer):
        results += [tools[call.name].call(call.arguments) for call in step]
    assert not ungrounded(step, question=question)
    return step


@pytest.mark.parametrize(
    ("question", "single", "double"),
    [
        ("xgboost 20M rows x 300 features, cpu box or gpu box on aws? how much ram", "24", "48"),
        ("catboost 5千万行x120列 内存要多少 要不要GPU", "24", "48"),
        ("lightgbm 2亿行,30列,CPU还是GPU机器", "24", "48"),
    ],
)
def test_a_table_is_told_in_bytes(question: str, single: str, double: str) -> None:
    text = _ask(question).text
    assert f"**{single} GB**" in text
    assert f"{double} GB" in text


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("linear svm over 1.2 million emails with bag of words, does a gpu help", "sparse"),
        ("naive bayes on tf-idf of 80k product reviews: rent a gpu or not?", "sparse"),
        ("逻辑回归 tf-idf 5万条工单 租GPU有必要吗", "稀疏"),
    ],
)
def test_counted_words_need_no_gpu(question: str, word: str) -> None:
    answer = _ask(question)
    assert answer.verdict == "not_applicable"
    assert word in answer.text
    assert "minute" in answer.text or "分钟" in answer.text


def test_samples_are_rows_of_a_table() -> None:
    by_rows, by_samples = (
        place(Task(action="train", work="random forest", rows=rows, samples=samples))
        for rows, samples in ((3_000_000, None), (None, 3_000_000))
    )
    assert by_rows.reasons[0].figures[0].value == by_samples.reasons[0].figures[0].value
