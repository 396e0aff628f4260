"""Which cloud each type that is named is of: by its own name, or by the words beside it."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("question", "name", "cloud"),
    [
        ("AWS 的 g5.2xlarge 和阿里云 gn7i 哪个便宜", "g5.2xlarge", "aws"),
        ("AWS 的 g5.2xlarge 和阿里云 gn7i 哪个便宜", "gn7i", "alibaba"),
        ("ecs.g6.xlarge 是什么机器", "ecs.g6.xlarge", "alibaba"),
        ("is g6.xlarge on AWS the same as Alibaba's?", "g6.xlarge", "aws"),
        ("g6.xlarge 是什么机器", "g6.xlarge", None),
    ],
)
def test_cloud_of_a_type(question: str, name: str, cloud: str | None) -> None:
    assert parse(question).clouds.get(name) == cloud


def test_a_type_without_a_cloud_of_its_own_is_of_the_one_spoken_of() -> None:
    request = parse("阿里云上 ecs.gn7i-c8g1.2xlarge 一小时多少钱")
    assert request.cloud == "alibaba"
    assert request.cloud_of("gn6v") == "alibaba"
