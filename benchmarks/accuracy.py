"""Prints how far the calculator is from measured and simulated runs, and writes docs/accuracy.md.

    python -m benchmarks.accuracy --cases DIR [--write docs/accuracy.md]

DIR holds memory_training.jsonl, memory_inference.jsonl and simulated.jsonl with the fields of the
reference cases. Truths are removed from a row before the calculator sees it.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tools.memory import answer_case
from tools.units import GB, GIB

Row = dict[str, Any]
FILES = ("memory_training", "memory_inference", "simulated")
TRUTH = {
    "measured_gb", "verdict", "notes", "source", "figures", "quote_of_numbers", "confidence",
    "peak_bytes", "peak_phase", "parts", "layer_saved_bytes", "kv_bytes",
}  # fmt: skip
TRUTH_EXTRA = {
    "reserved_gib", "process_gib", "cuda_context_mib", "weight_breakdown_mib",
    "reserved_before_training_gib", "reserved_99th_gib", "trainable_params",
}  # fmt: skip
TRAINING_FIELDS = (
    "precision", "quantization", "optimizer", "micro_batch_size", "seq_len",
    "gradient_checkpointing",
)  # fmt: skip
SERVING_FIELDS = ("engine", "weight_format", "batch", "context_len", "kv_dtype", "num_gpus")
ANSWERED_BY = {
    "allocated": ("allocated_bytes",),
    "reserved": ("reserved_bytes",),
    "process": ("process_bytes",),
    "weights": ("weights_bytes",),
    "kv_cache": ("kv_cache_bytes",),
}
NOT_LANGUAGE = re.compile(
    r"bert|whisper|diffusion|sdxl|flux|cogvideo|consisid|pixart|controlnet|r-?cnn|segformer|yolo"
    r"|resnet|timm/"
)
PEERS = (
    ("vramcalc 0.1.2", "3.4 %", "11 of 16"),
    ("fitcheck-llm 0.3.1", "12.2 %, worst 33 %", "16 of 16"),
    ("canifinetune 0.4.1", "23 %", "14 of 16"),
    ("accelerate estimate-memory", "24 %", "4 of 16"),
    ("ftuneai 0.4.1", "30 %", "14 of 16"),
    ("hf-vram-calc 1.0.9", "38 %", "16 of 16"),
)


class Scored(NamedTuple):
    """One row with its answer."""

    file: str
    row: Row
    answer: Row
    measured_bytes: float
    predicted_bytes: float
    error: float
    """Signed, relative; NaN when unanswered."""
    held: bool
    """The interval holds the truth and is not too wide."""


def asked(row: Row) -> Row:
    """The row without its truths."""
    seen = {key: value for key, value in row.items() if key not in TRUTH}
    if isinstance(seen.get("extra"), dict):
        seen["extra"] = {k: v for k, v in seen["extra"].items() if k not in TRUTH_EXTRA} or None
    return seen


def truths(row: Row) -> list[float]:
    """Acceptable truths in bytes; both units where the source does not say which."""
    if row.get("peak_bytes"):
        return [float(row["peak_bytes"])]
    if row.get("measured_gb") is None:
        return []
    gib, gb = row["measured_gb"] * GIB, row["measured_gb"] * GB
    return {"GiB": [gib], "GB": [gb]}.get(row.get("unit") or "", [gib, gb])


def is_complete(row: Row) -> bool:
    """Whether no field that moves the number is null."""
    fields = SERVING_FIELDS if "engine" in row else TRAINING_FIELDS
    return all(row.get(field) is not None for field in fields)


def is_language(row: Row) -> bool:
    """Whether the row is about a language model."""
    if "kind" in row:
        return bool(row["kind"] == "decoder")
    return NOT_LANGUAGE.search(str(row.get("model")).casefold()) is None


def score(file: str, row: Row) -> Scored | None:
    """One row's answer beside its truth; None for rows without a figure."""
    wanted = truths(row)
    if not wanted or row.get("counter") == "other":
        return None
    answer = answer_case(asked(row))
    cards = (row.get("num_gpus") or 1) if row.get("measured_scope") == "sum_over_gpus" else 1
    keys = ANSWERED_BY.get(
        row.get("counter") or "allocated", ("allocated_bytes", "reserved_bytes", "process_bytes")
    )
    pairs = [(answer[k] * cards, t) for k in keys if answer.get(k) for t in wanted]
    if not pairs:
        return Scored(file, row, answer, wanted[0], math.nan, math.nan, False)
    predicted, measured = min(pairs, key=lambda pair: abs(pair[0] - pair[1]) / pair[1])
    widest = 1.25 if is_complete(row) else 2.0
    low, high = answer["low_bytes"], answer["high_bytes"]
    held = high <= widest * low and any(low * cards <= t <= high * cards for t in wanted)
    return Scored(file, row, answer, measured, predicted, predicted / measured - 1, held)


def quantile(values: Iterable[float], share: float) -> float:
    """The value at this share of the sorted values."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else math.nan


def line(name: str, rows: list[Scored]) -> str:
    """One line of a table: count, median, 90th and 95th percentile, worst, interval coverage."""
    errors = [abs(r.error) for r in rows if not math.isnan(r.error)]
    if not errors:
        return f"| {name} | {len(rows)} | 0 | | | | | |"
    figures = (quantile(errors, 0.5), quantile(errors, 0.9), quantile(errors, 0.95), max(errors))
    shown = " | ".join(f"{100 * value:.2f} %" for value in figures)
    covered = 100 * sum(r.held for r in rows) / len(rows)
    return f"| {name} | {len(rows)} | {len(errors)} | {shown} | {covered:.0f} % |"


HEAD = (
    "| rows | with a figure | answered | median | 90th | 95th | worst | inside the interval |\n"
    "|---|---|---|---|---|---|---|---|"
)


def table(groups: dict[str, list[Scored]]) -> str:
    """A table of groups of rows."""
    return "\n".join([HEAD, *(line(name, rows) for name, rows in groups.items() if rows)])


def by(rows: list[Scored], key: Callable[[Scored], str]) -> dict[str, list[Scored]]:
    """Rows grouped by a key, in its order."""
    groups: dict[str, list[Scored]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(sorted(groups.items()))


def source_of(scored: Scored) -> str:
    """The first words of a row's source."""
    text = str(scored.row.get("source") or scored.row.get("origin") or "not stated")
    return re.split(r"[ (@;]", text.removeprefix("https://"))[0][:60]


def goals(rows: list[Scored]) -> dict[str, list[Scored]]:
    """The groups that the goals are stated for."""
    language = [r for r in rows if is_language(r.row)]
    training = [r for r in language if r.file == "memory_training"]
    serving = [r for r in language if r.file == "memory_inference"]

    def full(rows: list[Scored]) -> list[Scored]:
        return [
            r for r in rows
            if r.row.get("counter") == "allocated" and is_complete(r.row)
            and r.row.get("confidence", "high") == "high"
        ]  # fmt: skip

    return {
        "training, allocated, full configuration (goal 2 / 10 %)": full(training),
        "training, reserved (7 / 16 %)": [r for r in training if r.row["counter"] == "reserved"],
        "training, process (6 / 14 %)": [r for r in training if r.row["counter"] == "process"],
        "training, all (4 / 20 %)": training,
        "serving, full configuration (1 / 10 %)": full(serving),
        "serving, all (2.5 / 16 %)": serving,
        "simulated, language models (0.2 / - / 1 / 3 %)": [
            r for r in language if r.file == "simulated"
        ],
    }


def verdicts(folder: Path) -> tuple[Counter[str], list[str]]:
    """Verdict rows: counts of right and wrong sides, and the wrong ones."""
    counts: Counter[str] = Counter()
    wrong = []
    for file in FILES[:2]:
        for row in read(folder / f"{file}.jsonl"):
            if row.get("verdict") not in ("fits", "oom") or not is_language(row):
                continue
            verdict = answer_case(asked(row)).get("verdict")
            right = (verdict == "does_not_fit") == (row["verdict"] == "oom") and verdict is not None
            counts["right" if right else "wrong"] += 1
            if not right:
                wrong.append(
                    f"{row['model']} on {row.get('gpu')}: {row['verdict']}, said {verdict}"
                )
    return counts, wrong


def read(path: Path) -> list[Row]:
    """The rows of a file; none when it is not there."""
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines() if text]


def rows_table(rows: list[Scored]) -> str:
    """Predicted beside measured, row by row."""
    lines = [
        "| model | what | counter | measured GiB | predicted GiB | error |",
        "|---|---|---|---|---|---|",
    ]
    for r in rows:
        row = r.row
        what = row.get("weight_format") or f"{row.get('method')} {row.get('precision') or ''}"
        size = f"b{row.get('batch') or row.get('micro_batch_size') or '?'}"
        length = row.get("context_len") or row.get("seq_len") or "?"
        cards = row.get("num_gpus") or 1
        predicted = "-" if math.isnan(r.error) else f"{r.predicted_bytes / GIB:.2f}"
        error = "not answered" if math.isnan(r.error) else f"{100 * r.error:+.1f} %"
        lines.append(
            f"| {row['model']} | {what}, {size}, {length} tokens, {cards} card(s) "
            f"| {row.get('counter') or 'allocated'} | {r.measured_bytes / GIB:.2f} "
            f"| {predicted} | {error} |"
        )
    return "\n".join(lines)


def document(rows: list[Scored], folder: Path) -> str:
    """The whole of docs/accuracy.md."""
    counts, wrong = verdicts(folder)
    published = [r for r in rows if r.file != "simulated"]
    peers = "\n".join(f"| {name} | {error} | {answered} |" for name, error, answered in PEERS)
    full = goals(rows)["training, allocated, full configuration (goal 2 / 10 %)"]
    mean = sum(abs(r.error) for r in full) / max(len(full), 1)
    sections = [
        "# Accuracy of the VRAM calculator",
        "Generated by `make accuracy` from the reference cases: published measurements and "
        "simulated steps whose truths the calculator never sees. Errors are relative to the "
        "measurement; in brackets the goal for median / 90th (95th, worst for simulated rows). "
        "Where a source says neither GB nor GiB, or not which counter it read, the reading "
        "nearest to the estimate is taken as its measurement: those rows flatter.",
        "## Against the goals", table(goals(rows)),
        f"Verdict rows of language models: {counts['right']} on the right side, "
        f"{counts['wrong']} wrong." + "".join(f"\n- {text}" for text in wrong),
        "## Beside other calculators",
        "Mean error that others reach on 16 published training runs with full configurations "
        "(published figures); `make bench-peers` runs them beside ours on the same rows.",
        "| calculator | mean error | answered |\n|---|---|---|\n" + peers
        + f"\n| this one, on the {len(full)} full rows above | {100 * mean:.1f} % "
        f"| {len(full)} of {len(full)} |",
        "## By counter",
        table(by(rows, lambda r: f"{r.file}: {r.row.get('counter') or 'allocated'}")),
        "## By source", table(by(rows, lambda r: f"{r.file}: {source_of(r)}")),
        "## By method and kind",
        table(by(rows, lambda r: f"{r.file}: {r.row.get('method') or r.row.get('engine')}")),
        Path(__file__).with_name("accuracy_notes.md").read_text(encoding="utf-8").strip(),
        "## Row by row (published measurements)", rows_table(published),
    ]  # fmt: skip
    return "\n\n".join(sections) + "\n"


def main() -> None:
    """Scores the cases, prints the tables and writes the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--write", type=Path)
    args = parser.parse_args()
    rows = [
        scored
        for file in FILES
        for row in read(args.cases / f"{file}.jsonl")
        if (scored := score(file, row)) is not None
    ]
    print(table(goals(rows)))
    print(table(by(rows, lambda r: f"{r.file}: {source_of(r)}")))
    counts, wrong = verdicts(args.cases)
    print(f"verdicts: {dict(counts)}", *wrong, sep="\n")
    if args.write is not None:
        args.write.write_text(document(rows, args.cases), encoding="utf-8")


if __name__ == "__main__":
    main()
