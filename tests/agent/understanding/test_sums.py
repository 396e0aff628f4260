"""Numbers that make one sum: hours a day, steps a second, lives of nodes, links, images fed."""

from __future__ import annotations

import pytest

from agent.request import Request
from agent.understanding import parse


def last(*turns: str) -> Request:
    history: list[Request] = []
    for turn in turns:
        history.append(parse(turn, history))
    return history[-1]


def test_hours_a_day_times_days() -> None:
    slots = parse("gn7i-c8g1.2xlarge 每天只开7小时,21个工作日,多少钱").slots
    assert (slots.hours, slots.hours_per_day, slots.days) == (147, 7, 21)


def test_a_turn_that_changes_one_factor_keeps_the_other() -> None:
    first = "g5.xlarge 6 hours a day, 20 working days, monthly bill?"
    assert last(first, "and at 10 hours?").slots.hours == 200
    assert last(first, "what about 25 days").slots.hours == 150
    assert last(first, "and at 10 hours?").intent == "cost_estimate"


@pytest.mark.parametrize(
    ("text", "value"),
    [("每秒2.5个step 一共四万步 多久", 2.5), ("90 steps per minute, 30k steps, how long", 1.5)],
)
def test_steps_a_second(text: str, value: float) -> None:
    request = parse(text)
    assert request.slots.steps_per_s == value
    assert request.intent == "time_estimate"


@pytest.mark.parametrize(
    "text",
    [
        "spot 节点平均能活9小时 存一次2分钟 多久存一次",
        "my spot node lives about 9 h, a save takes 2 minutes, how often to save",
        "竞价机平均9小时被收走 隔多久存档",
    ],
)
def test_how_long_a_node_lives(text: str) -> None:
    assert parse(text).slots.mtbf_hours == 9


def test_cards_of_each_machine_are_not_multiplied_twice() -> None:
    slots = parse("两机八卡每机4张A100 40G 机间100G RoCE 全参13b 用什么并行").slots
    assert (slots.nodes, slots.gpu_count, slots.bandwidth_gbps) == (2, 8, 100)


def test_links_set_against_each_other() -> None:
    assert parse("25G RoCE还是100G RoCE 两机训7B差多少").slots.bandwidths_gbps == (25, 100)


def test_images_that_a_job_is_fed_with() -> None:
    slots = parse("每秒要喂 9000 张 50KB 的图 oss 行吗").slots
    assert (slots.gpu_img_s, slots.img_kb) == (9000, 50)


def test_a_price_of_yuan_and_tenths() -> None:
    price = parse("每卡每小时4块2 用300卡时 一共多少钱").slots.price
    assert price is not None
    assert not isinstance(price, tuple)
    assert (price.amount, price.currency, price.per) == (4.2, "CNY", "hour")


def test_a_price_that_is_refused_is_a_budget() -> None:
    budget = parse("玩sd1.5 租啥卡 一小时超过三块不考虑").slots.budget
    assert budget is not None
    assert (budget.amount, budget.per) == (3, "hour")
