"""The registry's data: every row recounted, every alias on one row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers import ROOT, shared_rows
from tools.errors import DataError, UnknownModelError
from tools.folding import key_of
from tools.models import all_models, count_params, get_model, kv_elems_per_token
from tools.models.names import name_index
from tools.models.spec import spec_from_row

FILE = ROOT / "tools/models/data/models.jsonl"
TOLERANCE = 0.01
TWO_ROW_KEYS = {"detr", "deepseekcoderv2"}


def _rows() -> list[dict[str, Any]]:
    """Rows of the file, read without the registry."""
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def test_every_row_of_the_file_is_loaded() -> None:
    names = [row["name"] for row in _rows()]
    assert [spec.name for spec in all_models()] == names
    assert len(set(names)) == len(names) > 0


def test_every_row_with_a_formula_recounts_to_its_parameters() -> None:
    counted = set()
    for spec in all_models():
        counts = count_params(spec)
        if counts is None:
            assert spec.formula == "none"
            continue
        counted.add(spec.name)
        assert counts.total == pytest.approx(spec.params_total, rel=TOLERANCE), spec.name
    assert counted == {row["name"] for row in _rows() if row.get("formula", "none") != "none"}
    assert counted


def test_all_but_one_recount_is_exact() -> None:
    off = [
        spec.name
        for spec in all_models()
        if (counts := count_params(spec)) and counts.total != spec.params_total
    ]
    assert off == ["tencent/Tencent-Hunyuan-Large"]


def test_cache_elements_follow_from_the_dimensions() -> None:
    checked = 0
    for spec in all_models():
        if spec.formula == "decoder" and spec.kv_elems_per_token is not None:
            assert kv_elems_per_token(spec) == spec.kv_elems_per_token, spec.name
            checked += 1
    assert checked > 200


@pytest.mark.parametrize(
    ("name", "total", "kv_elems"),
    [
        # closed forms by hand: V*H*2 + L*(H*(nh+2kv)*d + nh*d*H + bias + 3*H*F + 2H) + H
        ("Qwen/Qwen2.5-7B", 7_615_616_512, 28_672),
        ("meta-llama/Llama-3.1-70B", 70_553_706_496, 163_840),
        ("deepseek-ai/DeepSeek-V3", 671_026_404_352, 35_136),
        ("Qwen/Qwen3-30B-A3B", 30_532_122_624, 49_152),
    ],
)
def test_published_counts(name: str, total: int, kv_elems: int) -> None:
    assert get_model(name).params_total == total
    assert get_model(name).kv_elems_per_token == kv_elems


def test_llama_2_7b_by_hand() -> None:
    hidden, layers, ffn, vocab = 4096, 32, 11008, 32000
    layer = 4 * hidden * hidden + 3 * hidden * ffn + 2 * hidden
    assert get_model("meta-llama/Llama-2-7b-hf").params_total == (
        2 * vocab * hidden + layers * layer + hidden
    )


def test_no_alias_stands_on_two_rows_but_the_known_two() -> None:
    shared = {key for key, rows in name_index().exact.items() if len(rows) > 1}
    assert shared == TWO_ROW_KEYS


def test_every_row_names_its_sources_and_says_when_unverified() -> None:
    for spec in all_models():
        assert spec.sources, spec.name
        assert spec.verified or spec.unverified_reason, spec.name


def test_mixture_rows_hold_every_expert_and_compute_few() -> None:
    mixtures = [spec for spec in all_models() if spec.moe is not None and spec.formula == "decoder"]
    assert len(mixtures) > 25
    for spec in mixtures:
        assert spec.params_active is not None
        assert spec.params_active < spec.params_total, spec.name
        assert spec.is_moe


def test_no_mixture_claims_that_every_parameter_computes() -> None:
    mixtures = [spec for spec in all_models() if spec.is_moe]
    assert len(mixtures) > 35
    for spec in mixtures:
        assert spec.params_active is None or spec.params_active < spec.params_total, spec.name


def test_the_shipped_file_holds_every_row_of_the_reference_file() -> None:
    ours = {row["name"]: row for row in _rows()}
    for row in shared_rows("facts/models.jsonl"):
        name, shipped = row["name"], ours[row["name"]]
        claims_all = row.get("params_active") == row["params_total"] and get_model(name).is_moe
        for field in row.keys() - {"checks"}:
            if field == "aliases":
                assert set(shipped["aliases"]) >= set(row["aliases"]), name
            elif field == "params_active" and claims_all:
                # a mixture never computes with every expert: the reference repeats the total there
                assert (shipped[field] or 0) < row[field], name
                assert shipped["params_active_note"], name
            else:
                assert shipped.get(field) == row[field], (name, field)
        assert get_model(name).params_total == row["params_total"]
        assert set(get_model(name).aliases) >= set(row["aliases"])


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ({"name": "x", "kind": "decoder-lm", "params_total": 1, "hidden": 3}, "'hidden'"),
        ({"name": "x", "kind": "decoder-lm", "params_total": "7B"}, "'params_total'"),
        ({"name": "x", "kind": "decoder-lm", "params_total": 0}, "'params_total'"),
        (
            {"name": "x", "kind": "decoder-lm", "params_total": 1, "moe": {"experts": 8}},
            "'experts'",
        ),
        ({"name": "x", "kind": "decoder-lm", "params_total": 1, "aliases": "a"}, "'aliases'"),
        ({"name": "x", "params_total": 1}, "kind"),
    ],
    ids=["unknown field", "text for a count", "zero", "unknown expert field", "no list", "missing"],
)
def test_a_bad_row_names_file_row_and_field(row: dict[str, object], word: str) -> None:
    with pytest.raises(DataError, match="file row 7") as caught:
        spec_from_row(row, where="file row 7")
    assert word in str(caught.value)


def test_an_unknown_registry_name_gives_candidates() -> None:
    with pytest.raises(UnknownModelError) as caught:
        get_model("Qwen/Qwen2.5-8B")
    assert any(name.startswith("Qwen/Qwen2.5-") for name in caught.value.candidates)


def test_a_key_keeps_the_border_between_two_digits() -> None:
    assert key_of("Llama-3 8B") == "llama3-8b"
    assert key_of("llama 38b") == "llama38b"
