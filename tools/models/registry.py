"""The model registry: every row of data/models.jsonl, built once and frozen."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from tools.errors import DataError, UnknownModelError
from tools.models.spec import ModelSpec, spec_from_row

DATA_FILE = "data/models.jsonl"


@cache
def all_models() -> tuple[ModelSpec, ...]:
    """Every registry row, in the order of the file.

    Raises:
        DataError: If a row does not validate; names file, line and field.
    """
    text = (resources.files("tools.models") / DATA_FILE).read_text(encoding="utf-8")
    specs = []
    for number, line in enumerate(text.splitlines(), start=1):
        where = f"tools/models/{DATA_FILE} row {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(f"{where}: not JSON ({error}).") from error
        specs.append(spec_from_row(row, where=where))
    return tuple(specs)


@cache
def models_by_name() -> dict[str, ModelSpec]:
    """Registry name to row.

    Raises:
        DataError: If a name stands on two rows.
    """
    by_name: dict[str, ModelSpec] = {}
    for spec in all_models():
        if spec.name in by_name:
            raise DataError(f"tools/models/{DATA_FILE}: name {spec.name!r} stands twice.")
        by_name[spec.name] = spec
    return by_name


def get_model(name: str) -> ModelSpec:
    """The row of an exact registry name; `find_model` reads other spellings.

    Raises:
        UnknownModelError: If no row has that name.
    """
    spec = models_by_name().get(name)
    if spec is None:
        from tools.models.names import closest_names

        raise UnknownModelError(name, closest_names(name))
    return spec
