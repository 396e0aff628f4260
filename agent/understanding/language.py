"""Which language a text is written in, logs and names set aside."""

from __future__ import annotations

import re

from agent.answer import Language

_HAN = re.compile(r"[\u3400-\u9fff]")


def language_of(text: str, history_language: Language | None = None) -> Language:
    """Zh when the text has Chinese characters of its own, else en.

    A text without letters ("8k?") keeps the language of the conversation.

    >>> language_of("7B 微调能在 A10 上跑吗"), language_of("will 7B fit on an A10?")
    ('zh', 'en')
    """
    han = len(_HAN.findall(text[:4000])) + len(_HAN.findall(text[4000:][-4000:]))
    if han:
        return "zh"
    words = re.findall(r"[A-Za-z]{2,}", text[:4000])
    if history_language is not None and len(words) <= 2:
        return history_language
    return "en"
