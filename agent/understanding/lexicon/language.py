"""Which language a text is written in, names and bracketed asides set apart."""

from __future__ import annotations

import os
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
_TONGUE = r"(?P<tongue>english|chinese|mandarin|英文|英语|中文|汉语)"
_ASKED_FOR = re.compile(
    r"(?:^|[。;\n!?,:()]|\.\s)\s*(?:(?:and|but|then|also)\s)?(?:(?:please|pls|kindly)\s)?"
    r"(?:answer|reply|respond|explain|write|say it|in your answer use)\s?(?:me\s|back\s|it\s)?"
    rf"(?:in\s|with\s)?{_TONGUE}(?:\s?(?:please|pls|only|thanks|thank you))?\s*(?=$|[。;:\n!?,.()])"
    r"|(?:^|[。;\n!?,:()\s])\s*(?:please\s)?in\s(?P<tongue3>english|chinese|mandarin)[,\s]{1,2}(?:please|pls)"
    r"|(?:^|[。;\n!?,:()\s])\s*(?:请|麻烦|并|并且|然后|谢谢)*(?:你)?(?:用|以|改用|换成)?"
    r"(?P<tongue2>英文|英语|中文|汉语)(?:来)?(?:回答|回复|答复|作答|答|说明|解释|输出|写)"
    r"(?:我|一下|即可|就行|吧|谢谢|哦|哈)*\s*(?=$|[。;:\n!?,.()~])",
    re.IGNORECASE | re.MULTILINE,
)
"""A clause of its own that says which language the answer is to be in."""
_FULL_WIDTH = str.maketrans("\uff0c\uff1b\uff01\uff1f\uff1a\uff08\uff09", ",;!?:()")
_ENGLISH_NAMES = ("english", "英文", "英语")
_PASTED = re.compile(
    r"```.*?(?:```|\Z)"
    r"|^[ \t]*(?:[-*]\s)?[\"']?[A-Za-z][\w.\-]{1,40}[\"']?[ \t]*[:=](?!/)[^\n?\uff1f]*$"
    r"|^[ \t]*(?:[#|+{}\[\]\"]|//|--|\$ |>>>|File \"|Traceback|raise |at |CUDA_VISIBLE"
    r"|\d{4}-\d\d-\d\d"
    r"|(?:INFO|ERROR|WARNING|WARN|DEBUG|CRITICAL|FATAL)\b)[^\n]*$"
    r"|[A-Za-z_.]*(?:Error|Exception): [^\n\u3400-\u9fff]*",
    re.DOTALL | re.MULTILINE,
)
"""What was not written but pasted: code between fences, settings, log lines, an error's text."""
_READ = 4000
"""Characters at either end that are looked at."""


def language_asked(text: str) -> tuple[Language | None, list[tuple[int, int]]]:
    """The language that a clause of the text asks for, and where the clauses stand.

    >>> language_asked("7B on an A10? answer in Chinese please")[0]
    'zh'
    >>> language_asked("能跑吗?用英文回答")[0], language_asked("can it answer in Chinese?")[0]
    ('en', None)
    """
    text = text if len(text) <= 2 * _READ else ""
    found = list(_ASKED_FOR.finditer(text.translate(_FULL_WIDTH)))
    if not found:
        return None, []
    last = found[-1]
    named = (last["tongue"] or last["tongue2"] or last["tongue3"]).lower()
    return "en" if named in _ENGLISH_NAMES else "zh", [hit.span() for hit in found]


def language_of(text: str, history_language: Language | None = None) -> Language:
    r"""Language of the words outside what was pasted: zh where Chinese stands there.

    In an English sentence a Chinese name or a word in brackets does not count. A text of one or
    two words ("8k?"), of names and numbers only, or only pasted keeps the language of the
    conversation; without one, that of the user's system.

    >>> language_of("7B 微调能在 A10 上跑吗"), language_of("will 7B fit on an A10?")
    ('zh', 'en')
    >>> language_of("will 通义千问 7B fit on the A10 (显存24G)?")
    'en'
    >>> language_of("why does this fail?\nlr: 1e-4  # 学习率\nbatch: 4  # 批大小")
    'en'
    """
    part = text if len(text) <= 2 * _READ else text[:_READ] + "\n" + text[-_READ:]
    own = _PASTED.sub(" ", part)
    is_english = len(list(islice(_ENGLISH.finditer(own), 3))) == 3
    if _HAN.search(_NAMES.sub("", _ASIDE.sub("", own)) if is_english else own):
        return "zh"
    if _ENGLISH.search(own) is not None and (history_language is None or not _is_brief(own)):
        return "en"
    if history_language is not None:
        return history_language
    return "zh" if _HAN.search(text) and not is_english else _system_language()


def _is_brief(text: str) -> bool:
    return len(_WORD.findall(text)) <= 2


def _system_language() -> Language:
    """Language of the locale that this runs in: for texts that are in no language."""
    setting = next(filter(None, (os.environ.get(name) for name in _LOCALE)), "")
    return "zh" if setting.lower().startswith("zh") else "en"


_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
