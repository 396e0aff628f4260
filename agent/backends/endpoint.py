"""A configured endpoint: where it is, what it is asked for, and the client that talks to it."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from agent.backends.faults import Fault
from agent.settings import Settings

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

_NO_KEY = "none"
"""Sent to servers that need no key: the client refuses to start without one."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address, model and key."""

    base_url: str
    model: str
    api_key: str = field(repr=False)
    tokens_field: str = "max_tokens"


@cache
def presets() -> dict[str, dict[str, str]]:
    """Known providers by name."""
    return tomllib.loads(files("agent.backends").joinpath("data/presets.toml").read_text("utf-8"))


def endpoint_of(settings: Settings) -> Endpoint:
    """The endpoint that the settings describe.

    Raises:
        Fault: misconfigured, when the preset is unknown or the model or key is missing.
    """
    row: dict[str, str] = {}
    if settings.preset is not None:
        if settings.preset not in presets():
            known = ", ".join(presets())
            raise Fault("misconfigured", f"unknown preset {settings.preset!r}; known: {known}")
        row = presets()[settings.preset]
    base_url = settings.base_url or row.get("base_url", "")
    model = settings.model or row.get("model", "")
    if not model:
        raise Fault("misconfigured", "no model is named; set XUANKA_MODEL")
    return Endpoint(
        base_url=base_url,
        model=model,
        api_key=_key(settings, row),
        tokens_field=row.get("tokens_field", "max_tokens"),
    )


def _key(settings: Settings, row: dict[str, str]) -> str:
    if settings.api_key is not None:
        return settings.api_key.get_secret_value()
    variable = row.get("key_env", "")
    if not variable:
        return _NO_KEY
    key = os.environ.get(variable)
    if not key:
        raise Fault("misconfigured", f"no key; set XUANKA_API_KEY or {variable}")
    return key


def timeout_of(settings: Settings) -> Any:
    """Connect and read limits, as the client takes them."""
    import httpx2

    return httpx2.Timeout(settings.read_timeout_s, connect=settings.connect_timeout_s)


def chat_model(
    settings: Settings,
    endpoint: Endpoint,
    *,
    http_client: Any = None,
    http_async_client: Any = None,
) -> ChatOpenAI:
    """The model behind an endpoint.

    It never retries by itself: one breaker and one budget govern all attempts. Whoever hands in
    an HTTP client closes it.
    """
    from langchain_openai import ChatOpenAI

    extra: dict[str, Any] = {endpoint.tokens_field: settings.max_output_tokens}
    return ChatOpenAI(
        model=endpoint.model,
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        temperature=settings.temperature,
        timeout=timeout_of(settings),
        http_client=http_client,
        http_async_client=http_async_client,
        max_retries=0,
        stream_usage=True,
        use_responses_api=False,
        extra_body=extra,
    )
