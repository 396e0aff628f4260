from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.catalog import catalog, family, find_instance, get_instance
from tools.catalog.lookup import has_shape_of
from tools.errors import AmbiguousInstanceError, BadQuantityError, UnknownInstanceError


@pytest.mark.parametrize(
    ("written", "provider", "real"),
    [
        ("gn7i-c8g1.2xlarge", "alibaba", "ecs.gn7i-c8g1.2xlarge"),
        ("ecs.gn7i-c8g1.2xlarge", "alibaba", "ecs.gn7i-c8g1.2xlarge"),
        ("ECS.GN7I-C8G1.2XLARGE", "alibaba", "ecs.gn7i-c8g1.2xlarge"),
        ("ml.g5.12xlarge", "aws", "g5.12xlarge"),
        ("G5.12xlarge", "aws", "g5.12xlarge"),
        ("GN10XP.2XLARGE40", "tencent", "GN10Xp.2XLARGE40"),
        ("gn10xp 2xlarge40", "tencent", "GN10Xp.2XLARGE40"),
        ("p4d24xlarge", "aws", "p4d.24xlarge"),
        ("p4d_24xlarge", "aws", "p4d.24xlarge"),
        ("NC24ads_A100_v4", "azure", "Standard_NC24ads_A100_v4"),
        ("standard NC24ads A100 v4", "azure", "Standard_NC24ads_A100_v4"),
        ("a2-highgpu-1g", "gcp", "a2-highgpu-1g"),
        ("p3.2xlarge.8", "huawei", "p3.2xlarge.8"),
        ("p3.2xlarge", "aws", "p3.2xlarge"),
        ("ｇ５．１２ｘｌａｒｇｅ", "aws", "g5.12xlarge"),
        ("HCCPNV4h", "tencent", "HCCPNV4h (8-GPU bare metal)"),
    ],
)
def test_a_type_is_found_in_any_spelling(written: str, provider: str, real: str) -> None:
    offer = get_instance(written)
    assert (offer.provider, offer.instance_type) == (provider, real)


@given(
    st.sampled_from(catalog().offers),
    st.sampled_from([str.upper, str.lower, str.title]),
    st.sampled_from([".", "-", "_", " ", ""]),
)
def test_case_and_separators_never_hide_a_type(offer, change, separator) -> None:  # type: ignore[no-untyped-def]
    written = change(offer.instance_type.replace(".", separator))
    assert offer in find_instance(written, offer.provider).offers


@pytest.mark.parametrize(
    ("name", "cards"),
    [
        # guidance_factcheck.md, names that mean different hardware on different clouds
        ("g6", {"alibaba": (), "aws": ("NVIDIA L4",), "huawei": ("Tesla T4",)}),
        ("g7", {"alibaba": (), "aws": ("RTX PRO 4500 Blackwell",)}),
        ("gn7", {"alibaba": ("NVIDIA A100 SXM4 40GB",), "tencent": ("Tesla T4",)}),
        ("p3", {"aws": ("Tesla V100 SXM2 16GB",), "huawei": ("NVIDIA A100 SXM4 80GB",)}),
        ("gn6", {"tencent": ("Tesla P4",)}),
        ("gn8", {"tencent": ("Tesla P40",)}),
    ],
)
def test_a_name_of_several_clouds_is_answered_for_each(
    name: str, cards: dict[str, tuple[str, ...]]
) -> None:
    assert {f.provider: f.gpu_labels for f in family(name)} == cards


def test_the_provider_decides_what_a_shared_name_means() -> None:
    found = find_instance("g6", "阿里云")
    assert [f.category for f in found.families] == ["cpu"]
    assert found.elsewhere == ("aws", "huawei")
    assert found.families[0].purpose_zh
    assert [f.has_gpu for f in find_instance("g6", "AWS").families] == [True]


@pytest.mark.parametrize(
    ("written", "family_name", "nearest"),
    [
        ("gn7i-gpu8", "gn7i", "ecs.gn7i-c8g1.2xlarge"),
        ("gn5i-c4g1.8xlarge", "gn5i", "ecs.gn5i-c4g1.xlarge"),
        ("gn6i.2xlarge", "gn6i", "ecs.gn6i-c8g1.2xlarge"),
        ("gdn.12xlarge", None, "g4dn.12xlarge"),
        ("gn77i-c8g1.2xlarge", None, "ecs.gn7i-c8g1.2xlarge"),
        ("p4d.48xlarge", "p4d", "p4d.24xlarge"),
        ("g4dm.xlarge", None, "g4dn.xlarge"),
        ("gn7e-c16g1.2xlarge", "gn7e", "ecs.gn7e-c16g1.4xlarge"),
    ],
)
def test_a_type_that_does_not_exist_names_real_ones(
    written: str, family_name: str | None, nearest: str
) -> None:
    found = find_instance(written)
    assert not found.exists
    assert found.offers == ()
    assert nearest in [o.instance_type for o in found.nearest]
    assert [f.name for f in found.families] == ([family_name] if family_name else [])
    with pytest.raises(UnknownInstanceError) as error:
        get_instance(written)
    assert nearest in error.value.candidates


@pytest.mark.parametrize(
    ("written", "provider", "name"),
    [
        ("ml.m4.xlarge", "aws", "m4"),
        ("m5.2xlarge", "aws", "m5"),
        ("ecs.c5.xlarge", "alibaba", "c5"),
        ("S5.MEDIUM4", "tencent", "s5"),
        ("n1-standard-8", "gcp", "n1"),
    ],
)
def test_a_cpu_family_without_rows_is_known_by_its_naming_rule(
    written: str, provider: str, name: str
) -> None:
    found = find_instance(written, provider)
    assert found.kind == "unlisted"
    assert [(f.provider, f.name, f.category) for f in found.families] == [(provider, name, "cpu")]


def test_a_family_of_cpu_types_keeps_apart_what_the_rows_file_together() -> None:
    (c7,) = family("c7", "alibaba")
    assert all(o.instance_type.startswith("ecs.c7.") for o in c7.offers)
    (c7n,) = family("c7n", "alibaba")
    assert "ecs.c7n.large" in [o.instance_type for o in c7n.offers]


def test_one_name_on_two_clouds_is_ambiguous_without_a_provider() -> None:
    with pytest.raises(AmbiguousInstanceError) as error:
        get_instance("g6.xlarge")
    assert error.value.candidates == ("alibaba ecs.g6.xlarge", "aws g6.xlarge")
    assert get_instance("g6.xlarge", "aws").gpu_name == "NVIDIA L4"


def test_families_are_ordered_from_the_smallest() -> None:
    (gn6i,) = family("gn6i")
    first = gn6i.offers[0]
    # vendor page: 4 vCPU, 15 GiB, one T4, 4 Gbit/s
    assert (first.vcpu_count, first.memory_gib, first.gpu_count) == (4, 15, 1)
    assert first.network_gbps == 4


@pytest.mark.parametrize("written", ["", "!!!", "qwen2.5-7b", "A100", "x" * 300])
def test_what_is_no_instance_is_unknown_and_raises_nothing(written: str) -> None:
    assert not find_instance(written).exists


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadQuantityError, match="alibaba"):
        find_instance("gn7i", "cloudzilla")


@given(st.text(max_size=60))
def test_no_text_breaks_the_lookup(written: str) -> None:
    found = find_instance(written)
    assert found.exists == (found.kind in ("type", "family"))


def test_a_provider_beside_the_name_counts_as_given() -> None:
    for text, provider, card in (
        ("阿里云 g6", "alibaba", ()),
        ("AWS g6", "aws", ("NVIDIA L4",)),
        ("华为云p3", "huawei", ("NVIDIA A100 SXM4 80GB",)),
    ):
        found = find_instance(text)
        assert (found.kind, found.provider) == ("family", provider)
        assert [f.gpu_labels for f in found.families] == [card]


def test_a_name_of_another_cloud_says_where_it_exists() -> None:
    assert find_instance("gn7i", "tencent").elsewhere == ("alibaba",)
    assert find_instance("PNV4", "aws").elsewhere == ("tencent",)


def test_gn6_at_alibaba_is_no_family_and_its_real_ones_are_nearest() -> None:
    found = find_instance("gn6", "alibaba")
    assert not found.exists
    assert {o.family for o in found.nearest} == {"gn6i", "gn6v", "gn6e"}


def test_a_cloud_whose_form_is_not_known_has_no_shape() -> None:
    assert not any(
        has_shape_of(written, provider="acmecloud")
        for written in ("ecs.gn7i-c8g1.2xlarge", "ac1.a10.xlarge", "")
    )
