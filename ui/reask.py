"""Assumptions as chips: each opens to another value and asks the question again with it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from tools.units import format_significant
from ui.markup import tag, text
from ui.wording import Language, read_data, say, say_or

if TYPE_CHECKING:
    from agent import Answer

_MAX_QUICK = 4


@cache
def slot_rows() -> Mapping[str, Mapping[str, Any]]:
    """How a slot is named, asked for and varied; from data/slots.json."""
    return cast("Mapping[str, Mapping[str, Any]]", read_data("slots.json"))


def value_text(value: object, unit: str, language: Language) -> str:
    """An assumed value as a reader writes it.

    >>> value_text(4096, "token", "en"), value_text(True, "1", "zh")
    ('4096 token', '有')
    """
    if isinstance(value, bool):
        return say("yes" if value else "no", language)
    shown = format_significant(value) if isinstance(value, float) else str(value)
    return shown if unit in ("", "1") else f"{shown} {unit}"


def quick_questions(name: str, value: object, language: Language) -> tuple[tuple[str, str], ...]:
    """Other values of a slot as (label, question), most useful first.

    >>> quick_questions("seq_len", 2048, "en")[0]
    ('1024', 'What if the sequence length is 1024?')
    """
    row = slot_rows().get(name)
    if row is None:
        return ()
    ask = row["ask"][language]
    if row["kind"] == "choice":
        options = [
            label[language] for key, label in row["choices"].items() if str(value).lower() != key
        ]
    elif row["kind"] == "number" and isinstance(value, int | float):
        scaled = [round(value * factor) for factor in row["scale"]]
        options = [str(v) for v in scaled if v >= 1 and v != value]
    else:
        options = []
    return tuple((option, ask.format(value=option)) for option in options[:_MAX_QUICK])


def assumption_chips(answer: Answer, language: Language) -> str:
    """All assumptions of an answer; those the page can vary open to a small form."""
    if not answer.assumptions:
        return ""
    chips = "".join(
        tag("li", _chip(item.name, item.value, item.unit, item.why, language))
        for item in answer.assumptions
    )
    return tag(
        "section",
        tag("h3", text(say("assumptions_title", language))),
        tag("ul", chips, class_="xk-chips"),
        class_="xk-assumptions",
    )


def slot_label(name: str, language: Language) -> str:
    """The reader's word for a slot."""
    row = slot_rows().get(name)
    return row["label"][language] if row else say_or(f"slot_{name}", language, name)


def _chip(name: str, value: object, unit: str, why: str, language: Language) -> str:
    row = slot_rows().get(name)
    label = slot_label(name, language)
    shown = tag("summary", tag("span", text(label)), " ",
                tag("b", text(value_text(value, unit, language))))  # fmt: skip
    quick = "".join(
        tag("button", text(option), type="button", class_="xk-quick", data_ask=question)
        for option, question in quick_questions(name, value, language)
    )
    form = _form(row, label, language) if row is not None else ""
    body = tag("div", tag("p", text(why)), tag("div", quick, form, class_="xk-chip-row"),
               class_="xk-chip-body")  # fmt: skip
    return tag("details", shown, body, class_="xk-chip", name="xk-chip")


def _form(row: Mapping[str, Any], label: str, language: Language) -> str:
    if row["kind"] == "choice":
        return ""
    kind = "number" if row["kind"] == "number" else "text"
    box = (
        f'<input type="{kind}" name="value" required '
        f"{'min=1 step=any' if kind == 'number' else ''} "
        f'aria-label="{text(label)}: {text(say("assumption_new", language))}">'
    )
    button = tag("button", text(say("assumption_ask", language)), type="submit")
    return tag("form", box, button, class_="xk-reask", data_ask=row["ask"][language])
