"""Engines whose kernels need newer cards than the memory alone would say."""

from __future__ import annotations

import pytest

from tools.memory import InferenceWorkload, kernel_floor, workload_floor
from tools.models import get_model


@pytest.mark.parametrize(
    ("engine", "form", "capability"),
    [
        # docs.vllm.ai/quantization: AWQ on Turing (7.5) and later; FP8 weights from 7.5 by Marlin
        ("vllm", "awq", 7.5),
        (None, "awq", 7.5),
        ("vllm", "fp8", 7.5),
        ("vllm", None, 7.5),
        (None, "bf16", None),
        ("llama.cpp", "q4_k_m", None),
        (None, "q4_k_m", None),
        ("sglang", "bf16", 7.5),
        # TensorRT-LLM lists Ampere and later
        ("tensorrt-llm", "int8", 8.0),
        ("lmdeploy", "awq", None),
    ],
)
def test_floor_of_an_engine_and_a_format(
    engine: str | None, form: str | None, capability: float | None
) -> None:
    found = kernel_floor(engine, form)
    assert (None if found is None else found.capability) == capability
    assert found is None or found.source


def test_only_text_models_are_served_by_these_engines() -> None:
    assert kernel_floor(None, "fp8", kind="dit") is None
    workload = InferenceWorkload(get_model("Qwen/Qwen2.5-7B"), engine="vllm", weight_format="awq")
    floor = workload_floor(workload)
    assert floor is not None
    assert floor.weight_format == "awq-int4"
