"""The accuracy tab: predicted against measured, row by row as docs/accuracy.md has them.

`python -m ui.accuracy docs/accuracy.md` writes the shipped data file anew (make accuracy-page).
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import median

from tools.units import format_significant
from ui.charts import Line, log_chart
from ui.markup import tag, text
from ui.render import sortable_table
from ui.wording import Language, say

DATA = "accuracy.csv"
COLUMNS = ("model", "what", "counter", "measured_gib", "predicted_gib")
_ROW = re.compile(r"\| (.+?) \| (.+?) \| (\w+) \| ([\d.]+) \| ([\d.]+) \| [+-][\d.]+ % \|")
_TRAINING = re.compile(r"(full|freeze|q?lora|dora|galore|lomo|badam|ppo|grpo|dpo)\b")


@dataclass(frozen=True, slots=True)
class Measured:
    """One published measurement beside the estimate, in GiB."""

    model: str
    what: str
    counter: str
    measured_gib: float
    predicted_gib: float

    @property
    def error(self) -> float:
        """Signed, relative to the measurement."""
        return self.predicted_gib / self.measured_gib - 1

    @property
    def is_training(self) -> bool:
        """False for a serving row."""
        return _TRAINING.match(self.what) is not None


def rows_of_document(document: str) -> Iterator[Measured]:
    """The rows of the document's last table that have an estimate."""
    for line in document.splitlines():
        found = _ROW.fullmatch(line.strip())
        if found:
            yield Measured(found[1], found[2], found[3], float(found[4]), float(found[5]))


def to_csv(rows: Iterator[Measured]) -> str:
    """The rows as the data file has them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([getattr(row, column) for column in COLUMNS] for row in rows)
    return out.getvalue()


@cache
def measured_rows() -> tuple[Measured, ...]:
    """The shipped rows; empty where the file is missing."""
    file = files("ui").joinpath("data", DATA)
    if not file.is_file():
        return ()
    reader = csv.DictReader(io.StringIO(file.read_text(encoding="utf-8")))
    return tuple(
        Measured(r["model"], r["what"], r["counter"], float(r["measured_gib"]),
                 float(r["predicted_gib"]))
        for r in reader
    )  # fmt: skip


def accuracy_html(language: Language) -> str:
    """The comparison as a chart and a table; a sentence where no data is installed."""
    rows = measured_rows()
    if not rows:
        return tag("p", text(say("accuracy_missing", language)), class_="xk-dim", lang=language)
    errors = [abs(row.error) for row in rows]
    within = sum(error <= 0.1 for error in errors) / len(errors)
    summary = say(
        "accuracy_summary", language, count=len(rows),
        median=format_significant(median(errors) * 100, 2), share=round(within * 100),
    )  # fmt: skip
    return tag(
        "section",
        tag("h2", text(say("accuracy_title", language))),
        tag("p", text(summary), class_="xk-count"),
        _chart(rows, language),
        _table(rows, language),
        class_="xk-answer",
        lang=language,
    )


def _chart(rows: tuple[Measured, ...], language: Language) -> str:
    kinds = {True: say("calc_task_train", language), False: say("calc_task_infer", language)}
    lines = []
    for is_training, name in kinds.items():
        mine = [row for row in rows if row.is_training is is_training]
        lines.append(Line(
            name,
            tuple((row.measured_gib, row.predicted_gib) for row in mine),
            tuple(f"{row.model} · {row.what}: {row.measured_gib:g} → {row.predicted_gib:g} GiB "
                  f"({row.error:+.1%})" for row in mine),
        ))  # fmt: skip
    chart = log_chart(
        lines, x_label=say("accuracy_measured", language),
        y_label=say("accuracy_predicted", language), title=say("accuracy_title", language),
        diagonal=True,
    )  # fmt: skip
    legend = "".join(
        tag("li", tag("span", class_=f"xk-key xk-k{i + 1}"), text(line.name))
        for i, line in enumerate(lines)
    )
    return chart + tag("ul", legend, class_="xk-legend")


def _table(rows: tuple[Measured, ...], language: Language) -> str:
    keys = ("calc_model", "accuracy_what", "accuracy_measured", "accuracy_predicted",
            "accuracy_error")  # fmt: skip
    cells = [
        [
            (row.model, row.model),
            (row.what, row.what),
            (f"{row.measured_gib:g}", str(row.measured_gib)),
            (f"{row.predicted_gib:g}", str(row.predicted_gib)),
            (f"{row.error:+.1%}", f"{abs(row.error):.6f}"),
        ]
        for row in rows
    ]
    grid = sortable_table(
        [say(key, language) for key in keys], cells, caption=say("accuracy_title", language),
        numeric=(2, 3, 4),
    )  # fmt: skip
    return tag("details", tag("summary", text(say("bar_table", language))), grid, class_="xk-more")


if __name__ == "__main__":
    target = Path(__file__).parent / "data" / DATA
    document_text = Path(sys.argv[1]).read_text(encoding="utf-8")
    target.write_text(to_csv(rows_of_document(document_text)), encoding="utf-8")
