"""Rates that are only a number, spot notice that is claimed, steps of a progress bar, language."""

from __future__ import annotations

import pytest

from agent.understanding import parse
from agent.understanding.lexicon.language import language_of
from tests.agent.answers import answer


@pytest.mark.parametrize(
    ("question", "amount", "currency"),
    [
        ("4090 1.88一小时 挂三天多少钱", 1.88, "CNY"),
        ("恒源云 3090 一小时1.3 跑一周多少", 1.3, "CNY"),
        ("runpod a100 1.64 an hour, 3 days, total?", 1.64, "USD"),
        ("vast上 4090 0.35/h 连挂100小时多少钱", 0.35, "USD"),
    ],
)
def test_a_number_beside_an_hour_is_a_rate(question: str, amount: float, currency: str) -> None:
    price = parse(question).slots.price
    assert price is not None
    assert not isinstance(price, tuple)
    assert (price.amount, price.currency, price.per) == (amount, currency, "hour")


@pytest.mark.parametrize("question", ["A10 一小时多少钱", "A100 一小时 8 张图要多少钱"])
def test_a_count_beside_an_hour_is_no_rate(question: str) -> None:
    assert parse(question).slots.price is None


def test_a_rate_times_hours_is_told() -> None:
    assert "135.36" in answer("autodl 4090 1.88一小时 挂三天三夜多少钱").text


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("gcp的spot回收前也是提前两分钟说一声吗", "30 秒"),
        ("aws spot 提前30秒通知对吧", "2 分钟"),
        ("azure spot gives 2 minutes warning right?", "30 seconds"),
    ],
)
def test_a_wrong_notice_is_put_right(question: str, fact: str) -> None:
    assert any(fact in correction.fact for correction in answer(question).corrections)


def test_a_right_notice_is_confirmed() -> None:
    assert not answer("aws spot warns you 2 minutes before it takes the box, true?").corrections


@pytest.mark.parametrize(
    ("question", "save", "mtbf"),
    [
        ("存一次ckpt 2分钟 抢占式平均4小时断一回 多久存一次", 2, 4),
        ("写一次checkpoint大概3分钟 竞价实例一般6个小时就没了 隔多久存", 3, 6),
        ("spot dies about every 5 hours, a save takes 90 s, how often should I save", 1.5, 5),
    ],
)
def test_a_save_and_the_time_between_ends(question: str, save: float, mtbf: float) -> None:
    slots = parse(question).slots
    assert (slots.ckpt_minutes, slots.mtbf_hours) == (save, mtbf)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("进度条写 0/4800 6.4s/it 跑完要几个钟", "8.53"),
        ("一共 15000 iter 每个 iter 0.9 秒 全跑完多长时间", "3.8"),
    ],
)
def test_steps_times_their_pace(question: str, told: str) -> None:
    assert told in answer(question).text


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("ValueError: No available memory for the cache blocks. Try increasing the share.\n咋办",
         "zh"),
        ("why does this fail?\nlr: 1e-4  # 学习率\nbatch: 4  # 批大小", "en"),
        ("x " * 6000 + "显存不够怎么办 " + "y " * 6000, "zh"),
    ],
)  # fmt: skip
def test_language_is_that_of_what_was_written(text: str, language: str) -> None:
    assert language_of(text) == language


def test_a_text_in_no_language_is_of_the_users_system(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert language_of("gemma-3-27b Q4_K_M -ngl 99 3090") == "zh"
    assert language_of("gemma-3-27b Q4_K_M -ngl 99 3090", "en") == "en"


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("aws竞价机跑70b全参 收到回收通知再存checkpoint 来得及不", "来不及"),
        ("阿里云抢占式 7B全参 等通知来了再存检查点行不行", "来得及"),
    ],
)
def test_a_save_that_waits_for_the_notice(question: str, told: str) -> None:
    assert told in answer(question).text


@pytest.mark.parametrize(
    ("question", "total"),
    [
        ("单卡8.5元一小时 租4张 跑36小时 一共多少钱", "1,224"),  # 8.5 * 4 * 36
        ("单张 6 块一小时,租 2 张卡跑 10 小时多少钱", "120"),
        ("8.5元一小时的4卡机器跑36小时多少钱", "306"),  # the machine's price, not a card's
    ],
)
def test_a_price_of_one_card_is_paid_for_each(question: str, total: str) -> None:
    assert total in answer(question).text
