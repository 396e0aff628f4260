from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

import pytest
from starlette.testclient import TestClient

from tests.helpers import ROOT
from tests.ui.fakes import FakeAdvisor, an_app, collect
from tools.memory import estimate
from tools.units import GIB
from ui.accuracy import measured_rows, rows_of_document, to_csv
from ui.calculator import Setup, calculator_html, frontier, question_of, workload_of
from ui.catalog_page import Filters, catalog_html, meets, priced_offers
from ui.charts import gib
from ui.http.head import with_head
from ui.machine import machine_html


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(an_app(FakeAdvisor())) as opened:
        yield opened
    collect()


@pytest.mark.parametrize("name", ["calculator", "catalog", "machine", "accuracy"])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_each_part_of_the_page_is_served(client: TestClient, name: str, language: str) -> None:
    reply = client.get(f"/page/{name}", params={"lang": language})
    assert reply.status_code == 200
    assert f'lang="{language}"' in reply.text


def test_unknown_passage_is_not_found(client: TestClient) -> None:
    assert client.get("/page/passage", params={"id": "guide:none"}).status_code == 404


def test_page_has_our_head_first_and_names_no_other_host(client: TestClient) -> None:
    page = client.get("/").text
    assert page.index("xuanka.js") < page.index("<meta")
    assert "raw.githubusercontent.com" not in page


def test_head_is_put_in_once_and_sharing_tags_go() -> None:
    page = with_head(b'<html><head><meta property="og:x" content="y"></head><head></html>')
    assert page.count(b"xuanka.js") == 1
    assert b"og:x" not in page


def test_calculator_shows_the_engines_own_figure() -> None:
    setup = Setup(model="Qwen/Qwen2.5-7B", method="lora", batch=2, seq_len=1024)
    need = estimate(workload_of(setup))
    html = calculator_html(setup, "en")
    assert f'data-bytes="{need.process_bytes}"' in html
    assert f"{gib(need.process_bytes)} GiB per GPU" in html


@pytest.mark.parametrize(
    "values",
    [{"batch": "0"}, {"batch": "-3"}, {"batch": "x"}, {"seq_len": "1e9"}, {"nonsense": "1"}, {}],
)
def test_malformed_values_of_the_address_keep_the_default(values: dict[str, str]) -> None:
    assert Setup.from_values(values) == Setup()


def test_setup_survives_the_address_bar() -> None:
    setup = Setup(model="m", task="infer", batch=7, seq_len=512, gpu="NVIDIA L20", gpu_count=2)
    values = {name: str(getattr(setup, name)) for name in Setup.__dataclass_fields__}
    assert Setup.from_values(values) == setup


@pytest.mark.parametrize("field", ["model", "gpu", "method", "precision", "weights"])
def test_impossible_names_are_said_in_words(field: str) -> None:
    task = "infer" if field == "weights" else "train"
    html = calculator_html(Setup(**{field: "no-such-<b>", "task": task}), "en")  # type: ignore[arg-type]
    assert 'role="alert"' in html
    assert "<b>" not in html


def test_frontier_points_fit_and_the_next_length_does_not() -> None:
    setup = Setup(model="Qwen/Qwen2.5-7B", method="qlora")
    usable = 22 * GIB

    def at(batch: int, seq_len: int):  # type: ignore[no-untyped-def]
        return workload_of(Setup(method="qlora", batch=batch, seq_len=seq_len))

    points = list(frontier(at, usable))
    assert points
    assert setup.gpu
    for batch, longest in points:
        assert estimate(at(batch, longest)).process_bytes <= usable
        assert estimate(at(batch, int(longest * 1.15) + 64)).process_bytes > usable
    lengths = [longest for _, longest in points]
    assert lengths == sorted(lengths, reverse=True)


def test_question_about_a_setup_names_what_was_set() -> None:
    question = question_of(Setup(batch=4, seq_len=4096, gpu="NVIDIA L20"), "zh")
    for part in ("Qwen2.5-7B", "LoRA", "batch 4", "4096", "NVIDIA L20"):
        assert part in question


def test_filters_leave_only_what_meets_them() -> None:
    filters = Filters(gpus=("NVIDIA A10",), min_count=2, flags=("priced", "whole"))
    left = [(o, p) for o, p in priced_offers() if meets(o, p, filters)]
    assert left
    for offer, price in left:
        assert offer.gpu_label == "NVIDIA A10"
        assert offer.gpu_count is not None
        assert offer.gpu_count >= 2
        assert price is not None
        assert not offer.is_slice


def test_unknown_nvlink_is_not_taken_for_nvlink() -> None:
    unknown = [(o, p) for o, p in priced_offers() if o.nvlink is None]
    assert unknown
    assert not any(meets(o, p, Filters(flags=("nvlink",))) for o, p in unknown)


def test_price_ceiling_compares_in_its_currency() -> None:
    offer, price = next((o, p) for o, p in priced_offers() if p is not None and p.currency == "USD")
    amount = float(price.per_hour)
    assert meets(offer, price, Filters(max_price=amount, currency="USD"))
    assert not meets(offer, price, Filters(max_price=amount, currency="CNY"))
    assert price.per_hour > Decimal(0)


def test_namesakes_are_pointed_out() -> None:
    html = catalog_html(Filters(name="gn7"), "en")
    assert "Alibaba Cloud" in html
    assert "Tencent Cloud" in html
    assert "same name" in html


def test_query_values_that_cannot_be_are_not_asked_for() -> None:
    filters = Filters.from_values({"min_memory_gb": "x", "max_price": "-1", "providers": "aws,,"})
    assert filters == Filters(providers=("aws",))


def test_machine_of_somebody_else_is_not_probed() -> None:
    assert "<table" not in machine_html("en", is_allowed=False)


def test_shipped_accuracy_rows_are_those_of_the_document() -> None:
    document = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    shipped = (ROOT / "ui" / "data" / "accuracy.csv").read_text(encoding="utf-8")
    assert shipped == to_csv(rows_of_document(document)), "run: make accuracy-page"
    assert len(measured_rows()) > 100


def test_accuracy_row_is_read_with_its_error() -> None:
    line = (
        "| m/x | lora pure-bf16, b1, 512 tokens, 1 card(s) | reserved | 10.00 | 11.00 | +10.0 % |"
    )
    (row,) = rows_of_document(line)
    assert (row.model, row.counter, round(row.error, 6), row.is_training) == (
        "m/x", "reserved", 0.1, True,
    )  # fmt: skip


def test_every_word_of_the_script_has_both_languages() -> None:
    script = (ROOT / "ui" / "static" / "xuanka.js").read_text(encoding="utf-8")
    words = script[script.index("const WORDS") : script.index("const say")]
    keys = set(re.findall(r"^    (\w+):", words, re.MULTILINE))
    used = set(re.findall(r'say\("(\w+)"\)', script))
    assert used <= keys
    assert len(re.findall(r"[\u4e00-\u9fff]+", words)) >= len(keys)
