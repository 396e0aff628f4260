"""Hours and money of a job: the work is read as it was written, and a follow-up keeps it."""

from __future__ import annotations

import pytest

from agent import Advisor, Settings
from agent.toolbox.catalog import InstancesReport
from agent.understanding import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "samples", "each"),
    [
        ("how long to finetune llama3 8b lora on 50k samples of 1024 tokens, 3 epochs, one A100",
         50_000, 1024),
        ("20k 条样本 每条 2048 token 训 2 轮 Qwen2.5-7B QLoRA 单张 A10 要多久", 20_000, 2048),
        ("100000 examples averaging 700 tokens each, 7b lora on L40S: hours?", 100_000, 700),
    ],
)  # fmt: skip
def test_tokens_beside_samples_are_those_of_one(question: str, samples: int, each: int) -> None:
    slots = parse(question).slots
    assert (slots.samples, slots.tokens_per_sample, slots.tokens) == (samples, each, None)


@pytest.mark.parametrize(
    ("question", "tokens", "params_b"),
    [
        ("how much does it cost to pretrain a 1.3B on 30B tokens with 8 A100", 30e9, 1.3),
        ("预训练 1B 模型 20B token 用 8 张 H100 要多少钱", 20e9, 1),
        ("continue pretraining a 7B on 1.5T tokens, 64 H100, how long?", 1.5e12, 7),
    ],
)
def test_billions_of_tokens_are_no_size_of_a_model(
    question: str, tokens: float, params_b: float
) -> None:
    slots = parse(question).slots
    assert (slots.tokens, slots.params_b) == (tokens, params_b)


def test_cost_of_pre_training_is_hours_and_money_of_that_work() -> None:
    """6 · 1.3e9 · 30e9 FLOP over 8 · 312 TFLOPS at an MFU of 0.2 to 0.6 is 43 to 130 hours."""
    answer, _ = answered("how much does it cost to pretrain a 1.3B on 30B tokens with 8 A100")
    hours = [f for f in answer.figures if f.name == "job_hours" or f.unit == "h"]
    assert any(43 <= float(f.value) <= 130 for f in hours)
    assert any(f.name == "cost" for f in answer.figures)
    assert "30 billion tokens" in answer.text


def test_a_follow_up_about_money_keeps_the_job() -> None:
    first = parse(
        "how long to finetune llama3 8b lora on 50k samples of 1024 tokens, one A100 80G?"
    )
    second = parse("how much does that cost on AWS?", [first])
    assert second.intent == "cost_estimate"
    assert (second.slots.samples, second.slots.provider) == (50_000, "aws")


def test_a_cloud_without_the_single_card_is_counted_by_its_whole_machine() -> None:
    """AWS has 80 GB A100s only in eights: the price is that of the machine."""
    with Advisor(Settings()) as advisor:
        question = "llama3 8b lora, 50k samples of 1024 tokens, one A100 80G on AWS: hours, cost?"
        text = advisor.ask(question).text
    assert "p4de.24xlarge" in text
    assert "rented whole" in text


@pytest.mark.parametrize(
    ("question", "interval", "mtbf"),
    [
        ("checkpoint 每 30 分钟一次 抢占式 平均 4 小时被回收 浪费多少", 30, 4),
        ("spot gets reclaimed every 5 hours on average, I checkpoint every 20 minutes", 20, 5),
        ("竞价实例大约每 6 小时被中断,每隔 1 小时保存一次模型,亏多少", 60, 6),
    ],
)
def test_intervals_between_saves_and_interruptions(
    question: str, interval: float, mtbf: float
) -> None:
    slots = parse(question).slots
    assert (slots.ckpt_interval_minutes, slots.mtbf_hours) == (interval, mtbf)
    assert slots.tokens_per_sample is None


def test_the_interval_that_was_given_is_judged() -> None:
    """15 of 240 minutes lost, 1 of 30 saving, 10 of 240 restarting: 13.75 %."""
    answer, _ = answered("checkpoint 每 30 分钟一次 抢占式 平均 4 小时被回收 浪费多少")
    shares = {f.name: f.value for f in answer.figures if f.name.startswith("chosen interval:")}
    assert shares["chosen interval: lost_share"] == pytest.approx(6.25, abs=0.06)
    assert shares["chosen interval: overhead"] == pytest.approx(13.75, abs=0.06)


@pytest.mark.parametrize(
    ("question", "hours"),
    [
        ("gn7e 用抢占式训练 3 天大概多少钱", 72),
        ("A100 for 2 weeks, how much?", 336),
        ("每天跑 8 小时 A10 用 20 天要多少钱", 160),
        ("g5.xlarge spot for 48 hours, how much?", 48),
    ],
)
def test_days_are_hours_of_rent(question: str, hours: float) -> None:
    assert parse(question).slots.hours == hours


def test_a_day_as_a_unit_of_price_is_no_length() -> None:
    assert parse("QLoRA 13B 一天不超过50 租什么").slots.hours is None


def test_spot_is_told_with_the_total_of_the_hours() -> None:
    """Alibaba's floor is a tenth of on demand: the low total is a tenth of the high one."""
    answer, _ = answered("gn7e 用抢占式训练 3 天大概多少钱")
    assert "72 小时合计" in answer.text
    totals = sorted(float(f.value) for f in answer.figures if f.name.startswith("total of 72 h"))
    assert totals[-1] == pytest.approx(10 * totals[0], rel=0.01)


def test_the_cheapest_of_a_card_over_all_clouds_in_one_currency() -> None:
    """Offers come in rising price of one card, in the reader's currency, from several clouds."""
    answer, results = answered("哪家云 A100 80G 最便宜")
    report = results[0].report
    assert isinstance(report, InstancesReport)
    ranked = [r.compared for r in report.instances if r.compared is not None]
    each = [c.per_gpu_hour for c in ranked if c.per_gpu_hour is not None]
    assert each == sorted(each)
    assert {c.currency for c in ranked} == {"CNY"}
    assert len({o.provider for o in answer.offers}) >= 3
    assert "欧洲央行汇率" in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "g5.xlarge vs gn7i 哪个便宜",
        "gn6i 和 g4dn.xlarge 谁便宜",
        "p4d.24xlarge or ecs.gn7e-c16g1.32xlarge, which is cheaper?",
    ],
)
def test_types_of_two_clouds_are_compared(question: str) -> None:
    answer, _ = answered(question)
    assert {offer.provider for offer in answer.offers} == {"aws", "alibaba"}
    assert "更便宜" in answer.text or "is cheaper" in answer.text
    assert not answer.corrections


def test_a_price_without_a_date_is_told_as_one() -> None:
    answer, _ = answered("腾讯云 GN7 多少钱一小时")
    assert "没有带日期的价格" in answer.text
    assert any(o.price is not None and o.priced_on is None for o in answer.offers)


@pytest.mark.parametrize(
    ("question", "amount", "per"),
    [
        ("预算5000一个月 微调 Qwen2.5-7B 选什么", 5000, "month"),
        ("$200 a month, finetune llama 3 8b with lora, what to rent?", 200, "month"),
        ("I have $500 total to full finetune a 1B, which instance?", 500, "total"),
    ],
)
def test_money_that_may_be_spent_is_a_budget(question: str, amount: float, per: str) -> None:
    budget = parse(question).slots.budget
    assert budget is not None
    assert (budget.amount, budget.per) == (amount, per)


def test_a_monthly_budget_is_told_in_hours_and_prefers_what_it_pays_for() -> None:
    """QLoRA fits a smaller card than LoRA does, so the same money buys more hours of it."""
    answer, _ = answered("预算5000一个月 微调 Qwen2.5-14B 选什么")
    assert "QLoRA" in answer.text.split("\n")[0]
    best = answer.offers[0]
    assert best.price is not None
    hours = next(f.value for f in answer.figures if f.name == "affordable_hours")
    assert float(hours) == pytest.approx(5000 / float(best.price), rel=0.01)


def test_a_daily_budget_is_told_in_hours_of_a_day() -> None:
    answer, _ = answered("QLoRA 13B 一天不超过50 租什么")
    best = answer.offers[0]
    assert best.price is not None
    hours = next(f.value for f in answer.figures if f.name == "affordable_hours")
    assert float(hours) == pytest.approx(50 / float(best.price), rel=0.01)
    assert "每天 50 元" in answer.text


def test_more_cards_than_a_machine_has_are_several_machines() -> None:
    """16 cards are two machines of eight: the money is that of both."""
    answer, _ = answered("14B 全参 5 亿 token 16 张 A100 80G 要训几天")
    assert answer.intent == "time_estimate"
    assert "这是 2 台（每台 8 张卡）" in answer.text


def test_a_name_of_two_clouds_is_that_of_the_other_name() -> None:
    """`g6.xlarge` is a CPU type at Alibaba Cloud and a GPU type at AWS, where g5 is."""
    answer, _ = answered("which is cheaper per hour, g6.xlarge or g5.xlarge?")
    assert {offer.provider for offer in answer.offers} == {"aws"}


def test_a_weekly_budget_is_told_by_the_week() -> None:
    question = "I can spend 300 dollars a week on finetuning mistral 7b, which GPU?"
    budget = parse(question).slots.budget
    assert budget is not None
    assert budget.amount * 168 == pytest.approx(300, rel=0.001)
    answer, _ = answered(question)
    assert "300 USD a week" in answer.text


def test_an_article_before_a_number_of_days_is_no_card() -> None:
    slots = parse("spot price for a 30 day training job on g5.12xlarge").slots
    assert (slots.gpu, slots.hours) == (None, 720)


def test_hours_of_an_epoch_count_for_every_epoch() -> None:
    """5 epochs of 6 h at 12 an hour are 360."""
    answer, _ = answered("训练一个 epoch 要 6 小时 每小时 12 元 跑 5 个 epoch 多少钱")
    assert "360 元" in answer.text


def test_a_sum_is_set_against_the_cost_of_the_job() -> None:
    answer, _ = answered("5 万条数据 每条 2000 token 全参 7B 8 张 A100 两轮 预算 3000 够吗")
    high = next(float(f.value) for f in answer.figures if f.name == "cost_high")
    assert high < 3000
    assert "预算 3,000 元够" in answer.text


def test_a_currency_behind_a_budget_is_that_of_the_budget() -> None:
    budget = parse("预算 300 美元 微调 qwen2.5-14b qlora 在 aws").slots.budget
    assert budget is not None
    assert (budget.amount, budget.currency) == (300, "USD")
