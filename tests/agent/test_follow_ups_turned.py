"""Hours of cards, fractions of a price, settings that a follow-up turns, lengths that fit."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.understanding import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("text", "hours", "cards"),
    [
        ("340 H100 gpu-hours on p5.48xlarge at $55.04/h, total bill?", 340, None),
        ("500 个 4090 卡时,单卡 2.3 元/小时,一共多少钱", 500, None),
        ("p4d.24xlarge 跑 96 卡时多少钱,按 32.77 美元/小时", 96, None),
        ("1.2k A100 hours on 8-gpu boxes at $14/h each box", 1200, 8),
    ],
)
def test_a_number_before_a_card_and_hours_counts_hours(
    text: str, hours: float, cards: int | None
) -> None:
    slots = parse(text).slots
    assert (slots.hours, slots.gpu_count) == (hours, cards)


def test_hours_of_cards_are_divided_by_those_of_the_machine() -> None:
    """340 / 8 = 42.5 h; 42.5 * 55.04 = 2,339.20."""
    answer, _ = answered("340 H100 gpu-hours, renting whole p5.48xlarge at $55.04/h. total bill?")
    assert "42.5 h" in answer.text
    assert "2,339" in answer.text
    assert not ungrounded(answer)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("and if spot is half of that", 0.5),
        ("spot 半价的话呢", 0.5),
        ("what if the spot price is a third of the price", 0.3333),
    ],
)
def test_a_fraction_of_a_price_is_what_is_left_to_pay(text: str, share: float) -> None:
    before = [parse("100 hours of p5.48xlarge at $55.04/h, total bill?")]
    slots = parse(text, before).slots
    assert slots.discount == share
    assert slots.hours == 100


@pytest.mark.parametrize(
    ("first", "then", "slot", "value"),
    [
        ("axolotl qlora mistral-nemo 8192 A10 packing: true", "sequence_len降成2048就行了吧",
         "seq_len", 2048),
        ("qwen2.5-7b lora 4090 max_seq_length 8192", "cutoff_len 砍到1024 行不行", "seq_len", 1024),
        ("llama 8b lora 4096 packing on a 3090", "if i cut sequence_len to 1k is that enough",
         "seq_len", 1024),
        ("qwen2.5-7b lora 4090 batch 8", "dropping batch size to 2, better?", "batch", 2),
    ],
)  # fmt: skip
def test_a_turned_setting_is_of_the_job_before(
    first: str, then: str, slot: str, value: int
) -> None:
    request = parse(then, [parse(first)])
    assert request.intent == "fit_check"
    assert getattr(request.slots, slot) == value
    assert "method" in request.inherited


def test_an_explanation_that_names_a_setting_is_no_change() -> None:
    request = parse("what does seq_len mean?", [parse("qwen2.5-7b lora 4090 seq_len 8192")])
    assert request.intent == "concept"


def test_a_length_that_fits_is_named_where_half_of_it_does_not() -> None:
    answer, _ = answered("mistral 7b v0.3 lora rank 64 seq_len 32768 batch 1 on an A10G, fits?")
    assert answer.verdict == "does_not_fit"
    told = {f.name: float(f.value) for f in answer.figures if f.unit == "token"}
    alone, fused = (told[f"changes.at_most{k}, rounded down"] for k in ("", "_fused"))
    assert 2048 <= alone <= fused < 32_768
    assert f"{alone:g} tokens or fewer" in answer.text
    assert not ungrounded(answer)


def test_prices_of_a_place_are_told_in_their_own_currency() -> None:
    """c6i.large is listed at 0.085 USD an hour; the comparison in yuan stays inside."""
    answer, results = answered("embed 20k docs a night with all-MiniLM-L6-v2 on c6i.xlarge, fine?")
    assert results
    assert "0.085 USD/h" in answer.text
    assert not ungrounded(answer)


def test_a_named_cpu_type_that_is_enough_is_not_sent_to_a_gpu() -> None:
    answer, _ = answered("resnet50 inference, 5 images per second on aliyun ecs.c7.4xlarge?")
    assert answer.verdict != "depends"
    assert "take a GPU instance" not in answer.text


def test_a_library_without_gpu_code_is_no_faster_on_a_gpu() -> None:
    answer, _ = answered(
        "random forest in sklearn on m6i.4xlarge, would moving to g4dn speed it up"
    )
    assert answer.verdict == "not_applicable"
    assert all("CPU family" not in c.fact for c in answer.corrections)


def test_seconds_of_an_image_are_a_time() -> None:
    answer, _ = answered("sd1.5 512x512 50 steps on T4, sec per image roughly?")
    assert answer.intent == "time_estimate"
    assert "seconds per image" in answer.text
    assert "it/s" in answer.text
    assert not ungrounded(answer)


def test_steps_a_second_of_a_denoiser_are_no_tokens() -> None:
    answer, _ = answered("sd3 medium on a 3060 12gb, it/s?")
    assert "tokens/s" not in answer.text


def test_rows_of_text_with_tokens_are_samples() -> None:
    """50,000 * 800 * 2 = 80 million tokens."""
    request = parse("qlora 14b, 50k rows ~800 tokens, 2 epochs, single L40S. done over a weekend?")
    assert (request.intent, request.slots.samples) == ("time_estimate", 50_000)
    assert request.slots.tokens_per_sample == 800
    assert parse("xgboost 50k rows 20 columns, cpu enough?").slots.rows == 50_000


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("gcp: g2-standard-32 has more gpus than g2-standard-24 ya?", ("1 ×", "2 ×")),
        ("aws g5.16xlarge 比 g5.12xlarge 卡多吧", ("1 张", "4 张")),
        ("does p4d.24xlarge have more gpus than p3.2xlarge?", ()),
    ],
)
def test_a_claim_of_more_cards_is_held_against_the_catalog(
    text: str, facts: tuple[str, ...]
) -> None:
    answer, _ = answered(text)
    assert bool(answer.corrections) is bool(facts)
    assert all(fact in answer.corrections[0].fact for fact in facts)
    assert not ungrounded(answer)


@pytest.mark.parametrize("region", ["us-central1", "europe-west4", "ap-southeast-1", "us-west-2"])
def test_ids_of_regions_are_read(region: str) -> None:
    assert parse(f"hourly price of an A100 in {region}?").slots.region == region


def test_a_size_of_all_cards_is_none_of_one() -> None:
    """4 * 48 = 192 GB."""
    slots = parse("4x L40S act as one 192GB card, so llama 70b full finetune should work").slots
    assert (slots.gpu_mem_gb, slots.total_mem_gb) == (None, 192)
    assert parse("A100 24G 4张 跑 7B").slots.gpu_mem_gb == 24


@pytest.mark.parametrize(
    ("text", "gpu"),
    [
        ("qwen3-32b fp8 on a single 8xH100 node, or do i need H200s?", "NVIDIA H100 SXM5 80GB"),
        ("qwen2.5-32b int8 一张4090 能跑吗 还是得上A100", "GeForce RTX 4090"),
        ("7b lora on a 3060 12gb or would i need a 3090", "GeForce RTX 3060 12GB"),
    ],
)
def test_a_card_that_may_be_needed_instead_is_no_comparison(text: str, gpu: str) -> None:
    request = parse(text)
    assert (request.intent, request.slots.gpu, request.slots.gpus) == ("fit_check", gpu, None)


def test_how_many_of_a_card_at_the_end_is_a_number_looked_for() -> None:
    request = parse("serve llama-3.3-70b in fp8 to 5 people at 128k. how many H100 80GB?")
    assert request.goal == "fewest_cards"
    assert parse("p5.48xlarge how many H100?").goal is None


def test_a_product_of_size_and_bytes_is_a_need_and_no_card() -> None:
    """39 * 2 = 78 GB."""
    slots = parse("mixtral 8x22b activates 39B per token so bf16 vram is 39*2 = 78GB?").slots
    assert (slots.need_gb, slots.gpu_mem_gb, slots.tokens) == (78, None, None)
    assert parse("2x24=48G 两张3090 跑 32b int8").slots.gpu_count == 2
