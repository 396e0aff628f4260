from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import shared_file, shared_rows
from tools.catalog import scan_instances, scan_providers
from tools.gpus import all_gpus


def named(text: str, provider: str | None = None) -> list[tuple[str, str | None, str]]:
    found = scan_instances(text, provider=provider)
    return [(m.text, m.provider, m.lookup.kind) for m in found]


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("阿里云 g7 和 c7 有没有显卡", [("g7", "alibaba", "family"), ("c7", "alibaba", "family")]),
        ("8台gn7i做DDP", [("gn7i", None, "family")]),
        ("4xg5.12xlarge 够吗", [("g5.12xlarge", None, "type")]),
        ("Is AWS g6 like Tencent GN7?", [("g6", "aws", "family"), ("GN7", "tencent", "family")]),
        ("p3 on Huawei Cloud vs AWS p3", [("p3", "huawei", "family"), ("p3", "aws", "family")]),
        ("腾讯云的GN8是什么卡", [("GN8", "tencent", "family")]),
        ("换成 gn7e-c16g1.4xlarge 呢?", [("gn7e-c16g1.4xlarge", None, "type")]),
        ("gn7i-gpu8怎么样", [("gn7i-gpu8", None, "unknown")]),
        ("ml.p4d.24xlarge failed", [("ml.p4d.24xlarge", "aws", "type")]),
        ("sagemaker ml.m4.xlarge", [("ml.m4.xlarge", "aws", "unlisted")]),
        ("Standard_NC24ads_A100_v4 还是 NC40ads_H100_v5",
         [("Standard_NC24ads_A100_v4", "azure", "type"), ("NC40ads_H100_v5", None, "type")]),
        ("t3.medium with spot", [("t3.medium", None, "type")]),
        ("租 g6 入门", [("g6", None, "family")]),
        ("a g4dn-based box", [("g4dn", None, "family")]),
        ("ecs g7 够吗", [("g7", "alibaba", "family")]),
        ("ECS 还是 g4dn.xlarge", [("g4dn.xlarge", None, "type")]),
        ("u1实例", [("u1", None, "family")]),
        ("r5.xlarge and t4g.medium", [("r5.xlarge", None, "unlisted"),
                                      ("t4g.medium", None, "unlisted")]),
        ("n1-standard-8 on gcp", [("n1-standard-8", "gcp", "unlisted")]),
        ("google cloud a2 or a3?", [("a2", "gcp", "family"), ("a3", "gcp", "family")]),
    ],
)  # fmt: skip
def test_mentions_are_found_with_their_cloud(
    text: str, mentions: list[tuple[str, str | None, str]]
) -> None:
    assert named(text) == mentions


def test_spans_point_into_the_text() -> None:
    text = "两台 ecs.gn7i-c8g1.2xlarge,还是 g4dn.xlarge?"
    for mention in scan_instances(text):
        assert text[mention.start : mention.end] == mention.text


def test_a_provider_known_from_before_is_used() -> None:
    assert named("g6 呢", provider="aws") == [("g6", "aws", "family")]


@pytest.mark.parametrize(
    "text",
    [
        "flan-t5-large 和 t5-base 在 T4 上", "whisper large-v2 int8", "RTX 4090 24G",
        "M1 Max 64G 能跑吗", "M4 Pro", "NVIDIA A2 or P4 or P100", "upload to S3",
        "r7 5800X i7-12700", "Qwen2.5-7B-Instruct", "sd3.5-large", "A10-24Q",
        "phase p3 of the plan", "3.8.1+cu118",
        "batch 4x8", "v100 16g", "gpt2-medium", "c1 c2 c3", "t5.large", "phi3.medium",
        "gpt2.medium", "the 7b model on 2 gpus",
    ],
)  # fmt: skip
def test_cards_models_and_words_are_no_instances(text: str) -> None:
    assert named(text) == []


def test_no_card_and_no_model_is_taken_for_an_instance() -> None:
    names = {alias for gpu in all_gpus() for alias in (gpu.name, *gpu.aliases)}
    for row in shared_rows("facts/models.jsonl"):
        names |= {row["name"], *(row.get("aliases") or [])}
    wrong = {name for name in names if named(f"阿里云能跑 {name} 吗")}
    assert wrong == set()
    assert len(names) > 5000


def test_the_instances_of_the_reference_questions_are_found() -> None:
    missed = []
    for row in shared_rows("cases/questions.jsonl"):
        slots = row["slots"]
        for wanted in filter(None, [slots.get("instance"), *(slots.get("instances") or [])]):
            stem = wanted.lower().removeprefix("ecs.").split("-")[0].split(".")[0]
            texts = [m.text.lower() for m in scan_instances(row["question"])]
            if not any(stem in text for text in texts):
                missed.append((row["id"], wanted))
    assert missed == []


def test_every_row_of_the_facts_is_found_in_a_sentence() -> None:
    path = shared_file("facts/instances.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        types = [row["instance_type"].split(" ")[0] for row in csv.DictReader(lines)]
    missed = [t for t in types if not named(f"请问 {t} 多少钱")]
    assert missed == []


@given(st.text(max_size=200))
def test_no_text_breaks_the_scan(text: str) -> None:
    for mention in scan_instances(text):
        assert 0 <= mention.start < mention.end <= len(text)


@pytest.mark.parametrize(
    ("text", "providers"),
    [
        ("阿里云和腾讯云", ["alibaba", "tencent"]),
        ("AWS EC2 或 aliyun", ["aws", "alibaba"]),
        ("华为昇腾 910B", []),
        ("Huawei Cloud p3", ["huawei"]),
        ("lawsuit", []),
    ],
)
def test_providers_are_found(text: str, providers: list[str]) -> None:
    assert [m.provider for m in scan_providers(text)] == providers
