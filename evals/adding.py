"""`python -m evals add`: a conversation or a bug report becomes a row of the questions suite.

It asks what the right answer is and where that is written; a row without a source is not taken.
Personal details are struck out before anything is shown or stored.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from evals.sample import check_rows, read_rows
from tools.errors import UserInputError

Ask = Callable[[str], str]
"""(prompt) -> what was typed."""
VERDICTS = ("fits", "tight", "does_not_fit", "depends", "not_applicable")
_HAN = re.compile("[\u4e00-\u9fff]")
_SECRETS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (mark, re.compile(pattern))
    for mark, pattern in (
        ("<email>", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
        ("<key>", r"\b(?:sk|pk|ghp|gho|hf|xox[abp]|AKIA|LTAI|AKID)[-_]?[A-Za-z0-9_-]{12,}"),
        ("<secret>", r"(?i)\bbearer\s+\S{6,}"),
        ("<secret>", r"(?i)(?:token|secret|password|passwd|api[_-]?key|密码)\s*[:=：]\s*\S{4,}"),
        ("<url>", r"https?://[^\s\"'<>）)]+"),
        ("<ip>", r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"),
        ("<phone>", r"(?<![\d.])(?:\+?86[- ]?)?1[3-9]\d{9}(?!\d)"),
        ("<id>", r"(?<!\d)\d{17}[\dXx](?!\d)"),
        ("<path>", r"/(?:home|Users|root|mnt|data|workspace)/[^\s\"':，,]+"),
        ("<path>", r"[A-Za-z]:\\Users\\[^\s\"':，,]+"),
        ("<host>", r"\b[a-z][\w-]*@[\w.-]+(?=[:$#~])"),
        ("<resource>", r"\b(?:i|eip|vpc|sg|subnet|ins|lhins)-[0-9a-z]{8,}\b"),
    )
)


def strip_personal(text: str) -> str:
    """Text without addresses, keys, hosts, paths and numbers that name a person or an account.

    >>> strip_personal("mail li.lei@example.com, key sk-abcdefghijklmnop, 13812345678")
    'mail <email>, key <key>, <phone>'
    >>> strip_personal("OOM on 10.0.0.7: /home/lilei/train.py, A10 24GB")
    'OOM on <ip>: <path>, A10 24GB'
    """
    for mark, pattern in _SECRETS:
        text = pattern.sub(mark, text)
    return text


def turns_from(path: Path) -> list[str]:
    """Questions of a file: an exported conversation, answers of --batch, or plain text.

    Args:
        path: JSON of `Advisor.export` (a list of turns with `question`), a JSON object with
            `question` and `turns`, or text: one report, or turns set apart by lines of `---`.

    Raises:
        UserInputError: If the file is missing or holds no question.
    """
    if not path.exists():
        raise UserInputError(f"No such file: {path}. Give a conversation or a report.")
    text = path.read_text(encoding="utf-8")
    try:
        found = list(_in_json(json.loads(text)))
    except json.JSONDecodeError:
        found = re.split(r"(?m)^---+\s*$", text)
    turns = [strip_personal(turn.strip()) for turn in found if turn.strip()]
    if not turns:
        raise UserInputError(f"{path} holds no question.")
    return turns


def _in_json(loaded: Any) -> Iterable[str]:
    if isinstance(loaded, dict):
        yield str(loaded.get("question") or "")
        yield from (str(turn) for turn in loaded.get("turns") or [])
    elif isinstance(loaded, list):
        for turn in loaded:
            yield str(turn.get("question") or "") if isinstance(turn, dict) else str(turn)


def row_from(turns: list[str], ask: Ask, *, tries: int = 1) -> dict[str, Any]:
    """A row with what the person says is true of it.

    Args:
        turns: The questions.
        ask: Puts a question to the person.
        tries: How often an answer that is not possible is asked for again.

    Raises:
        UserInputError: If an answer stays impossible or the source is missing.
    """
    truths = [_truth(turn, ask, tries) for turn in turns]
    source = strip_personal(ask("source of the truth (page, table, measurement, derivation): "))
    why = strip_personal(ask("why this row (what went wrong): "))
    if not source.strip() or not why.strip():
        raise UserInputError("A row needs a source and a reason. Say where the truth is written.")
    name = hashlib.sha256("\n".join(turns).encode()).hexdigest()[:10]
    return {
        "id": f"add-{name}",
        "lang": "zh" if _HAN.search(turns[0]) else "en",
        "question": turns[0],
        "turns": turns[1:],
        "truth": truths[0],
        "turns_truth": truths[1:],
        "expected_behavior": ["answer"],
        "source": source.strip(),
        "why": why.strip(),
    }


def _truth(turn: str, ask: Ask, tries: int) -> dict[str, Any]:
    prompt = f"{turn}\nright verdicts ({', '.join(VERDICTS)}; best first): "
    verdicts = _answered(ask, prompt, _verdicts, tries)
    facts = ask("must be said (facts apart by ;, alternatives by |, empty for none): ")
    claims = ask("must not be claimed (apart by ;, empty for none): ")
    prompt = "memory in GB, low-high, and scope (per_gpu, total, host_ram; empty for none): "
    low_high, scope = _answered(ask, prompt, _memory, tries)
    return {
        "verdict_accept": verdicts,
        "must_mention": [_parts(fact, "|") for fact in _parts(facts, ";")],
        "must_not_claim": _parts(claims, ";"),
        "memory_range_gb": low_high,
        "memory_scope": scope,
    }


def _answered(ask: Ask, prompt: str, read: Callable[[str], Any], tries: int) -> Any:
    """What `read` makes of an answer; an impossible one is asked for again, with the reason."""
    for left in range(tries - 1, -1, -1):
        try:
            return read(ask(prompt))
        except UserInputError as error:
            if not left:
                raise
            prompt = f"{error} Again: "
    raise ValueError(f"{tries} tries")


def _verdicts(typed: str) -> list[str]:
    verdicts = re.split(r"[,\s]+", typed.strip())
    wrong = [v for v in verdicts if v not in VERDICTS]
    if wrong:
        raise UserInputError(f"Unknown verdict {wrong[0]!r}. Known: {', '.join(VERDICTS)}.")
    return verdicts


def _memory(typed: str) -> tuple[list[float] | None, str | None]:
    if not typed.strip():
        return None, None
    sized = re.fullmatch(r"\s*([\d.]+)\s*-\s*([\d.]+)\s+(per_gpu|total|host_ram)\s*", typed)
    if sized is None:
        raise UserInputError(f"{typed!r} is no range. Write it as: 14-22 per_gpu")
    return [float(sized[1]), float(sized[2])], sized[3]


def _parts(text: str, mark: str) -> list[str]:
    return [part.strip() for part in text.split(mark) if part.strip()]


def append(path: Path, row: dict[str, Any]) -> None:
    """Adds a row to a file of cases, once.

    Raises:
        UserInputError: If the row does not match the schema or stands there already.
    """
    check_rows("questions", [row])
    if path.exists() and any(r["id"] == row["id"] for r in read_rows(path)):
        raise UserInputError(f"{path} holds {row['id']!r} already: the same question.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
