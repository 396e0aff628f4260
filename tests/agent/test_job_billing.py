"""A job on demand, on spot and by subscription; a stated link between machines is counted."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from tests.agent.answers import answer
from tools.catalog import cheapest, get_instance
from tools.speed import SpotJob, TrainingJob, spot_plan, training_speed


def _figures(found: Answer) -> dict[str, float]:
    return {f.name: float(f.value) for f in found.figures}


def test_spot_counts_saves_and_lost_work() -> None:
    found = answer("g5.xlarge LoRA Llama-3-8B on 60M tokens: cost on spot vs on demand?")
    figures = _figures(found)
    assert "spot" in found.text.casefold()
    hours = figures["cost"] / float(found.offers[-1].price or 0)
    plan = spot_plan(SpotJob(mtbf_hours=6, checkpoint_s=60, job_hours=hours))
    assert plan.overhead > 0
    assert "On spot about" in found.text
    assert "interruption every 6 hours" in found.text


def test_a_subscription_is_weighed_against_the_hours_of_the_job() -> None:
    found = answer(
        "Qwen2.5-7B LoRA 5万条 每条800 token 3 epoch 一张A10 包月还是按量便宜,总共多少钱"
    )
    assert "4,306 元" in found.text  # 5.899 * 730
    assert "不划算" in found.text


@pytest.mark.parametrize(
    ("words", "link"), [("100Gbps", "100 Gbps Ethernet"), ("100Gbps RDMA", "100 Gbps RDMA")]
)
def test_a_stated_link_between_machines_is_counted(words: str, link: str) -> None:
    found = answer(f"Qwen2.5-72B 全参微调 2 机共 16 张 A100 {words},1B tokens 要多久多少钱")
    job = TrainingJob(
        gpu="NVIDIA A100 SXM4 80GB", model="Qwen/Qwen2.5-72B", method="full", num_gpus=16,
        nodes=2, link=link,
    )  # fmt: skip
    slow = training_speed(job).tokens_per_s.value
    hours = _figures(found)["hours"]
    assert hours == pytest.approx(1e9 / slow / 3600, rel=0.02)
    # two machines with the card that was reckoned with, and no one machine of smaller cards
    assert all("80GB" in str(offer.gpu_name) for offer in found.offers)


def test_a_job_without_a_word_of_money_has_no_line_of_spot() -> None:
    found = answer("How long does LoRA of a 7B take on one A100 80GB for 10M tokens?")
    assert "spot" not in found.text.casefold()
    assert cheapest(get_instance("g5.xlarge")) is not None
