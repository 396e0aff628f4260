"""Hours that a job has are a limit of the search, not the length of the job."""

from __future__ import annotations

import pytest

from tests.agent.answers import answer, answered


@pytest.mark.parametrize(
    ("question", "deadline"),
    [
        ("Which AWS instance to LoRA fine-tune Llama-3-8B on 100M tokens within 10 hours?", 10),
        ("推荐: Llama-3-8B 全参微调 deadline 24 小时 500M token 哪个 AWS 实例最省", 24),
    ],
)
def test_a_deadline_leaves_the_hours_to_the_work(question: str, deadline: float) -> None:
    _, results = answered(question)
    call = next(r for r in results if r.name == "recommend")
    assert call.arguments["deadline_hours"] == deadline
    assert "hours" not in call.arguments
    found = answer(question)
    hours = [float(f.value) for f in found.figures if f.name.endswith(": hours value")]
    assert hours
    assert max(hours) <= deadline


def test_a_tighter_deadline_takes_a_faster_machine() -> None:
    def first(hours: int) -> str:
        question = (
            f"Which AWS instance to LoRA fine-tune Llama-3-8B on 100M tokens within {hours} hours?"
        )
        return str(answer(question).offers[0].instance_type)

    assert first(40) != first(2)


def test_a_deadline_without_a_machine_is_a_recommendation() -> None:
    found = answer("Qwen2.5-7B LoRA 5万条每条800 token 12小时内跑完 选什么机器")
    assert found.intent == "recommend_instance"
    hours = [float(f.value) for f in found.figures if f.name.endswith(": hours value")]
    assert hours
    assert max(hours) <= 12
