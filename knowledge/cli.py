"""Arguments and printing of `python -m knowledge`."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from knowledge.building import build
from knowledge.library import Library
from knowledge.manifest import FileResult
from knowledge.retriever import Retriever
from knowledge.settings import KnowledgeSettings
from knowledge.types import Passage
from tools.arguments import CommandParser, count
from tools.errors import AdvisorError, UserInputError
from tools.json_lines import read_rows


def passage_row(passage: Passage) -> dict[str, Any]:
    """A passage as plain data, for JSON."""
    language = passage.language
    return {
        "passage_id": passage.passage_id,
        "note_id": passage.note_id,
        "claims": list(passage.claims),
        "score": passage.score,
        "text": passage.text,
        "title": passage.title,
        "language": language,
        "sources": [{"id": s.id, "locator": s.locator} for s in passage.sources],
        "checked_on": passage.checked_on.isoformat() if passage.checked_on else None,
        "confidence": passage.confidence,
        "locator": passage.locator,
        "trust": passage.trust,
        "collection": passage.collection,
        "errata": [
            {"claim": e.claim, "verdict": e.verdict, "correction": e.correction(language)}
            for e in passage.errata
        ],
        "mode": passage.mode,
    }


def _build(args: argparse.Namespace) -> int:
    report = build(progress=lambda line: print(line, file=sys.stderr))
    done = "built" if report.built else "up to date"
    print(
        f"guidance index {done} ({report.embedder_id}, {report.elapsed_s:.1f} s): {report.folder}"
    )
    return 0


def _search(args: argparse.Namespace) -> int:
    if args.batch:
        return _search_batch(args)
    if not args.query:
        print("search needs a QUERY, or --batch IN.jsonl --out OUT.jsonl.", file=sys.stderr)
        return 2
    retriever = Retriever.open(KnowledgeSettings.from_env())
    found = retriever.search(args.query, k=args.k, language=args.lang)
    if args.json:
        print(json.dumps([passage_row(p) for p in found], ensure_ascii=False, indent=2))
        return 0
    if not found:
        print("Nothing relevant.")
    for p in found:
        claims = f" [{' '.join(p.claims)}]" if p.claims else ""
        print(f"{p.score:.2f}  {p.title}{claims}  ({p.passage_id})\n      {p.text}\n")
    return 0


def _search_batch(args: argparse.Namespace) -> int:
    if not args.out:
        print("--batch needs --out OUT.jsonl.", file=sys.stderr)
        return 2
    rows = read_rows(Path(args.batch))
    for number, row in enumerate(rows, start=1):
        if not isinstance(row.get("query"), str) or "id" not in row:
            raise UserInputError(f"{args.batch}: row {number} needs an 'id' and a text 'query'.")
    retriever = Retriever.open(KnowledgeSettings.from_env())
    with Path(args.out).open("w", encoding="utf-8") as out:
        for row in rows:
            found = retriever.search(row["query"], k=args.k, language=args.lang)
            answer = {"id": row["id"], "passages": [passage_row(p) for p in found]}
            out.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return 0


def _ingest(args: argparse.Namespace) -> int:
    counts: Counter[str] = Counter()

    def show(result: FileResult) -> None:
        counts[result.status] += 1
        print(_result_line(result, as_json=args.json), flush=True)

    library = Library(
        KnowledgeSettings.from_env(), progress=lambda line: print(line, file=sys.stderr)
    )
    library.ingest(args.paths, collection=args.collection, prune=args.prune, report=show)
    summary = ", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "no files"
    print(f"{args.collection}: {summary}", file=sys.stderr)
    return 1 if counts["rejected"] == counts.total() > 0 else 0


def _result_line(result: FileResult, *, as_json: bool) -> str:
    if as_json:
        return json.dumps(result._asdict(), ensure_ascii=False)
    detail = f" ({result.reason})" if result.reason else ""
    amount = f" [{result.piece_count} passages]" if result.piece_count else ""
    return f"{result.status:<9} {result.path}{amount}{detail}"


def _remove(args: argparse.Namespace) -> int:
    library = Library(KnowledgeSettings.from_env())
    gone = library.remove(args.paths, collection=args.collection)
    for result in gone:
        print(_result_line(result, as_json=args.json))
    if not gone:
        print(f"Nothing in {args.collection!r} came from there.", file=sys.stderr)
    return 0 if gone else 1


def _documents(args: argparse.Namespace) -> int:
    library = Library(KnowledgeSettings.from_env())
    entries = [] if library.is_empty else library.entries()
    if not entries:
        print("No documents yet; add some: python -m knowledge ingest PATH.", file=sys.stderr)
    for entry in entries:
        if args.json:
            print(json.dumps(entry._asdict(), ensure_ascii=False))
        else:
            print(
                f"{entry.collection}  {entry.path}  {entry.piece_count} passages  {entry.added_on}"
            )
    return 0


def _evaluate(args: argparse.Namespace) -> int:
    from knowledge.evaluate import Parts, fit, read_cases, table

    cases = read_cases(Path(p) for p in args.cases)
    retriever = Retriever.open(KnowledgeSettings.from_env())
    parts = Parts(retriever, cases)
    if args.fit:
        found = fit(
            [parts.evidence(c) for c in cases], [bool(c.accepted) for c in cases], keep=args.keep
        )
        values = {name: round(value, 3) for name, value in asdict(found).items()}
        print(f"{retriever.mode}: {json.dumps(values)}")
        return 0
    print("\n".join(table(parts, retriever, cases)))
    return 0


def _path(text: str) -> Path:
    """A path that was written; an empty one would stand for the working directory."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the path is empty; name a file or a folder, . for this")
    return Path(text)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m knowledge", description="Checked guidance: index, search, documents."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("build", help="make the guidance index, or find it made")
    made.set_defaults(run=_build)
    search = commands.add_parser("search", help="ranked passages for a query")
    search.add_argument("query", nargs="?")
    search.add_argument("-k", type=count, default=5, help="passages at most (default 5)")
    search.add_argument("--lang", choices=("zh", "en"), help="language of the texts")
    search.add_argument("--json", action="store_true")
    search.add_argument("--batch", metavar="IN.jsonl", help='lines {"id", "query"}')
    search.add_argument("--out", metavar="OUT.jsonl")
    search.set_defaults(run=_search)
    ingest = commands.add_parser("ingest", help="add documents of your own")
    ingest.add_argument("paths", nargs="+", type=_path, metavar="PATH", help="files or folders")
    ingest.add_argument("--prune", action="store_true", help="also remove what is gone from them")
    ingest.set_defaults(run=_ingest)
    remove = commands.add_parser("remove", help="take documents out again")
    remove.add_argument("paths", nargs="+", type=_path, metavar="PATH", help="files or folders")
    remove.set_defaults(run=_remove)
    held = commands.add_parser("documents", help="list what was added")
    held.set_defaults(run=_documents)
    for command in (ingest, remove, held):
        command.add_argument("--json", action="store_true")
    for command in (ingest, remove):
        command.add_argument("--collection", default="documents", help="name of the group")
    measure = commands.add_parser("evaluate", help="figures on labelled queries, part by part")
    measure.add_argument("--cases", metavar="FILE.jsonl", nargs="+", required=True)
    measure.add_argument("--fit", action="store_true", help="print constants fitted on the cases")
    measure.add_argument("--keep", type=float, default=0.99, help="share that must pass (--fit)")
    measure.set_defaults(run=_evaluate)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    args = _parser().parse_args(argv)
    try:
        status: int = args.run(args)
    except AdvisorError as error:
        print(error, file=sys.stderr)
        return 2
    return status
