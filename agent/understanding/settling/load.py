"""How much a service is asked: counts of a day or an hour as a mean rate, items of one request."""

from __future__ import annotations

import re

from agent.understanding.lexicon.numerals import DIGITS, HAN, parse_number
from agent.understanding.lexicon.phrases import table
from agent.understanding.lexicon.readings import Board, Reading
from agent.understanding.lexicon.text import Document
from agent.understanding.settling.resolution import Resolution

_SPANS_S = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_BEFORE = re.compile(
    r"(?:(?P<day>每天|每日|一天|日均|单日|daily|(?:per|a|each|every) day)"
    r"|(?P<hour>每小时|每个小时|一小时|hourly|(?:per|an|each|every) hour)"
    r"|(?P<minute>每分钟|一分钟|(?:per|a|each|every) minute)|(?P<second>每秒钟?|一秒钟?))"
    r"[^\d,。;\n]{0,12}\Z"
)
_BEHIND = re.compile(
    r"[^\d,。;\n?]{0,16}?(?:(?P<day>(?:/|per|an?|each|every)\s?day(?![a-z])|daily|每天|每日|一天|/天)"
    r"|(?P<hour>(?:/|per|an?|each|every)\s?(?:hour|hr|h)(?![a-z])|hourly|每小时|一小时|/小时)"
    r"|(?P<minute>(?:/|per|a|each|every)\s?min(?:ute)?(?![a-z])|每分钟|/分钟)"
    r"|(?P<second>(?:/|per|a|each|every)\s?s(?:ec(?:ond)?)?(?![a-z])|每秒|/秒))"
)
_COUNTS = ("samples", "rows")
_EACH = re.compile(
    rf"(?P<n>{DIGITS})\s?(?:candidates?|passages?|docs?|documents?|pairs|chunks|hits|results|texts)\s?"
    r"(?:to (?:re)?rank\s)?(?:each|apiece|per (?:query|request|search|call)"
    r"|a (?:query|request|search)"
    r"|/\s?(?:query|request|q))(?![a-z])"
    r"|(?:每(?:个|次|条)?(?:查询|请求|query|搜索|检索|问题)?)"
    rf"[^\d,。;\n]{{0,8}}?(?P<m>{DIGITS}|{HAN}{{1,3}})\s?"
    r"(?:个|条|篇|段|对)?(?:候选|文档|段落|文本|pairs?|passages?|docs?|结果)"
    r"|(?:(?:rerank|re-rank)(?:ing|s)?(?![a-z])|重排|精排)"
    rf"[^\d,。;\n]{{0,8}}?(?:top[ -]?)?(?P<o>{DIGITS})"
    r"(?!\s?(?:qps|rps|[bkgm]))"
    r"|(?<![a-z])(?:each|every|(?:per|a) (?:query|request|search|call))\s"
    r"(?:query\s|request\s|one\s)?"
    rf"(?:of\s|has\s|with\s|ranks\s|scores\s|about\s|up to\s)*(?P<p>{DIGITS})\s"
    r"(?:candidates?|passages?|docs?|documents?|pairs|chunks|hits|results|texts)(?![a-z])"
)
_LENGTH = re.compile(rf"{DIGITS}\s?k?(?![a-z])")
_RANKING_KINDS = ("reranker",)


def settle_load(document: Document, board: Board, out: Resolution) -> None:
    """Settle the mean rate of a count a day, the items and the context of one request."""
    shared = board.best("context_in_all")
    if shared is not None and shared.value == out.get("seq_len"):
        out.put("context_is_shared", True, inferred=True)  # -c 32768 -np 4: 8192 each
    _each_user(document, out)
    _daily(document, out)
    _cap(document, out)
    if getattr(out.spec, "kind", None) in _RANKING_KINDS:
        found = _EACH.search(document.text)
        value = parse_number(next(filter(None, found.groups()))) if found is not None else None
        if found is not None and value and value > 1:
            out.put("items_per_request", int(value), Reading("items_per_request", int(value),
                    found.start(), found.end()))  # fmt: skip
            if out.get("samples") == int(value) and out.get("request_rate_per_s"):
                out.values.pop("samples")  # what one request ranks is no work in all
                out.readings.pop("samples", None)


def _each_user(document: Document, out: Resolution) -> None:
    """Tokens "each" beside users at once are the context of one ("8 users each 8k")."""
    reading = out.readings.get("tokens_per_sample")
    is_served = out.get("task") != "train" and out.get("samples") is None
    if reading is None or not is_served or not out.get("concurrency"):
        return
    if any(out.get(slot) is not None for slot in ("seq_len", "input_len", "request_rate_per_s")):
        return
    written = _LENGTH.findall(document.text[reading.start : reading.end])
    value = parse_number(written[-1].replace(" ", ""), kibi=True) if written else None
    out.values.pop("tokens_per_sample")
    out.readings.pop("tokens_per_sample")
    out.values.pop("lengths_vary", None)
    out.readings.pop("lengths_vary", None)
    out.put("seq_len", int(value or reading.value), reading)


def _cap(document: Document, out: Resolution) -> None:
    """A number of requests that is a server's own limit ("--max-num-seqs 64")."""
    reading = out.readings.get("concurrency")
    if reading is None:
        return
    if table("resolve", "caps_requests").has(document.text[reading.start : reading.end]):
        out.put("concurrency_is_cap", True, inferred=True)


def _daily(document: Document, out: Resolution) -> None:
    """A count of texts or images beside "a day" is a rate, unless it is trained on."""
    if out.get("task") == "train" or out.get("request_rate_per_s") is not None:
        return
    for slot in _COUNTS:
        reading, count = out.readings.get(slot), out.get(slot)
        if reading is None or not count or reading.slot != slot:
            continue
        span = _BEHIND.match(document.text, reading.end) or _BEFORE.search(
            document.text[max(0, reading.start - 24) : reading.start]
        )
        if span is not None:
            seconds = _SPANS_S[str(span.lastgroup)]
            out.put("request_rate_per_s", round(count / seconds, 6), reading)
            if seconds <= _SPANS_S["minute"]:  # no day's work, a rate and nothing else
                out.values.pop(slot)
                out.readings.pop(slot)
            return
