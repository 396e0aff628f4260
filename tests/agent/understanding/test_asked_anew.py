"""The language asked for, prices beside "and", links beside cards, pasted configurations."""

from __future__ import annotations

import json

import pytest

from agent.request import Money
from agent.understanding import parse
from agent.understanding.lexicon.language import language_asked


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("7B 微调要多少显存?用英文回答", "en"),
        ("7B 微调要多少显存(请用英语答复,谢谢)", "en"),
        ("reply in chinese: will 7B fit on an A10?", "zh"),
        ("will 7B fit on an A10? Please answer in Chinese.", "zh"),
        ("请用中文回答:can a 13B fit on a 4090?", "zh"),
    ],
)
def test_a_clause_says_the_language_of_the_answer(text: str, language: str) -> None:
    request = parse(text)
    assert request.language == language
    assert request.slots.params_b in (7.0, 13.0)


@pytest.mark.parametrize("text", ["can it answer in Chinese?", "模型只会用英文回答怎么办"])
def test_a_model_that_answers_in_a_language_is_no_wish(text: str) -> None:
    assert language_asked(text)[0] is None


def test_a_sum_and_a_price_by_the_hour_stay_apart() -> None:
    request = parse("$240 and the card is $3.2/h, how many hours do I get?")
    assert request.slots.price == (
        Money(amount=240.0, currency="USD", per="total"),
        Money(amount=3.2, currency="USD", per="hour"),
    )


def test_the_speed_of_a_link_is_no_memory() -> None:
    request = parse("A100 with 200Gb HDR, two nodes, 13B full fine-tuning: network enough?")
    assert not request.corrections
    assert request.slots.bandwidth_gbps == 200


def test_ram_of_the_system_is_the_hosts() -> None:
    request = parse("llama3 70b q4 with 128GB of system RAM and a 3090")
    assert request.slots.host_ram_gb == 128


def test_a_chinese_comma_groups_no_digits() -> None:
    request = parse("yolo11m 5 万张图 640，100 轮 A10 要多久")
    assert request.slots.epochs == 100


def test_a_configuration_without_the_usual_names_is_a_model() -> None:
    config = {"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25,
              "n_positions": 1024, "vocab_size": 50257}  # fmt: skip
    request = parse(json.dumps(config) + "\nfull finetune on a T4?")
    assert request.slots.params_b == pytest.approx(1.5576, rel=1e-3)  # GPT-2 XL
    assert (request.slots.model or "").startswith("config.json{")


def test_a_configuration_that_is_no_model_says_what_is_missing() -> None:
    config = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32}
    request = parse(json.dumps(config) + "\n4090 能跑吗")
    assert request.intent == "invalid_input"
    assert "vocab_size" in request.invalid[0].message_zh


@pytest.mark.parametrize(("written", "near"), [("exl4", "exl2"), ("q9_k", "q6_k")])
def test_a_format_that_is_none_names_the_closest(written: str, near: str) -> None:
    request = parse(f"llama3 70b {written} on a 3090")
    assert request.slots.quantization is None
    assert any(written in c.fact and near in c.fact for c in request.corrections)


def test_host_memory_is_read_from_meminfo() -> None:
    request = parse("MemTotal:       131923148 kB, 没有GPU, deepseek-r1 671b 1.58bit 能跑么")
    assert request.slots.host_ram_gb == pytest.approx(125.8)
