"""The learning itself: it finds known constants, trusts few rows little, and shuns outliers."""

from __future__ import annotations

import math
import random

import pytest

from tools.speed.fitting import fit_constants, group_factors, spread_of


def test_known_constants_are_found_in_spite_of_an_outlier() -> None:
    # y = a * x + b with a = 3, b = 10; one row is ten times off
    xs = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
    truths = [3 * x + 10 for x in xs]
    truths[3] *= 10

    def predict(i: int, c: object) -> float:
        return c["a"] * xs[i] + c["b"]  # type: ignore[index, no-any-return]

    fit = fit_constants(
        {"a": 1.0, "b": 1.0}, {"a": 3.0, "b": 3.0}, predict, truths, [50.0] * len(xs), rounds=30
    )
    assert fit.constants["a"] == pytest.approx(3, rel=0.1)
    assert fit.constants["b"] == pytest.approx(10, rel=0.25)
    assert 0 < fit.deviation["a"] < 0.2


def test_a_narrow_prior_holds_a_constant() -> None:
    fit = fit_constants({"a": 1.0}, {"a": 0.01}, lambda i, c: c["a"], [5.0], [1.0])
    assert fit.constants["a"] == pytest.approx(1, rel=0.05)


def test_rows_that_a_constant_does_not_move_are_left_alone() -> None:
    truths = [2.0, 2.0, 6.0]

    def predict(i: int, c: object) -> float:
        return c["all"] * (c["last"] if i == 2 else 1.0)  # type: ignore[index, no-any-return]

    fit = fit_constants(
        {"all": 1.0, "last": 1.0}, {"all": 2.0, "last": 2.0}, predict, truths, [100.0] * 3,
        rounds=30, affects={"last": [2]},
    )  # fmt: skip
    assert fit.constants["all"] == pytest.approx(2, rel=0.05)
    assert fit.constants["last"] == pytest.approx(3, rel=0.1)


def test_a_group_of_one_publisher_is_trusted_half_and_of_many_almost_all() -> None:
    # every row is predicted twice too fast; one source is half a word, nine are most of one
    errors = [math.log(2)] * (40 + 90)
    tags = [{"card": "one"}] * 40 + [{"card": "many"}] * 90
    sources = ["a"] * 40 + [f"s{i // 10}" for i in range(90)]
    found = group_factors(errors, tags, {"card": 1.0}, [1.0] * 130, sources)["card"]
    assert found["one"]["factor"] == pytest.approx(2**-0.5, rel=0.02)
    assert 2**-0.95 < found["many"]["factor"] < 2**-0.85
    assert (found["one"]["rows"], found["many"]["rows"]) == (40, 90)


def test_without_publishers_rows_speak_for_themselves() -> None:
    errors = [math.log(2)] * 51
    tags = [{"card": "rare"}] + [{"card": "common"}] * 50
    found = group_factors(errors, tags, {"card": 1.0}, [1.0] * 51)["card"]
    assert found["rare"]["factor"] == pytest.approx(2**-0.5, rel=0.01)
    assert found["common"]["factor"] == pytest.approx(0.5, rel=0.03)


def test_one_odd_publisher_of_five_does_not_move_the_group() -> None:
    errors = [0.0] * 40 + [math.log(10)] * 10
    sources = [f"s{i // 10}" for i in range(50)]
    found = group_factors(errors, [{"card": "c"}] * 50, {"card": 1.0}, [1.0] * 50, sources)
    assert found["card"]["c"]["factor"] == pytest.approx(1, abs=0.01)


def test_later_groups_explain_what_is_left() -> None:
    errors = [math.log(2)] * 200
    tags = [{"architecture": "a", "card": "c"}] * 200
    sources = [f"s{i // 2}" for i in range(200)]
    found = group_factors(errors, tags, {"architecture": 1.0, "card": 1.0}, [1.0] * 200, sources)
    assert found["card"]["c"]["factor"] == pytest.approx(1, abs=0.02)


def test_spread_holds_the_asked_share() -> None:
    order = random.Random(3)
    errors = [order.gauss(0, 0.3) for _ in range(500)]
    factor = spread_of(errors, 0.8)
    held = sum(abs(error) <= math.log(factor) for error in errors) / len(errors)
    assert held == pytest.approx(0.8, abs=0.01)
    assert spread_of([], 0.8) == 1.0
