"""Cards set against each other: in the unit of the work, at the prices that were said."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from agent.understanding import parse
from tests.agent.answers import answered


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("question", "unit"),
    [
        ("SDXL 画 2 万张 768 图,3090 和 L40S 各要多久,哪个省钱", "秒一张"),
        ("tagging 3M photos with CLIP ViT-B/32: L4 at $0.7/h or A10G at $1/h?", "images/s"),
        ("bge-large-zh 编码 5000 万条,A10 还是 L20 划算", "条文本/秒"),
        ("Whisper medium over 800 hours of calls, T4 vs L4, which is cheaper?", "times real time"),
    ],
)
def test_the_work_is_told_in_its_own_unit(question: str, unit: str) -> None:
    answer, results = answered(question)
    assert unit in answer.text.split("\n")[0]
    assert "token/s" not in answer.text
    assert "tokens/s" not in answer.text
    assert any(r.name == "item_speed" for r in results)


def test_hours_of_a_work_are_its_amount_over_the_rate() -> None:
    answer, results = answered("SDXL 画 2 万张 768 图,3090 和 L40S 各要多久,哪个省钱")
    rate = {r.arguments["gpu"]: r.report.per_s.value for r in results if r.name == "item_speed"}
    assert all(r.arguments["image_px"] == 768 for r in results if r.name == "item_speed")
    hours = _figure(answer, "hours on GeForce RTX 3090")
    assert hours == pytest.approx(20_000 / rate["GeForce RTX 3090"] / 3600, rel=1e-3)


def test_prices_that_were_said_decide() -> None:
    cheap, _ = answered("7B LoRA on 30M tokens: RTX 3090 at $0.2/h or A100 80G at $2/h, cheaper?")
    dear, _ = answered("7B LoRA on 30M tokens: RTX 3090 at $1.5/h or A100 80G at $2/h, cheaper?")
    assert "Per token the GeForce RTX 3090 is cheaper" in cheap.text
    assert "Per token the NVIDIA A100 SXM4 80GB is cheaper" in dear.text
    assert "at your 0.2 USD/h" in cheap.text


def test_rates_without_a_sign_are_read_one_for_each_card() -> None:
    prices = parse("T4 at 0.4/h or L4 at 0.8/h for whisper small").slots.price
    assert isinstance(prices, tuple)
    assert [p.amount for p in prices] == [0.4, 0.8]


def test_without_a_price_the_break_even_is_told() -> None:
    """A card without a price is the cheaper up to the other's price times the ratio of speeds."""
    answer, _ = answered("13B QLoRA 5000 万 token,3090 和 A10 哪个划算")
    limit = next(f for f in answer.figures if f.name == "break-even of GeForce RTX 3090")
    assert limit.unit == "CNY/h"
    assert f"{limit.value:g} 元/小时" in answer.text


def test_half_the_price_is_set_against_the_ratio() -> None:
    answer, _ = answered("L20 和 L40S 训 7B LoRA,L20 半价,哪个划算")
    ratio = _figure(answer, "speed_ratio")
    assert _figure(answer, "cheaper at twice the price") == pytest.approx(ratio / 2, abs=0.02)


def test_a_card_that_does_not_hold_it_leads_nothing() -> None:
    answer, _ = answered("3090 vs A6000 vs A10 to serve a 14B in bf16, which one?")
    first = answer.text.split("\n")[0]
    assert first.startswith("**RTX A6000: it fits")
    assert "serves faster" not in first


@pytest.mark.parametrize(
    ("question", "cards"),
    [
        ("H100 SXM vs PCIe, how fast is an 8B on each?",
         ("NVIDIA H100 SXM5 80GB", "NVIDIA H100 PCIe 80GB")),
        ("A100 40G 还是 80G 跑 14B 快", ("NVIDIA A100 SXM4 40GB", "NVIDIA A100 SXM4 80GB")),
    ],
)  # fmt: skip
def test_the_other_form_of_a_card_is_a_card(question: str, cards: tuple[str, ...]) -> None:
    assert parse(question).slots.gpus == cards


@pytest.mark.parametrize(
    "question", ["A100 40G 和 80G 内存的机器跑 7B", "4090 24G and 64G of RAM for a 13B"]
)
def test_memory_of_a_host_is_no_form_of_a_card(question: str) -> None:
    assert parse(question).slots.gpus is None
