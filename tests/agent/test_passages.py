"""Of what a search finds, what answers the question."""

from __future__ import annotations

from agent.answering.passages import on_the_point, shortened
from agent.toolbox.guidance import PassageOut


def passage(title: str, text: str, *, note: str = "vram") -> PassageOut:
    return PassageOut(
        passage_id=f"guide:{note}#{title}", note_id=note, title=f"GPU memory · {title}", text=text,
        score=0.9, language="en", trust="checked", locator="", checked_on=None, sources=(),
        errata=(),
    )  # fmt: skip


def test_a_passage_without_the_names_asked_for_is_dropped() -> None:
    found = [passage("Gradient checkpointing", "Only activations are saved.")]
    assert on_the_point(found, "what does GQA change against MHA?") == []
    assert on_the_point(found, "GQA 和 MHA 对显存有什么影响") == []


def test_the_passage_with_most_of_the_names_is_told() -> None:
    one = passage("Offload", "ZeRO-3 keeps Adam in host memory.")
    both = passage("Splitting", "ZeRO-3 splits weights, ZeRO-1 the optimizer.")
    assert on_the_point([one, both], "ZeRO-1 against ZeRO-3") == [both]


def test_a_heading_that_says_what_is_asked_comes_before_the_search_s_first() -> None:
    label = passage("Label memory and usable memory", "A 24 GB card gives 22.5 GiB.")
    units = passage("GB against GiB", "1 GiB is 1.074 GB.")
    assert on_the_point([label, units], "what is the difference between GB and GiB?") == [units]


def test_a_second_passage_is_of_the_same_note_and_answers_as_well() -> None:
    first = passage("CUDA and drivers", "CUDA needs a driver.")
    second = passage("Drivers for each CUDA", "CUDA 12 needs 525.")
    other = passage("CUDA images", "CUDA comes with PyTorch.", note="images")
    asked = "which drivers for CUDA"
    assert on_the_point([first, other, second], asked) == [first, second]


def test_whole_sentences_are_kept() -> None:
    assert shortened("One sentence. Another one. A third.", 28) == "One sentence. Another one."
