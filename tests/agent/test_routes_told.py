"""The cloud that data leave bills them; the one that they enter does not."""

from __future__ import annotations

from tests.agent.answers import answer
from tools.catalog import traffic_cost


def _billed(provider: str, tb: float) -> str:
    cost = traffic_cost(provider, way="internet", size_bytes=tb * 1e12)
    assert cost is not None
    return f"{cost.high:,.0f}"


def test_the_source_is_billed_whatever_stands_first() -> None:
    text = answer("pull 6 TB into GCS from an S3 bucket, cost?").text
    assert text.startswith("**AWS bills the data that leave it")
    assert _billed("aws", 6) in text
    assert "Google Cloud bills nothing for what comes in" in text


def test_time_and_money_of_a_copy_abroad() -> None:
    text = answer("把 GCS 上的 4TB 数据拷到阿里云 OSS,带宽 1Gbps,要多久多少钱").text
    assert text.startswith("**4 TB 从 Cloud Storage 拷到 OSS 约 9.7 小时")
    assert _billed("gcp", 4) in text
    assert "只有流出方收" in text


def test_a_copy_into_a_cloud_from_outside_is_free() -> None:
    text = answer("从公司机房上传 2TB 数据到 S3,1Gbps,多久,收费吗").text
    assert "传进 AWS 不收流量费" in text


def test_a_source_without_a_price_is_named_and_not_guessed() -> None:
    text = answer("把腾讯云 COS 的 3TB 数据迁到阿里云 OSS,流量费多少").text
    assert "收费的是流出方腾讯云" in text
    assert "公网流量费" not in text
