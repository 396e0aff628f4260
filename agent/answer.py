"""The typed answer that every face shows: command line, page, bots, API, suites."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Language = Literal["zh", "en"]
Intent = Literal[
    "fit_check",
    "recommend_instance",
    "cost_estimate",
    "time_estimate",
    "ecs_vs_gpu",
    "catalog_lookup",
    "gpu_compare",
    "oom_diagnosis",
    "multi_gpu_plan",
    "serving_plan",
    "io_bottleneck",
    "network_distributed",
    "spot_checkpoint",
    "probe_local",
    "concept",
    "out_of_scope",
    "invalid_input",
]
Verdict = Literal["fits", "tight", "does_not_fit", "depends", "not_applicable"]
BackendName = Literal["embedded", "openai_compatible"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MemoryRange(_Record):
    """What the configuration asked for needs, and what it is compared with."""

    scope: Literal["per_gpu", "total", "host_ram", "unified"]
    low_bytes: int
    high_bytes: int
    usable_bytes: int | None = None


class AssumptionOut(_Record):
    """A value that was not said and may be changed."""

    name: str
    value: int | float | str | bool
    unit: str
    why: str


class FigureOut(_Record):
    """A number of the answer with its origin."""

    name: str
    value: int | float | Decimal
    unit: str
    formula: str | None = None
    sources: tuple[str, ...] = ()


class CitationOut(_Record):
    """A passage or source the answer rests on."""

    id: str
    title: str
    locator: str


class Correction(_Record):
    """A false premise of the question, put right."""

    premise: str
    fact: str
    source: str
    kind: str = Field(default="", exclude_if=lambda kind: not kind)
    """The row that it is from, for composers; empty, and left out, in an answer."""


class OfferOut(_Record):
    """An instance to rent."""

    provider: str
    instance_type: str
    gpu_name: str | None
    gpu_count: float | None
    region: str | None
    price: Decimal | None
    currency: str | None
    priced_on: str | None
    billing: Literal["on_demand", "spot", "subscription"] | None


class ToolCallOut(_Record):
    """One call of a tool on the way to the answer."""

    name: str
    arguments: dict[str, Any]
    ok: bool
    elapsed_ms: float


class UsageOut(_Record):
    """What an endpoint was asked for, over all calls of one answer."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """By the prices in the settings; None when they are not set."""
    currency: str | None


class Answer(_Record):
    """One answer. Field names are a contract: suites, API and page read them."""

    language: Language
    intent: Intent
    text: str
    """Markdown, in the question's language."""
    verdict: Verdict
    memory: MemoryRange | None = None
    request: dict[str, Any] = Field(default_factory=dict)
    assumptions: tuple[AssumptionOut, ...] = ()
    figures: tuple[FigureOut, ...] = ()
    citations: tuple[CitationOut, ...] = ()
    corrections: tuple[Correction, ...] = ()
    offers: tuple[OfferOut, ...] = ()
    clarifying_question: str | None = None
    follow_ups: tuple[str, ...] = ()
    backend: BackendName = "embedded"
    degraded: str | None = None
    tool_calls: tuple[ToolCallOut, ...] = ()
    usage: UsageOut | None = None
    """None when no endpoint was asked."""
    elapsed_ms: float = 0.0
    version: str = ""
