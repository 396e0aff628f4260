from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser

import pytest

from tests.ui.fakes import GIB, an_answer, an_offer
from ui.charts import Part, memory_bar, powers_of_two
from ui.export import offers_csv, to_markdown
from ui.markup import markdown, tag
from ui.reask import quick_questions, slot_rows
from ui.render import answer_card, error_card, memory_parts, verdict_badge
from ui.sources import source_lines
from ui.wording import examples, strings

HOSTILE = '<img src=x onerror=alert(1)> "quoted" </script><b>'
VOID = {"input", "img", "br", "hr", "line", "circle", "path"}


class Tree(HTMLParser):
    """Collects tags, attributes and text; complains about tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def parsed(html: str) -> Tree:
    tree = Tree()
    tree.feed(html)
    assert tree.open == []
    return tree


def test_card_is_well_formed_and_shows_every_part() -> None:
    tree = parsed(answer_card("q?", an_answer()))
    said = " ".join(tree.words)
    for expected in ("Fits", "17 GiB per GPU", "16–19", "21.9 GiB", "7B needs 24 GB",
                     "ecs.gn7i-c8g1.2xlarge",
                     "sequence length", "VRAM by method", "And with QLoRA?", "0.1.0"):  # fmt: skip
        assert expected in said


@pytest.mark.parametrize(
    "field",
    ["text", "corrections", "citations", "follow_ups", "offers", "assumptions", "degraded",
     "clarifying_question"],
)  # fmt: skip
def test_hostile_text_stays_text(field: str) -> None:
    hostile = {
        "text": HOSTILE,
        "corrections": [{"premise": HOSTILE, "fact": HOSTILE, "source": HOSTILE}],
        "citations": [{"id": HOSTILE, "title": HOSTILE, "locator": HOSTILE}],
        "follow_ups": [HOSTILE],
        "offers": [an_offer(HOSTILE, gpu_name=HOSTILE)],
        "assumptions": [{"name": HOSTILE, "value": HOSTILE, "unit": HOSTILE, "why": HOSTILE}],
        "degraded": HOSTILE,
        "clarifying_question": HOSTILE,
    }[field]
    tree = parsed(answer_card(HOSTILE, an_answer(**{field: hostile})))
    names = {name for name, _ in tree.tags}
    assert not names & {"img", "script"}
    assert not any(key.startswith("on") for _, attrs in tree.tags for key in attrs)


def test_images_and_raw_html_of_markdown_are_not_rendered() -> None:
    html = markdown("![x](https://evil.example/a.png) [y](javascript:alert(1)) <b>z</b>")
    assert {name for name, _ in parsed(html).tags} <= {"p", "a"}
    assert 'href="javascript' not in html


def test_links_open_apart_without_a_referrer() -> None:
    (link,) = [attrs for name, attrs in parsed(markdown("[a](https://x.example)")).tags
               if name == "a"]  # fmt: skip
    assert link == {"target": "_blank", "rel": "noopener noreferrer", "href": "https://x.example"}


def test_payload_holds_question_answer_and_markdown() -> None:
    answer = an_answer()
    tree = parsed(answer_card('say "hi" <b>', answer))
    (payload,) = [a["data-payload"] for _, a in tree.tags if "data-payload" in a]
    assert payload is not None
    data = json.loads(payload)
    assert data["question"] == 'say "hi" <b>'
    assert data["answer"] == answer.model_dump(mode="json")
    assert data["markdown"].startswith('> say "hi" &lt;b&gt;\n')


def test_verdict_badge_has_a_word_beside_the_colour() -> None:
    assert "放不下" in verdict_badge("does_not_fit", "zh")
    assert verdict_badge("not_applicable", "en") == ""


def test_bar_widths_are_shares_of_the_larger_of_need_and_usable() -> None:
    html = memory_bar([Part("weights", 10 * GIB), Part("activations", 30 * GIB)],
                      language="en", usable_bytes=20 * GIB)  # fmt: skip
    widths = [
        a["style"] for _, a in parsed(html).tags if (a.get("class") or "").startswith("xk-seg ")
    ]
    assert widths == [f"width:{10 / 41.6:.4%}", f"width:{30 / 41.6:.4%}"]
    assert "20 GiB over what is usable" in html


def test_bar_has_the_same_numbers_as_a_table() -> None:
    html = memory_bar([Part("weights", 3 * GIB), Part("kv_cache", GIB)], language="en",
                      usable_bytes=8 * GIB, low_bytes=3 * GIB, high_bytes=5 * GIB)  # fmt: skip
    words = parsed(html).words
    table = words[words.index("Share") + 1 :]
    assert table == ["Weights", "3", "75%", "KV cache", "1", "25%", "Sum of the parts", "4", "100%",
                     "Likely range", "3–5", "Usable on the card", "8"]  # fmt: skip


def test_nothing_to_stack_draws_no_bar() -> None:
    assert memory_bar([], language="en", usable_bytes=None) == ""


def test_totals_are_not_parts() -> None:
    figures = [
        {"name": "weights", "value": GIB, "unit": "B", "formula": "x"},
        {"name": "kv_cache", "value": GIB, "unit": "B", "formula": "x"},
        {"name": "allocated", "value": 2 * GIB, "unit": "B", "formula": "weights + kv_cache"},
        {"name": "hours", "value": 3, "unit": "h", "formula": "x"},
    ]
    names = [part.name for part in memory_parts(an_answer(figures=figures))]
    assert names == ["weights", "kv_cache"]


def test_powers_of_two_cover_the_range() -> None:
    assert powers_of_two(3, 17) == [2, 4, 8, 16, 32]
    assert powers_of_two(4, 4) == [4, 8]


def test_csv_has_every_offer_and_leaves_the_unknown_empty() -> None:
    rows = list(csv.DictReader(io.StringIO(offers_csv(an_answer()))))
    assert [r["price"] for r in rows] == ["10.5", ""]
    assert rows[0]["currency"] == "CNY"


def test_csv_cell_is_never_a_formula() -> None:
    text = offers_csv(an_answer(offers=[an_offer("=HYPERLINK(1)")]))
    assert "'=HYPERLINK(1)" in text


def test_markdown_carries_corrections_assumptions_and_sources() -> None:
    text = to_markdown("a\nb", an_answer())
    assert text.startswith("> a\n> b\n")
    for expected in ("It depends on the method.", "sequence length: 2048 token", "guide:vram#p3"):
        assert expected in text


def test_error_card_offers_to_try_again() -> None:
    tree = parsed(error_card("my <q>", "no", "zh"))
    assert [a["data-ask"] for n, a in tree.tags if n == "button"] == ["my <q>"]


def test_assumption_chip_asks_with_other_values() -> None:
    assert quick_questions("batch", 8, "zh") == (
        ("4", "batch size 改成 4 呢?"),
        ("16", "batch size 改成 16 呢?"),
    )
    assert [label for label, _ in quick_questions("method", "lora", "en")] == [
        "full fine-tuning", "QLoRA",
    ]  # fmt: skip
    assert quick_questions("nothing_known", 1, "en") == ()


def test_every_string_has_both_languages_with_the_same_places() -> None:
    import string

    def places(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    for key, row in strings().items():
        assert set(row) == {"en", "zh"}, key
        assert places(row["en"]) == places(row["zh"]), key


def test_every_slot_can_be_asked_for_in_both_languages() -> None:
    for name, row in slot_rows().items():
        assert {"en", "zh"} <= set(row["label"]) & set(row["ask"]), name
        assert "{value}" in row["ask"]["en"] + row["ask"]["zh"], name


def test_there_is_an_example_for_each_intent_that_answers() -> None:
    from typing import get_args, get_type_hints

    from agent import Answer

    intents = set(get_args(get_type_hints(Answer)["intent"])) - {"out_of_scope", "invalid_input"}
    assert {row["intent"] for row in examples()} == intents


def test_attribute_values_are_escaped() -> None:
    assert tag("a", title='"><script>') == '<a title="&quot;&gt;&lt;script&gt;"></a>'


def estimate_figures(parts: dict[str, int], low: int) -> list[dict[str, object]]:
    named = [{"name": n, "value": v, "unit": "B", "formula": "x"} for n, v in parts.items()]
    total = {"name": "process", "value": sum(parts.values()), "unit": "B",
             "formula": " + ".join(parts)}  # fmt: skip
    return [*named, total, {"name": "process_low", "value": low, "unit": "B", "formula": "x"}]


def test_bar_shows_the_method_that_the_answer_speaks_of() -> None:
    full = estimate_figures({"weights": 28, "activations": 5, "cuda_context": 1}, low=30)
    lora = estimate_figures({"weights": 14, "activations": 5, "cuda_context": 1}, low=15)
    shared = [f for f in lora if f["name"] not in ("activations", "cuda_context")]
    memory = {"scope": "per_gpu", "low_bytes": 15, "high_bytes": 25, "usable_bytes": 22}
    answer = an_answer(figures=[*full, *shared], memory=memory)
    assert memory_parts(answer) == [
        Part("weights", 14), Part("activations", 5), Part("cuda_context", 1),
    ]  # fmt: skip


def test_no_bar_where_no_estimate_is_the_one_spoken_of() -> None:
    figures = estimate_figures({"weights": 28}, low=30) + estimate_figures({"weights": 14}, low=15)
    memory = {"scope": "total", "low_bytes": 99, "high_bytes": 120, "usable_bytes": None}
    assert memory_parts(an_answer(figures=figures, memory=memory)) == []


def test_rows_of_one_price_list_are_one_source_under_the_clouds_name() -> None:
    rows = [("c8g1.2xlarge", "cn-heyuan"), ("c16g1.4xlarge", "cn-heyuan"), ("c4", "cn-beijing")]
    citations = [
        {"id": f"data:prices/alibaba.csv#ecs.gn7i-{name}@{region}", "title": "按量",
         "locator": f"{region}, 2024-10-09"}
        for name, region in rows
    ]  # fmt: skip
    citations += [
        {"id": f"data:alibaba.csv#{name}", "title": f"alibaba {name}", "locator": locator}
        for name, locator in (("a", "page, English; page, Chinese"), ("b", "page, Chinese; dump"))
    ]
    citations += [
        {
            "id": f"guide:cards#{part}.zh",
            "title": f"选卡 · {part}",
            "locator": f"cards.zh.md#{part}",
        }
        for part in ("one", "two")
    ]
    answer = an_answer(language="zh", citations=citations)
    lines = source_lines(answer)
    assert [(line.title, line.locator) for line in lines] == [
        ("阿里云价目", "cn-heyuan, 2024-10-09; cn-beijing, 2024-10-09"),
        ("阿里云规格", "page, English; page, Chinese; dump"),
        ("选卡 · one", "cards.zh.md#one"),
        ("选卡 · two", "cards.zh.md#two"),
    ]
    card = answer_card("q", answer)
    assert card.count(">阿里云价目<") == card.count('data-passage="data:prices') == 1
    assert to_markdown("q", answer).count("阿里云价目") == 1


def test_same_passage_under_two_ids_is_listed_once() -> None:
    twice = [{"id": f"guide:x#{n}", "title": "VRAM", "locator": "note vram"} for n in range(2)]
    assert [line.id for line in source_lines(an_answer(citations=twice))] == ["guide:x#0"]


def test_a_download_quotes_the_question_without_html_and_images() -> None:
    shown = to_markdown("<img src=x onerror=y> ![a](http://b) A10 & 7B?", an_answer())
    assert shown.startswith(r"> &lt;img src=x onerror=y&gt; !\[a](http://b) A10 &amp; 7B?")
