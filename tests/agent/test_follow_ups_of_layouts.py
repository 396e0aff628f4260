"""Follow-ups that change how a training is laid out: machines, host memory, shared sequences."""

from __future__ import annotations

from agent import ungrounded
from agent.advisor import Advisor
from agent.answer import Answer
from tests.agent.answers import answered


def conversation(*turns: str) -> list[Answer]:
    with Advisor() as advisor:
        thread = "layouts-" + turns[0]
        advisor.delete(thread)
        answers = [advisor.ask(turn, thread=thread) for turn in turns]
        advisor.delete(thread)
    return answers


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


def test_fewer_machines_are_fewer_cards_and_ram_takes_the_states() -> None:
    """Two states, master, gradient and weights of 32.8e9 parameters: 18 bytes each are 590 GB."""
    first, second, third = conversation(
        "4 machines with 8 A100 80GB each, full fine-tune of Qwen2.5-32B at 4096, does it fit?",
        "and if I only have one node with 1TB of RAM?",
        "how slow is that for 100M tokens?",
    )
    assert first.request["gpu_count"] == 32
    assert second.request["gpu_count"] == 8
    assert second.request["offload"] is True
    assert "590 GB" in second.text
    assert third.intent == "time_estimate"
    # 100e6 tokens in steps of 4096 * 8
    assert _figure(third, "steps") == 3052


def test_a_shared_sequence_leaves_a_share_of_the_activations() -> None:
    _, second = conversation("Qwen2.5-14B LoRA, 4×A100 80G, seq 64k 放得下吗", "开 ulysses 呢")
    assert second.verdict in ("fits", "tight")
    assert _figure(second, "tokens_of_a_card") == 65536 / 4
    assert "40 个头" in second.text


def test_heads_that_do_not_divide_are_told() -> None:
    question = "sequence parallel over 6 cards: Qwen2.5-14B LoRA at 32k on 6x A100 80GB, fits?"
    answer, _ = answered(question)
    assert "40 heads do not divide by 6" in answer.text
    assert not ungrounded(answer, question=question)
