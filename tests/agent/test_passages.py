"""Of what a search finds, what answers the question."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.advisor import Advisor
from agent.answering.telling.draft import Draft
from agent.answering.telling.passages import on_the_point, say_passages, shortened
from agent.grounding import ungrounded
from agent.request import Request, Slots
from agent.toolbox.guidance import PassageOut
from knowledge import KnowledgeSettings, Library


def passage(title: str, text: str, *, note: str = "vram") -> PassageOut:
    return PassageOut(
        passage_id=f"guide:{note}#{title}", note_id=note, title=f"GPU memory · {title}", text=text,
        score=0.9, language="en", trust="checked", locator="", checked_on=None, sources=(),
        errata=(),
    )  # fmt: skip


def asked(words: str) -> Request:
    return Request(language="en", intent="concept", slots=Slots(), search_query=words)


def test_a_passage_without_the_names_asked_for_is_dropped() -> None:
    found = [passage("Gradient checkpointing", "Only activations are saved.")]
    assert on_the_point(found, asked("what does GQA change against MHA?")) == []
    assert on_the_point(found, asked("GQA 和 MHA 对显存有什么影响")) == []


def test_the_passage_with_most_of_the_names_is_told() -> None:
    one = passage("Offload", "ZeRO-3 keeps Adam in host memory.")
    both = passage("Splitting", "ZeRO-3 splits weights, ZeRO-1 the optimizer.")
    assert on_the_point([one, both], asked("ZeRO-1 against ZeRO-3")) == [both]


def test_a_heading_that_says_what_is_asked_comes_before_the_search_s_first() -> None:
    label = passage("Label memory and usable memory", "A 24 GB card gives 22.5 GiB.")
    units = passage("GB against GiB", "1 GiB is 1.074 GB.")
    question = asked("what is the difference between GB and GiB?")
    assert on_the_point([label, units], question) == [units]


def test_a_second_passage_is_of_the_same_note_and_answers_as_well() -> None:
    first = passage("CUDA and drivers", "CUDA needs a driver.")
    second = passage("Drivers for each CUDA", "CUDA 12 needs 525.")
    other = passage("CUDA images", "CUDA comes with PyTorch.", note="images")
    question = asked("which drivers for CUDA")
    assert on_the_point([first, other, second], question) == [first, second]


def test_whole_sentences_are_kept() -> None:
    assert shortened("One sentence. Another one. A third.", 28) == "One sentence. Another one."


def test_a_document_of_the_reader_s_is_quoted_under_its_name_after_the_guidance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XUANKA_STATE_DIR", str(tmp_path / "state"))
    told = {
        "en": ("A10 supports NVLink at 900 GB/s according to ACME.", "Does A10 support NVLink?"),
        "zh": ("据 ACME 说,A10 支持 NVLink,带宽 900 GB/s。", "A10 支持 NVLink 吗?"),
    }
    named = {"en": "Your document “acme-en.txt” says", "zh": "您的文档《acme-zh.txt》里写着"}
    fact = {"en": "no NVLink", "zh": "没有 NVLink"}
    library = Library(KnowledgeSettings.from_env())
    for language, (text, question) in told.items():
        path = tmp_path / f"acme-{language}.txt"
        path.write_text(text, encoding="utf-8")
        library.ingest([path])
        answer = Advisor().ask(question)
        library.remove([path])
        said = answer.text
        assert fact[language] in said.split("\n\n")[0]
        lines = said.splitlines()
        assert [line for line in lines if "ACME" in line and not line.startswith("> ")] == []
        quote = next(n for n, line in enumerate(lines) if "ACME" in line)
        assert lines[quote - 2].startswith(named[language])
        assert "guide:interconnect#a10-nvlink" in said
        assert ungrounded(answer, question=question) == ()


def test_a_document_alone_answers_as_a_quotation() -> None:
    request = Request(language="en", intent="concept", slots=Slots())
    draft = Draft(request)
    own = passage("x", "Ask Ms Okafor.\nOne day ahead.").model_copy(
        update={"trust": "user", "title": "rules\n# **all**.md · Booking"}
    )
    say_passages(draft, [], own=[own])
    first = draft.finish("not_applicable").text.split("\n\nSources")[0]
    assert first == (
        "Your document “rules # all .md” says (quoted, not checked):\n\n"
        "> Ask Ms Okafor.\n> One day ahead."
    )
