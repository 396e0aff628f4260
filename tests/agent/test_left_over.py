"""Follow-ups that only ask what is left of a card, or why: about the job before them."""

from __future__ import annotations

import pytest

from agent.advisor import Advisor
from agent.answer import Answer


def talk(*turns: str) -> list[Answer]:
    with Advisor() as advisor:
        thread = "left-" + turns[0]
        advisor.delete(thread)
        answers = [advisor.ask(turn, thread=thread) for turn in turns]
        advisor.delete(thread)
    return answers


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize("question", ["每张卡还剩多少显存", "how much headroom is left?"])
def test_what_is_left_is_the_first_sentence(question: str) -> None:
    first, second = talk("QLoRA Qwen2.5-7B on an A10, seq 1024", question)
    assert first.memory is not None
    assert first.memory.usable_bytes is not None
    room = _figure(second, "room")
    assert f"{room / 2**30:.1f} GiB" in second.text.split("\n")[0]
    assert second.request["gpu"] == first.request["gpu"]
    assert 0 < room < first.memory.usable_bytes


def test_why_is_told_by_the_parts() -> None:
    _, second, third = talk("Qwen2.5-14B LoRA 单卡 3090 放得下吗", "为什么", "换成 A100 80G 呢")
    assert second.verdict == "does_not_fit"
    assert "权重" in second.text.split("\n")[0]
    assert third.request["gpu"] == "NVIDIA A100 SXM4 80GB"


def test_the_job_is_not_lost_behind_such_a_turn() -> None:
    last = talk("70B LoRA 8×4090 seq 1024", "每卡还剩多少", "batch 能开到几")[-1]
    assert last.request["params_b"] == 70
    assert "147" not in last.text  # whole weights on every card: nobody would run it like that


def test_without_a_job_it_stays_open() -> None:
    assert talk("为什么")[0].memory is None
