"""The host: cores and main memory said in one breath ("64核256G", "64c256g", "16 vCPU 64 GB")."""

from __future__ import annotations

import re
from itertools import islice

from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_MOST = 20
_CORES = (
    r"(?P<cores>\d{1,3})\s?-?(?:核心?|c|v?cpus?|(?:cpu\s)?cores?|线程|threads)(?![a-z])"
    r"(?:的)?(?:cpu)?"
)
_JOIN = r"\s?[,/+、]?\s?(?:(?:with|and)\s)?"
_RAM = (
    r"(?P<ram>\d{1,5})\s?(?P<unit>gib|gb|g|tib|tb|t)(?![a-z0-9/])"
    r"(?:的)?\s?(?:内存|ram|memory|ddr[345])?"
)
_NOT_A_CARDS = r"(?!\s?(?:的)?(?:显存|vram|显卡|gpu|卡))"
_BOTH = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<![\w.\-]){_CORES}{_JOIN}{_RAM}{_NOT_A_CARDS}",
        rf"(?<![\w.\-]){_RAM}{_JOIN}{_CORES}{_NOT_A_CARDS}",
    )
)
_LEAST_GB_A_CORE = 0.25
PROCESSOR = (
    r"epyc|xeon|至强|ryzen|锐龙|threadripper|线程撕裂者|酷睿|core i[3579]|core ultra"
    r"|i[3579][ -]?\d{4,5}[a-z]{0,2}|ampere ?one|graviton|鲲鹏|kunpeng|海光|hygon|飞腾"
)
"""Families of processors, as part of a regular expression on folded text."""


def read_hosts(document: Document, board: Board) -> None:
    """Note cores with their main memory, and that a processor is named."""
    for pattern in _BOTH:
        for found in islice(pattern.finditer(document.rest()), _MOST):
            factor = 1000.0 if found["unit"].startswith("t") else 1.0
            cores, ram_gb = int(found["cores"]), int(found["ram"]) * factor
            if cores < 1 or ram_gb < cores * _LEAST_GB_A_CORE:
                continue
            board.add("vcpu", cores, found.start("cores"), found.end("cores"), weight=3.0)
            board.add("host_ram_gb", ram_gb, found.start("ram"), found.end("unit"), weight=3.0)
            document.take(found.start(), found.end())
