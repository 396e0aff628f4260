"""Reference architectures of nominal sizes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.errors import BadQuantityError
from tools.models import count_params, get_model, reference_model


@pytest.mark.parametrize("size", [0.5, 1, 3, 7, 8, 13, 14, 32, 34, 70, 72, 110, 405, 7000])
def test_the_size_asked_for_is_the_size_given(size: float) -> None:
    spec = reference_model(size)
    assert spec.params_total == pytest.approx(size * 1e9, rel=0.005)
    assert spec.is_reference
    assert spec.name == f"{size:g}B reference architecture"


@pytest.mark.parametrize(("total", "active"), [(30, 3), (235, 22), (671, 37), (47, 13), (8, 1)])
def test_a_mixture_has_both_counts(total: float, active: float) -> None:
    spec = reference_model(total, active_b=active)
    assert spec.params_total == pytest.approx(total * 1e9, rel=0.01)
    assert spec.params_active == pytest.approx(active * 1e9, rel=0.03)
    assert spec.moe is not None


def test_near_a_ladder_row_the_dimensions_are_those_of_the_row() -> None:
    row = get_model("meta-llama/Llama-3.1-70B")
    spec = reference_model(70)
    assert (spec.hidden_size, spec.num_hidden_layers) == (row.hidden_size, row.num_hidden_layers)
    assert spec.num_key_value_heads == row.num_key_value_heads


@given(st.floats(min_value=0.05, max_value=2000))
def test_dimensions_are_consistent(size: float) -> None:
    spec = reference_model(size)
    assert spec.hidden_size is not None
    assert spec.num_attention_heads is not None
    assert spec.head_dim is not None
    assert spec.num_key_value_heads is not None
    assert spec.num_attention_heads * spec.head_dim == spec.hidden_size
    assert spec.num_attention_heads % spec.num_key_value_heads == 0
    counts = count_params(spec)
    assert counts is not None
    assert counts.total == spec.params_total
    assert spec.params_total == pytest.approx(size * 1e9, rel=0.02)


@given(st.floats(min_value=0.1, max_value=1000), st.floats(min_value=1.05, max_value=4))
def test_more_parameters_never_give_a_smaller_body(size: float, factor: float) -> None:
    small, large = reference_model(size), reference_model(size * factor)
    assert (large.num_hidden_layers or 0) >= (small.num_hidden_layers or 0)
    assert (large.hidden_size or 0) >= (small.hidden_size or 0)


def test_a_mixture_with_very_few_active_parameters_is_thin() -> None:
    spec = reference_model(8, active_b=0.1)
    assert spec.params_active is not None
    assert spec.params_active < 0.4e9
    assert spec.params_total == pytest.approx(8e9, rel=0.02)


@pytest.mark.parametrize("size", [0, -7, math.inf, math.nan, 1e9])
def test_impossible_sizes_name_what_is_allowed(size: float) -> None:
    with pytest.raises(BadQuantityError) as caught:
        reference_model(size)
    assert caught.value.field == "params_b"


@pytest.mark.parametrize("active", [0, -1, 7, 8])
def test_active_must_be_below_total(active: float) -> None:
    with pytest.raises(BadQuantityError):
        reference_model(7, active_b=active)
