"""Chinese, English, and both in one clause."""

from __future__ import annotations

import pytest

from agent.understanding.lexicon.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("lora 7b 够吗", "zh"),
        ("CUDA out of memory. Tried to allocate 50 MiB of the total in use 这是啥意思", "zh"),
        ("does 千问 14b fit on my 4090", "en"),
        ("can i run it on an A10 (显存24G) for the demo", "en"),
        ("qlora qwen-14b 还是OOM", "zh"),
        ("", "en"),
        ("🤔", "en"),
        ("A10?", "en"),
    ],
)
def test_language_of_a_text(text: str, language: str) -> None:
    assert language_of(text) == language


def test_a_word_or_two_keep_the_language_of_the_conversation() -> None:
    assert language_of("8k?", "zh") == "zh"
    assert language_of("QLoRA?", "zh") == "zh"
    assert language_of("what about a bigger card", "zh") == "en"
