"""Loading whose need is said: by a rate and cores, by a deadline, by the size of the files."""

from __future__ import annotations

import pytest

from tests.agent.answers import answered


def _figures(question: str) -> tuple[str, str, dict[str, float]]:
    answer, _ = answered(question)
    numbers = {f.name: float(f.value) for f in answer.figures if isinstance(f.value, int | float)}
    return answer.intent, answer.text, numbers


@pytest.mark.parametrize(
    ("question", "busy"),
    [
        ("ResNet-101 training, 4 A100 at 1200 img/s each, 24 vCPU decode the JPEGs. Bottleneck?",
         24 * 150 / 4800),
        ("4 张 V100 训 ResNet-50,每张 1000 张/秒,机器 8 核 vCPU 解码,瓶颈在哪", 8 * 150 / 4000),
    ],
)  # fmt: skip
def test_cores_are_set_against_the_rate_of_the_cards(question: str, busy: float) -> None:
    intent, _, numbers = _figures(question)
    assert intent == "io_bottleneck"
    assert numbers["busy"] == pytest.approx(busy, rel=0.01)


def test_a_deadline_gives_the_rate() -> None:
    _, text, numbers = _figures("6000 万张 50KB 图片,一个 epoch 要 4 小时内跑完,NAS 够不够")
    assert numbers["files a second"] == pytest.approx(60e6 / 14_400, rel=1e-3)
    assert "208 MB/s" in text
    assert numbers["reads under way"] == pytest.approx(60e6 / 14_400 * 0.002, rel=0.02)


@pytest.mark.parametrize(
    "question",
    ["训练 3B 语言模型,数据在 NAS,num_workers=0, GPU 利用率上不去",
     "ResNet-50 training, DataLoader num_workers=0, GPU utilization swings. Why?"],
)  # fmt: skip
def test_no_workers_are_the_first_suspect(question: str) -> None:
    _, text, _ = _figures(question)
    assert text.lstrip("*").startswith("num_workers=0")


def test_large_files_are_counted_at_their_size() -> None:
    _, text, numbers = _figures("photos of 2MB each on EFS, ResNet-50 training crawls")
    assert numbers["image size"] == pytest.approx(2000)
    assert "EFS (a client) 524 MB/s" in text
    assert numbers["larger than usual"] == pytest.approx(18, abs=0.5)
