"""recommend: what to rent for a run, best first, with the nearest that do not do."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field

from agent.answer import AssumptionOut, CitationOut, FigureOut
from agent.settings import Settings
from agent.toolbox.base import Report, Row, Tool, description_of, figure_out
from agent.toolbox.memory import MemoryArguments
from agent.toolbox.offers import InstanceOut, PriceOut, instance_out
from agent.toolbox.resolve import resolve_card, resolve_model
from agent.toolbox.workloads import workload_of
from tools.catalog import offer_source


class RecommendArguments(MemoryArguments):
    """The run, and what is acceptable. `gpu` limits the search to that card."""

    model_config = {"frozen": True, "extra": "forbid"}

    providers: tuple[str, ...] = Field((), description="Clouds; empty = all")
    region: str | None = Field(None, description="Region id, city, or cn, hk, us, eu, ap")
    max_gpu_count: int | None = Field(None, ge=1)
    budget: float | None = Field(None, gt=0, description="Money that may be spent")
    budget_currency: str = Field("CNY", description="CNY, USD, ...")
    budget_per: Literal["hour", "month", "run"] = "hour"
    spot: bool = Field(False, description="Rank by spot prices where they are known")
    hours: float | None = Field(None, gt=0, description="Hours of rent")
    deadline_hours: float | None = Field(None, gt=0, description="Hours that the job may take")
    samples: float | None = Field(None, gt=0)
    tokens_per_sample: float | None = Field(None, gt=0)
    tokens: float | None = Field(None, gt=0, description="Training tokens of one epoch")
    epochs: float = Field(1, gt=0)
    limit: int = Field(4, ge=1, le=20)


class RecommendedOut(Row):
    """An offer that fits with margin."""

    instance: InstanceOut
    gpus_used: int
    parallelism: str | None
    need_bytes: int
    need_high_bytes: int
    usable_bytes: int
    currency: str
    cost_per_hour: Decimal
    cost_per_month: Decimal
    hours: float | None
    hours_low: float | None
    hours_high: float | None
    cost_of_job: Decimal | None
    affordable_hours: float | None
    tokens_per_s: float | None
    is_old_price: bool
    notes: tuple[str, ...]
    requests_held: int | None = None
    """Full-length requests whose cache the engine finds room for at once; None = no such engine."""
    requests: int | None = None
    """Requests at once that were asked for."""


class MissOut(Row):
    """A reason why an offer does not do."""

    code: str
    needed: float | None
    has: float | None
    unit: str
    detail: str | None = None


class NearMissOut(Row):
    """An offer that fails."""

    provider: str
    instance_type: str
    gpu: str | None
    gpu_count: float | None
    cost_per_hour: Decimal | None
    misses: tuple[MissOut, ...]
    price: PriceOut | None = None
    requests_held: int | None = None
    """Full-length requests whose cache the engine finds room for at once; None = no such engine."""
    requests: int | None = None
    """Requests at once that were asked for."""


class RecommendReport(Report):
    """Offers, best first."""

    offers: tuple[RecommendedOut, ...]
    near_misses: tuple[NearMissOut, ...]
    considered: int
    currency: str
    ranked_by: str
    rates_as_of: str
    assumptions: tuple[AssumptionOut, ...]

    def summary(self) -> str:
        """The best offer."""
        if not self.offers:
            return f"none of {self.considered} types does"
        best = self.offers[0]
        return f"{best.instance.instance_type} at {best.cost_per_hour:.2f} {best.currency}/h"


def build(settings: Settings) -> Tool[RecommendArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="recommend",
        description=description_of("recommend"),
        arguments=RecommendArguments,
        report=RecommendReport,
        function=recommend,
    )


@lru_cache(maxsize=512)
def recommend(arguments: RecommendArguments) -> RecommendReport:
    """Searches the catalog for a run.

    Raises:
        UserInputError: Unknown names, regions and currencies, with what is known.
    """
    from tools.catalog import recommend as search
    from tools.gpus import get_gpu

    model = resolve_model(arguments.model, arguments.params_b)
    card = resolve_card(arguments.gpu) if arguments.gpu not in (None, "none") else None
    run = arguments.model_copy(update={"gpu": None, "gpu_count": None, "instance": None})
    found = search(
        workload_of(run, model, None),
        _constraints(arguments, get_gpu(card.spec.name).name if card is not None else None),
        work=_work(arguments),
    )
    offers = tuple(_recommended(offer, arguments.region) for offer in found.offers)
    figures = [figure_out(f) for offer in found.offers for f in offer.figures]
    figures += _cost_figures(found.offers)
    return RecommendReport(
        figures=tuple(figures),
        citations=_citations(found.offers),
        offers=offers,
        near_misses=tuple(_near_miss(miss, arguments.region) for miss in found.near_misses[:5]),
        considered=found.considered,
        currency=found.currency,
        ranked_by=found.ranked_by,
        rates_as_of=found.rates.as_of.isoformat(),
        assumptions=tuple(
            AssumptionOut(name=a.name, value=a.value, unit=a.unit, why=a.why)
            for a in found.assumptions
        ),
    )


def _constraints(arguments: RecommendArguments, gpu: str | None) -> Any:
    from tools.catalog import Constraints

    budget = None if arguments.budget is None else Decimal(str(arguments.budget))
    return Constraints(
        providers=arguments.providers or ((arguments.provider,) if arguments.provider else ()),
        region=arguments.region,
        gpu_names=(gpu,) if gpu else (),
        gpu_count=arguments.gpu_count,
        max_gpu_count=arguments.max_gpu_count,
        budget=budget,
        budget_currency=arguments.budget_currency,
        budget_per=arguments.budget_per,
        spot_allowed=arguments.spot,
        deadline_hours=arguments.deadline_hours,
        limit=arguments.limit,
    )


def _work(arguments: RecommendArguments) -> Any:
    from tools.catalog import Work

    said = (arguments.hours, arguments.tokens, arguments.samples)
    if all(value is None for value in said):
        return None
    return Work(
        hours=arguments.hours,
        tokens=arguments.tokens,
        samples=arguments.samples,
        tokens_per_sample=arguments.tokens_per_sample,
        epochs=arguments.epochs,
    )


def _recommended(found: Any, region: str | None) -> RecommendedOut:
    hours = found.hours
    return RecommendedOut(
        instance=instance_out(found.offer, region),
        gpus_used=found.need.gpus_used,
        parallelism=found.need.parallelism,
        need_bytes=found.need.likely_bytes,
        need_high_bytes=found.need.high_bytes,
        usable_bytes=found.need.usable_bytes,
        currency=found.currency,
        cost_per_hour=found.cost_per_hour,
        cost_per_month=found.cost_per_month,
        hours=hours.value if hours else None,
        hours_low=hours.low if hours else None,
        hours_high=hours.high if hours else None,
        cost_of_job=found.cost_of_job,
        affordable_hours=found.affordable_hours,
        tokens_per_s=found.tokens_per_s,
        is_old_price=found.is_old_price,
        notes=found.notes,
        **_held(found.need),
    )


def _held(need: Any) -> dict[str, int]:
    """Requests that a paged engine holds at once on a card, of those that were asked for."""
    from tools.memory import waiting_bytes

    estimate = need.estimate if need is not None else None
    if estimate is None or not (waiting := waiting_bytes(estimate)):
        return {}
    each = estimate.kv_cache_bytes - waiting
    room = need.usable_bytes - (estimate.process_bytes - estimate.kv_cache_bytes)
    return {
        "requests_held": max(int(room // each), 0),
        "requests": round(estimate.kv_cache_bytes / each),
    }


def _near_miss(found: Any, region: str | None) -> NearMissOut:
    return NearMissOut(
        provider=found.offer.provider,
        instance_type=found.offer.instance_type,
        gpu=found.offer.gpu_label,
        gpu_count=found.offer.card_count,
        cost_per_hour=found.cost_per_hour,
        price=instance_out(found.offer, region).price,
        **_held(found.need),
        misses=tuple(
            MissOut(
                code=m.code,
                needed=None if m.needed is None else float(m.needed),
                has=None if m.has is None else float(m.has),
                unit=m.unit,
                detail=m.detail,
            )
            for m in found.misses
        ),
    )


def _cost_figures(offers: Any) -> list[FigureOut]:
    figures = []
    for found in offers:
        name, unit = found.offer.instance_type, found.currency
        rows: tuple[tuple[str, Any, str], ...] = (
            ("cost per hour", found.cost_per_hour, f"{unit}/h"),
            ("cost per month", found.cost_per_month, f"{unit}/month"),
            ("cost of the job", found.cost_of_job, unit),
            ("affordable hours", found.affordable_hours, "h"),
            ("need per GPU", found.need.likely_bytes, "B"),
            ("need per GPU, upper bound", found.need.high_bytes, "B"),
            ("usable per GPU", found.need.usable_bytes, "B"),
            ("GPUs", found.offer.gpu_count, "1"),
        )
        figures += [
            FigureOut(name=f"{name}: {label}", value=value, unit=of, formula="recommendation")
            for label, value, of in rows
            if value is not None
        ]
        if found.hours is not None:
            for label in ("value", "low", "high"):
                hours = getattr(found.hours, label)
                figures.append(FigureOut(name=f"{name}: hours {label}", value=hours, unit="h",
                                         formula="work / speed"))  # fmt: skip
    return figures


def _citations(offers: Any) -> tuple[CitationOut, ...]:
    sources = {s.locator: s for s in (offer_source(found.offer) for found in offers)}
    return tuple(
        CitationOut(id=s.id, title="catalog", locator=s.locator) for s in list(sources.values())[:4]
    )
