"""Spot without a price, monthly rent, a name on several clouds, and which exchange pays."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from tests.agent.answers import answered
from tools.catalog import cheapest, get_instance, spot_quote


def _figures(answer: Answer) -> dict[str, float]:
    return {f.name: float(f.value) for f in answer.figures}


def test_spot_that_no_list_prices_is_told_by_the_undated_list_price() -> None:
    answer, _ = answered("腾讯云 GN7 竞价实例 3 天多少钱")
    assert "没有它的抢占式价格" in answer.text
    assert "目录价没有日期，不参与排序" in answer.text
    assert "499.68 元" in answer.text  # GN7.2XLARGE40: 6.94 CNY/h for 72 h


def test_spot_of_a_dated_type_carries_the_date_of_its_list_price() -> None:
    answer, _ = answered("gn7e 用抢占式训练 3 天大概多少钱")
    price = cheapest(get_instance("ecs.gn7e-c16g1.4xlarge"), region="cn")
    assert price is not None
    assert f"{price.priced_on}" in answer.text
    overhead = _figures(answer)["overhead"]
    assert _figures(answer)["wall_hours"] == pytest.approx(72 * (1 + overhead), rel=1e-3)


def test_a_price_an_hour_of_spot_is_spots() -> None:
    answer, _ = answered("g2-standard-4 spot 一小时多少钱")
    quote = spot_quote(get_instance("g2-standard-4"))
    assert quote is not None
    assert quote.likely is not None
    assert f"{float(quote.likely):.2f}" in answer.text


def test_a_month_on_demand_is_what_a_monthly_price_must_beat() -> None:
    """A type whose subscription is not known: 10 h a day are 304 h a month."""
    answer, _ = answered("ecs.gn7e-c16g1.4xlarge 包月和按量哪个划算,每天用 10 小时")
    price = cheapest(get_instance("ecs.gn7e-c16g1.4xlarge"), region="cn")
    assert price is not None
    month = round(10 * 730 / 24, 1) * float(price.amount)  # hours are told to a tenth
    assert _figures(answer)["on_demand_per_month"] == pytest.approx(month, abs=0.01)
    assert "月价" in answer.text


@pytest.mark.parametrize("question", ["g6.xlarge 是什么卡", "what is g7.8xlarge?"])
def test_a_name_of_several_clouds_is_told_for_each(question: str) -> None:
    answer, _ = answered(question)
    assert {"alibaba", "aws"} <= {offer.provider for offer in answer.offers}


def test_a_name_with_its_clouds_beginning_is_that_clouds() -> None:
    answer, _ = answered("ecs.g6.xlarge 是什么配置")
    told = [offer for offer in answer.offers if offer.instance_type.endswith("g6.xlarge")]
    assert {offer.provider for offer in told} == {"alibaba"}


def test_a_slip_in_a_type_finds_the_type_meant_first() -> None:
    answer, _ = answered("ecs.gn7i-c8g1.2xlarg 是什么配置")
    assert answer.offers[0].instance_type == "ecs.gn7i-c8g1.2xlarge"


def test_machines_over_a_slow_link_are_judged_by_what_is_trained() -> None:
    answer, _ = answered("8 台 gn7i 用 10G 网络做 DDP 划算吗")
    figures = _figures(answer)
    assert figures["ddp speedup"] > 0.7 * 8
    assert figures["zero3 speedup"] < 0.5 * 8
    assert answer.text.index("划算的") < answer.text.index("DDP）：")
    assert "显存放不下" in answer.text  # ZeRO-2 keeps 16-bit weights whole beside a 24 GB card


def test_the_two_wires_are_told_side_by_side() -> None:
    answer, _ = answered("两台 8 卡 A100 之间用 TCP 100G 和 RDMA 100G 差多少")
    assert "TCP · LoRA" in answer.text
    assert "RDMA · LoRA" in answer.text


def test_a_storage_is_judged_by_what_the_cards_take() -> None:
    answer, _ = answered("4 张 A100 训练 ResNet-50,ESSD PL1 够吗")
    figures = _figures(answer)
    assert figures["busy"] == pytest.approx(350 / (figures["images_needed"] * 0.110), rel=1e-3)
    assert "不够" in answer.text.splitlines()[0]
