"""Moving data: how long, what holds it back, what the traffic costs."""

from __future__ import annotations

import pytest

from tests.agent.answers import answer, answered


def test_a_copy_from_a_store_takes_as_long_as_its_link() -> None:
    found = answer("20TB 数据从 OSS 拷到 gn7e 机器上,10Gbps 要多久,流量费多少")
    figures = {f.name: float(f.value) for f in found.figures}
    assert figures["copy_hours"] == pytest.approx(20e12 / 1.15e9 / 3600)
    assert found.text.startswith("**20 TB 从 OSS 拷")
    # 20,000 GB at 0.25 and 0.50 CNY
    assert "5,000 元–10,000 元" in found.text
    assert "内网不收流量费" in found.text


def test_the_network_of_the_named_machine_is_taken() -> None:
    found = answer("How long does it take to copy 5 TB of images from S3 to a g5.12xlarge?")
    figures = {f.name: float(f.value) for f in found.figures}
    assert figures["copy_hours"] == pytest.approx(5e12 / (40 * 0.92 / 8 * 1e9) / 3600)
    assert "40 Gbps" in found.text


def test_money_comes_first_where_money_alone_is_asked() -> None:
    found = answer("egress cost for 50 TB out of AWS to internet")
    # 10,140 GB * 0.09 + 39,760 * 0.085
    assert found.text.startswith("**Internet traffic costs about 4,292 USD**")


def test_small_files_are_told_beside_shards() -> None:
    found = answer("1000万张图片共1TB从OSS同步到4台gn7i要多久")
    assert "打开小文件" in found.text
    assert "分片" in found.text


def test_an_upload_has_no_price_of_outbound_traffic() -> None:
    found = answer("upload 2 TB to OSS over 200 Mbps, how long")
    figures = {f.name: float(f.value) for f in found.figures}
    assert figures["copy_hours"] == pytest.approx(2e12 / (0.2 * 0.92 / 8 * 1e9) / 3600)
    assert "free" in found.text
    assert "CNY" not in found.text


@pytest.mark.parametrize(
    "question",
    [
        "每步要传 13.5 GB 梯度,10Gbps 网络够吗",
        "7B 全参微调 checkpoint 多大, 写到 NAS 要多久",
        "imagenet 训练 GPU 利用率 30% 怎么办",
    ],
)
def test_other_questions_are_no_copies(question: str) -> None:
    _, results = answered(question)
    assert not any(result.name == "plan_copy" for result in results)


def test_between_two_clouds_both_ends_are_named_and_nothing_is_free() -> None:
    found = answer("move 30 TB from AWS S3 to Alibaba OSS, 1 Gbps, cost and time")
    assert "from S3 to OSS" in found.text
    # 10,140 GB * 0.09 + 19,760 * 0.085
    assert "2,592 USD" in found.text
    assert "free" not in found.text
