"""What was measured on this machine: context and allocator figures that later fits name and use."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path

from tools.errors import ProbeError

STATE_VARIABLE = "XUANKA_STATE_DIR"
_FILE = "calibration.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationStep:
    """One short real run beside its estimate, in bytes."""

    name: str
    predicted_allocated_bytes: int
    measured_allocated_bytes: int
    predicted_reserved_bytes: int
    measured_reserved_bytes: int
    predicted_process_bytes: int
    measured_process_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Figures of one card of this machine."""

    device_name: str
    driver_version: str | None
    torch_version: str
    context_bytes: int
    """What the process took before its first tensor, as the driver counts it."""
    reserve_ratio: float
    """Reserved over allocated, over the steps that were run."""
    steps: tuple[CalibrationStep, ...]
    measured_on: str
    """ISO date."""


def state_dir() -> Path:
    """Folder of this program's state: `XUANKA_STATE_DIR`, else under the user's home."""
    named = os.environ.get(STATE_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "xuanka"


def load_calibration(device_name: str | None = None) -> Calibration | None:
    """The stored figures, of a device by its driver's name where one is given.

    A file that cannot be read counts as none: it is written anew by the next calibration.
    """
    try:
        raw = json.loads((state_dir() / _FILE).read_text(encoding="utf-8"))
        steps = tuple(CalibrationStep(**step) for step in raw.pop("steps"))
        calibration = Calibration(steps=steps, **raw)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if device_name is not None and calibration.device_name != device_name:
        return None
    return calibration


def store_calibration(calibration: Calibration) -> Path:
    """Writes the figures and gives the file.

    Raises:
        ProbeError: If the state folder cannot be written.
    """
    folder = state_dir()
    path = folder / _FILE
    text = json.dumps(dataclasses.asdict(calibration), indent=2)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise ProbeError(f"The calibration cannot be stored in {folder.name}: {error}.") from error
    return path
