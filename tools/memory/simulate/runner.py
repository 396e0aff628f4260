"""Runs a simulation in a process of its own, within limits, and remembers its result.

No torch here: the parent only starts the child, watches its memory and time, and reads one line.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from tools.errors import MissingExtraError, UnsupportedError
from tools.memory.simulate.request import SimulationRequest
from tools.provenance import Figure, Source
from tools.units import GIB, format_gib

_LIBRARIES = ("torch", "transformers", "peft", "diffusers", "timm")
_NEEDED = ("torch", "transformers", "peft")
Progress = Callable[[str], None]
Limit = Literal["seconds", "memory", "busy"]


class SimulationStoppedError(UnsupportedError):
    """A simulation that a limit ended, or that was not begun because another one runs."""

    def __init__(self, model: str, *, limit: Limit, reason: str) -> None:
        self.limit = limit
        super().__init__(
            f"simulation of {model}",
            reason=f"stopped: {reason}",
            instead="Use the closed form, or raise the limit.",
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a simulation is stopped."""

    seconds: float = 180.0
    memory_bytes: int = 4 * GIB
    """Resident memory of the child."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """The peak of one simulated step on one GPU, in bytes of tensors (allocated)."""

    peak_bytes: int
    peak_phase: str
    """fwd, bwd or opt; prefill or decode for inference of a decoder."""
    parts: dict[str, int]
    """params, buffers, grads, opt, other at the peak; they sum to it."""
    params: int
    seconds: float
    versions: dict[str, str]
    from_cache: bool

    def figures(self) -> tuple[Figure, ...]:
        """The peak and its parts with their origin."""
        run = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        source = Source("rule:simulated-step", "derived", f"one step on fake tensors, {run}")
        parts = tuple(
            Figure(f"simulated_{name}", size, "B", sources=(source,))
            for name, size in self.parts.items()
        )
        total = Figure(
            "simulated_allocated", self.peak_bytes, "B",
            formula="largest sum of live storages over the step", inputs=parts,
        )  # fmt: skip
        return (total, *parts)


def versions() -> dict[str, str]:
    """Installed libraries that a simulation's result depends on."""
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def is_available() -> bool:
    """True when the `simulate` extra is installed."""
    return all(importlib.util.find_spec(name) is not None for name in _NEEDED)


def simulate(
    request: SimulationRequest,
    *,
    limits: Limits | None = None,
    progress: Progress | None = None,
    use_cache: bool = True,
) -> Simulation:
    """Peak of one real step of the request, run on fake tensors.

    Args:
        request: What to run.
        limits: Time and memory of the child process; beyond them it is stopped.
        progress: Called with one short line for each stage.
        use_cache: Take a result of the same request and the same library versions.

    Raises:
        MissingExtraError: If torch, transformers or peft is not installed.
        UnsupportedError: If the class is unknown, the step fails, or a limit is reached.
    """
    if not is_available():
        raise MissingExtraError("Simulating a step", extra="simulate")
    found = remembered(request) if use_cache else None
    if found is not None:
        return found
    answer = _run_child(request, limits or Limits(), progress)
    _keep(_cache_file(request), answer)
    return _result(answer, from_cache=False)


def remembered(request: SimulationRequest) -> Simulation | None:
    """The result of an earlier run of this request with these library versions, if it was kept."""
    kept = _cache_file(request)
    if request.kind == "custom" or not kept.exists():
        return None
    return _result(json.loads(kept.read_text(encoding="utf-8")), from_cache=True)


def _result(answer: dict[str, Any], *, from_cache: bool) -> Simulation:
    return Simulation(**answer, versions=versions(), from_cache=from_cache)


def _cache_file(request: SimulationRequest) -> Path:
    root = Path(os.environ.get("XUANKA_STATE_DIR", ".xuanka")) / "simulations"
    key = json.dumps([request.to_json(), versions(), *sys.version_info[:2]])
    return root / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _keep(path: Path, answer: dict[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, delete=False, encoding="utf-8"
        ) as file:
            json.dump(answer, file)
        Path(file.name).replace(path)
    except OSError:  # a read-only folder costs the next run its short cut, nothing more
        return


def _run_child(
    request: SimulationRequest, limits: Limits, progress: Progress | None
) -> dict[str, Any]:
    import psutil

    root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tools.memory.simulate.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""},
    )
    if child.stdin is not None:
        child.stdin.write(request.to_json())
        child.stdin.close()
    errors: list[str] = []
    with _reading(child, errors, progress) as answer:
        deadline = time.monotonic() + limits.seconds
        watched = psutil.Process(child.pid)
        while child.poll() is None:
            if time.monotonic() > deadline:
                raise SimulationStoppedError(
                    request.model,
                    limit="seconds",
                    reason=f"it ran longer than {limits.seconds:g} s",
                )
            try:
                resident = watched.memory_info().rss
            except psutil.Error:
                break
            if resident > limits.memory_bytes:
                raise SimulationStoppedError(
                    request.model,
                    limit="memory",
                    reason=f"it took more than {format_gib(limits.memory_bytes)} of RAM",
                )
            time.sleep(0.05)
        child.wait(timeout=10)
    return _read_answer(request, answer, errors)


@contextmanager
def _reading(
    child: subprocess.Popen[str], errors: list[str], progress: Progress | None
) -> Iterator[list[str]]:
    """Drains both pipes while the child runs, and ends it whatever happens."""
    answer: list[str] = []

    def drain_errors() -> None:
        for line in child.stderr or ():
            errors.append(line.rstrip())
            if progress is not None and line.startswith("[simulate] "):
                progress(line.removeprefix("[simulate] ").rstrip())

    threads = [
        threading.Thread(target=drain_errors, daemon=True),
        threading.Thread(target=lambda: answer.extend(child.stdout or ()), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield answer
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        for thread in threads:
            thread.join(timeout=5)
        for pipe in (child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()


def _read_answer(
    request: SimulationRequest, answer: list[str], errors: list[str]
) -> dict[str, Any]:
    try:
        found = json.loads(answer[-1])
    except (IndexError, json.JSONDecodeError):
        last = errors[-1] if errors else "no message"
        raise UnsupportedError(
            f"simulation of {request.model}", reason=f"it failed: {last}"
        ) from None
    if "error" in found:
        raise UnsupportedError(
            f"simulation of {request.model}", reason=str(found["error"]).rstrip(".")
        )
    result: dict[str, Any] = found["ok"]
    return result
