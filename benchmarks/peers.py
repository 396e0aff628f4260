"""Other calculators and ours on the same rows in one run: accuracy and time.

    python -m benchmarks.peers --cases DIR

Installs the peers into a throwaway environment (never torch), gives each the same published
training runs with explicit shapes, and prints one table. A peer is credited with whichever of
its figures is nearest to the measurement.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

from benchmarks.accuracy import asked, is_complete, is_language, quantile, read, truths
from tools.memory import case_workload, estimate
from tools.memory.resolve import resolve_training
from tools.memory.workload import TrainingWorkload

PACKAGES = {
    "vramcalc": ("vramcalc==0.1.2",),
    "fitcheck-llm": ("fitcheck-llm==0.3.1",),
    "canifinetune": ("canifinetune==0.4.1",),
    "ftuneai": ("ftuneai==0.4.1",),
    "hf-vram-calc": ("hf-vram-calc==1.0.9",),
}
LIBRARIES = ("pydantic>=2", "pyyaml", "rich", "click", "huggingface-hub", "platformdirs", "jinja2")
Row = dict[str, Any]


def chosen(folder: Path) -> list[Row]:
    """Published training runs with a full configuration, one card, allocated memory."""
    return [
        row
        for row in read(folder / "memory_training.jsonl")
        if row.get("counter") == "allocated"
        and is_complete(row)
        and is_language(row)
        and row.get("num_gpus") == 1
        and row.get("method") in ("full", "lora", "qlora")
        and truths(row)
    ]


def shapes(row: Row) -> Row:
    """What a peer is given: shapes and settings, no name to look up."""
    workload = case_workload(asked(row))
    if not isinstance(workload, TrainingWorkload):
        raise TypeError(f"{row.get('id')} is not a training row")
    spec, run = workload.model, resolve_training(workload)
    targets = row.get("lora_targets") or []
    return {
        "model": spec.name,
        "family": spec.family or "llama",
        "params": spec.params_total,
        "config": {
            "hidden_size": spec.hidden_size,
            "num_hidden_layers": spec.num_hidden_layers,
            "num_attention_heads": spec.num_attention_heads,
            "num_key_value_heads": spec.num_key_value_heads,
            "head_dim": spec.head_dim,
            "intermediate_size": spec.intermediate_size,
            "vocab_size": spec.vocab_size,
            "tie_word_embeddings": bool(spec.tie_word_embeddings),
        },
        "method": run.method,
        "batch": run.batch,
        "seq_len": run.seq_len,
        "rank": run.rank or None,
        "targets": [] if isinstance(targets, str) else targets,
        "optimizer": row["optimizer"],
        "mixed": row["precision"] in ("bf16-mixed", "fp16-mixed"),
        "quantization": row["quantization"],
        "double_quant": run.double_quant,
        "checkpointing": run.checkpointing == "full",
        "attention": row.get("attention") or "sdpa",
    }


def ask_peer(name: str, rows: list[Row], folder: Path) -> list[Row]:
    """A peer's answers, from an environment of its own."""
    home = folder / name
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *LIBRARIES], check=True)
    subprocess.run([*install, "--no-deps", *PACKAGES[name]], check=True)
    driver = Path(__file__).with_name("peer_driver.py")
    done = subprocess.run(
        [str(python), str(driver), name],
        input=json.dumps([shapes(row) for row in rows]),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    answers: list[Row] = json.loads(done.stdout)
    return answers


def ask_ours(rows: list[Row]) -> list[Row]:
    """Our answers on the same rows."""
    answers = []
    for row in rows:
        workload = case_workload(asked(row))
        need = estimate(workload)
        times = []
        for _ in range(5):
            started = time.perf_counter()
            estimate(workload)
            times.append((time.perf_counter() - started) * 1e6)
        answers.append({"bytes": [need.allocated_bytes], "us": min(times)})
    return answers


def summary(name: str, rows: list[Row], answers: list[Row]) -> str:
    """One line: answered, mean, median and worst error, time of a call."""
    errors, times = [], []
    for row, answer in zip(rows, answers, strict=True):
        if "bytes" not in answer:
            continue
        errors.append(min(abs(v - t) / t for v in answer["bytes"] for t in truths(row)))
        times.append(answer["us"])
    if not errors:
        reason = next((a["reason"] for a in answers if "reason" in a), "")
        return f"| {name} | 0 of {len(rows)} | | | | | {reason} |"
    mean = sum(errors) / len(errors)
    refused = {a["reason"] for a in answers if "reason" in a}
    return (
        f"| {name} | {len(errors)} of {len(rows)} | {100 * mean:.1f} % "
        f"| {100 * quantile(errors, 0.5):.1f} % | {100 * max(errors):.0f} % "
        f"| {quantile(times, 0.5):.0f} us | {'; '.join(sorted(refused))[:160]} |"
    )


def main() -> int:
    """Prints the table, and each row's figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, required=True)
    args = parser.parse_args()
    rows = chosen(args.cases)
    answers = {"ours": ask_ours(rows)}
    with tempfile.TemporaryDirectory() as folder:
        for name in PACKAGES:
            try:
                answers[name] = ask_peer(name, rows, Path(folder))
            except subprocess.CalledProcessError as error:
                answers[name] = [{"reason": f"could not be run: {error.stderr or error}"}] * len(
                    rows
                )
    print(f"{len(rows)} published training runs (one card, full configuration, allocated memory)\n")
    print("| calculator | answered | mean error | median | worst | a call | cannot answer |")
    print("|---|---|---|---|---|---|---|")
    for name, given in answers.items():
        print(summary(name, rows, given))
    print("\n| run | measured GiB | " + " | ".join(answers) + " |")
    print("|---|---|" + "---|" * len(answers))
    for index, row in enumerate(rows):
        truth = truths(row)[0]
        cells = []
        for given in answers.values():
            figures = given[index].get("bytes")
            nearest = min(figures, key=lambda v: abs(v - truth)) if figures else math.nan
            cells.append("-" if math.isnan(nearest) else f"{nearest / 2**30:.2f}")
        print(
            f"| {row['model']} {row['method']} b{row['micro_batch_size']} s{row['seq_len']} "
            f"| {truth / 2**30:.2f} | " + " | ".join(cells) + " |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
