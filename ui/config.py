"""Settings of the service: environment variables `XUANKA_*`; secrets also from files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from tools.errors import BadQuantityError

Words = Annotated[tuple[str, ...], NoDecode]
"""A tuple that the environment writes as words separated by commas."""


class ApiToken(NamedTuple):
    """Who may call the API, and how often."""

    name: str
    secret: str
    per_minute: int | None


class ServiceSettings(BaseSettings):
    """Everything that concerns being reached over HTTP. Each `*_file` names a file with it."""

    model_config = SettingsConfigDict(env_prefix="XUANKA_", extra="ignore", frozen=True)

    api_tokens: SecretStr | None = None
    """Lines or commas of name:token or name:token:calls-per-minute; None leaves the API open."""
    api_tokens_file: Path | None = None
    allowed_hosts: Words = ("127.0.0.1", "localhost", "[::1]", "testserver")
    """Host headers that are served; * serves any (behind a proxy that checks)."""
    allowed_origins: Words = ()
    """Web origins that may call the API from a browser; none by default."""
    page: bool = True
    """Whether the page is served; it asks for no token."""
    page_questions_per_minute: int | None = Field(default=None, ge=1)
    """Questions a minute from one address over the page, in one process; None: any number."""
    max_body_bytes: int = Field(default=512 * 1024, ge=1024)
    body_timeout_s: float = Field(default=10.0, gt=0)
    """Longest time for a request's body to arrive."""
    answer_timeout_s: float = Field(default=90.0, gt=0)
    """Longest time for an answer over the API; then 504."""
    simultaneous_answers: int | None = Field(default=None, ge=1)
    """Answers worked on at a time in one process; more wait. None: 32 where an endpoint is waited
    for, else 4, since answers made here only get in each other's way."""
    waiting_answers: int = Field(default=256, ge=1)
    """Answers that may wait; beyond it 503 with Retry-After."""
    log_json: bool = False
    state_dir: Path = Path(".xuanka")

    bot_lease_s: float = Field(default=20.0, ge=1)
    """How long after its last sign of life a process's bot events are answered by another."""
    slack_signing_secret: SecretStr | None = None
    slack_signing_secret_file: Path | None = None
    slack_bot_token: SecretStr | None = None
    slack_bot_token_file: Path | None = None
    slack_api_url: str = "https://slack.com/api/"
    slack_app_id: str | None = None
    """The app's id; requests for another are refused. None checks the signature alone."""
    slack_team_ids: Words = ()
    """Workspaces that are served; any that installed the app by default."""
    feishu_app_id: str | None = None
    feishu_app_secret: SecretStr | None = None
    feishu_app_secret_file: Path | None = None
    feishu_verification_token: SecretStr | None = None
    feishu_verification_token_file: Path | None = None
    feishu_encrypt_key: SecretStr | None = None
    feishu_encrypt_key_file: Path | None = None
    feishu_api_url: str = "https://open.feishu.cn/open-apis/"
    dingtalk_app_secret: SecretStr | None = None
    dingtalk_app_secret_file: Path | None = None
    slack_reply_origins: Words = ("https://hooks.slack.com", "https://hooks.slack-gov.com")
    """Scheme, host and port that a response URL of Slack may have; any other is refused."""
    dingtalk_reply_origins: Words = ("https://oapi.dingtalk.com", "https://api.dingtalk.com")
    """The same for DingTalk's session webhooks."""

    @field_validator(
        "allowed_hosts", "allowed_origins", "slack_team_ids", "slack_reply_origins",
        "dingtalk_reply_origins",
        mode="before",
    )  # fmt: skip
    @classmethod
    def _words(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(word.strip() for word in value.split(",") if word.strip())
        return value

    def secret(self, name: str) -> str | None:
        """A secret from its setting, else from the file that `<name>_file` names.

        Raises:
            BadQuantityError: If the file cannot be read.
        """
        value: SecretStr | None = getattr(self, name)
        if value is not None:
            return value.get_secret_value() or None
        path: Path | None = getattr(self, f"{name}_file")
        if path is None:
            return None
        try:
            return path.read_text(encoding="utf-8").strip() or None
        except OSError as error:
            raise BadQuantityError(
                field=f"XUANKA_{name.upper()}_FILE", given=path.name, allowed="a readable file"
            ) from error

    def tokens(self) -> tuple[ApiToken, ...]:
        """The API's tokens; empty when the API is open.

        Raises:
            BadQuantityError: If an entry is not name:token or name:token:calls-per-minute.
        """
        written = self.secret("api_tokens") or ""
        return tuple(
            _token(entry.strip())
            for line in written.splitlines()
            for entry in line.split(",")
            if entry.strip() and not entry.strip().startswith("#")
        )


def _token(entry: str) -> ApiToken:
    parts = entry.split(":")
    limit = parts[2] if len(parts) == 3 else None
    is_good = len(parts) in (2, 3) and len(parts[1]) >= 16 and (limit is None or limit.isdigit())
    if not is_good:
        raise BadQuantityError(
            field="XUANKA_API_TOKENS",
            given=f"an entry named {parts[0]!r}" if len(parts) > 1 else "an entry without a name",
            allowed="name:token or name:token:calls-per-minute, the token of 16 characters or more",
        )
    return ApiToken(parts[0], parts[1], int(limit) if limit else None)
