"""One model over the whole catalog: every card and count, trained and served, with the price."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from tools.catalog.constraints import GpuNeed
from tools.catalog.fitting import Fitter
from tools.catalog.loader import catalog
from tools.catalog.offer import InstanceOffer, Price
from tools.catalog.prices import cheapest
from tools.catalog.query import FOR_SALE
from tools.errors import BadQuantityError
from tools.gpus import GpuSpec, get_gpu

if TYPE_CHECKING:
    from tools.memory import InferenceWorkload, TrainingWorkload
    from tools.models import ModelSpec

Use = Literal["full", "lora", "qlora", "inference"]
USES: tuple[Use, ...] = get_args(Use)
COUNTS = (1, 2, 4, 8)


class Rental(NamedTuple):
    """The cheapest way to rent a card in a number, among the rows of one currency."""

    offer: InstanceOffer
    price: Price


class SweepRow(NamedTuple):
    """One card in one number, for one use of the model."""

    gpu: GpuSpec
    use: Use
    gpu_count: int
    need: GpuNeed
    """Memory of one card and the verdict; `parallelism` says how the cards share the work."""
    rentals: tuple[Rental, ...]
    """Cheapest dated price of exactly this many whole cards, one a currency; empty where no
    offer with a dated price has them."""


def sweep(model: ModelSpec, *, counts: Iterable[int] = COUNTS) -> tuple[SweepRow, ...]:
    """Where a model can be trained and served: every card of the catalog, every use, every count.

    Args:
        model: Row of the model registry, or one built from a config.
        counts: Cards of one machine.

    Returns:
        Cards by name, then uses in the order of `USES`, then counts.

    Raises:
        BadQuantityError: If a count is not above zero.

    Verdicts far from a border are judged by an estimate that holds for any card, the others by
    the card's own (see `Fitter.need`).
    """
    asked = tuple(counts)
    for count in asked:
        if count < 1:
            raise BadQuantityError(field="gpu_count", given=count, allowed="a number above 0")
    fitters = {use: Fitter(workload) for use, workload in _workloads(model).items()}
    rentals = cheapest_rentals()
    return tuple(
        SweepRow(
            card,
            use,
            count,
            fitters[use].need(card, usable_bytes=card.usable_bytes, gpu_count=count),
            rentals.get((card.name, count), ()),
        )
        for card in catalog_cards()
        if card.usable_bytes is not None
        for use in USES
        for count in asked
    )


@cache
def catalog_cards() -> tuple[GpuSpec, ...]:
    """Distinct cards that some offer of the catalog has whole, of known memory, by name."""
    names = {o.gpu_name for o in catalog().offers if o.gpu_name is not None and not o.is_slice}
    cards = (get_gpu(name) for name in sorted(names))
    return tuple(card for card in cards if card.usable_bytes is not None)


@cache
def cheapest_rentals() -> Mapping[tuple[str, int], tuple[Rental, ...]]:
    """(card, count) -> its cheapest on-demand rental in each currency, cheapest provider wins."""
    best: dict[tuple[str, int], dict[str, Rental]] = {}
    for offer in catalog().offers:
        if offer.gpu_name is None or offer.gpu_count is None or offer.is_slice:
            continue
        if offer.status not in FOR_SALE:
            continue
        price = cheapest(offer)
        if price is None:
            continue
        by_currency = best.setdefault((offer.gpu_name, offer.gpu_count), {})
        known = by_currency.get(price.currency)
        if known is None or price.per_hour < known.price.per_hour:
            by_currency[price.currency] = Rental(offer, price)
    return {key: tuple(found[c] for c in sorted(found)) for key, found in best.items()}


def _workloads(model: ModelSpec) -> dict[Use, TrainingWorkload | InferenceWorkload]:
    """The four uses, each with the defaults that the calculator assumes and reports."""
    from tools.memory import InferenceWorkload, TrainingWorkload

    return {
        "full": TrainingWorkload(model, method="full"),
        "lora": TrainingWorkload(model, method="lora"),
        "qlora": TrainingWorkload(model, method="qlora"),
        "inference": InferenceWorkload(model),
    }
