"""Rows answered by running the step on fake tensors, where it can be run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.errors import UserInputError
from tools.memory.cases import answer_case, case_model

_SHIFTED = ("reserved_bytes", "process_bytes", "low_bytes", "high_bytes")


def answer_case_simulated(row: Mapping[str, Any]) -> dict[str, Any]:
    """The answer line of a row with the simulated peak as its allocated bytes.

    The other counters and the interval move with it. A row that cannot be simulated keeps the
    closed form; `simulated` says which it is, and `simulation_reason` why not.

    Raises:
        MissingExtraError: If torch is not installed.
    """
    from tools.memory.simulate import hf_config, request_from_case, simulate

    answer = answer_case(row)
    if answer["status"] != "ok":
        return answer
    try:
        request = request_from_case(row, hf_config(case_model(row).spec))
        peak = simulate(request).peak_bytes
    except UserInputError as error:
        return answer | {"simulated": False, "simulation_reason": str(error)}
    shift = peak - answer["allocated_bytes"]
    moved = {key: answer[key] + shift for key in _SHIFTED}
    return answer | moved | {"allocated_bytes": peak, "simulated": True}
