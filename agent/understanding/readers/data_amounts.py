"""Amounts of data with a word between the number and its noun: "52k alpaca samples"."""

from __future__ import annotations

import re
from itertools import islice

from agent.understanding.lexicon.numerals import number_pattern, parse_number
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_MOST = 20
_LEAST = 100
"""Below it a number in front of two words is likely a version or another count."""
_OTHER = (
    r"(?:tokens?|toks?|steps?|epochs?|passes|hours?|days?|gpus?|cards?|nodes?|users?|requests?|px"
    r"|and|or|with|for|on|in|to|of|per|each|every|a|an|the|x|than|vs|is|are|at|by|from|batch|seq"
    r"|ctx|context|length|rank|words?|param[a-z]*|gb|gib|mb|kb|tb|ms|qps|rps|rows?|image)(?![a-z])"
)
_NOUNS = (
    "samples|examples|instructions|instruction pairs|pairs|conversations|dialogues|dialogs|records"
    "|entries|documents|docs|passages|articles|questions|images|pictures|photos|prompts|rows|lines"
    "|reviews|tickets|emails|mails|messages|comments|tweets|sentences|chunks|texts|files|clips|captions|problems|traces|trajectories"
)
_AMOUNT = re.compile(
    rf"(?<![a-z0-9.\-])(?P<n>{number_pattern()})\s(?:(?!{_OTHER})[a-z][a-z\-]{{1,15}}\s){{1,2}}"
    rf"(?:{_NOUNS})(?![a-z])"
)


def read_data_amounts(document: Document, board: Board) -> None:
    """Note a count of samples that a word or two part from what they are."""
    for found in islice(_AMOUNT.finditer(document.text), _MOST):
        value = parse_number(found["n"])
        is_whole = value is not None and value == int(value) and value >= _LEAST
        if value is None or not is_whole or not document.is_free(*found.span("n")):
            continue
        board.add("samples", int(value), found.start(), found.end(), weight=0.9)
        document.take(*found.span("n"))
