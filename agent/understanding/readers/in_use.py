"""How much of a card is in use, said beside another run ("已经占了 18G,还能再起个 7B 吗")."""

from __future__ import annotations

import re

from agent.understanding.lexicon.numerals import parse_number
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document
from tools.units import MIB, bytes_from_gib

_N = r"(?P<n>\d{1,6}(?:\.\d{1,2})?)\s?(?P<unit>gi?b?|mi?b?)(?![a-z0-9/])"
_USED = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:用|占|吃|占用|已用|已占|被占)(?:了|掉|着|去|满了)?(?:大概|大约|差不多|约|快)?\s?" + _N,
        _N + r"\s?(?:is |are |of it is |of that is )?(?:already |currently |now )?"
        r"(?:used|in use|taken|occupied|gone)(?![a-z])",
    )
)
_ANOTHER = re.compile(
    r"(?:再|还能|还想|还可以|能不能|够不够|还够)(?:不能)?(?:再)?(?:起|开|跑|塞|放|部署|加载|装|训|挂|上|来)"
    r"|(?<![a-z])(?:still|another|also|as well|on top|alongside|next to)(?![a-z])"
)


_OF_A_TOOL = re.compile(r"nvidia-?\s?smi|nvtop|gpustat")


def read_in_use(document: Document, board: Board) -> None:
    """Note the part of a card that is in use, in MiB, where another run is asked about."""
    is_asked = _ANOTHER.search(document.text) or _OF_A_TOOL.search(document.text)
    if board.has("gpu_mem_used_mib") or not is_asked:
        return
    for pattern in _USED:
        found = pattern.search(document.rest())
        value = parse_number(found["n"]) if found is not None else None
        if found is None or not value:
            continue
        used = value if found["unit"].startswith("m") else bytes_from_gib(value) / MIB
        board.add("gpu_mem_used_mib", int(used), found.start(), found.end())
        document.take(found.start("n"), found.end("unit"))
        return
