"""Machines asked for by place, price, number and size of cards in one line."""

from __future__ import annotations

from tests.agent.answers import answer


def test_the_cheapest_of_a_continent_is_of_that_continent() -> None:
    found = answer("Which GPU instance on GCP or AWS is the cheapest in Europe below $1 an hour?")
    first = found.offers[0]
    assert first.region is not None
    assert first.region.startswith("eu")


def test_a_list_of_conditions_finds_the_type() -> None:
    text = answer("北京,每小时 25 元以内,2 张卡以上,单卡不低于 24G,支持 bf16,列出来").text
    assert "ecs.gn7i-2x.8xlarge" in text
    assert "20.19 元" in text
