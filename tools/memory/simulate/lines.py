"""Derives the coefficients of tools/memory/other from simulated steps.

A step on fake tensors is run at two or three sizes. The n-th moment of each run is the same
moment of the same graph, so what is alive there is a linear form in the batch and in the batch
times the size of one sample:

    alive = gradients + fixed + batch * per_sample + batch * size * per_unit

The moments that can be the highest for some batch and size are kept (the upper envelope, mostly
one to six of a few thousand); they are the closed form, exact at every batch and size whose graph
is the same. Run by hand when a library version changes:

    python -m tools.memory.simulate.lines tools/memory/other/data/lines.json timm/resnet50 ...
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tools.errors import AdvisorError
from tools.memory.simulate import build, cuda_rules, steps
from tools.memory.simulate.line_plans import STACKS, Job, basis_row, jobs
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.runner import versions
from tools.memory.simulate.tracker import StorageTracker

_DIGITS = 8
"""Significant digits of a coefficient: one of a size squared is small and counts all the same."""
_BATCHES = tuple(2**n for n in range(11))
_SIZE_FACTORS = (0.06, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0)


class _Run(NamedTuple):
    params: int
    params_bytes: int
    buffers_bytes: int
    trained: int
    moments: np.ndarray
    """(gradients, other) in bytes after each allocation."""


class _Recorder(StorageTracker):
    """Keeps what is alive after every allocation."""

    def __init__(self) -> None:
        super().__init__()
        self.moments: list[tuple[int, int]] = []
        self.is_on = False

    def _count(self, tensor: torch.Tensor) -> None:
        before = self.live_bytes
        super()._count(tensor)
        if self.is_on and self.live_bytes > before:
            live = self.live_by_kind
            self.moments.append((live.get("grads", 0), live.get("other", 0)))


def record(request: SimulationRequest) -> _Run:
    """One forward and backward of the request, with what is alive at each moment."""
    torch.set_num_threads(1)
    model = build.build_on_meta(request)
    tracker = _Recorder()
    with FakeTensorMode(allow_non_fake_inputs=True), tracker:
        build.materialise(model, split_tied=request.precision in ("bf16-mixed", "fp16-mixed"))
        tracker.tag(model.parameters(), "params")
        tracker.tag(model.buffers(), "buffers")
        prepared = build.prepare(model, request)
        leaves = [p for p in model.parameters() if p.requires_grad]
        sizes = dict(tracker.live_by_kind)
        tracker.is_on = True
        _step(prepared, request, tracker, leaves)
    unique = {id(p): p for p in model.parameters() if not hasattr(p, steps.TIED_LEAF)}
    return _Run(
        params=sum(p.numel() for p in unique.values()),
        params_bytes=sizes["params"],
        buffers_bytes=sizes.get("buffers", 0),
        trained=sum(p.numel() for p in unique.values() if p.requires_grad),
        moments=np.array(tracker.moments, dtype=float),
    )


def _step(
    prepared: steps.Prepared, request: SimulationRequest, tracker: _Recorder, leaves: Any
) -> None:
    if request.task == "infer":
        with torch.no_grad(), steps.compute_context(request):
            prepared.forward(prepared.model.eval())
        return
    for parameter in leaves:
        if not hasattr(parameter, steps.TIED_LEAF):
            parameter.register_post_accumulate_grad_hook(lambda p: tracker.tag([p.grad], "grads"))
    with steps.compute_context(request):
        loss, held = prepared.forward(prepared.model.train())
    del held
    with cuda_rules.CudaRules():
        torch.autograd.backward(loss)


def fit_lines(
    runs: Sequence[_Run], basis: Sequence[tuple[float, ...]], powers: Sequence[int]
) -> list[list[float]]:
    """Coefficients of every moment, then the upper envelope.

    Args:
        runs: One run for each name of the basis.
        basis: What each run's coefficients multiply, as numbers.
        powers: How often a sample's size is a factor of each name of the basis.

    Returns:
        Rows [gradients, fixed, one coefficient for each further column of the basis], bytes.

    Raises:
        ValueError: If the runs do not have the same moments.
    """
    lengths = {len(run.moments) for run in runs}
    if len(lengths) != 1:
        raise ValueError(f"the runs differ in their moments: {sorted(lengths)}")
    other = np.stack([run.moments[:, 1] for run in runs])
    coefficients = np.linalg.solve(np.array(basis, dtype=float), other).T
    grads = np.mean([run.moments[:, 0] for run in runs], axis=0)
    return _envelope(grads, coefficients, np.array(basis, dtype=float), powers)


def _envelope(
    grads: np.ndarray, coefficients: np.ndarray, basis: np.ndarray, powers: Sequence[int]
) -> list[list[float]]:
    """The moments that are the highest at some batch and size around the simulated ones."""
    kept = {int(np.argmax(coefficients @ point)) for point in basis}
    for point in basis:
        for batch in _BATCHES:
            for factor in _SIZE_FACTORS:
                tried = point * batch / 2.0 * factor ** np.array(powers, dtype=float)
                tried[0] = 1.0
                kept.add(int(np.argmax(grads + coefficients @ tried)))
    rows = [[float(grads[k]), *map(float, coefficients[k])] for k in sorted(kept)]
    return _digits(rows)


def _digits(rows: Sequence[Sequence[float]]) -> list[list[float]]:
    return [[float(f"{v:.{_DIGITS}g}") for v in row] for row in rows]


_GRADIENT_WEIGHTS = (0.0, 0.5, 2.0, 8.0)
_DEPTHS = (2, 3)
"""Layers a stack at which models of equal layers are run; from two on, what is alive is linear in
them (a lone layer has no neighbour whose input waits)."""


def derive(job: Job) -> dict[str, Any]:
    """The closed form of one mode."""
    if job.request.kind.endswith("-vae"):
        return _derived(job, _highest_moments)
    stacks = STACKS.get(job.request.kind, ())
    if not stacks:
        return _derived(job, fit_lines)
    low, high = _DEPTHS
    shallow = _derived(_cut(job, [low] * len(stacks)), _named_moments)
    deeper = [
        _derived(_cut(job, [high if n == k else low for n in range(len(stacks))]), _named_moments)
        for k in range(len(stacks))
    ]
    steps = [(job.request.config[names[0]] - low) / (high - low) for names in stacks]

    def grown(base: Any, *others: Any) -> Any:
        if isinstance(base, list):
            return [grown(*values) for values in zip(base, *others, strict=True)]
        return base + sum((o - base) * n for o, n in zip(others, steps, strict=True))

    sizes = ("params", "params_bytes", "buffers_bytes", "trained")
    found = {name: round(grown(shallow[name], *(d[name] for d in deeper))) for name in sizes}
    rows = grown(shallow["lines"], *(d["lines"] for d in deeper))
    lines = sorted({tuple(row) for row in rows if min(row) >= -1})
    return {**shallow, **found, "layers": list(_DEPTHS), "lines": _digits(list(lines))}


def _cut(job: Job, depths: Sequence[int]) -> Job:
    """The job on a model whose stacks have so many layers each."""
    stacks = STACKS[job.request.kind]
    cut = {name: depth for names, depth in zip(stacks, depths, strict=True) for name in names}
    config = {**job.request.config, **cut}
    return job._replace(request=dataclasses.replace(job.request, config=config))


def _named_moments(
    runs: Sequence[_Run], basis: Sequence[tuple[float, ...]], powers: Sequence[int]
) -> list[list[float]]:
    """The moments that are highest at each size for each weight of gradients, in that order.

    Weights stand for the depth that is meant: deep models have more gradients beside one layer's
    temporaries. The same size and weight name the same moment at any depth.
    """
    other = np.stack([run.moments[:, 1] for run in runs])
    coefficients = np.linalg.solve(np.array(basis, dtype=float), other).T
    grads = runs[0].moments[:, 0]
    picked = [
        int(np.argmax(weight * grads + kept)) for kept in other for weight in _GRADIENT_WEIGHTS
    ]
    return [[float(grads[k]), *map(float, coefficients[k])] for k in picked]


def _highest_moments(
    runs: Sequence[_Run], basis: Sequence[tuple[float, ...]], powers: Sequence[int]
) -> list[list[float]]:
    """One line through the peaks, where clips of other lengths are other graphs."""
    peaks = np.array([run.moments[:, 1].max() for run in runs])
    return _digits([[0.0, *np.linalg.solve(np.array(basis, dtype=float), peaks).tolist()]])


def _derived(job: Job, fit: Callable[..., list[list[float]]]) -> dict[str, Any]:
    runs, basis = [], []
    for batch, size in job.samples:
        fields: dict[str, Any] = {"batch": batch, **size}
        runs.append(record(dataclasses.replace(job.request, **fields)))
        basis.append(basis_row(job.basis, batch, size))
    first = runs[0]
    return {
        "params": first.params,
        "params_bytes": first.params_bytes,
        "buffers_bytes": first.buffers_bytes,
        "trained": first.trained,
        "basis": job.basis,
        "at": [{"batch": batch, **size} for batch, size in job.samples],
        "lines": fit(runs, basis, [name.count("*") for name in job.basis]),
    }


def _written(known: dict[str, dict[str, Any]]) -> str:
    """The file's text: one mode a line."""
    models = [
        f" {json.dumps(model)}: {{\n"
        + ",\n".join(
            f"  {json.dumps(m)}: {json.dumps(modes[m], sort_keys=True)}" for m in sorted(modes)
        )
        + "\n }"
        for model, modes in sorted(known.items())
    ]
    return "{\n" + ",\n".join(models) + "\n}\n"


def main(arguments: Sequence[str]) -> int:
    """Adds the coefficients of the named models to a JSON file, keeping what is there."""
    path = Path(arguments[0])
    only = frozenset(a.removeprefix("--mode=") for a in arguments if a.startswith("--mode="))
    for model in (a for a in arguments[1:] if not a.startswith("--")):
        for job in jobs(model, only):
            known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            if job.name in known.get(model, {}):
                continue
            try:
                found = derive(job)
            except (AdvisorError, ValueError, RuntimeError) as error:
                print(f"{model} {job.name}: {error}", file=sys.stderr, flush=True)
                continue
            known.setdefault(model, {})[job.name] = {**found, "versions": versions()}
            path.write_text(_written(known), encoding="utf-8")
            print(model, job.name, len(found["lines"]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
