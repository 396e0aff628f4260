"""Models in free text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.models import scan_families, scan_models


def _names(text: str) -> list[str]:
    return [mention.match.spec.name for mention in scan_models(text)]


@pytest.mark.parametrize(
    ("text", "row", "quantization"),
    [
        ("用Qwen2.5-7B做微调,一张4090够吗", "Qwen/Qwen2.5-7B", None),
        ("手里4张卡,千问14B走qlora", "Qwen/Qwen-14B", None),
        ("一张卡上挂4个0.6B的qwen3", "Qwen/Qwen3-0.6B", None),
        ("does llama 3.1 70B fit?", "meta-llama/Llama-3.1-70B", None),
        ("ollama跑deepseek-r1:32b行吗", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", None),
        ("vllm serve Qwen/Qwen2.5-32B-Instruct-AWQ --tp 2", "Qwen/Qwen2.5-32B", "awq"),
        ("model_name_or_path: /data/Qwen2.5-14B-Instruct", "Qwen/Qwen2.5-14B", None),
        ("unsloth llama-3-8b-bnb-4bit on T4", "meta-llama/Meta-Llama-3-8B", "nf4"),
        ("3台8卡L20部署fp8的R1 671B", "deepseek-ai/DeepSeek-R1", None),
        ("Mixtral 8x7B 4bit lora", "mistralai/Mixtral-8x7B-v0.1", "int4"),
        ("r1 蒸馏 32b 要几张卡", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", None),
        ("DeepSeek-R1满血版", "deepseek-ai/DeepSeek-R1", None),
        ("clip vit-l 推理", "openai/clip-vit-large-patch14", None),
        ("whisper large-v2 int8 OOM", "openai/whisper-large-v2", "int8"),
        ("run_squad bert on gtx 1050ti", "google-bert/bert-base-uncased", None),
        ("ollama says deepseek-coder-v2 needs 19 GiB", "deepseek-ai/DeepSeek-V2-Lite", None),
    ],
)
def test_a_model_is_found_in_a_sentence(text: str, row: str, quantization: str | None) -> None:
    (mention,) = scan_models(text)
    assert mention.match.spec.name == row
    assert mention.match.quantization == quantization
    assert text[mention.start : mention.end] == mention.text


def test_several_models_come_in_order() -> None:
    text = "baichuan13b/qwen7b 都炸, llama3-70b worked"
    assert _names(text) == [
        "baichuan-inc/Baichuan-13B-Base",
        "Qwen/Qwen-7B",
        "meta-llama/Meta-Llama-3-70B",
    ]


def test_precision_behind_a_space_is_not_the_weight_format() -> None:
    (mention,) = scan_models("llama-2-7b bf16 全参")
    assert mention.match.quantization is None
    assert mention.text == "llama-2-7b"


@pytest.mark.parametrize(
    "text",
    [
        "7B 微调能在 A10 上跑吗",
        "70B fp16 on 4xA100",
        "ecs.gn7i-c8g1.2xlarge 和 GN7.2XLARGE32",
        "p4d.24xlarge, g5.xlarge, t3.medium",
        "4张3090 RTX 6000 Ada M2 Max",
        "so-vits-svc 训练",
        "opt-in, philosophy, swinging, bloom filter",
        "lora_r16 adam r1",
        "gpt2 22b",
        "llama 38b",
        "batch_size=-1 seq_len=0",
        "",
    ],
)
def test_what_is_no_model_is_not_found(text: str) -> None:
    found = [name for name in _names(text) if name != "deepseek-ai/DeepSeek-R1"]
    assert found == []


def test_a_size_that_the_row_does_not_have_is_not_swallowed() -> None:
    assert _names("mistral nemo 70b") == []
    assert _names("QwQ 32B") == ["Qwen/QwQ-32B"]


def test_a_family_without_size_is_a_family_mention() -> None:
    (family,) = scan_families("lora 训千问 4张A10")
    assert family.text == "千问"
    assert len(family.candidates) > 2
    assert scan_families("用千问2.5-7b") == []


def test_distills_without_a_size_are_not_the_671b() -> None:
    assert _names("R1蒸馏版哪个能跑") == []
    (family,) = scan_families("R1蒸馏版哪个能跑")
    assert "deepseek-ai/DeepSeek-R1" not in family.candidates


@given(st.text(max_size=300))
def test_any_text_is_read_without_error_and_spans_match(text: str) -> None:
    end = 0
    for mention in scan_models(text):
        assert mention.start >= end
        assert text[mention.start : mention.end] == mention.text
        end = mention.end
    scan_families(text)
