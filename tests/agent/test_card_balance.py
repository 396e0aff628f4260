"""Whether a card leans to compute or to bandwidth."""

from __future__ import annotations

import pytest

from agent import Advisor, Settings
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("H20 偏算力还是偏带宽", "**NVIDIA H20 96GB 偏带宽"),  # 148 TFLOPS / 4.0 TB/s = 37
        ("is the H20 better at decode or prefill?", "**NVIDIA H20 96GB leans to bandwidth"),
        ("L40S 更适合prefill还是decode", "**NVIDIA L40S 偏算力"),  # 362 / 0.864 = 419
    ],
)
def test_operations_a_byte_name_the_side(question: str, start: str) -> None:
    answer, _ = answered(question)
    assert answer.text.startswith(start)
    assert answer.verdict == "not_applicable"


def test_a_card_is_put_on_a_side_of_what_was_explained_before() -> None:
    advisor = Advisor(Settings(backend="embedded", simulation=False))
    advisor.ask("推理里prefill和decode 为啥一个吃算力一个吃带宽", thread="balance")
    answer = advisor.ask("那H20偏哪个", thread="balance")
    figures = {f.name: float(f.value) for f in answer.figures}
    assert figures["operations a byte: NVIDIA H20 96GB"] == pytest.approx(148e12 / 4.0e12)


def test_which_card_is_better_is_a_comparison() -> None:
    answer, _ = answered("A10和T4 哪个好")
    assert answer.intent == "gpu_compare"
