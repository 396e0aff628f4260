"""Settings are told in the engine's own words."""

from __future__ import annotations

import pytest

from tests.agent.answers import answer


@pytest.mark.parametrize(
    "question",
    [
        "SGLang 部署 Yi-34B AWQ,一张 3090,上下文 8192,并发 4,放得下吗",
        "Yi-34B AWQ in SGLang on one 3090, context 8192, concurrency 4: does it fit?",
        "SGLang --mem-fraction-static 0.8 with Mistral-7B on a T4, 8k context",
    ],
)
def test_sglang_is_not_told_settings_of_vllm(question: str) -> None:
    text = answer(question).text
    assert not any(word in text for word in ("gpu_memory_utilization", "max_num_seqs", "vLLM"))
    assert "mem_fraction_static" in text
