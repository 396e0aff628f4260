"""Every setting in one place: environment variables `XUANKA_*`, then a TOML file, then defaults.

`python -m agent --show-config` prints what is in force, with secrets masked.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from agent.answer import BackendName, Language

_CONFIG_VARIABLE = "XUANKA_CONFIG"
_DEFAULT_CONFIG = "xuanka.toml"


class Settings(BaseSettings):
    """How the advisor runs. An endpoint is used when a base URL or a preset is set."""

    model_config = SettingsConfigDict(env_prefix="XUANKA_", extra="ignore", frozen=True)

    state_dir: Path = Path(".xuanka")
    """Folder for conversations and the guidance index."""
    language: Language | None = None
    """Answer language; None follows the question."""
    own_machine: bool = False
    """True when the machine that runs the advisor is the asker's: only then may it be probed."""

    simulation: bool = True
    """Whether a training step may be simulated for an answer, where the extra `simulate` is
    installed: for an exact figure, and where the closed form's interval straddles the card. It
    takes a CPU core for seconds, so the service turns it off unless it is set."""
    simulation_seconds: float = Field(default=60.0, gt=0)
    """Longest simulation for an answer; then the closed form's figure stands."""

    backend: BackendName | None = None
    """None: the endpoint when one is configured, else the embedded backend."""
    preset: str | None = None
    """Row of agent/backends/data/presets.toml, such as openai, dashscope, deepseek, ollama."""
    base_url: str | None = None
    api_key: SecretStr | None = None
    model: str | None = None
    temperature: float = Field(default=0.0, ge=0, le=2)
    max_output_tokens: int = Field(default=1500, ge=64)
    context_tokens: int = Field(default=24_000, ge=2_000)
    """Prompt tokens offered to the endpoint at most; older turns are trimmed first."""
    connect_timeout_s: float = Field(default=5.0, gt=0)
    read_timeout_s: float = Field(default=20.0, gt=0)
    """Longest silence of the endpoint, also between two pieces of a stream."""
    answer_budget_s: float = Field(default=45.0, gt=0)
    """Total time for one answer; then the embedded backend's answer is given."""
    max_retries: int = Field(default=1, ge=0, le=5)
    """Retries of one answer on 429, 5xx and connection faults."""
    max_tool_rounds: int = Field(default=4, ge=0, le=20)
    breaker_failures: int = Field(default=3, ge=1)
    """Failures in a row after which an endpoint is left alone for `breaker_rest_s`."""
    breaker_rest_s: float = Field(default=60.0, ge=0)
    input_price_per_mtok: float | None = Field(default=None, ge=0)
    output_price_per_mtok: float | None = Field(default=None, ge=0)
    price_currency: str = "USD"

    checkpoint_url: SecretStr | None = None
    """postgresql://... keeps conversations in Postgres (extra `postgres`); None: SQLite."""
    history_tokens: int = Field(default=6_000, ge=500)
    """Tokens of earlier turns kept in a conversation."""
    conversation_days: int = Field(default=30, ge=0)
    """Days after its last turn when a conversation is removed; 0 keeps all."""

    log_content: bool = False
    """True: questions and answers may appear in logs."""
    tracing: Literal["off", "langsmith", "opentelemetry"] = "off"
    """Where LangChain's traces go; without `log_content` they carry no text."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments win over the environment, the environment over the file."""
        path = Path(os.environ.get(_CONFIG_VARIABLE, _DEFAULT_CONFIG))
        return (
            init_settings,
            env_settings,
            TomlConfigSettingsSource(settings_cls, toml_file=path),
        )

    @model_validator(mode="after")
    def _endpoint_needs_address(self) -> Settings:
        if self.backend == "openai_compatible" and not (self.base_url or self.preset):
            raise ValueError(
                "backend is openai_compatible but neither base_url nor preset is set; "
                "set XUANKA_BASE_URL or XUANKA_PRESET"
            )
        return self

    @property
    def uses_endpoint(self) -> bool:
        """True when answers are phrased by a language-model endpoint."""
        if self.backend is not None:
            return self.backend == "openai_compatible"
        return bool(self.base_url or self.preset)

    def reached_over_http(self) -> Settings:
        """These settings for a service: no simulation of steps unless it was set.

        One chat would keep a core busy for up to `simulation_seconds`, at anybody's wish.
        """
        if "simulation" in self.model_fields_set:
            return self
        return self.model_copy(update={"simulation": False})

    def shown(self) -> dict[str, Any]:
        """All settings as plain values, secrets masked."""
        values = self.model_dump(mode="json")
        for name in ("api_key", "checkpoint_url"):
            values[name] = "********" if getattr(self, name) else None
        return values
