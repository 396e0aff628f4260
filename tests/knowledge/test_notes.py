"""The notes as data: complete, in two languages, each claim covered, nothing wrong repeated."""

from __future__ import annotations

import json
import re

import pytest

from knowledge.corrections import all_errata, errata, errata_of_claims
from knowledge.notes import MAX_CLAIMS, all_sections, parse_note
from knowledge.sources import get_source
from knowledge.text import language_of
from tests.helpers import shared_file
from tools.errors import DataError

NOTE = """---
id: a
title: T
language: en
claims: 2.10
sources: ARITH
checked_on: 2026-11-30
confidence: high
---

## First
<!--
id: first
claims: 2.10
asks:
- how much
-->
Text.
"""


def claims() -> dict[str, dict[str, str]]:
    lines = shared_file("facts/claims.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_claim_of_the_fact_check_is_covered_in_each_language(language: str) -> None:
    covered = {c for s in all_sections() if s.language == language for c in s.claims}
    assert covered == set(claims())


def test_each_section_stands_in_both_languages_with_the_same_claims_and_sources() -> None:
    by_unit: dict[str, dict[str, tuple[object, ...]]] = {}
    for s in all_sections():
        by_unit.setdefault(s.unit_id, {})[s.language] = (s.claims, s.source_ids, s.confidence)
    assert all(set(held) == {"zh", "en"} for held in by_unit.values())
    assert all(held["zh"] == held["en"] for held in by_unit.values())
    assert len(by_unit) >= 80


def test_every_passage_carries_what_a_reader_needs_to_judge_it() -> None:
    for s in all_sections():
        assert s.text, s.passage_id
        assert s.asks, s.passage_id
        assert s.checked_on is not None, s.passage_id
        assert s.confidence in ("high", "medium", "low"), s.passage_id
        assert s.source_ids, s.passage_id
        assert len(s.claims) <= MAX_CLAIMS, s.passage_id
        assert language_of(s.text) == s.language, s.passage_id


def test_what_is_not_sourced_is_never_called_certain() -> None:
    for s in all_sections():
        if set(s.source_ids) == {"JUDGE"} and s.claims:
            verdicts = {claims()[c]["verdict"] for c in s.claims}
            if verdicts == {"unsourced"}:
                assert s.confidence == "low", s.passage_id


def test_errata_are_the_claims_that_do_not_hold_with_their_verdicts() -> None:
    expected = {i: r["verdict"] for i, r in claims().items() if r["verdict"] != "supported"}
    assert {e.claim: e.verdict for e in all_errata().values()} == expected


def test_sources_are_of_a_known_kind_and_dated_where_they_can_be() -> None:
    kinds = {"guide", "vendor", "paper", "measured", "derived", "assumed"}
    found = {get_source(i) for s in all_sections() for i in s.source_ids}
    assert len(found) > 25
    assert {s.kind for s in found} <= kinds
    assert all(re.fullmatch(r"(guide|vendor|paper|rule|data):[\w.#-]+", s.id) for s in found)


# A wrong claim may stand in a note only as what is put right: a pattern that asserts it, and the
# words of denial that must be in the same sentence.
ASSERTED = {
    "2.32": r"A10[^。.;;]{0,20}(支持|有|with|has) NVLink",
    "4.23": r"(选|take|choose|order) gn7i-gpu8",
    "0.25": r"(阿里云|Alibaba) g6[^。.]{0,30}(是|are) (入门 )?(GPU|entry)",
    "2.9": r"gn5i[^。.;;]{0,6}(用|是|has|is) (a )?(P100|V100)",
    "2.28": r"平台即人工智能|platform as AI",
    "4.17": r"(阿里云|Alibaba)(有| has| offers) (Intel )?Gaudi",
    "4.10": r"(保证线性|guarantees? linear)",
    "0.5": r"CPU 内存带宽更高|CPU memory is faster",
    "2.13": r"Tencent GN is (A10|A100)|腾讯云的? ?GN[^。.]{0,4}是 A10",
}
DENIAL = re.compile(r"不|没有|错|反|no |not |No |never|wrong|Neither|isn't")


@pytest.mark.parametrize("claim", ASSERTED)
def test_no_note_states_a_claim_marked_wrong(claim: str) -> None:
    for s in all_sections():
        for sentence in re.split(r"[。;;]|\.\s", s.text):
            if re.search(ASSERTED[claim], sentence):
                assert DENIAL.search(sentence), f"{s.passage_id} repeats {claim}: {sentence}"


def test_the_notes_share_no_sentence_with_the_articles() -> None:
    folder = shared_file("seeds")
    articles = "".join(f.read_text(encoding="utf-8") for f in sorted(folder.glob("*.txt")))
    plain = re.sub(r"\s", "", articles)
    for s in all_sections():
        for sentence in re.split(r"[。;;]", re.sub(r"\s", "", s.text)):
            if len(sentence) >= 16:
                assert sentence not in plain, f"{s.passage_id}: {sentence}"


@pytest.mark.parametrize(
    ("question", "claim"),
    [
        ("gn7i-gpu8 怎么样", "4.23"),
        ("A10 支持 NVLink 吗", "2.32"),
        ("is there an A10 type with NVLink?", "2.32"),
        ("阿里云 g7 是 GPU 吗", "0.25"),
        ("抢占式实例能打几折", "2.26"),
        ("which Alibaba type has Gaudi", "4.17"),
        ("两台机器能线性加速吗", "4.10"),
        ("7B 微调至少要 24GB 显存对吧", "0.18"),
        ("ecs.gn5i-c4g1.8xlarge 配置", "2.8"),
        ("does sklearn prove that a cpu does deep learning", "2.2"),
    ],
)
def test_a_question_on_a_false_claim_brings_its_correction(question: str, claim: str) -> None:
    assert claim in {e.claim for e in errata(question)}


@pytest.mark.parametrize(
    "question",
    [
        "gn6i 有几个规格",
        "A10 显存多大",
        "红烧肉怎么做",
        "A100 和 A10 差多少",
        "how do I save a checkpoint",
        "",
    ],
)
def test_a_question_that_touches_no_false_claim_brings_none(question: str) -> None:
    assert errata(question) == []


def test_errata_of_a_passage_follow_its_claims() -> None:
    assert [e.claim for e in errata_of_claims(["0.7", "2.32"])] == ["2.32"]


def test_a_claim_id_that_looks_like_a_number_keeps_its_zero() -> None:
    assert parse_note(NOTE, name="a.en.md")[0].claims == ("2.10",)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("---\nid: a", "id: a", "front matter"),
        ("confidence: high\n", "", "confidence"),
        ("claims: 2.10\nasks", "claims: 2.10 2.9\nasks", "differ"),
        ("claims: 2.10\nasks", "claims: 1 2 3 4 5 6\nasks", "at most"),
        ("sources: ARITH", "sources: NOPE", "NOPE"),
        ("<!--\nid: first", "id: first", "block"),
    ],
)
def test_a_broken_note_is_refused_with_its_name(old: str, new: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        parse_note(NOTE.replace(old, new), name="a.en.md")
