"""ECS or GPU: the place for a job, decided by computing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.placement.constants import Work, cpu_spread, find_work, managed_services
    from tools.placement.decide import place
    from tools.placement.machines import MOST_VCPU_PER_REQUEST
    from tools.placement.task import ManagedService, Option, Placement, Reason, Task

_HOMES = {
    "MOST_VCPU_PER_REQUEST": "machines",
    "Work": "constants",
    "cpu_spread": "constants",
    "find_work": "constants",
    "managed_services": "constants",
    "place": "decide",
    "ManagedService": "task",
    "Option": "task",
    "Placement": "task",
    "Reason": "task",
    "Task": "task",
}

__all__ = [
    "MOST_VCPU_PER_REQUEST",
    "ManagedService",
    "Option",
    "Placement",
    "Reason",
    "Task",
    "Work",
    "cpu_spread",
    "find_work",
    "managed_services",
    "place",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
