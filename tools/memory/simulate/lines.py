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
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tools.errors import AdvisorError
from tools.memory.simulate import build, cuda_rules, steps
from tools.memory.simulate.configs import hf_config
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.runner import versions
from tools.memory.simulate.tracker import StorageTracker
from tools.models import get_model

_RANK = 16
_DIGITS = 8
"""Significant digits of a coefficient: one of a size squared is small and counts all the same."""
_BATCHES = tuple(2**n for n in range(11))
_SIZE_FACTORS = (0.06, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0)
_ATTENTION = ("to_q", "to_k", "to_v", "to_out.0")


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


class Job(NamedTuple):
    """One mode of one model, with the sizes at which it is run."""

    name: str
    request: SimulationRequest
    samples: tuple[tuple[int, dict[str, int]], ...]
    """(batch, fields that set the size); as many as the basis has names."""
    basis: tuple[str, ...]
    """What the coefficients multiply: 1, b, b*px2, b*target_len, ..."""


def _modes(kind: str, precisions: Iterable[str]) -> Iterable[tuple[str, dict[str, Any]]]:
    full: dict[str, Any] = {"method": "full", "task": "train"}
    lora = {
        "method": "lora", "task": "train", "precision": "pure-bf16", "autocast": True,
        "lora_rank": _RANK,
        "lora_targets": _ATTENTION if kind in _KINDS.values() else ("q_proj", "v_proj"),
    }  # fmt: skip
    for name in precisions:
        precision, _, checkpointing = name.partition("/")
        base = {**full, "precision": precision}
        if precision in ("lora", "lora16"):  # lora16: 16-bit weights without autocast
            base = {**lora, "autocast": precision == "lora"}
        if precision.startswith("infer"):
            base = {"task": "infer", "method": None, "precision": precision.partition(":")[2]}
        yield name, {**base, "gradient_checkpointing": checkpointing or "none"}


_IMAGE_MODES = ("bf16-mixed", "fp32", "infer:fp32", "bf16-mixed/full", "fp32/full")
_DENOISER_MODES = (
    "lora", "lora/full", "bf16-mixed/full", "bf16-mixed", "fp32", "infer:pure-bf16",
    "pure-bf16/full",
)  # fmt: skip
_SPEECH_MODES = (
    "bf16-mixed", "bf16-mixed/full", "lora", "lora/full", "infer:pure-bf16", "fp32", "fp32/full",
)  # fmt: skip
_YOLO_MODES = ("bf16-mixed", "fp32", "infer:fp32")
_VAE_MODES = ("infer:fp32", "infer:pure-bf16")
_T5_MODES = (
    "fp32", "bf16-mixed", "pure-bf16", "lora16", "bf16-mixed/full", "infer:pure-bf16",
    "pure-bf16/full", "lora16/full",
)  # fmt: skip
_NATIVE_PX = {"efficientnet_b1": 240, "efficientnet_b2": 260, "efficientnet_b3": 300,
              "efficientnet_b4": 380, "efficientnet_b5": 456, "efficientnet_b6": 528,
              "efficientnet_b7": 600}  # fmt: skip
_KINDS = {
    "stable-diffusion-v1-5/stable-diffusion-v1-5 (unet)": "sd15",
    "stabilityai/stable-diffusion-2-1 (unet)": "sd15",
    "stabilityai/stable-diffusion-xl-base-1.0 (unet)": "sdxl",
    "stabilityai/stable-diffusion-3-medium (mmdit)": "sd3",
    "stabilityai/stable-diffusion-3.5-large (mmdit)": "sd3",
    "stabilityai/stable-diffusion-3.5-medium (mmdit)": "sd3",
    "black-forest-labs/FLUX.1-dev (transformer)": "flux",
    "black-forest-labs/FLUX.1-schnell (transformer)": "flux",
    "stabilityai/sd-vae-ft-mse (vae)": "vae",
}


_SQUARE_BASIS = ("1", "b", "b*px2", "b*px2*px2")
_SQUARE_SAMPLES = tuple(
    (batch, {"image_px": px}) for batch, px in ((2, 512), (3, 512), (2, 768), (2, 1024))
)
_TEXT_BASIS = (
    "1", "b*seq_len", "b*target_len", "b*seq_len*seq_len", "b*target_len*target_len",
    "b*seq_len*target_len",
)  # fmt: skip
_FUSED_TEXT_BASIS = tuple(
    name.removeprefix("b*") if name.count("_len") == 2 and len(set(name.split("*"))) == 2 else name
    for name in _TEXT_BASIS
)
"""A fused kernel keeps the position bias alone of what grows with a length squared: it has no
batch. A trained bias takes the unfused form, which keeps the scores of every sample."""
_TEXT_SAMPLES = tuple(
    (batch, {"seq_len": seq, "target_len": target})
    for batch, seq, target in (
        (2, 128, 64), (2, 256, 64), (2, 128, 192), (2, 512, 64), (2, 128, 448), (2, 256, 192),
    )
)  # fmt: skip


def _plan(model: str) -> tuple[str, tuple[str, ...], tuple[str, ...], Any]:
    """Kind, modes, basis and samples of a model."""
    if model.startswith("timm/"):
        px = _NATIVE_PX.get(model.removeprefix("timm/"), 224)
        samples: Any = ((2, {"image_px": px}), (4, {"image_px": px}))
        return "timm", _IMAGE_MODES, ("1", "b*px2"), samples
    if model.startswith("ultralytics/"):
        return "yolo", _YOLO_MODES, ("1", "b*px2"), ((2, {"image_px": 640}), (4, {"image_px": 640}))
    if model.startswith("nvidia/segformer"):
        return "segformer", _YOLO_MODES, _SQUARE_BASIS, _SQUARE_SAMPLES
    if model.startswith("facebook/detr"):
        return "detr", _YOLO_MODES, _SQUARE_BASIS, _SQUARE_SAMPLES
    if model in _KINDS:
        samples = ((2, {"image_px": 512}), (3, {"image_px": 512}), (2, {"image_px": 1024}))
        modes = {"vae": _VAE_MODES, "flux": _DENOISER_MODES[:2] + _DENOISER_MODES[-2:]}.get(
            _KINDS[model], _DENOISER_MODES
        )
        return _KINDS[model], modes, ("1", "b", "b*px2"), samples
    if "whisper" in model:
        samples = ((2, {"seq_len": 64}), (3, {"seq_len": 64}), (2, {"seq_len": 192}))
        return "whisper", _SPEECH_MODES, ("1", "b", "b*seq_len"), samples
    if "t5" in model:
        return "t5", _T5_MODES, _TEXT_BASIS, _TEXT_SAMPLES
    sizes = ({"audio_samples": 80_000}, {"audio_samples": 160_000})
    samples = ((2, sizes[0]), (3, sizes[0]), (2, sizes[1]))
    return "wav2vec2", _SPEECH_MODES, ("1", "b", "b*audio_samples"), samples


def jobs(model: str, only: frozenset[str] = frozenset()) -> list[Job]:
    """The modes of a model that the closed forms need."""
    kind, modes, basis, samples = _plan(model)
    config = hf_config(get_model(model))
    found = []
    for name, fields in _modes(kind, modes):
        if only and name not in only:
            continue
        request = SimulationRequest(model=model, kind=kind, config=config, **fields)
        fused = kind == "t5" and name.startswith(("lora", "infer"))
        found.append(Job(name, request, samples, _FUSED_TEXT_BASIS if fused else basis))
    return found


def _basis_row(names: Sequence[str], batch: int, size: dict[str, int]) -> tuple[float, ...]:
    known = {"1": 1, "b": batch, **size, "px2": size.get("image_px", 0) ** 2}
    return tuple(float(np.prod([known[part] for part in name.split("*")])) for name in names)


_GRADIENT_WEIGHTS = (0.0, 0.5, 2.0, 8.0)
_DEPTHS = (1, 2)
"""Layers a stack at which models of equal layers are run; what is alive is linear in them."""


def derive(job: Job) -> dict[str, Any]:
    """The closed form of one mode."""
    layers = job.request.config.get("num_layers") if job.request.kind == "t5" else None
    if layers is None:
        return _derived(job, fit_lines)
    shallow, deeper = (_derived(_cut(job, depth), _named_moments) for depth in _DEPTHS)
    steps = (layers - _DEPTHS[0]) / (_DEPTHS[1] - _DEPTHS[0])

    def grown(low: Any, high: Any) -> Any:
        if isinstance(low, list):
            return [grown(*pair) for pair in zip(low, high, strict=True)]
        return low + (high - low) * steps

    sizes = ("params", "params_bytes", "buffers_bytes", "trained")
    found = {name: round(grown(shallow[name], deeper[name])) for name in sizes}
    pairs = zip(shallow["lines"], deeper["lines"], strict=True)
    lines = sorted({tuple(grown(low, high)) for low, high in pairs if min(grown(low, high)) >= -1})
    return {**shallow, **found, "layers": list(_DEPTHS), "lines": _digits(list(lines))}


def _cut(job: Job, depth: int) -> Job:
    config = {**job.request.config, "num_layers": depth, "num_decoder_layers": depth}
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


def _derived(job: Job, fit: Callable[..., list[list[float]]]) -> dict[str, Any]:
    runs, basis = [], []
    for batch, size in job.samples:
        fields: dict[str, Any] = {"batch": batch, **size}
        runs.append(record(dataclasses.replace(job.request, **fields)))
        basis.append(_basis_row(job.basis, batch, size))
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
            path.write_text(json.dumps(known, indent=1, sort_keys=True), encoding="utf-8")
            print(model, job.name, len(found["lines"]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
