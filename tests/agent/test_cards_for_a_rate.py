"""Cards that carry so many requests a second: the replica that holds the model, and its rate."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from tests.agent.answers import answer, answered
from tools.speed import ServingJob, cards_for_request_rate


def _figures(found: Answer) -> dict[str, float]:
    return {f.name: float(f.value) for f in found.figures}


def test_a_model_that_one_card_does_not_hold_is_carried_by_groups() -> None:
    found = answer("llama3 70b serving 50 requests per second how many H100")
    figures = _figures(found)
    assert "cards, replicas of 1" not in figures  # 141 GB of weights on 80 GB
    least = min(figures[f"cards, replicas of {size}"] for size in (2, 4, 8))
    assert found.text.startswith(f"**50 requests a second take about {least:.0f} ×")


def test_the_figures_are_those_of_the_calculator() -> None:
    found, results = answered("Qwen2.5-7B vllm 每秒 20 个请求,输入1000输出300,要几张A10")
    call = next(r for r in results if r.name == "cards_for_rate")
    need = cards_for_request_rate(
        ServingJob(
            gpu="NVIDIA A10", model="Qwen/Qwen2.5-7B", engine="vllm", prompt_len=1000,
            output_len=300,
        ),
        requests_per_s=20, held=call.arguments["held"],
    )  # fmt: skip
    assert _figures(found)["cards, replicas of 1"] == need.gpus


def test_lengths_that_were_not_said_are_assumptions() -> None:
    found = answer("QPS 100 Qwen2.5-14B 用 L20 要几张卡")
    assert {"input_len", "output_len"} <= {a.name for a in found.assumptions}
    said = answer("QPS 100 Qwen2.5-14B 用 L20 要几张卡,输入 1000 输出 300")
    assert "input_len" not in {a.name for a in said.assumptions}


def test_more_requests_take_more_cards() -> None:
    few = _figures(answer("Qwen2.5-7B vllm 每秒 5 个请求,输入1000输出300,要几张A10"))
    many = _figures(answer("Qwen2.5-7B vllm 每秒 50 个请求,输入1000输出300,要几张A10"))
    ratio = many["cards, replicas of 1"] / few["cards, replicas of 1"]
    assert ratio == pytest.approx(10, rel=0.25)  # whole replicas


def test_a_card_that_holds_no_copy_is_said_to() -> None:
    found = answer("how many T4 for 5 rps of llama3 70b, 2k prompt 500 output")
    assert found.verdict == "does_not_fit"


def test_the_peak_is_what_cards_are_counted_for() -> None:
    mean = answer("432k calls a day, Qwen3-8B, 1000 in 200 out, how many L20?")
    peak = answer(
        "432k calls a day with peaks of 6x the mean, Qwen3-8B, 1000 in 200 out, how many L20?"
    )
    direct = answer("30 qps, Qwen3-8B, 1000 in 200 out, how many L20?")
    assert "5 a second is the mean" in mean.text
    assert _figures(peak)["cards, replicas of 1"] == _figures(direct)["cards, replicas of 1"]
    assert "at 6 times that the peak is 30 a second" in peak.text
