from __future__ import annotations

import json
from decimal import Decimal

import pytest

from tools.__main__ import main
from tools.catalog import (
    Need,
    catalog,
    cheapest,
    get_instance,
    has_nvlink,
    is_bare_metal,
    offers_for,
    usable_memory,
)
from tools.errors import BadQuantityError
from tools.gpus import all_gpus, get_gpu
from tools.units import MIB


def test_two_cards_of_24_gb_with_nvlink_and_100_gbit_rdma() -> None:
    need = Need(min_gpu_count=2, min_gpu_memory_gb=24, nvlink=True, min_rdma_gbps=100)
    found = offers_for(need)
    assert {o.instance_type for o in found.offers} == {
        "p4d.24xlarge", "ecs.sccgn7ex.32xlarge", "ecs.ebmgn8v.48xlarge",
    }  # fmt: skip
    for one in found.uncertain:
        assert one.unknown
        assert has_nvlink(one.offer) is not False
        assert one.offer.rdma is not False


def test_unknown_nvlink_is_listed_apart_and_never_dropped() -> None:
    need = Need(gpu_names=("NVIDIA A100 SXM4 80GB",), nvlink=True)
    found = offers_for(need)
    apart = {u.offer.instance_type for u in found.uncertain}
    assert "p4de.24xlarge" in apart
    everything = offers_for(Need(gpu_names=("NVIDIA A100 SXM4 80GB",)))
    no = {o.instance_type for o in everything.offers if has_nvlink(o) is False}
    known = {o.instance_type for o in found.offers}
    assert known | apart | no == {o.instance_type for o in everything.offers}


def test_a_card_without_nvlink_settles_an_unknown_one() -> None:
    offer = get_instance("g2-standard-24", "gcp")
    assert offer.nvlink is None
    assert get_gpu("NVIDIA L4").nvlink is False
    assert has_nvlink(offer) is False


def test_the_a10_types_of_tencent_are_found_by_card() -> None:
    found = offers_for("NVIDIA A10", provider="腾讯云")
    assert {o.family for o in found.offers} == {"PNV4", "GNV4", "GNV4v"}
    assert found.offers[0].is_slice
    assert set(found.by_provider()) == {"tencent"}


def test_no_h100_by_that_name_at_alibaba_and_no_l4() -> None:
    assert offers_for("NVIDIA H100 SXM5 80GB", provider="alibaba").offers == ()
    assert offers_for("NVIDIA L4", provider="alibaba").offers == ()


def test_slices_count_with_their_memory_and_can_be_left_out() -> None:
    small = offers_for(Need(min_gpu_memory_gb=12, gpu_names=("NVIDIA A10",)))
    assert all((o.gpu_memory_gb or 0) >= 12 for o in small.offers)
    whole = offers_for(Need(gpu_names=("NVIDIA A10",), whole_cards=True))
    assert not any(o.is_slice for o in whole.offers)


def test_cpu_types_are_found_by_cores_and_memory() -> None:
    found = offers_for(Need(is_cpu=True, min_vcpu_count=16, min_memory_gib=128), provider="alibaba")
    assert found.offers
    assert all(o.category == "cpu" for o in found.offers)
    assert all((o.vcpu_count or 0) >= 16 and (o.memory_gib or 0) >= 128 for o in found.offers)


@pytest.mark.parametrize("field", ["min_gpu_count", "min_gpu_memory_gb", "min_rdma_gbps"])
def test_impossible_needs_are_refused(field: str) -> None:
    with pytest.raises(BadQuantityError, match=field):
        Need(**{field: -1})


def test_usable_memory_is_the_cards_the_slices_or_derived_from_the_label() -> None:
    whole = usable_memory(get_instance("gn7i-c8g1.2xlarge"))
    part = usable_memory(get_instance("sgn7i-vws-m8.4xlarge"))
    unnamed = usable_memory(get_instance("gn8v.4xlarge"))
    assert whole is not None
    assert part is not None
    assert unnamed is not None
    assert (whole.bytes, whole.is_derived) == (22476 * MIB, False)
    assert (part.bytes, part.is_derived) == ((8 * 1024 - 512) * MIB, True)
    assert unnamed.is_derived
    assert 90e9 < unnamed.bytes < 96 * 1024**3
    assert usable_memory(get_instance("Standard_NV10ads_A10_v5")) is None
    assert usable_memory(get_instance("ecs.c6.large")) is None


def test_a_whole_card_is_no_slice_even_in_a_slice_family() -> None:
    offer = get_instance("ecs.vgn7i-vws-m24.7xlarge")
    assert (offer.category, offer.is_slice, offer.card_count) == ("vgpu-slice", False, 1)
    assert get_instance("ecs.sgn7i-vws-m4.2xlarge").card_count == pytest.approx(1 / 6)


# --- the command ---


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = main(["catalog", *arguments])
    return status, capsys.readouterr().out


def test_command_lookup_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(capsys, "lookup", "gn7i-c8g1.2xlarge", "--json")
    view = json.loads(out)
    assert status == 0
    assert view["offers"][0]["gpu_name"] == "NVIDIA A10"
    assert view["offers"][0]["usable_bytes_per_gpu"] == 22476 * MIB
    assert view["offers"][0]["price"]["priced_on"] == "2024-10-09"


def test_command_of_a_type_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(capsys, "lookup", "gn7i-gpu8")
    assert status == 1
    assert "not in the catalog" in out
    assert "ecs.gn7i-c8g1.2xlarge" in out


def test_command_family_tells_the_clouds_apart(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(capsys, "family", "g6")
    assert status == 0
    assert "alibaba g6: CPU family" in out
    assert "aws g6: gpu family; NVIDIA L4" in out


def test_command_card_shows_undated_prices_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(capsys, "card", "T4", "--provider", "tencent")
    assert status == 0
    assert "8.68 CNY/hour on demand (undated list price, not ranked)" in out


def test_command_need_lists_the_unknown_apart(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(capsys, "need", "--gpus", "8", "--gpu-memory", "80", "--nvlink")
    assert status == 0
    assert "unknown: nvlink" in out


def test_command_summary_counts_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    _, out = run(capsys, "summary", "--json")
    assert sum(row["types"] for row in json.loads(out)) == len(catalog().offers)


def test_command_recommend(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["recommend", "--need-gib", "20", "--provider", "aliyun", "--region", "cn"]
    status = main([*arguments, "--budget", "5000", "--per", "month"])
    out = capsys.readouterr().out
    assert status == 0
    assert out.startswith("1. alibaba ecs.gn7i-c8g1.2xlarge: 1 x NVIDIA A10, 8.5794 CNY/hour")
    assert "the budget buys 583 h" in out
    assert main(["recommend", "--need-gib", "5000", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["offers"] == []


def test_command_recommend_without_a_workload_says_what_to_give(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["recommend"]) == 2
    assert "--params-b" in capsys.readouterr().err


def test_an_excluded_card_leaves_with_the_rows_that_name_it_without_its_memory() -> None:
    names = tuple(g.name for g in all_gpus() if "V100" in g.name)
    found = offers_for(Need(excluded_gpu_names=names), provider="tencent")
    told = [*found.offers, *(u.offer for u in found.uncertain)]
    assert told
    assert not any("V100" in f"{o.gpu_name} {o.gpu_model}" for o in told)


def test_a_price_limit_counts_dated_prices_alone_and_by_card_where_asked() -> None:
    limit = Decimal(2)
    whole = offers_for(Need(max_price_per_hour=limit, price_currency="USD"), provider="aws")
    for offer in whole.offers:
        price = cheapest(offer)
        assert price is not None
        assert price.per_hour <= limit or price.currency != "USD"
    each = offers_for(
        Need(max_price_per_hour=limit, price_currency="USD", price_per_card=True), provider="aws"
    )
    assert {o.instance_type for o in whole.offers if (o.card_count or 0) >= 1} <= {
        o.instance_type for o in each.offers
    }
    assert all("price" in u.unknown for u in whole.uncertain)


def test_a_cloud_without_the_region_is_not_listed_as_unknown() -> None:
    found = offers_for(Need(min_gpu_count=8, region="us-west-2"))
    assert {o.provider for o in (*found.offers, *(u.offer for u in found.uncertain))} == {"aws"}


def test_bare_metal_is_read_off_the_vendors_names() -> None:
    assert is_bare_metal(get_instance("g4dn.metal", "aws")) is True
    assert is_bare_metal(get_instance("ecs.ebmgn7ex.32xlarge", "alibaba")) is True
    assert is_bare_metal(get_instance("ecs.gn7i-c8g1.2xlarge", "alibaba")) is False
