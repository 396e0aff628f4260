"""Cards that PyTorch runs without CUDA: what that takes is told beside the figures."""

from __future__ import annotations

import pytest

from tests.agent.answers import answer


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("QLoRA of Qwen2.5-7B, RX 7900 XTX, seq 1024, does it work?", ("ROCm", "bitsandbytes")),
        ("能在 7900XT 上微调 Qwen2.5-3B LoRA 吗", ("ROCm", "HIP")),
        ("MI300X full fine-tuning of Llama-3.1-8B, enough?", ("ROCm",)),
    ],
)
def test_an_amd_card_is_told_with_rocm(question: str, words: tuple[str, ...]) -> None:
    text = answer(question).text
    assert all(word in text for word in words)


def test_nothing_of_rocm_beside_a_card_with_cuda() -> None:
    assert "ROCm" not in answer("QLoRA of Qwen2.5-7B on an RTX 3090, seq 1024?").text
