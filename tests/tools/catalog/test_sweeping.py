"""One model over the catalog: complete, monotone, equal to the calculator, joined with prices."""

from __future__ import annotations

import pytest

from tools.catalog import SweepRow, catalog, catalog_cards, cheapest, sweep
from tools.catalog.sweeping import USES
from tools.errors import BadQuantityError
from tools.gpus import get_gpu
from tools.memory import TrainingWorkload, estimate, fit, likely
from tools.models import get_model

MODEL = "Qwen/Qwen2.5-7B"


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, str, int], SweepRow]:
    return {(r.gpu.name, r.use, r.gpu_count): r for r in sweep(get_model(MODEL))}


def test_every_card_use_and_count_has_one_row(rows: dict[tuple[str, str, int], SweepRow]) -> None:
    cards = catalog_cards()
    assert {"NVIDIA A10", "NVIDIA L20", "Tesla T4"} <= {c.name for c in cards}
    assert len(rows) == len(cards) * len(USES) * 4


@pytest.mark.parametrize("card", ["NVIDIA A10", "NVIDIA L20", "Tesla V100 SXM2 16GB"])
@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
def test_verdict_is_the_calculators(
    rows: dict[tuple[str, str, int], SweepRow], card: str, method: str
) -> None:
    spec = get_gpu(card)
    usable = spec.usable_bytes
    assert usable is not None
    workload = TrainingWorkload(get_model(MODEL), method=method, gpu=spec, gpu_count=1)  # type: ignore[arg-type]  # parametrized literal
    found = fit(estimate(workload), usable)
    assert rows[(card, method, 1)].need.verdict == likely(
        found.need_bytes, high_bytes=found.high_bytes, usable_bytes=found.usable_bytes
    )


def test_known_borders_hold(rows: dict[tuple[str, str, int], SweepRow]) -> None:
    # 7.6 billion parameters x 16 bytes = 122 GB: no single card of the catalog holds that but
    # one of 141 GB or more; the 15.2 GB of 16-bit weights do not fit a 16 GB T4.
    for (_, use, count), row in rows.items():
        label = row.gpu.memory_label_gb
        if use == "full" and count == 1 and label is not None and label <= 100:
            assert row.need.verdict == "does_not_fit", row.gpu.name
    assert rows[("Tesla T4", "lora", 1)].need.verdict == "does_not_fit"
    assert rows[("Tesla T4", "inference", 1)].need.verdict == "does_not_fit"
    assert rows[("Tesla T4", "qlora", 1)].need.verdict in ("fits", "tight")


def test_more_memory_is_never_a_worse_verdict(
    rows: dict[tuple[str, str, int], SweepRow],
) -> None:
    rank = {"does_not_fit": 0, "tight": 1, "fits": 2}
    small, large = get_gpu("NVIDIA L4"), get_gpu("NVIDIA L40S")
    for use in USES:
        for count in (1, 2, 4, 8):
            a, b = (rows[(c.name, use, count)].need.verdict for c in (small, large))
            assert rank[a] <= rank[b], (use, count)


def test_rental_is_the_cheapest_dated_price_of_that_many_cards(
    rows: dict[tuple[str, str, int], SweepRow],
) -> None:
    seen = 0
    for (name, _, count), row in rows.items():
        for rental in row.rentals:
            seen += 1
            assert rental.offer.gpu_name == name
            assert rental.offer.gpu_count == count
            assert rental.price.priced_on is not None
            others = (
                cheapest(o)
                for o in catalog().offers
                if o.gpu_name == name and o.gpu_count == count and o.status == rental.offer.status
                if not o.is_slice
            )
            least = min(p.per_hour for p in others if p and p.currency == rental.price.currency)
            assert rental.price.per_hour <= least
    assert seen > 100


def test_impossible_count_is_refused() -> None:
    with pytest.raises(BadQuantityError, match="gpu_count"):
        sweep(get_model(MODEL), counts=(0,))
