"""Hours and prices of a machine that was named: it is told whether it holds the run at all."""

from __future__ import annotations

import pytest

from agent import Advisor, Settings
from tests.agent.answers import answered


def _figure(answer: object, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("question", "card"),
    [
        ("How long to LoRA fine-tune 70B on a T4 with 1000 samples of 512 tokens?", "Tesla T4"),
        ("T4 上 7B 全参要训几个小时 1万条512token", "Tesla T4"),
        ("13B LoRA 20k samples 1024 tokens 3 epochs on one RTX 3060 12GB, how long?", "3060"),
    ],
)
def test_hours_of_a_run_that_does_not_fit_are_those_of_a_card_that_holds_it(
    question: str, card: str
) -> None:
    """The 16-bit weights alone are 140, 14 and 26 GB; full training adds 14 bytes a parameter."""
    answer, results = answered(question)
    assert answer.verdict == "does_not_fit"
    first = answer.text.split("\n\n")[0]
    assert card in first
    timed = [r for r in results if r.name == "estimate_time_and_cost"][-1]
    assert card not in str(timed.arguments["gpu"])
    assert "2048" not in answer.text


def test_a_run_in_sight_of_fitting_gets_its_hours_with_the_settings_they_need() -> None:
    """14 GB of weights are 13.0 GiB of a T4's 14.6: copies of logits decide."""
    answer, results = answered("Fine-tune 7B LoRA on 10k samples of 256 tokens on T4, how long?")
    timed = [r for r in results if r.name == "estimate_time_and_cost"]
    assert [r.arguments["gpu"] for r in timed] == ["Tesla T4"]
    assert timed[0].arguments["seq_len"] == 256
    assert "leanest" in answer.text


def test_hours_that_fit_say_the_memory_too() -> None:
    answer, _ = answered("Qwen2.5-7B LoRA 1万条 1024 token 单张 A100 80G 要多久")
    assert answer.verdict == "depends"
    assert "显存：每张卡约需" in answer.text


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How much does 8×H100 cost per hour for training Llama-3-8B?", 8),
        ("4×A100 80G 一天多少钱 训练 7B LoRA", 4),
        ("8×V100 训练 ResNet-50 每小时多少钱", 8),
        ("price per hour of 8×A100 for 7B full fine-tuning", 8),
    ],
)
def test_the_price_is_that_of_the_machine_named(question: str, count: int) -> None:
    answer, _ = answered(question)
    assert answer.intent == "cost_estimate"
    assert answer.offers[0].gpu_count == count
    assert answer.verdict in ("fits", "tight")


def test_a_day_is_24_hours_of_the_type_named() -> None:
    """138.97 CNY an hour for four of the cards are 3,335.28 a day, told with three digits."""
    answer, _ = answered("4×A100 80G 一天多少钱 训练 7B LoRA")
    row = answer.offers[0]
    assert row.price is not None
    assert _figure(answer, "day, as told") == pytest.approx(float(row.price) * 24, rel=0.005)


def test_a_rate_asked_for_after_a_run_assumes_no_data() -> None:
    with Advisor(Settings()) as advisor:
        for turn in ("7B LoRA on A10", "batch 4", "an A100 instead", "how much per hour"):
            answer = advisor.ask(turn, thread="rate")
    assert "50,000" not in answer.text
    assert answer.offers[0].gpu_name is not None
    assert "A100" in answer.offers[0].gpu_name


def test_a_day_that_is_to_be_enough_for_a_training_asks_no_price() -> None:
    answer, _ = answered("能不能租一张 A10 微调 7B, 训练一天够吗")
    assert "一天（24 小时）约" not in answer.text


def test_a_processor_of_the_arm_kind_is_told() -> None:
    """The T4G types of AWS have Neoverse processors; those with a T4 have Intel ones."""
    answer, _ = answered("I have $50, QLoRA 7B on 50k samples of 512 tokens, which GPU to rent?")
    for line in answer.text.splitlines():
        if "`g5g." in line and "(1×" in line:
            assert "ARM" in line
        if "`g4dn." in line:
            assert "ARM" not in line


def test_a_job_of_known_size_is_told_with_its_money() -> None:
    """50,000 samples of 512 tokens are 25.6 million tokens: hours within a day on any such card."""
    answer, results = answered("I have $50, LoRA 7B on 50k samples of 512 tokens, which to rent?")
    search = next(r for r in results if r.name == "recommend")
    work = search.arguments["samples"] * search.arguments["tokens_per_sample"]
    assert work == pytest.approx(25.6e6)
    assert "this job takes about" in answer.text


@pytest.mark.parametrize("question", ["竞价实例跑 7B LoRA 24 小时,多久存一次?",
                                      "30h QLoRA 7B on spot, how often to save?"])  # fmt: skip
def test_a_save_of_adapters_is_that_of_the_adapters(question: str) -> None:
    """Rank 16 on all linear layers of 32 layers (4096, 11008): 40.0 M parameters of 12 bytes each.

    0.48 GB at 350 MB/s are 1.37 s, and Young's interval for 6 h is √(2 · 1.37 · 21600) = 243 s.
    """
    answer, _ = answered(question)
    assert _figure(answer, "save") == pytest.approx(1.37, rel=0.1)
    plan = next(f for f in answer.figures if f.name == "interval_minutes" or "interval" in f.name)
    assert float(plan.value) == pytest.approx(243 / (60 if plan.unit == "min" else 1), rel=0.1)


def test_a_save_of_full_training_stays_that_of_all_states() -> None:
    """7e9 parameters of 14 bytes at 350 MB/s are 280 s."""
    answer, _ = answered("7B full fine-tune on spot 24 h, how often to save?")
    assert "4.7 minutes" in answer.text
