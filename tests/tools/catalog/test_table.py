from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import pytest

from tools.catalog.loader import DATA, INSTANCE_COLUMNS, PriceBook, load
from tools.catalog.providers import read_providers
from tools.catalog.table import Column, boolean, count, money, positive, read_rows, share, text
from tools.errors import CatalogRowError

COLUMNS = (Column("name", text, required=True), Column("size", count), Column("link", boolean))


@pytest.mark.parametrize(
    ("line", "field", "reason"),
    [
        ("a,0,true", "size", "below 1"),
        ("a,-3,true", "size", "below 1"),
        ("a,1.5,true", "size", "1.5"),
        ("a,1,yes", "link", "neither"),
        (",1,true", "name", "required"),
        (" a,1,true", "name", "spaces"),
        ("a,1", "name", "2 cells"),
    ],
)
def test_a_wrong_cell_names_file_row_and_field(line: str, field: str, reason: str) -> None:
    with pytest.raises(CatalogRowError, match=reason) as error:
        list(read_rows(f"name,size,link\nok,1,true\n{line}\n", columns=COLUMNS, file="x.csv"))
    assert (error.value.file, error.value.row, error.value.field) == ("x.csv", 3, field)


def test_an_empty_cell_is_unknown() -> None:
    ((number, cells),) = read_rows("name,size,link\na,,\n", columns=COLUMNS, file="x.csv")
    assert (number, cells) == (2, ["a", None, None])


def test_a_header_that_changed_is_refused() -> None:
    with pytest.raises(CatalogRowError, match="header must be name,size,link"):
        list(read_rows("name,link,size\n", columns=COLUMNS, file="x.csv"))


@pytest.mark.parametrize(
    ("read", "cell"),
    [(money, "0"), (money, "-1"), (money, "NaN"), (money, "abc"), (positive, "0"),
     (positive, "inf"), (share, "0"), (share, "3/2"), (count, "1e3")],
)  # fmt: skip
def test_impossible_cells_are_refused(read, cell: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError):  # noqa: PT011
        read(cell)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "data"
    shutil.copytree(DATA, copy)
    return copy


def changed(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / name
    content = path.read_text(encoding="utf-8")
    assert old in content
    path.write_text(content.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "field"),
    [
        ("aws.csv", "c6i.4xlarge,c6i,cpu,,", "c6i.4xlarge,c6i,cpu,NVIDIA A10,", "category"),
        ("aws.csv", ",current,moto-5.2.5", ",current,nobody", "sources"),
        ("aws.csv", "c6i.8xlarge,", "c6i.4xlarge,", "instance_type"),
        ("aws.csv", "c6i.4xlarge,c6i,cpu", "c6i.4xlarge,c6i,tpu", "category"),
        ("alibaba.csv", ",1,1/12,24,2,", ",1,1/12,24,200,", "slice_memory_gb"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(
    folder: Path, name: str, old: str, new: str, field: str
) -> None:
    changed(folder, name, old, new)
    with pytest.raises(CatalogRowError) as error:
        load(folder)
    assert (error.value.file, error.value.field) == (name, field)
    assert error.value.row > 1


def test_a_type_in_two_files_of_a_provider_is_refused(folder: Path) -> None:
    line = next(
        row for row in (folder / "alibaba.csv").read_text(encoding="utf-8").splitlines()
        if row.startswith("ecs.gn7i-c8g1.2xlarge,")
    )  # fmt: skip
    with (folder / "alibaba.cc-by-sa-4.0.csv").open("a", encoding="utf-8") as out:
        out.write(line + "\n")
    with pytest.raises(CatalogRowError, match="another file"):
        load(folder)


def test_a_new_provider_is_a_new_file(folder: Path) -> None:
    header = ",".join(column.name for column in INSTANCE_COLUMNS)
    row = "volc.gpu.large,gpu,gpu,NVIDIA A10,NVIDIA A10,1,1,24,,8,32,,,,,,,,,current,otc-doc,"
    (folder / "volcengine.csv").write_text(f"{header}\n{row}\n", encoding="utf-8")
    assert "volcengine" in load(folder).providers


ACME = """# name_en = "Fake Cloud"
# name_zh = "顶点云"
# home = "cn"
# aliases = ["fakecloud", "fake"]
# [sources.fake-page]
# licence = "facts only"
# published_on = 2026-11-01
# locator = "acme.example/gpu, price page"
"""


def _with_acme(folder: Path, front: str, *, file: str = "fakecloud.csv") -> None:
    header = ",".join(column.name for column in INSTANCE_COLUMNS)
    row = "a.large,a,gpu,NVIDIA A10,NVIDIA A10,1,1,24,,8,32,,,,,,,,,current,fake-page,"
    (folder / file).write_text(f"{front}{header}\n{row}\n", encoding="utf-8")


def test_one_file_brings_rows_names_and_sources(folder: Path) -> None:
    _with_acme(folder, ACME)
    (offer,) = [o for o in load(folder).offers if o.provider == "fakecloud"]
    assert offer.source_ids == ("fake-page",)
    source = load(folder).sources["fake-page"]
    assert (source.licence, source.published_on) == ("facts only", date(2026, 11, 1))
    (row,) = [p for p in read_providers(folder) if p.provider == "fakecloud"]
    assert (row.name_en, row.name_zh, row.home) == ("Fake Cloud", "顶点云", "cn")
    assert row.aliases == ("fakecloud", "fake")


def test_a_provider_without_names_goes_by_its_id(folder: Path) -> None:
    _with_acme(folder, ACME[ACME.index("# [sources") :])
    (row,) = [p for p in read_providers(folder) if p.provider == "fakecloud"]
    assert (row.name_en, row.name_zh, row.aliases) == ("fakecloud", "fakecloud", ())


def test_names_of_an_own_file_win_over_the_list_of_clouds_without_rows(folder: Path) -> None:
    _with_acme(folder, ACME, file="autodl.csv")
    (row,) = [p for p in read_providers(folder) if p.provider == "autodl"]
    assert row.name_en == "Fake Cloud"


def test_two_files_of_a_provider_do_not_both_name_it(folder: Path) -> None:
    _with_acme(folder, ACME)
    _with_acme(folder, ACME.replace("fake-page", "other"), file="fakecloud.cc-by-sa-4.0.csv")
    with pytest.raises(CatalogRowError, match="another file of fakecloud"):
        read_providers(folder)


@pytest.mark.parametrize(
    ("old", "new", "field", "reason"),
    [
        ('# name_en = "Fake Cloud"', "# name_en = Acme", "#", "no TOML"),
        ("# name_zh", "# name_cn", "name_cn", "known are name_en"),
        ('# name_zh = "顶点云"\n', "", "name_zh", "required"),
        ('["fakecloud", "fake"]', '"fake"', "aliases", "list"),
        ('["fakecloud", "fake"]', "[1]", "aliases", "list"),
        ("# licence", "# license", "sources.fake-page.license", "known are licence"),
        ("2026-11-01", '"November"', "sources.fake-page.published_on", "date"),
        ("[sources.fake-page]", "[sources.ecb]", "sources.ecb", "another source"),
        ('"acme.example/gpu, price page"', '""', "sources.fake-page.locator", "text"),
    ],
)
def test_a_wrong_line_above_the_rows_names_file_and_key(
    folder: Path, old: str, new: str, field: str, reason: str
) -> None:
    assert old in ACME
    _with_acme(folder, ACME.replace(old, new))
    with pytest.raises(CatalogRowError, match=reason) as error:
        load(folder)
    assert (error.value.file, error.value.field) == ("fakecloud.csv", field)


def test_a_row_is_named_by_its_line_below_the_names(folder: Path) -> None:
    _with_acme(folder, ACME)
    changed(folder, "fakecloud.csv", ",24,,8,", ",24,,none,")
    with pytest.raises(CatalogRowError, match="vcpus") as error:
        load(folder)
    lines = (folder / "fakecloud.csv").read_text(encoding="utf-8").splitlines()
    assert lines[error.value.row - 1].startswith("a.large,")


def test_a_source_that_nothing_lists_says_where_to_write_it(folder: Path) -> None:
    _with_acme(folder, ACME.replace("fake-page", "fake-site"))
    with pytest.raises(CatalogRowError, match=r"'fake-page'.*\[sources\.<id>\]"):
        load(folder)


def test_a_wrong_price_names_its_row(folder: Path) -> None:
    changed(
        folder,
        "prices/aws.csv",
        "g6.xlarge,us-east-1,on_demand,0.8048",
        "g6.xlarge,us-east-1,on_demand,-1",
    )
    book = PriceBook("aws", folder=folder)
    assert book.of("g5.xlarge")
    with pytest.raises(CatalogRowError, match="amount") as error:
        book.of("g6.xlarge")
    lines = (folder / "prices/aws.csv").read_text(encoding="utf-8").splitlines()
    assert ",-1," in lines[error.value.row - 1]
