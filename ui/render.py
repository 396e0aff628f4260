"""An `Answer` as the elements of one card on the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from tools.units import format_significant
from ui.charts import PART_COLOURS, Part, gib, memory_bar, table
from ui.export import OFFER_COLUMNS, offers_csv, to_markdown
from ui.markup import markdown, tag, text
from ui.reask import assumption_chips
from ui.sources import source_lines
from ui.wording import Language, cards_shown, provider_labels, say

if TYPE_CHECKING:
    from agent import Answer

_BADGE_SIGN = {"fits": "✓", "tight": "!", "does_not_fit": "✕", "depends": "?"}


def answer_card(question: str, answer: Answer) -> str:
    """The whole card, in the answer's own language."""
    lang = answer.language
    parts = memory_parts(answer)
    return tag(
        "article",
        _header(answer, parts),
        _corrections(answer),
        _memory(answer, parts),
        tag("div", markdown(answer.text), class_="xk-text"),
        _clarifying(answer),
        _offers(answer),
        assumption_chips(answer, lang),
        _citations(answer),
        _figures(answer),
        _follow_ups(answer),
        _takeaway(question, answer),
        _footer(answer),
        class_="xk-answer",
        lang=lang,
        data_final=True,
        data_verdict=answer.verdict,
        data_intent=answer.intent,
    )


def verdict_badge(verdict: str, language: Language) -> str:
    """The verdict as a badge with a sign, so that colour alone never says it."""
    if verdict not in _BADGE_SIGN:
        return ""
    sign = tag("span", _BADGE_SIGN[verdict], aria_hidden="true")
    word = say(f"verdict_{verdict}", language)
    return tag("span", sign, text(word), class_=f"xk-badge xk-{verdict}")


def _header(answer: Answer, parts: Sequence[Part]) -> str:
    badge = verdict_badge(answer.verdict, answer.language)
    memory = answer.memory
    line = ""
    if memory is not None:
        low, high = gib(memory.low_bytes), gib(memory.high_bytes)
        size = low if low == high else f"{low}–{high}"
        scope = say(f"scope_{memory.scope}", answer.language)
        total = sum(part.size_bytes for part in parts)
        key = "needs_about" if total and low != high else "needs"
        line = say(key, answer.language, range=size, scope=scope, size=gib(total))
        if memory.usable_bytes is not None:
            line += " · " + say("usable", answer.language, size=gib(memory.usable_bytes))
        line = tag("span", text(line), class_="xk-need")
    return tag("header", badge, line) if badge or line else ""


def _corrections(answer: Answer) -> str:
    if not answer.corrections:
        return ""
    said, fact = (say(k, answer.language) for k in ("correction_premise", "correction_fact"))
    items = "".join(
        tag(
            "li",
            tag("p", tag("b", text(said)), " ", tag("del", text(c.premise))),
            tag("p", tag("b", text(fact)), " ", text(c.fact), " ", _source_button(c.source)),
        )
        for c in answer.corrections
    )
    title = tag("h3", text(say("corrections_title", answer.language)))
    return tag("aside", title, tag("ul", items), class_="xk-corrections")


def _clarifying(answer: Answer) -> str:
    if not answer.clarifying_question:
        return ""
    return tag("p", text(answer.clarifying_question), class_="xk-clarify")


_MOST_CHOICES = 4096


def memory_parts(answer: Answer) -> list[Part]:
    """The addends of the memory that the answer speaks of, from the formula of its total.

    An answer may hold several estimates (one a method), one after the other: the total is the
    `process` figure whose bounds are those of the answer's memory.
    """
    figures = [f for f in answer.figures if f.unit == "B"]
    totals = [i for i, f in enumerate(figures) if f.name == "process"]
    memory = answer.memory
    for i in totals:
        after = figures[i + 1 : totals[totals.index(i) + 1] if i != totals[-1] else None]
        lows = [int(f.value) for f in after if f.name == "process_low"]
        is_meant = memory is not None and memory.low_bytes in lows
        if is_meant or (len(totals) == 1 and not lows):
            return _addends(figures, i)
    if totals:
        return []
    return [Part(f.name, int(f.value)) for f in figures if f.name in PART_COLOURS]


def _addends(figures: Sequence[Any], at: int) -> list[Part]:
    """Figures named by the formula of `figures[at]` whose values sum to it.

    A value that two estimates share stands once, so a name may have its figure further up.
    """
    total = int(figures[at].value)
    names = list(dict.fromkeys((figures[at].formula or "").split(" + ")))
    choices = [
        list(dict.fromkeys(int(f.value) for f in reversed(figures[:at]) if f.name == name))
        for name in names
    ]
    if not all(choices):
        return []
    for sizes in islice(product(*choices), _MOST_CHOICES):
        if sum(sizes) == total:
            return [Part(name, size) for name, size in zip(names, sizes, strict=True)]
    return []


def _memory(answer: Answer, parts: Sequence[Part]) -> str:
    memory = answer.memory
    if memory is None:
        return ""
    return memory_bar(
        parts,
        language=answer.language,
        usable_bytes=memory.usable_bytes,
        low_bytes=memory.low_bytes,
        high_bytes=memory.high_bytes,
    )


_OFFER_HEADS = (
    "col_provider", "col_instance", "col_gpu", "col_count", "col_region", "col_price", "currency",
    "col_dated", "col_billing",
)  # fmt: skip


def _offers(answer: Answer) -> str:
    if not answer.offers:
        return ""
    lang = answer.language
    heads = [say(key, lang) for key in _OFFER_HEADS if key != "currency"]
    rows = []
    for offer in answer.offers:
        values = offer.model_dump(mode="json")
        cells = [values[c] for c in OFFER_COLUMNS if c != "currency"]
        shown = ["" if v is None else str(v) for v in cells]
        keys = list(shown)
        shown[0] = provider_labels(lang).get(offer.provider, offer.provider)
        if offer.gpu_count is not None:
            shown[3] = cards_shown(offer.gpu_count)
        shown[5] = _price(values["price"], offer.currency, lang)
        shown[6] = offer.priced_on or (say("undated", lang) if offer.price is not None else "")
        shown[7] = say(f"billing_{offer.billing}", lang) if offer.billing else ""
        rows.append(list(zip(shown, keys, strict=True)))
    title = tag("h3", text(say("offers_title", lang)))
    grid = sortable_table(heads, rows, caption=say("offers_caption", lang), numeric=(3, 5))
    return tag("section", title, grid, class_="xk-offers")


def _price(price: object, currency: str | None, language: Language) -> str:
    if price is None:
        return say("no_price", language)
    return f"{price} {currency or ''}".strip()


def sortable_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[tuple[str, str]]],
    *,
    caption: str,
    numeric: Sequence[int] = (),
) -> str:
    """A table whose headings sort it; each cell is (text shown, key sorted by)."""
    head = "".join(
        tag("th", tag("button", text(h), type="button"), scope="col",
            data_sort="n" if i in numeric else "s", class_="xk-num" if i in numeric else None)
        for i, h in enumerate(heads)
    )  # fmt: skip
    body = "".join(
        tag("tr", *(
            tag("td", text(shown), data_key=key if key != shown else None,
                class_="xk-num" if i in numeric else None)
            for i, (shown, key) in enumerate(row)
        ))
        for row in rows
    )  # fmt: skip
    return tag(
        "div",
        tag(
            "table",
            tag("caption", text(caption), class_="xk-hidden"),
            tag("thead", tag("tr", head)),
            tag("tbody", body),
            class_="xk-sortable",
        ),
        class_="xk-scroll",
        tabindex="0",
    )


def _source_button(source: str) -> str:
    return tag("button", text(source), type="button", class_="xk-source", data_passage=source)


def _citations(answer: Answer) -> str:
    if not answer.citations:
        return ""
    items = "".join(
        tag(
            "li",
            tag("button", text(line.title), type="button", class_="xk-source",
                data_passage=line.id, data_locator=line.locator),
            " ",
            tag("span", text(line.locator), class_="xk-dim"),
        )
        for line in source_lines(answer)
    )  # fmt: skip
    title = tag("h3", text(say("sources_title", answer.language)))
    return tag("section", title, tag("ol", items), class_="xk-citations")


def _figures(answer: Answer) -> str:
    if not answer.figures:
        return ""
    lang = answer.language
    rows = []
    for figure in answer.figures:
        value = float(figure.value)
        if figure.unit == "B":
            shown = f"{gib(value)} GiB"
        else:
            unit = "" if figure.unit == "1" else f" {figure.unit}"
            shown = f"{format_significant(value, 4)}{unit}"
        rows.append((figure.name, shown, figure.formula or ", ".join(figure.sources)))
    heads = [say(k, lang) for k in ("figure_name", "figure_value", "figure_origin")]
    title = say("figures_title", lang)
    grid = table(heads, rows, caption=title, numeric=(1,))
    return tag("details", tag("summary", text(title)), grid, class_="xk-more xk-figures")


def _follow_ups(answer: Answer) -> str:
    if not answer.follow_ups:
        return ""
    items = "".join(
        tag("li", tag("button", text(q), type="button", data_ask=q, class_="xk-pill"))
        for q in answer.follow_ups
    )
    title = tag("h3", text(say("follow_ups_title", answer.language)))
    return tag("section", title, tag("ul", items), class_="xk-follow")


def _takeaway(question: str, answer: Answer) -> str:
    lang = answer.language
    payload = {
        "question": question,
        "markdown": to_markdown(question, answer),
        "csv": offers_csv(answer) if answer.offers else "",
        "answer": answer.model_dump(mode="json"),
    }
    actions = ["copy", "download_md", "download_json"]
    actions += ["download_csv"] if answer.offers else []
    buttons = "".join(
        tag("button", text(say(a, lang)), type="button", data_take=a)
        for a in [*actions, "share", "retry"]
    )
    return tag(
        "div",
        buttons,
        class_="xk-take",
        role="group",
        aria_label=say("takeaway", lang),
        data_payload=json.dumps(payload, ensure_ascii=False),
    )


def _footer(answer: Answer) -> str:
    lang = answer.language
    line = say(
        "answered_by",
        lang,
        backend=say(f"backend_{answer.backend}", lang),
        seconds=format_significant(answer.elapsed_ms / 1000),
        version=answer.version,
    )
    note = ""
    if answer.degraded:
        shown = say("degraded", lang, reason=answer.degraded.rstrip("."))
        note = tag("p", text(shown), class_="xk-degraded")
    return tag("footer", note, tag("p", text(line), class_="xk-dim"))


def error_card(question: str, message: str, language: Language) -> str:
    """What went wrong in the reader's words, with a button that asks again."""
    return tag(
        "article",
        tag("h3", text(say("failed_title", language))),
        tag("p", text(message)),
        tag("button", text(say("retry", language)), type="button", data_ask=question),
        class_="xk-answer xk-error",
        lang=language,
        role="alert",
        data_final=True,
    )
