"""A tool: a name, what it does in two languages, typed arguments, a typed report.

The same objects serve the embedded backend, a language model, the MCP server and the HTTP API.
A `UserInputError` becomes a reply that says what is wrong and invites another call. A bug is
raised: it is an error to us, not advice to the user.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.answer import CitationOut, FigureOut, Language
from tools.errors import MissingExtraError, UserInputError
from tools.provenance import Figure

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


class Arguments(BaseModel):
    """Base of the arguments of a tool: unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Row(BaseModel):
    """A record inside a report."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Report(BaseModel):
    """Base of what a tool gives back: plain values, and the figures they stand on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    figures: tuple[FigureOut, ...] = ()
    citations: tuple[CitationOut, ...] = ()

    def summary(self) -> str:
        """One line about what was found, for a list of steps."""
        return ""


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The outcome of one call."""

    name: str
    arguments: dict[str, Any]
    ok: bool
    elapsed_ms: float
    report: Report | None = None
    hint: str | None = None
    """Where `ok` is False: what was given, what is allowed or closest, what to do."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Where `ok` is False: the values of the error, such as `given` and `candidates`."""

    @property
    def summary(self) -> str:
        """One line for a list of steps."""
        return self.report.summary() if self.report is not None else (self.hint or "")

    def to_json(self) -> dict[str, Any]:
        """What a language model, MCP and HTTP receive."""
        if self.report is None:
            return {"ok": False, "hint": self.hint, **self.fields}
        return {"ok": True, **self.report.model_dump(mode="json", exclude_none=True)}


@dataclass(frozen=True)
class Tool(Generic[ArgumentsT]):
    """One capability of the advisor."""

    name: str
    description: Mapping[Language, str]
    arguments: type[ArgumentsT]
    report: type[Report]
    function: Callable[[ArgumentsT], Report]
    needs_own_machine: bool = False
    """True when it reads the machine that it runs on."""

    def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Runs the tool on unchecked arguments; bad input gives a result with `ok` False."""
        started = time.perf_counter()
        given = {key: value for key, value in arguments.items() if value is not None}

        def result(**outcome: Any) -> ToolResult:
            elapsed_ms = (time.perf_counter() - started) * 1000
            return ToolResult(self.name, given, elapsed_ms=round(elapsed_ms, 3), **outcome)

        try:
            checked = self.arguments.model_validate(given)
            return result(ok=True, report=self.function(checked))
        except ValidationError as error:
            return result(ok=False, hint=_what_is_wrong(error))
        except MissingExtraError as error:
            return result(ok=False, hint=str(error), fields={"extra": error.extra})
        except UserInputError as error:
            return result(ok=False, hint=f"{error} Call again with other arguments.",
                          fields=_plain_fields(error))  # fmt: skip

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        return self.arguments.model_json_schema()

    @property
    def output_schema(self) -> dict[str, Any]:
        """JSON schema of the report."""
        return self.report.model_json_schema()

    def described(self, language: Language | None = None) -> str:
        """The description in one language, or in both."""
        if language is not None:
            return self.description[language]
        return f"{self.description['en']}\n{self.description['zh']}"

    @cached_property
    def langchain(self) -> BaseTool:
        """The same tool as LangChain's graph wants it."""
        from agent.toolbox.langchain import as_langchain

        return as_langchain(self)


@cache
def _descriptions() -> dict[str, dict[Language, str]]:
    text = files("agent.toolbox").joinpath("data/descriptions.toml").read_text("utf-8")
    loaded: dict[str, dict[Language, str]] = tomllib.loads(text)
    return loaded


def description_of(name: str) -> Mapping[Language, str]:
    """What a tool does, from data/descriptions.toml."""
    return _descriptions()[name]


def _what_is_wrong(error: ValidationError) -> str:
    problems = [
        f"{'.'.join(str(part) for part in item['loc']) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False)
    ]
    return f"Arguments do not validate: {'; '.join(problems)}. Correct them and call again."


def _plain_fields(error: UserInputError) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, value in vars(error).items():
        if isinstance(value, tuple | list):
            plain[key] = [str(item) for item in value]
        elif isinstance(value, str | int | float | bool) or value is None:
            plain[key] = value
        else:
            plain[key] = str(value)
    return {"error": type(error).__name__, **plain}


def figure_out(figure: Figure) -> FigureOut:
    """A `Figure` as an answer carries it."""
    sources = tuple(dict.fromkeys(source.id for source in figure.leaves()))
    return FigureOut(
        name=figure.name,
        value=figure.value,
        unit=figure.unit,
        formula=figure.formula,
        sources=sources,
    )
