"""Preprocessing apart from a training: a CPU machine, the hours and what they cost."""

from __future__ import annotations

import pytest

from tests.agent.answers import answer, answered


@pytest.mark.parametrize(
    ("question", "hours"),
    [
        # 10 M / (150 a second and vCPU * 16) and 5 M / (150 * 32)
        ("数据预处理 1000 万张图片 resize,用 CPU 还是 GPU", 1e7 / (150 * 16) / 3600),
        ("Do I need a GPU for preprocessing 5 million images on 32 vCPU? how long",
         5e6 / (150 * 32) / 3600),
    ],
)  # fmt: skip
def test_cores_do_it_and_set_the_time(question: str, hours: float) -> None:
    found = answer(question)
    figures = {f.name: float(f.value) for f in found.figures}
    assert figures["hours"] == pytest.approx(hours)
    price = float(found.offers[0].price or 0)
    assert figures["cost"] == pytest.approx(hours * price, rel=1e-3)
    assert found.offers[0].gpu_name is None


def test_without_an_amount_the_place_alone_is_told() -> None:
    found = answer("数据清洗 etl 要 gpu 吗")
    assert found.text.startswith("**不需要 GPU**")
    assert not any(f.name == "hours" for f in found.figures)


def test_a_starved_gpu_is_another_question() -> None:
    found, _ = answered("imagenet 训练 GPU 利用率 30% 怎么办,预处理太慢了吗")
    assert found.intent == "io_bottleneck"
