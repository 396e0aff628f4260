"""From a written name to its row, by the rules of the data page."""

from __future__ import annotations

import pytest

from tests.helpers import shared_rows
from tools.errors import AdvisorError, AmbiguousModelError, UnknownModelError
from tools.models import all_models, find_family, find_model, try_find_model
from tools.models.names import split_weight_format, vocabulary


@pytest.mark.parametrize(
    ("written", "row"),
    [
        ("llama3.1:70b", "meta-llama/Llama-3.1-70B"),
        ("Llama-3.1-70B", "meta-llama/Llama-3.1-70B"),
        ("ＬＬａＭＡ－２－７Ｂ", "meta-llama/Llama-2-7b-hf"),
        ("unsloth/Meta-Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B"),
        ("/mnt/models/Qwen/Qwen2.5-7B-Instruct/", "Qwen/Qwen2.5-7B"),
        ("E:\\llm\\Qwen1.5-7B-Chat", "Qwen/Qwen1.5-7B"),
        ("千问2.5-7b", "Qwen/Qwen2.5-7B"),
        ("通义千问 14B", "Qwen/Qwen-14B"),
        ("智谱GLM4-9B", "THUDM/glm-4-9b-chat"),
        ("百川2-13B", "baichuan-inc/Baichuan2-13B-Base"),
        ("满血版R1", "deepseek-ai/DeepSeek-R1"),
        ("dsr1", "deepseek-ai/DeepSeek-R1"),
        ("deepseek-r1:671b", "deepseek-ai/DeepSeek-R1"),
        ("deepseek-r1:32b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"),
        ("r1 70b", "deepseek-ai/DeepSeek-R1-Distill-Llama-70B"),
        ("bge-reranker", "BAAI/bge-reranker-v2-m3"),
        ("bge-reranker-base", "BAAI/bge-reranker-base"),
        ("whisper large", "openai/whisper-large-v3"),
        ("vicuna-7b-v1.5", "meta-llama/Llama-2-7b-hf"),
        ("GPT-2 124M", "openai-community/gpt2"),
        ("ResNet-50 v1.5", "timm/resnet50"),
        ("Yi-34B-200K", "01-ai/Yi-34B"),
        ("HF BERT", "google-bert/bert-base-uncased"),
        ("r1 蒸馏 32b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"),
    ],
)
def test_a_spelling_finds_its_row(written: str, row: str) -> None:
    assert find_model(written).spec.name == row


def test_every_alias_of_every_row_finds_its_row() -> None:
    shared: set[str] = set()
    for spec in all_models():
        for alias in (spec.name, *spec.aliases):
            match = try_find_model(alias)
            if match is None:
                shared.add(alias)
            else:
                assert match.spec.name == spec.name, alias
    assert {alias.lower() for alias in shared} == {"detr", "deepseek-coder-v2"}


@pytest.mark.parametrize(
    ("written", "quantization"),
    [
        ("Qwen2.5-32B-Instruct-AWQ", "awq"),
        ("Qwen1.5-7B-Chat-GPTQ-Int4", "gptq-int4"),
        ("Qwen/Qwen-72B-Chat-Int4", "int4"),
        ("unsloth/llama-3-8b-bnb-4bit", "nf4"),
        ("Qwen3-30B-A3B-FP8", "fp8"),
        ("qwen2.5-7b-instruct-q4_K_M", "q4_k_m"),
        ("llama3.1:8b-instruct-q8_0", "q8_0"),
        ("Qwen2.5-7B (4-bit)", "int4"),
        ("Yi-34B-Chat-8bits", "int8"),
        ("Qwen3.8-27B NVFP4", "nvfp4"),
        ("Llama 3.1 70b Q4", "q4"),
        ("Qwen2.5-7B-Instruct-Q4_K_M-GGUF", "q4_k_m"),
        ("Llama-2-13B-GPTQ-4bits", "gptq-int4"),
        ("Llama-2-13B-AWQ-4bits", "awq"),
        ("Llama-2-13B-fp16-GGUF", "gguf"),
        ("Qwen2.5-7B", None),
    ],
)
def test_a_weight_format_is_the_quantization_and_not_the_name(
    written: str, quantization: str | None
) -> None:
    match = find_model(written)
    assert match.quantization == quantization
    assert match.notes == ()


def test_gguf_types_of_every_kind_are_formats() -> None:
    for kind in ("q4_0", "q4_k_m", "q5_k_s", "q6_k", "iq2_xxs", "iq4_nl", "q3_k_l", "ud-q4_k_xl"):
        rest, found = split_weight_format(f"model-7b-{kind.replace('_', '-')}")
        assert (rest, found) == ("model-7b", kind.removeprefix("ud-"))


@pytest.mark.parametrize(
    ("written", "row", "word"),
    [
        ("Mistral-7B-Instruct-v0.2", "mistralai/Mistral-7B-v0.1", "v0.2"),
        ("Qwen3-4B-Instruct-2507", "Qwen/Qwen3-4B", "2507"),
        ("GLM-4-9B-0414", "THUDM/glm-4-9b-chat", "0414"),
        ("BERT-large SQuAD v1.1", "google-bert/bert-large-uncased", "squad"),
        ("Qwen2.5-7B RL", "Qwen/Qwen2.5-7B", "rl"),
    ],
)
def test_what_falls_back_or_is_cut_is_said(written: str, row: str, word: str) -> None:
    match = find_model(written)
    assert match.spec.name == row
    assert any(word in note for note in match.notes)


@pytest.mark.parametrize(
    "written",
    ["Qwen2.5-9B", "Llama-4-Scout-17B-34E", "CogVideo 350m", "BERT tiny", "gpt 22b"],
)
def test_a_size_or_a_variant_is_never_cut(written: str) -> None:
    with pytest.raises(UnknownModelError):
        find_model(written)


@pytest.mark.parametrize(
    "family",
    ["qwen", "千问", "通义千问", "baichuan2", "百川", "glm4", "智谱", "混元", "ds", "deepseek",
     "llama", "qwen2vl", "qwenvl2.5", "bce", "yolo", "whisper"],
)  # fmt: skip
def test_a_family_without_a_size_gives_candidates(family: str) -> None:
    with pytest.raises(AmbiguousModelError) as caught:
        find_model(family)
    names = {spec.name for spec in all_models()}
    assert len(caught.value.candidates) >= 2
    assert set(caught.value.candidates) <= names


def test_two_models_are_not_one() -> None:
    with pytest.raises(AmbiguousModelError) as caught:
        find_model("OPT-13B actor + OPT-350M reward")
    assert caught.value.candidates == ("facebook/opt-13b", "facebook/opt-350m")


def test_a_key_of_two_rows_gives_both() -> None:
    with pytest.raises(AmbiguousModelError) as caught:
        find_model("detr")
    assert len(caught.value.candidates) == 2


@pytest.mark.parametrize("typo", ["Qwen2.5-7Bb", "Llama-3.1-80B", "Mistrl-7B", "Mixtral-8x7"])
def test_one_edit_away_gives_the_name_meant(typo: str) -> None:
    with pytest.raises(UnknownModelError) as caught:
        find_model(typo)
    assert caught.value.candidates


def test_listed_families_name_rows_that_exist() -> None:
    names = {spec.name for spec in all_models()}
    for family, listed in vocabulary().families.items():
        assert set(listed) <= names, family
        found = find_family(family)
        assert found is None or found.candidates, family


def test_long_or_odd_text_is_no_model() -> None:
    for text in ("", "   ", "x" * 100_000, "()[]", "/", "-4bit", "\x00\x01", "7B"):
        assert try_find_model(text) is None


def test_most_names_of_the_measured_rows_resolve() -> None:
    """Every name stands for a row, or for something the registry does not hold."""
    names: set[str] = set()
    for file in ("memory_training", "memory_inference", "simulated"):
        names |= {row["model"] for row in shared_rows(f"cases/{file}.jsonl")}
    unresolved = []
    for name in names:
        try:
            find_model(name)
        except AdvisorError:
            unresolved.append(name)
    assert len(names) > 150
    assert len(unresolved) <= 0.05 * len(names), unresolved
