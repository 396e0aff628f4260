"""Formats of GGUF files, and how engines spell their settings."""

from __future__ import annotations

import pytest

from tools.memory import cache_pool, is_gguf, known_pool


@pytest.mark.parametrize(
    "form", ["q4_k_m", "Q8_0", "IQ3_XXS", "UD-Q4_K_XL", "tq1_0", "gguf-q5_k_s"]
)
def test_formats_of_gguf(form: str) -> None:
    assert is_gguf(form)


@pytest.mark.parametrize("form", [None, "int4", "awq", "gptq-int8", "bf16", "nf4", "qlora"])
def test_other_formats(form: str | None) -> None:
    assert not is_gguf(form)


def test_settings_are_spelt_as_each_engine_spells_them() -> None:
    # docs.sglang.ai server arguments; docs.vllm.ai engine arguments
    assert cache_pool("sglang")[-3:] == (
        "context_length", "max_running_requests", "disable_cuda_graph",
    )  # fmt: skip
    assert cache_pool("vllm").length == "max_model_len"
    assert cache_pool("vllm").is_reserved
    assert not cache_pool("ollama").is_reserved
    assert known_pool("deepspeed") is None
