"""`python -m agent "QUESTION"`: one answer in the terminal, or a batch of them in a file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent.settings import Settings
from tools.console import run_console
from tools.errors import AdvisorError

OK, BAD_USAGE, FAILED = 0, 2, 3


def main(argv: Sequence[str] | None = None) -> int:
    """Answers and gives the exit status: 0 answered, 2 bad usage, 3 nothing could be answered."""
    parser = _parser()
    arguments = parser.parse_intermixed_args(argv)
    question = _question(arguments.words)
    try:
        settings = Settings(own_machine=True)
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False):
            where = ".".join(str(part) for part in problem["loc"]) or "settings"
            print(f"{where}: {problem['msg']}", file=sys.stderr)
        return BAD_USAGE
    if arguments.show_config:
        print(json.dumps(settings.shown(), indent=2, ensure_ascii=False))
        return OK
    if arguments.check_backend:
        from agent.backends.check import check_backend

        report = check_backend(settings)
        print(report.text)
        return OK if report.ok else FAILED
    if arguments.batch is not None:
        if arguments.out is None:
            parser.error("--batch needs --out OUT.jsonl")
        return _batch(settings, arguments.batch, arguments.out)
    if not question:
        parser.error('a question is needed: python -m agent "Does a 7B LoRA fit on an A10?"')
    return _one(settings, question, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m agent", description=__doc__)
    parser.add_argument(
        "words", nargs="*", metavar="QUESTION",
        help='the question, in Chinese or English; the word "ask" before it may be written',
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    parser.add_argument("--lang", choices=["zh", "en"], help="language of the answer")
    parser.add_argument("--thread", metavar="ID", help="conversation to continue or to start")
    parser.add_argument("--batch", type=Path, metavar="IN.jsonl", help="many questions")
    parser.add_argument("--out", type=Path, metavar="OUT.jsonl", help="answers of --batch")
    parser.add_argument("--show-config", action="store_true", help="settings in force")
    parser.add_argument(
        "--check-backend",
        action="store_true",
        help="try the configured endpoint and say what fails",
    )
    return parser


def _question(words: Sequence[str]) -> str:
    """The question in the words of a command line, without the verb that some write first.

    >>> _question(["ask", "A10 够吗"]), _question(["Does", "7B", "fit?"]), _question(["ask"])
    ('A10 够吗', 'Does 7B fit?', '')
    """
    first = 1 if words and words[0] == "ask" else 0
    return " ".join(words[first:])


def _one(settings: Settings, question: str, arguments: argparse.Namespace) -> int:
    from agent.advisor import Advisor

    try:
        answer = Advisor(settings).ask(question, thread=arguments.thread, language=arguments.lang)
    except AdvisorError as error:
        print(error, file=sys.stderr)
        return FAILED
    if arguments.json:
        print(answer.model_dump_json(indent=2))
    else:
        _show(answer.text)
    return OK


def _show(text: str) -> None:
    """Markdown, rendered on a terminal and plain in a pipe."""
    if not sys.stdout.isatty():
        print(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def _batch(settings: Settings, source: Path, target: Path) -> int:
    from agent.advisor import Advisor

    try:
        rows = _read_rows(source)
    except (OSError, ValueError) as error:
        print(f"{source}: {error}", file=sys.stderr)
        return BAD_USAGE
    advisor = Advisor(settings)
    with target.open("w", encoding="utf-8") as out:
        for number, row in enumerate(rows):
            answers = _conversation(advisor, row, thread=f"batch-{number}")
            line = {"id": row.get("id"), "answers": answers}
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
    return OK


def _read_rows(source: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        row = json.loads(line)
        if not isinstance(row, dict) or not isinstance(row.get("question"), str):
            raise ValueError(f"line {number} needs an object with a 'question'")
        rows.append(row)
    return rows


def _conversation(advisor: Any, row: dict[str, Any], *, thread: str) -> list[dict[str, Any]]:
    turns = [row["question"], *(row.get("turns") or [])]
    kept = thread if len(turns) > 1 else None
    if kept is not None:
        advisor.delete(kept)
    answers = [advisor.ask(turn, thread=kept).model_dump(mode="json") for turn in turns]
    if kept is not None:
        advisor.delete(kept)
    return answers


if __name__ == "__main__":
    run_console(main)
