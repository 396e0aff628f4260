"""What questions about money say: each mark and amount in wordings that have it and near misses."""

from __future__ import annotations

import pytest

from agent.understanding import parse

SAID = {
    "money.asks_hours": (
        "how many GPU hours does 40 dollars buy at 2 dollars an hour",
        "我有 300 块，3 块一小时的卡能撑几天",
        "200 元按 4 元/小时能用多久",
    ),
    "money.after_discount": (
        "12 元一小时是折后价，原价多少",
        "0.6 USD/h after a 40% discount, what was it before",
        "打七折之后 8 块一小时",
    ),
    "money.per_epoch": (
        "2.5 hours per epoch, 4 epochs, 3 USD an hour: cost?",
        "一个 epoch 要 3 小时，训 5 个 epoch，机器 20 元/小时",
        "each epoch takes 40 h",
    ),
    "money.per_card": (
        "1.9 dollars per GPU-hour, eight of them for 10 hours",
        "每张卡 6 块一小时，8 卡跑 20 小时",
        "单卡 12 元，四卡机器一天多少",
        "租两张，单张每小时 2 元",
        "2.2元/卡时",
    ),
    "money.cheapest": (
        "which provider has the L40S at the lowest price",
        "哪家云的 4090 便宜",
        "where can I rent an A6000",
    ),
    "money.worth": (
        "H100 costs 3x as much as A100, is it worth it",
        "H20 比 L20 贵两倍，值得吗",
        "does the speed justify the money",
    ),
    "money.smaller": ("and the next size down?", "换成单卡的呢", "同样时长，小一号的规格"),
    "money.of_saves": (
        "my job keeps getting preempted, what now",
        "训练老是中断，断点怎么弄",
        "we lost a day of work on spot",
    ),
    "money.taken_away": ("spot T4 price", "抢占式的机器说收走就收走", "they evicted my node"),
    "money.of_notice": ("do they warn me first", "回收前会说一声吗", "any heads-up?"),
    "money.asks_notice": (
        "how much notice do I get before a spot VM goes",
        "竞价实例提前多久通知",
        "is the warning long enough before preemption",
        "回收通知一般多久",
        "will they warn me before the spot node goes",
        "竞价实例释放前会不会通知",
    ),
    "money.saves_on_notice": (
        "can I save only after the two minute warning",
        "收到回收通知再存 checkpoint 来得及吗",
        "is the notice enough to write 20 GB",
        "spot 回收只给 30 秒，来得及存吗",
    ),
    "money.million_tokens": (
        "Qwen2.5-14B on an L20: cost per million output tokens?",
        "自建 32B 每百万 token 多少钱",
        "price of 1M tokens on my own A100",
    ),
    "money.whole_month": (
        "an L4 24/7, what is the bill",
        "g5.xlarge 一个月不关机多少钱",
        "monthly cost of p3.2xlarge",
        "7x24 开一台 A10",
    ),
    "money.whole_week": ("a T4 for a whole run of one week", "挂一个星期多少钱", "weekly bill?"),
    "money.versus": (
        "A10 on demand, and spot too",
        "抢占式和按量各多少",
        "how much would I save with spot",
        "spot 能比现在便宜多少",
    ),
}
UNSAID = {
    "money.asks_hours": ("40 dollars for 20 hours of a T4", "300 块够吗"),
    "money.after_discount": ("10% discount on an A10", "打七折多少钱"),
    "money.per_epoch": ("5 epochs, 20 hours in all", "总共 12 小时，3 个 epoch"),
    "money.per_card": ("8 cards for 10 hours at 30 USD an hour", "300 卡时一共多少钱"),
    "money.cheapest": ("price of a T4 on AWS", "A10 一小时多少钱"),
    "money.worth": ("H100 or A100 for 7B", "A100 多少钱"),
    "money.smaller": ("and eight cards?", "换成两张卡呢"),
    "money.of_saves": ("how much does spot save on an A10", "抢占式便宜多少"),
    "money.taken_away": ("on demand price of g6.xlarge", "按量一小时多少钱"),
    "money.asks_notice": ("spot price of an A100", "抢占式 A10 多少钱一小时"),
    "money.saves_on_notice": ("save a checkpoint every hour", "多久存一次 checkpoint"),
    "money.million_tokens": ("can it hold 1M tokens context", "训练 100 万条数据"),
    "money.whole_month": ("I bought it a month ago", "一个月内能训完吗", "months of work"),
    "money.whole_week": ("done within one week?", "一周内训完"),
    "money.versus": (
        "how often should I save on spot",
        "spot: saving a checkpoint takes 4 minutes",
        "抢占式 A10 多少钱",
    ),
}


@pytest.mark.parametrize(("mark", "text"), [(m, t) for m, texts in SAID.items() for t in texts])
def test_the_mark_is_read(mark: str, text: str) -> None:
    assert parse(text).says(mark)


@pytest.mark.parametrize(("mark", "text"), [(m, t) for m, texts in UNSAID.items() for t in texts])
def test_a_near_miss_has_no_mark(mark: str, text: str) -> None:
    assert not parse(text).says(mark)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("price_ratio", "the H100 is 2.5x the price of an A100", 2.5),
        ("price_ratio", "A100 比 A10 贵三倍", 3),
        ("notice_minutes", "they give a two minute warning on spot", 2),
        ("notice_minutes", "抢占式提前 5 分钟通知", 5),
        ("notice_minutes", "回收只给 30 秒", 0.5),
        ("notice_seconds", "a 30-second notice before preemption", 30),
        ("notice_seconds", "回收前 20 秒才会通知", 20),
    ],
)
def test_an_amount_is_read(name: str, text: str, value: float) -> None:
    assert parse(text).amounts[f"money.{name}"] == (value,)


@pytest.mark.parametrize("text", ["2 x A100 for 3 hours", "3x4090 多少钱"])
def test_a_count_of_cards_is_no_ratio(text: str) -> None:
    assert "money.price_ratio" not in parse(text).amounts
