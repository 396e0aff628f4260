"""From where to where data are copied, by the words in front of each place."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("text", "source", "target"),
    [
        ("pull 6 TB into GCS from an S3 bucket, cost?", "aws", "gcp"),
        ("把阿里云 OSS 里的 9TB 语料同步到 AWS S3,流量费多少", "alibaba", "aws"),
        ("从 S3 拷 2TB 到腾讯云,多久", "aws", "tencent"),
        ("华为云 OBS 的 5TB 图片要搬到阿里云,谁收流量费", "huawei", "alibaba"),
        ("move 700 GB to our office from Azure Blob Storage", "azure", "outside"),
        ("upload 3TB from our datacenter to S3, how long on 1Gbps", "outside", "aws"),
    ],
)
def test_both_ends(text: str, source: str, target: str) -> None:
    route = parse(text).route
    assert route is not None
    assert (route.source, route.target) == (source, target)


@pytest.mark.parametrize(
    "text",
    [
        "copy 5 TB of images from S3, how long",
        "AWS or GCP: where is an A100 80GB cheaper?",
        "上传 3TB 数据到 OSS 要多久,1Gbps",
        "从 AWS S3 us-east-1 拷 1TB 到 AWS 的另一个区域",
    ],
)
def test_one_end_is_no_route(text: str) -> None:
    assert parse(text).route is None
