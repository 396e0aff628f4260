"""The local probe: what this machine has, what fits on it now, what is wrong with it.

`probe()` reads the machine, `parse_pasted` reads what somebody pasted of another one,
`fits_here` says what runs on either. Nothing here raises for a machine's sake, and torch is not
imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.probe.calibration import Calibration, load_calibration
    from tools.probe.fits import FitRow, FitTable, fits_here
    from tools.probe.machine import probe
    from tools.probe.pasted import parse_pasted
    from tools.probe.report import (
        Device,
        Finding,
        GpuProcess,
        Host,
        MachineReport,
        SourceAttempt,
    )

_HOMES = {
    "calibration": ("Calibration", "load_calibration"),
    "fits": ("FitRow", "FitTable", "fits_here"),
    "machine": ("probe",),
    "pasted": ("parse_pasted",),
    "report": ("Device", "Finding", "GpuProcess", "Host", "MachineReport", "SourceAttempt"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Calibration",
    "Device",
    "Finding",
    "FitRow",
    "FitTable",
    "GpuProcess",
    "Host",
    "MachineReport",
    "SourceAttempt",
    "fits_here",
    "load_calibration",
    "parse_pasted",
    "probe",
]


def __getattr__(name: str) -> Any:
    """Loads a public name from its module at first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
