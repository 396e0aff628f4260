"""Short real steps on this machine's GPU beside their estimates (torch and transformers, a GPU).

Two runs of a small Llama-like model with random weights: a training step and a prefill. What
they show about this machine, the CUDA context and the allocator's slack, is stored and named by
later fits.
"""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from tools.errors import MissingExtraError, ProbeError
from tools.probe.calibration import Calibration, CalibrationStep, store_calibration
from tools.units import format_gib

_CONFIG: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816,
    "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 4,
    "vocab_size": 32000, "max_position_embeddings": 4096, "tie_word_embeddings": False,
}  # fmt: skip
_BATCH = 2
_LENGTH = 1024
_STEPS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """Peaks of one run, in bytes."""

    allocated_bytes: int
    reserved_bytes: int
    process_bytes: int | None


class Bench(Protocol):
    """A GPU that runs can be measured on; the real one is `TorchBench`."""

    device_name: str
    driver_version: str | None
    torch_version: str

    def context_bytes(self) -> int:
        """Bytes that the process takes before its first tensor."""

    def train(self) -> Measured:
        """A few training steps of the small model."""

    def prefill(self) -> Measured:
        """A prefill of the small model."""


def calibrate(bench: Bench | None = None) -> Calibration:
    """Runs the steps, compares them with the estimates, stores and gives the figures.

    Raises:
        MissingExtraError: If torch or transformers is not installed.
        ProbeError: If torch sees no GPU, or a step fails.
    """
    machine = bench or _torch_bench()
    context = machine.context_bytes()
    steps = []
    for name, run in (("train", machine.train), ("prefill", machine.prefill)):
        measured = run()
        steps.append(_compared(name, measured))
    ratios = [
        step.measured_reserved_bytes / step.measured_allocated_bytes
        for step in steps
        if step.measured_allocated_bytes > 0
    ]
    calibration = Calibration(
        device_name=machine.device_name,
        driver_version=machine.driver_version,
        torch_version=machine.torch_version,
        context_bytes=context,
        reserve_ratio=max(ratios, default=1.0),
        steps=tuple(steps),
        measured_on=datetime.now(UTC).date().isoformat(),
    )
    store_calibration(calibration)
    return calibration


def _compared(name: str, measured: Measured) -> CalibrationStep:
    from tools.memory import InferenceWorkload, TrainingWorkload, estimate
    from tools.models import model_from_hf_config

    spec = model_from_hf_config(_CONFIG, name="calibration model")
    if name == "train":
        need = estimate(
            TrainingWorkload(
                spec, method="full", precision="pure-bf16", optimizer="adamw",
                optimizer_impl="fused", micro_batch_size=_BATCH, seq_len=_LENGTH,
                gradient_checkpointing="none", attention="sdpa", gpu_count=1,
                framework="plain loop", logits_held_through_backward=False,
                gradients_kept_across_steps=False,
            )
        )  # fmt: skip
    else:
        need = estimate(
            InferenceWorkload(
                spec, engine="transformers", weight_format="bf16", batch=_BATCH,
                prompt_len=_LENGTH, context_len=_LENGTH, generated_len=1, attention="sdpa",
            )
        )  # fmt: skip
    return CalibrationStep(
        name=name,
        predicted_allocated_bytes=need.allocated_bytes,
        measured_allocated_bytes=measured.allocated_bytes,
        predicted_reserved_bytes=need.reserved_bytes,
        measured_reserved_bytes=measured.reserved_bytes,
        predicted_process_bytes=need.process_bytes,
        measured_process_bytes=measured.process_bytes,
    )


def _torch_bench() -> Bench:
    for module in ("torch", "transformers"):
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(f"Calibration ({module})", extra="simulate")
    import torch

    if not torch.cuda.is_available():
        raise ProbeError(
            "torch sees no GPU, so nothing can be calibrated. "
            "python -m tools probe --doctor says why."
        )
    return TorchBench(torch)


class TorchBench:
    """The first GPU that torch sees."""

    def __init__(self, torch: Any) -> None:
        from tools.probe.machine import probe

        report = probe(measure=False)
        self._torch = torch
        self._free_before = report.devices[0].free_bytes if report.devices else None
        self.device_name = str(torch.cuda.get_device_name(0))
        self.driver_version = report.driver_version
        self.torch_version = str(torch.__version__)

    def context_bytes(self) -> int:
        """Free memory before CUDA starts less free memory after, without the first block."""
        torch = self._torch
        before = self._free_before
        torch.zeros(1, device="cuda")
        torch.cuda.synchronize()
        free, _ = torch.cuda.mem_get_info(0)
        if before is None:
            return 0
        return max(int(before) - int(free) - int(torch.cuda.memory_reserved(0)), 0)

    def train(self) -> Measured:
        """Full fine-tuning steps in bf16 with fused AdamW."""
        torch = self._torch

        def run() -> None:
            model = self._model().train()
            optimizer = torch.optim.AdamW(model.parameters(), fused=True)
            tokens = torch.randint(0, _CONFIG["vocab_size"], (_BATCH, _LENGTH), device="cuda")
            for _ in range(_STEPS):
                optimizer.zero_grad(set_to_none=True)
                model(input_ids=tokens, labels=tokens, use_cache=False).loss.backward()
                optimizer.step()

        return self._measured(run)

    def prefill(self) -> Measured:
        """One forward pass with a cache."""
        torch = self._torch

        def run() -> None:
            model = self._model().eval()
            tokens = torch.randint(0, _CONFIG["vocab_size"], (_BATCH, _LENGTH), device="cuda")
            with torch.inference_mode():
                model(input_ids=tokens, use_cache=True, logits_to_keep=1)

        return self._measured(run)

    def _model(self) -> Any:
        from transformers import AutoModelForCausalLM, LlamaConfig

        values = {key: value for key, value in _CONFIG.items() if key != "model_type"}
        with self._torch.device("cuda"):
            return AutoModelForCausalLM.from_config(
                LlamaConfig(**values), attn_implementation="sdpa", dtype=self._torch.bfloat16
            )

    def _measured(self, run: Callable[[], None]) -> Measured:
        torch = self._torch
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(0)
        try:
            run()
            torch.cuda.synchronize()
        except RuntimeError as error:
            raise ProbeError(f"A calibration step failed: {str(error)[:200]}.") from error
        free, _ = torch.cuda.mem_get_info(0)
        process = None if self._free_before is None else int(self._free_before) - int(free)
        return Measured(
            int(torch.cuda.max_memory_allocated(0)),
            int(torch.cuda.max_memory_reserved(0)),
            process,
        )


def calibration_lines(calibration: Calibration) -> Iterator[str]:
    """Predicted beside measured, as text."""
    yield f"{calibration.device_name}, torch {calibration.torch_version}"
    yield f"CUDA context {format_gib(calibration.context_bytes)}"
    yield f"{'run':<10}{'counter':<12}{'predicted':>12}{'measured':>12}{'error':>9}"
    for step in calibration.steps:
        for counter in ("allocated", "reserved", "process"):
            predicted = getattr(step, f"predicted_{counter}_bytes")
            measured = getattr(step, f"measured_{counter}_bytes")
            if measured is None or measured <= 0:
                continue
            error = f"{100 * (predicted / measured - 1):+.1f} %"
            yield (
                f"{step.name:<10}{counter:<12}{format_gib(predicted):>12}"
                f"{format_gib(measured):>12}{error:>9}"
            )
