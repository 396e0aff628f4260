"""What to rent: offers that fit with margin, cheapest first, and why the nearest others fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from tools.catalog.constraints import (
    Constraints,
    GpuNeed,
    HoursInterval,
    Miss,
    NearMiss,
    Recommendation,
    RecommendedOffer,
    Work,
)
from tools.catalog.fitting import Fitter, Measure, PlainNeed
from tools.catalog.jobs import Clock
from tools.catalog.loader import catalog, offer_source
from tools.catalog.lookup import size_order
from tools.catalog.memory import gpu_of, usable_memory
from tools.catalog.misses import (
    ROCM,
    Asked,
    Cost,
    cents,
    cost_of,
    feature_misses,
    memory_misses,
    money_misses,
    resolve,
    speed_misses,
)
from tools.catalog.offer import InstanceOffer, Price
from tools.catalog.prices import today
from tools.catalog.query import has_nvlink
from tools.provenance import Assumption, Figure, Source
from tools.units import HOURS_PER_MONTH

if TYPE_CHECKING:
    from tools.memory import InferenceWorkload, TrainingWorkload

_FAR = 4.0
_FEW = 3
_HOPELESS = {"no_cuda", "too_old", "not_for_sale", "card_unknown"}
"""Reasons beside which memory no longer matters and is not computed."""
_NEAR_MISSES = 6
_PER_CODE = 2


@dataclass(frozen=True)
class _Candidate:
    offer: InstanceOffer
    need: GpuNeed | None
    cost: Cost
    hours: HoursInterval | None
    job: Decimal | None
    misses: tuple[Miss, ...]


def recommend(
    workload: TrainingWorkload | InferenceWorkload | PlainNeed,
    constraints: Constraints | None = None,
    *,
    work: Work | None = None,
    measure: Measure | None = None,
) -> Recommendation:
    """Offers that run a workload with margin, best first.

    Args:
        workload: What is run, or a `PlainNeed` in bytes.
        constraints: What is acceptable.
        work: How much is to be done; with it offers are ranked by the cost of the job, else by
            the cost of an hour.
        measure: Memory calculator in place of tools.memory.estimate.

    Returns:
        Offers of which the memory verdict is `fits` and every constraint is met, one for each
        card of a provider (its cheapest size); and the nearest misses with all reasons.

    Raises:
        BadQuantityError: If a provider, region, currency or number of the constraints is not
            known or possible.
    """
    asked = resolve(workload, constraints or Constraints())
    fitter, clock = Fitter(workload, measure), Clock(workload, work)
    judge = _Judge(asked, fitter, clock)
    candidates = [
        judge.candidate(offer) for offer in catalog().offers if _is_considered(offer, asked)
    ]
    good = [c for c in candidates if not c.misses]
    by_job = work is not None and any(c.job is not None for c in good)
    best, failed = judge.best_of_each(good, by_job=by_job)
    offers = tuple(_offer(c, asked, clock) for c in best)
    failed += [c for c in candidates if c.misses]
    return Recommendation(
        offers=offers,
        near_misses=_near_misses(failed, _least_counts(best), judge),
        considered=len(candidates),
        currency=asked.currency,
        rates=asked.rates,
        ranked_by="cost_of_job" if by_job else "cost_per_hour",
        assumptions=_assumptions(offers, asked, clock),
    )


def _is_considered(offer: InstanceOffer, asked: Asked) -> bool:
    limits = asked.limits
    if not offer.is_gpu or (asked.providers and offer.provider not in asked.providers):
        return False
    if limits.gpu_names and offer.gpu_name not in limits.gpu_names:
        return False
    return not (limits.whole_cards and offer.category == "vgpu-slice" and offer.is_slice)


@dataclass(frozen=True)
class _Judge:
    """Judges offers against what was asked."""

    asked: Asked
    fitter: Fitter
    clock: Clock

    def candidate(self, offer: InstanceOffer, *, is_exact: bool = False) -> _Candidate:
        """One offer with its cost and everything that speaks against it."""
        misses = list(feature_misses(offer, self.asked))
        cost = cost_of(offer, self.asked)
        if cost.miss is not None:
            misses.append(cost.miss)
        need = None
        memory = usable_memory(offer)
        if any(miss.code in _HOPELESS for miss in misses):
            return _Candidate(offer, None, cost, None, None, tuple(misses))
        if memory is None or offer.gpu_count is None:
            misses.append(Miss("gpu_memory_unknown"))
        else:
            need = self.fitter.need(
                gpu_of(offer),
                usable_bytes=memory.bytes,
                gpu_count=offer.gpu_count,
                is_exact=is_exact,
            )
            misses.extend(memory_misses(offer, need))
        fits = need is not None and need.verdict == "fits"
        hours = self.clock.hours(offer, need) if fits and need is not None else None
        job = None
        if hours is not None and cost.per_hour is not None:
            job = cost.per_hour * Decimal(repr(hours.value + self.clock.setup_hours))
        misses.extend(money_misses(self.asked, cost, hours, job))
        if need is not None and not misses:
            misses.extend(speed_misses(offer, need, self.asked, self.clock))
        return _Candidate(offer, need, cost, hours, job, tuple(misses))

    def best_of_each(
        self, good: list[_Candidate], *, by_job: bool
    ) -> tuple[list[_Candidate], list[_Candidate]]:
        """The cheapest size and count of each card at each provider, each judged exactly.

        Returns:
            Offers, best first, as many as were asked for; and those that did not hold up.
        """
        best: dict[tuple[str, str | None, float | None], _Candidate] = {}
        failed: list[_Candidate] = []
        for rough in sorted(good, key=lambda c: _rank(c, by_job)):
            key = _card_key(rough.offer)
            if key in best:
                continue
            exact = self.candidate(rough.offer, is_exact=True)
            if exact.misses:
                failed.append(exact)
                continue
            best[key] = exact
            if len(best) == self.asked.limits.limit:
                break
        return list(best.values()), failed


def _card_key(offer: InstanceOffer) -> tuple[str, str | None, float | None]:
    return offer.provider, offer.gpu_label, offer.gpu_memory_gb


def _rank(candidate: _Candidate, by_job: bool) -> tuple[bool, Decimal, float, str]:
    """By cost of the job (unknown last) or of the hour, then the fewer cards."""
    hourly = candidate.cost.per_hour or Decimal("Infinity")
    has_job = candidate.job is not None
    cost = candidate.job if by_job and candidate.job is not None else hourly
    offer = candidate.offer
    return by_job and not has_job, cost, offer.card_count or 99.0, offer.instance_type


def _least_counts(good: list[_Candidate]) -> dict[tuple[str, str | None, float | None], int]:
    """Fewest GPUs of each card at which an offer fits."""
    least: dict[tuple[str, str | None, float | None], int] = {}
    for candidate in good:
        key, count = _card_key(candidate.offer), candidate.offer.gpu_count or 1
        least[key] = min(count, least.get(key, count))
    return least


def _near_misses(
    candidates: list[_Candidate],
    solved: dict[tuple[str, str | None, float | None], int],
    judge: _Judge,
) -> tuple[NearMiss, ...]:
    """Nearest first: fewest reasons, smallest shortfall, lowest price; two for each reason.

    A card of which more GPUs do fit is still worth a word; as many or more of it are not.
    """
    failed = [
        c
        for c in candidates
        if c.misses and (c.offer.gpu_count or 1) < solved.get(_card_key(c.offer), 10**6)
    ]
    failed.sort(
        key=lambda c: (
            len(c.misses),
            max(m.shortfall for m in c.misses),
            c.cost.per_hour or Decimal("Infinity"),
            size_order(c.offer),
        )
    )
    found: list[NearMiss] = []
    per_code: Counter[str] = Counter()
    seen: set[tuple[object, ...]] = set()
    for candidate in failed:
        if len(found) >= _FEW and max(m.shortfall for m in candidate.misses) > _FAR:
            break
        code, key = candidate.misses[0].code, _card_key(candidate.offer)
        if per_code[code] >= _PER_CODE or key in seen:
            continue
        if candidate.need is not None:
            candidate = judge.candidate(candidate.offer, is_exact=True)
            if not candidate.misses:
                continue
        per_code[code] += 1
        seen.add(key)
        found.append(
            NearMiss(
                candidate.offer,
                candidate.misses,
                candidate.cost.price,
                candidate.cost.per_hour,
                candidate.need,
            )
        )
        if len(found) == _NEAR_MISSES:
            break
    return tuple(found)


def _offer(candidate: _Candidate, asked: Asked, clock: Clock) -> RecommendedOffer:
    offer, need, price = candidate.offer, candidate.need, candidate.cost.price
    per_hour = candidate.cost.per_hour
    assert need is not None
    assert price is not None
    assert per_hour is not None
    limits = asked.limits
    is_old = price.is_old(today=limits.today or today(), old_after_days=limits.old_after_days)
    affordable = None
    if asked.budget is not None and limits.budget_per != "hour":
        affordable = float(asked.budget / per_hour)
    rate = clock.rate(offer, need)
    return RecommendedOffer(
        offer=offer,
        need=need,
        price=price,
        is_old_price=is_old,
        spot=candidate.cost.spot,
        currency=asked.currency,
        cost_per_hour=per_hour,
        cost_per_month=cents(per_hour * HOURS_PER_MONTH),
        hours=candidate.hours,
        cost_of_job=None if candidate.job is None else cents(candidate.job),
        affordable_hours=affordable,
        tokens_per_s=None if rate is None else rate.value,
        notes=tuple(_notes(offer, need, is_old)),
        figures=tuple(_figures(candidate, asked, clock, price, per_hour)),
    )


def _notes(offer: InstanceOffer, need: GpuNeed, is_old: bool) -> Iterable[str]:
    card = gpu_of(offer)
    if is_old:
        yield "old_price"
    if offer.is_slice:
        yield "slice_licence"
    if card is not None and card.bf16_supported is False:
        yield "fp16_only"
    if card is not None and card.name.startswith(ROCM):
        yield "rocm"
    if need.gpus_used > 1 and has_nvlink(offer) is None:
        yield "nvlink_unknown"
    if offer.gpu_count is not None and need.gpus_used < offer.gpu_count:
        yield "larger_than_needed"


def _figures(
    candidate: _Candidate, asked: Asked, clock: Clock, price: Price, per_hour: Decimal
) -> Iterable[Figure]:
    """Memory, price, cost and hours of an offer, each with its origin."""
    offer, need = candidate.offer, candidate.need
    memory = usable_memory(offer)
    if memory is not None:
        yield memory.figure
    if need is not None:
        yield need.figure
    hourly = Figure(
        "price_per_hour", price.per_hour, f"{price.currency}/h", (price.source, offer_source(offer))
    )
    yield hourly
    common = hourly
    if price.currency != asked.currency:
        common = Figure(
            "cost_per_hour",
            per_hour.quantize(Decimal("0.0001")),
            f"{asked.currency}/h",
            (asked.rates.source,),
            "price * exchange rate",
            (hourly,),
        )
        yield common
    if candidate.cost.spot is not None:
        yield from candidate.cost.spot.figures()
    yield Figure(
        "cost_per_month",
        cents(per_hour * HOURS_PER_MONTH),
        f"{asked.currency}/month",
        (),
        "cost_per_hour * 730 h",
        (common,),
    )
    yield from _job_figures(candidate, asked, clock, common)


def _job_figures(
    candidate: _Candidate, asked: Asked, clock: Clock, common: Figure
) -> Iterable[Figure]:
    """Hours and cost of the job, where there is one."""
    if candidate.hours is not None and candidate.job is not None:
        time = Figure("hours", candidate.hours.value, "h", (), "work / speed")
        yield time
        setup = Figure(
            "setup_hours",
            clock.setup_hours,
            "h",
            (Source("assumed:setup_hours", "assumed", "image, model and data before the start"),),
        )
        yield Figure(
            "cost_of_job",
            cents(candidate.job),
            asked.currency,
            (),
            "(hours + setup_hours) * cost_per_hour",
            (time, setup, common),
        )


def _assumptions(
    offers: tuple[RecommendedOffer, ...], asked: Asked, clock: Clock
) -> tuple[Assumption, ...]:
    """What was chosen for the reader, once each."""
    found = []
    if asked.limits.region is None:
        why = "no region was named: the cheapest counts, of Chinese clouds in mainland China"
        found.append(Assumption("region", "any", "1", why))
    if any(o.price.currency != asked.currency for o in offers):
        day = asked.rates.as_of.isoformat()
        found.append(
            Assumption("exchange_rates", day, "1", "reference rates of this day convert prices")
        )
    if clock.setup_hours and any(o.cost_of_job is not None for o in offers):
        found.append(
            Assumption("setup_hours", clock.setup_hours, "h", "paid time before the job starts")
        )
    return tuple(found)
