"""Every error that this project raises on purpose.

    AdvisorError
     ├─ UserInputError        the person who asked can mend it
     │   ├─ UnknownModelError
     │   ├─ AmbiguousModelError
     │   ├─ UnknownGpuError
     │   ├─ AmbiguousGpuError
     │   ├─ UnknownInstanceError
     │   ├─ AmbiguousInstanceError
     │   ├─ BadQuantityError
     │   ├─ MissingCredentialsError
     │   └─ UnsupportedError
     ├─ DataError             a data file of ours is wrong
     │   └─ CatalogRowError
     ├─ MissingExtraError     an optional dependency is not installed
     ├─ BackendError          a language-model endpoint failed
     │   ├─ EndpointTimeout
     │   ├─ EndpointRejected
     │   └─ BadToolCall
     ├─ VendorError           a cloud's API refused or failed
     └─ ProbeError            the local machine could not be read

A message has one or two sentences: what was given, what is allowed or closest, what to do.
The values are fields as well, so that a face can word them in the reader's language.
"""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST = 80
"""Characters of what was given that a message repeats."""


def _shown(given: object) -> str:
    """What was given, in quotes where it is text, cut to a length that a sentence can hold."""
    if isinstance(given, str) and len(given) > _LONGEST:
        return f"{given[:_LONGEST]!r}…"
    return repr(given)


class AdvisorError(Exception):
    """Base of all errors of this project."""


class UserInputError(AdvisorError):
    """What was asked cannot be computed as written; the message says what can."""


class _UnknownNameError(UserInputError):
    kind = "name"
    listing = "python -m tools"

    def __init__(self, given: str, candidates: Sequence[str] = ()) -> None:
        self.given = given
        self.candidates = tuple(candidates)
        closest = f" Closest: {', '.join(self.candidates)}." if self.candidates else ""
        super().__init__(
            f"Unknown {self.kind} {_shown(given)}.{closest} Known names: {self.listing}."
        )


class UnknownModelError(_UnknownNameError):
    """No registry row carries this model name."""

    kind = "model"
    listing = "python -m tools models"


class UnknownGpuError(_UnknownNameError):
    """No row of the GPU table carries this name."""

    kind = "GPU"
    listing = "python -m tools gpus"


class UnknownInstanceError(_UnknownNameError):
    """No catalog row carries this instance type or family."""

    kind = "instance type"
    listing = "python -m tools catalog"


class _AmbiguousNameError(UserInputError):
    kind = "name"

    def __init__(self, given: str, candidates: Sequence[str]) -> None:
        self.given = given
        self.candidates = tuple(candidates)
        super().__init__(
            f"{self.kind} {_shown(given)} names several rows:"
            f" {', '.join(self.candidates)}. Name one."
        )


class AmbiguousModelError(_AmbiguousNameError):
    """A family without a size, or a name that stands on several rows."""

    kind = "Model"


class AmbiguousGpuError(_AmbiguousNameError):
    """A card name that stands for different cards (RTX 6000, RTX 5000, ...)."""

    kind = "GPU"


class AmbiguousInstanceError(_AmbiguousNameError):
    """An instance type that several clouds sell under one name (g6.xlarge)."""

    kind = "Instance type"


class BadQuantityError(UserInputError):
    """A number outside what is possible."""

    def __init__(self, *, field: str, given: object, allowed: str) -> None:
        self.field = field
        self.given = given
        self.allowed = allowed
        if given is None:
            super().__init__(f"{field} is missing; give {allowed}.")
        else:
            super().__init__(f"{field} is {_shown(given)}; allowed: {allowed}.")


class MissingCredentialsError(UserInputError):
    """A cloud's API is to be asked and its SDK finds no credentials."""

    def __init__(self, provider: str, *, where: str) -> None:
        self.provider = provider
        self.where = where
        super().__init__(f"No credentials for {provider} were found; set {where} and run it again.")


class UnsupportedError(UserInputError):
    """A combination that cannot run or that is not modelled; the reason says which."""

    def __init__(self, what: str, *, reason: str, instead: str = "") -> None:
        self.what = what
        self.reason = reason
        self.instead = instead
        super().__init__(f"{what}: {reason}." + (f" {instead}" if instead else ""))


class DataError(AdvisorError):
    """A data file that ships with the project is wrong."""


class CatalogRowError(DataError):
    """A catalog row that does not validate."""

    def __init__(self, file: str, row: int, field: str, reason: str) -> None:
        self.file, self.row, self.field, self.reason = file, row, field, reason
        super().__init__(f"{file} row {row}: {field!r} {reason}.")


class MissingExtraError(AdvisorError):
    """An optional dependency is needed for this and not installed."""

    def __init__(self, what: str, *, extra: str) -> None:
        self.what = what
        self.extra = extra
        super().__init__(
            f"{what} needs the extra {extra!r}. Install it: pip install -e '.[{extra}]'."
        )


class BackendError(AdvisorError):
    """A language-model endpoint did not give a usable answer."""


class EndpointTimeout(BackendError):
    """The endpoint did not answer in time."""


class EndpointRejected(BackendError):
    """The endpoint refused the request."""


class BadToolCall(BackendError):
    """The model called a tool that does not exist or with arguments that do not validate."""


class VendorError(AdvisorError):
    """A cloud's API refused the request, failed, or answered with something incomplete."""


class ProbeError(AdvisorError):
    """The local machine could not be read."""
