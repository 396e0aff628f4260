"""`python -m agent "QUESTION"`: one answer in the terminal, or a batch of them in a file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.arguments import CommandParser
from tools.console import run_console
from tools.errors import AdvisorError

if TYPE_CHECKING:  # imported where they are used, so that Ctrl-C is met from the start
    from agent.settings import Settings
    from tools.json_lines import Line

OK, SOME_FAILED, BAD_USAGE, FAILED = 0, 1, 2, 3


def main(argv: Sequence[str] | None = None) -> int:
    """Answers and gives the exit status.

    Returns:
        0 answered, 1 some lines of a batch could not be, 2 bad usage, 3 nothing was answered.
    """
    from pydantic import ValidationError

    from agent.settings import Settings

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
    parser = CommandParser(prog="python -m agent", description=__doc__)
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
    import sqlite3

    from agent.advisor import Advisor

    try:
        answer = Advisor(settings).ask(question, thread=arguments.thread, language=arguments.lang)
    except AdvisorError as error:
        print(error, file=sys.stderr)
        return FAILED
    except sqlite3.OperationalError as error:
        print(
            f"The conversation cannot be kept ({error}); set XUANKA_STATE_DIR to a folder that can "
            "be written, or leave --thread out.",
            file=sys.stderr,
        )
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
    """Answers every line that can be; the others are named with their number."""
    from agent.advisor import Advisor
    from tools.json_lines import numbered_lines

    try:
        lines = list(numbered_lines(source))
    except AdvisorError as error:
        print(error, file=sys.stderr)
        return BAD_USAGE
    advisor = Advisor(settings)
    failed = 0
    with target.open("w", encoding="utf-8") as out:
        for line in lines:
            problem = _problem(line)
            if line.row is not None and not problem:
                try:
                    answers = _conversation(advisor, line.row, thread=f"batch-{line.number}")
                except AdvisorError as error:
                    problem = f"could not be answered: {error}"
                else:
                    answered = {"id": line.row.get("id"), "answers": answers}
                    out.write(json.dumps(answered, ensure_ascii=False) + "\n")
            if problem:
                failed += 1
                print(f"{source}: line {line.number} {problem}", file=sys.stderr)
    return SOME_FAILED if failed else OK


def _problem(line: Line) -> str:
    """Why a line asks nothing; empty where it does."""
    if line.row is None:
        return line.problem
    turns = line.row.get("turns") or []
    asks = isinstance(line.row.get("question"), str) and bool(line.row["question"].strip())
    if not asks or not isinstance(turns, list) or not all(isinstance(t, str) for t in turns):
        return "needs an object with a text 'question' and, if any, texts as 'turns'"
    return ""


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
