from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.catalog import (
    Constraints,
    NearMiss,
    PlainNeed,
    Recommendation,
    Work,
    cheapest,
    get_instance,
    has_nvlink,
    rates_from,
    recommend,
    usable_memory,
)
from tools.catalog.misses import feature_misses, resolve
from tools.catalog.views import recommendation_view
from tools.errors import BadQuantityError
from tools.gpus import get_gpu
from tools.memory import InferenceWorkload, TrainingWorkload, estimate, fit
from tools.models import find_model
from tools.units import GIB

TODAY = date(2026, 11, 30)
RATES = rates_from(per_usd={"CNY": Decimal(7), "EUR": Decimal("0.9")}, as_of=TODAY)


def a_need(gib: float, *, high: float | None = None, splits: bool = False) -> PlainNeed:
    return PlainNeed(int(gib * GIB), int((high or gib) * GIB), splits)


def limits(**given: object) -> Constraints:
    values: dict[str, object] = {"today": TODAY, "rates": RATES, **given}
    return Constraints(**values)  # type: ignore[arg-type]


def types(found: Recommendation) -> list[str]:
    return [o.offer.instance_type for o in found.offers]


def missed(found: Recommendation, name: str) -> NearMiss:
    return next(m for m in found.near_misses if m.offer.instance_type == name)


def codes(miss: NearMiss) -> set[str]:
    return {m.code for m in miss.misses}


def test_the_cheapest_mainland_machine_for_20_gib_is_the_a10() -> None:
    found = recommend(a_need(20), limits(providers=("阿里云",), region="cn"))
    first = found.offers[0]
    assert first.offer.instance_type == "ecs.gn7i-c8g1.2xlarge"
    # list of 2024-10-09: 8.5794 CNY/h in cn-heyuan and cn-wulanchabu; 730 hours a month
    assert first.cost_per_hour == first.price.amount == Decimal("8.5794")
    assert first.cost_per_month == Decimal("6262.96")
    assert first.is_old_price
    assert "old_price" in first.notes
    assert first.need.usable_bytes == get_gpu("NVIDIA A10").usable_bytes
    assert first.headroom_bytes == first.need.usable_bytes - 20 * GIB


def test_an_a10_does_not_hold_22_gib_though_its_label_says_24() -> None:
    found = recommend(a_need(22), limits(providers=("alibaba",), region="cn"))
    assert "ecs.gn7i-c8g1.2xlarge" not in types(found)
    (miss,) = missed(found, "ecs.gn7i-c8g1.2xlarge").misses
    assert (miss.code, miss.needed, miss.unit) == ("memory", 22 * GIB, "B")
    assert miss.has == get_gpu("NVIDIA A10").usable_bytes


def test_a_need_whose_upper_bound_does_not_fit_is_tight_and_not_offered() -> None:
    found = recommend(a_need(20, high=23), limits(providers=("alibaba",), region="cn"))
    assert "ecs.gn7i-c8g1.2xlarge" not in types(found)
    assert codes(missed(found, "ecs.gn7i-c8g1.2xlarge")) == {"tight"}


@settings(max_examples=25, deadline=None)
@given(
    gib=st.floats(min_value=0.5, max_value=700),
    splits=st.booleans(),
    provider=st.sampled_from(["alibaba", "aws", "gcp", "azure", None]),
    budget=st.one_of(st.none(), st.integers(min_value=1, max_value=500)),
)
def test_no_offer_is_ever_recommended_that_does_not_fit(
    gib: float, splits: bool, provider: str | None, budget: int | None
) -> None:
    found = recommend(
        a_need(gib, splits=splits),
        limits(
            providers=(provider,) if provider else (),
            budget=None if budget is None else Decimal(budget),
        ),
    )
    costs = [o.cost_per_hour for o in found.offers]
    assert costs == sorted(costs)
    for one in found.offers:
        memory = usable_memory(one.offer)
        assert memory is not None
        assert one.offer.gpu_count is not None
        share = one.offer.gpu_count if splits else 1
        assert gib * GIB / share <= memory.bytes + 1
        assert one.price.priced_on is not None
        assert one.offer.status in ("current", "previous-gen", "invitational-preview")
        assert budget is None or one.cost_per_hour <= budget
        assert provider is None or one.offer.provider == provider
    recommended = {o.offer.instance_type for o in found.offers}
    assert all(m.offer.instance_type not in recommended for m in found.near_misses)
    assert all(m.misses for m in found.near_misses)


def test_an_undated_price_is_a_near_miss_with_its_figure() -> None:
    found = recommend(a_need(28), limits(providers=("腾讯云",)))
    assert found.offers == ()
    (miss,) = missed(found, "GN10X.2XLARGE40").misses
    assert (miss.code, miss.has, miss.unit) == ("no_dated_price", Decimal("18.02"), "CNY/h")


def test_a_budget_per_hour_excludes_and_says_by_how_much() -> None:
    found = recommend(a_need(30), limits(providers=("alibaba",), region="cn", budget=Decimal(10)))
    assert found.offers == ()
    (miss,) = missed(found, "ecs.gn6e-c12g1.3xlarge").misses
    assert (miss.code, miss.needed, miss.unit) == ("price", Decimal("10.00"), "CNY/h")
    assert miss.has == Decimal("19.74")


def test_a_monthly_budget_buys_hours_unless_the_hours_are_known() -> None:
    asked = {"providers": ("alibaba",), "region": "cn", "budget": Decimal(5000),
             "budget_per": "month"}  # fmt: skip
    found = recommend(a_need(20), limits(**asked))
    assert found.offers[0].offer.gpu_name == "NVIDIA A10"
    assert found.offers[0].affordable_hours == pytest.approx(5000 / 8.5794)
    all_day = recommend(a_need(20), limits(**asked, hours_per_month=720))
    (miss,) = missed(all_day, "ecs.gn7i-c8g1.2xlarge").misses
    # 8.5794 * 720 = 6177.17
    assert (miss.code, miss.has) == ("price", Decimal("6177.17"))


def test_currencies_are_compared_by_the_rates_given() -> None:
    found = recommend(a_need(20), limits(limit=10))
    aws = next(o for o in found.offers if o.offer.instance_type == "g6.xlarge")
    assert found.currency == "CNY"
    assert aws.cost_per_hour == Decimal("0.8048") * 7
    assert {a.name for a in found.assumptions} >= {"region", "exchange_rates"}
    dollars = recommend(a_need(20), limits(providers=("aws", "gcp")))
    assert dollars.currency == "USD"
    euros = recommend(a_need(20), limits(providers=("aws",), currency="EUR"))
    assert float(euros.offers[0].cost_per_hour) == pytest.approx(0.8048 * 0.9)


def test_given_hours_make_the_cost_of_the_job() -> None:
    found = recommend(a_need(20), limits(providers=("aws",)), work=Work(hours=72))
    first = found.offers[0]
    assert found.ranked_by == "cost_of_job"
    assert first.cost_of_job == Decimal("57.95")  # 72 h * 0.8048 USD
    assert first.hours is not None
    assert first.hours.value == 72


def test_spot_is_used_only_where_allowed_and_known() -> None:
    plain = recommend(a_need(130), limits(providers=("aws",), gpu_names=("NVIDIA H200 SXM 141GB",)))
    spot = recommend(
        a_need(130),
        limits(providers=("aws",), gpu_names=("NVIDIA H200 SXM 141GB",), spot_allowed=True),
    )
    assert plain.offers[0].price.billing == "on_demand"
    assert plain.offers[0].cost_per_hour == Decimal("63.296")
    assert spot.offers[0].price.billing == "spot"
    assert spot.offers[0].cost_per_hour == Decimal("26.5714")
    alibaba = recommend(a_need(20), limits(providers=("alibaba",), region="cn", spot_allowed=True))
    first = alibaba.offers[0]
    assert first.price.billing == "on_demand"
    assert first.spot is not None
    assert (first.spot.basis, first.spot.likely) == ("vendor_ceiling", None)


@pytest.mark.parametrize(
    ("asked", "name", "code"),
    [
        ({"bf16": True}, "ecs.gn6e-c12g1.3xlarge", "no_bf16"),
        ({"fp8": True}, "ecs.gn7e-c16g1.4xlarge", "no_fp8"),
        ({"flash_attention": True}, "ecs.gn6e-c12g1.3xlarge", "no_flash_attention"),
        ({"nvlink": True, "gpu_count": 2}, "ecs.gn7i-2x.8xlarge", "no_nvlink"),
        ({"rdma": True}, "ecs.gn7i-c8g1.2xlarge", "no_rdma"),
        ({"min_network_gbps": 25.0}, "ecs.gn7i-c8g1.2xlarge", "network"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_missing_feature_is_the_reason(asked: dict[str, object], name: str, code: str) -> None:
    offer = get_instance(name)
    assert offer.gpu_name is not None
    asked = {"providers": ("alibaba",), "gpu_names": (offer.gpu_name,), **asked}
    assert name not in types(recommend(a_need(10), limits(**asked, limit=50)))
    against = feature_misses(offer, resolve(a_need(10), limits(**asked)))
    assert [m.code for m in against] == [code]


def test_unknown_nvlink_is_told_apart_from_none() -> None:
    found = recommend(
        a_need(10), limits(nvlink=True, gpu_names=("NVIDIA A100 SXM4 80GB",), providers=("aws",))
    )
    assert types(found) == []
    assert has_nvlink(get_instance("p4de.24xlarge")) is None
    assert codes(missed(found, "p4de.24xlarge")) == {"nvlink_unknown"}


def test_old_and_foreign_cards_are_no_offers() -> None:
    old = recommend(a_need(10), limits(gpu_names=("Tesla P100 PCIe 16GB",)))
    assert old.offers == ()
    assert all("too_old" in codes(m) for m in old.near_misses)
    everything = recommend(a_need(150), limits(limit=50))
    assert all("AMD" not in (o.offer.gpu_label or "") for o in everything.offers)
    rocm = recommend(a_need(150), limits(rocm=True, limit=50))
    assert any("MI300X" in (o.offer.gpu_label or "") for o in rocm.offers)


def test_a_slice_counts_with_its_own_memory() -> None:
    found = recommend(a_need(6), limits(providers=("alibaba",), region="cn", limit=10))
    slices = [o for o in found.offers if o.offer.is_slice]
    assert slices
    for one in slices:
        assert one.offer.slice_memory_gb is not None
        assert one.need.usable_bytes <= one.offer.slice_memory_gb * GIB
        assert "slice_licence" in one.notes
    whole = recommend(a_need(6), limits(providers=("alibaba",), region="cn", whole_cards=True))
    assert not any(o.offer.is_slice for o in whole.offers)


def test_exactly_the_count_asked_for() -> None:
    found = recommend(a_need(30, splits=True), limits(gpu_count=2, providers=("alibaba",)))
    assert {o.offer.gpu_count for o in found.offers} == {2}
    assert found.offers[0].offer.gpu_name == "NVIDIA A10"


def test_the_figures_of_an_offer_reach_their_sources() -> None:
    found = recommend(a_need(20), limits(providers=("aws",)), work=Work(hours=10))
    figures = {f.name: f for f in found.offers[0].figures}
    assert figures["price_per_hour"].value == Decimal("0.8048")
    assert any("karpenter" in s.locator for s in figures["cost_of_job"].leaves())
    assert all(list(f.leaves()) or f.formula for f in found.offers[0].figures)


def test_the_view_is_plain_and_keeps_every_digit() -> None:
    import json

    found = recommend(a_need(22), limits(providers=("alibaba",), region="cn"))
    view = json.loads(json.dumps(recommendation_view(found)))
    assert view["offers"][0]["price"]["amount"] == str(found.offers[0].price.amount)
    assert view["near_misses"][0]["misses"][0]["code"]


@pytest.mark.parametrize(
    "wrong",
    [{"budget": Decimal(0)}, {"gpu_count": 0}, {"deadline_hours": -1.0}, {"limit": 0}],
    ids=lambda w: next(iter(w)),
)
def test_impossible_constraints_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(BadQuantityError, match=next(iter(wrong))):
        Constraints(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", [{"region": "atlantis"}, {"providers": ("cloudzilla",)}])
def test_unknown_places_are_refused(asked: dict[str, object]) -> None:
    with pytest.raises(BadQuantityError):
        recommend(a_need(10), limits(**asked))


# --- with the memory calculator and the speed room ---


def test_full_training_of_7b_never_lands_on_an_a10() -> None:
    model = find_model("Qwen2.5-7B").spec
    found = recommend(TrainingWorkload(model, method="full"), limits(limit=20))
    assert all(o.offer.gpu_name != "NVIDIA A10" or o.offer.gpu_count != 1 for o in found.offers)
    for one in found.offers:
        need = one.need
        assert need.high_bytes <= need.usable_bytes or need.likely_bytes <= 0.85 * need.usable_bytes


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_what_is_offered_for_serving_is_what_the_calculator_says(count: int) -> None:
    model = find_model("llama3 70b").spec
    workload = InferenceWorkload(model, context_len=8192)
    found = recommend(workload, limits(providers=("aws",), gpu_count=count, limit=20))
    for one in found.offers:
        assert one.offer.gpu_name is not None
        card = get_gpu(one.offer.gpu_name)
        from dataclasses import replace

        again = estimate(
            replace(
                workload, gpu=card, gpu_count=one.need.gpus_used,
                tensor_parallel_size=one.need.gpus_used,
            )
        )  # fmt: skip
        assert card.usable_bytes is not None
        result = fit(again, card.usable_bytes)
        assert result.verdict == "fits" or result.need_bytes <= 0.85 * result.usable_bytes
        assert again.process_bytes == one.need.likely_bytes


def test_a_training_job_is_ranked_by_its_cost_and_not_by_the_hour() -> None:
    model = find_model("Qwen2.5-7B").spec
    found = recommend(
        TrainingWorkload(model, method="qlora", seq_len=1024),
        limits(limit=20),
        work=Work(samples=50_000, tokens_per_sample=500, epochs=3),
    )
    assert found.ranked_by == "cost_of_job"
    costs = [o.cost_of_job for o in found.offers if o.cost_of_job is not None]
    assert len(costs) >= 3
    assert costs == sorted(costs)
    hourly = [o.cost_per_hour for o in found.offers if o.cost_of_job is not None]
    assert hourly != sorted(hourly)
    for one in found.offers:
        if one.hours is not None and one.cost_of_job is not None:
            assert one.hours.low <= one.hours.value <= one.hours.high
            # half an hour of setting up is paid too
            again = Decimal(repr(one.hours.value + 0.5)) * one.cost_per_hour
            assert one.cost_of_job == pytest.approx(again, abs=Decimal("0.01"))


def test_a_deadline_is_a_reason() -> None:
    model = find_model("Qwen2.5-7B").spec
    workload = TrainingWorkload(model, method="qlora", seq_len=1024)
    work = Work(tokens=3e9)
    slow = recommend(workload, limits(gpu_names=("Tesla T4",), deadline_hours=24.0), work=work)
    assert all("deadline" in codes(m) or "price" not in codes(m) for m in slow.near_misses)
    assert all(o.hours is None or o.hours.value <= 24 for o in slow.offers)


def test_the_least_speed_of_a_stream_is_a_reason() -> None:
    workload = InferenceWorkload(find_model("Qwen2.5-1.5B").spec, context_len=2048)
    asked = {"gpu_names": ("NVIDIA L4",), "gpu_count": 1, "whole_cards": True,
             "providers": ("aws",)}  # fmt: skip
    assert recommend(workload, limits(**asked)).offers != ()
    found = recommend(workload, limits(**asked, min_decode_tokens_per_s=150.0))
    assert found.offers == ()
    assert codes(missed(found, "g6.xlarge")) == {"speed"}


def test_an_offer_without_a_price_in_the_region_says_so() -> None:
    offer = get_instance("g6e.xlarge")
    assert cheapest(offer) is not None
    found = recommend(
        a_need(40), limits(providers=("aws",), gpu_names=("NVIDIA L40S",), region="eu")
    )
    assert found.offers == ()
    assert all(codes(m) == {"not_in_region"} for m in found.near_misses)
