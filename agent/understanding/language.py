"""Which language a text is written in, names and bracketed asides set apart."""

from __future__ import annotations

import re
from itertools import islice

from agent.answer import Language

_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[A-Za-z]{2,}")
_ENGLISH = re.compile(
    r"(?<![a-z])(?:the|is|are|on|can|will|how|what|which|why|my|to|for|of|with|in|does|do|it|and|or)(?![a-z])",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"[(\uff08][^()\uff08\uff09\n]{0,40}[)\uff09]")
_NAMES = re.compile("千问|通义|百川|智谱|昇腾|混元|文心|书生|阿里云|腾讯云|华为云|火山引擎|恒源云")
_READ = 4000
"""Characters at either end that are looked at."""


def language_of(text: str, history_language: Language | None = None) -> Language:
    """Language of a text: zh when it has Chinese of its own, else en.

    In an English sentence a Chinese name or a word in brackets does not count. A text of one or
    two words ("8k?") keeps the language of the conversation.

    >>> language_of("7B 微调能在 A10 上跑吗"), language_of("will 7B fit on an A10?")
    ('zh', 'en')
    >>> language_of("will 通义千问 7B fit on the A10 (显存24G)?")
    'en'
    """
    part = text if len(text) <= 2 * _READ else text[:_READ] + "\n" + text[-_READ:]
    if _HAN.search(part):
        is_english = len(list(islice(_ENGLISH.finditer(part), 3))) == 3
        own = _NAMES.sub("", _ASIDE.sub("", part)) if is_english else part
        if _HAN.search(own):
            return "zh"
    if history_language is not None and len(_WORD.findall(part)) <= 2:
        return history_language
    return "en"
