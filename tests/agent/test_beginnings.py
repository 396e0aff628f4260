"""Questions that leave out their subject, greetings, and small networks without a name."""

from __future__ import annotations

import pytest

from agent.answering.hosts.processors import memory_bandwidth
from agent.request import Request
from agent.understanding import parse
from agent.understanding.kinds.scope import is_unfinished
from tests.agent.answers import answer


@pytest.mark.parametrize("text", ["hello", "Hi there!", "你好", "谢谢", "good morning"])
def test_a_greeting_is_greeted_and_asked_back(text: str) -> None:
    found = answer(text)
    assert found.clarifying_question
    assert "cannot help" not in found.text
    assert "帮不上" not in found.text


@pytest.mark.parametrize(
    "text",
    [
        "is 8gb enough", "is 24 GB sufficient?", "能跑吗", "多少钱", "how much?", "够不够",
        "How do I make it faster?", "怎么让它快一点", "我想学AI,买什么电脑",
        "which cloud is best for AI",
        "12g够不够啊 急", "大佬们 16gb够用不 在线等", "is 6 gb enough? honest answer pls",
        "does 10GB cut it? asap", "48G够不够 求解答",
        "what hardware do I need for AI", "我要炼丹 预算3000", "i have a laptop can i run chatgpt",
    ],
)  # fmt: skip
def test_what_lacks_its_subject_is_asked_back(text: str) -> None:
    found = answer(text)
    assert found.intent != "out_of_scope"
    assert found.clarifying_question


@pytest.mark.parametrize(
    "text",
    [
        "苹果多少钱一斤", "write me a poem about my laptop", "明天天气怎么样",
        "is milk good enough", "how much is a house in Paris",
        "苹果8g够吗 求助", "手机8g够吗 急", "谁知道今天星期几 急",
        "will AI replace doctors?", "推荐一台打游戏的电脑",
    ],
)  # fmt: skip
def test_other_subjects_are_still_refused(text: str) -> None:
    found = answer(text)
    assert found.intent == "out_of_scope"
    assert found.verdict == "not_applicable"


def test_only_words_of_asking_are_unfinished() -> None:
    assert is_unfinished("is 8gb enough")
    assert not is_unfinished("is 8gb of milk enough")
    assert not is_unfinished("8gb")


def test_a_service_is_told_to_run_nowhere_else() -> None:
    text = answer("i have a laptop can i run chatgpt").text
    assert "not published" in text
    assert "| 7B |" in text


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("训练一个猫狗分类器用什么机器", "resnet50"),
        ("what machine to train an image classifier", "resnet50"),
        ("train a sentiment classifier, which gpu?", "bert-base-uncased"),
    ],
)
def test_a_classifier_is_a_small_network(text: str, model: str) -> None:
    found = answer(text)
    assert model in found.text
    assert "70B" not in found.text
    assert any(assumed.name == "model" for assumed in found.assumptions)
    assert found.offers


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        ("stage 1, 2 or 3", (1, 2, 3)), ("zero1、2、3哪个", (1, 2, 3)),
        ("deepspeed 2 还是 3", (2, 3)), ("DDP和2机", (0,)), ("zero 2 or 3 for 7B", (2, 3)),
        ("FSDP SHARD_GRAD_OP or FULL_SHARD", (2, 3)), ("DDP or FSDP", (0, 3)),
        ("ZeRO-3 or 2 A100", (3,)), ("zero3 2张", (3,)), ("ds_z2 还是 ds_z3", (2, 3)),
    ],
)  # fmt: skip
def test_stages_are_read_from_lists_and_not_from_counts(text: str, stages: tuple[int, ...]) -> None:
    assert parse(text).stages == stages


def test_twelve_channels_without_a_rate_are_those_of_a_server() -> None:
    """12 channels * 4800 MT/s * 8 bytes = 460.8 GB/s; 8 * 3200 * 8 = 204.8 GB/s."""
    assert memory_bandwidth(parse("12-channel DDR5 no gpu llm")).value == pytest.approx(460.8)
    assert memory_bandwidth(parse("8 channel DDR4 no gpu llm")).value == pytest.approx(204.8)


def test_much_memory_holds_a_mixture() -> None:
    text = answer("dual EPYC 1TB RAM no gpu run llm").text
    assert "| 671B-A37B | 383 GiB | yes |" in text
    assert "| 671B-A37B |" in answer("512GB ram no gpu local llm").text
    assert "671B" not in answer("32GB ram no gpu local llm").text


def test_an_amount_beside_no_gpu_is_the_computers_memory() -> None:
    """8 GB * 0.75 = 6.0 GB = 5.6 GiB: a 7B in Q4 goes in, a 14B of 9.0 GiB does not."""
    text = answer("CPU only 8GB board, ollama which model").text
    assert "5.6 GiB" in text
    assert "| 14B | 9.0 GiB | no |" in text
    assert "5.6 GiB" not in answer("16GB内存 没显卡 聊天机器人").text


@pytest.mark.parametrize(
    "text", ["2×3090 NVLink: is it one 48GB card?", "do 4 T4 become one 64 GB gpu"]
)
def test_the_sum_asked_for_as_one_card_is_put_right(text: str) -> None:
    found = answer(text)
    assert found.corrections
    assert "cuda:0" in found.text


def test_a_larger_card_to_choose_is_no_sum() -> None:
    assert not parse("2×3090 or one 48GB card for a 13B LoRA?").corrections


def test_a_corrections_row_is_kept_in_the_request_and_left_out_of_the_answer() -> None:
    question = "两块 3090 显存自动合成 48G 吗"
    request = parse(question)
    assert request.corrections[0].kind == "pooled_memory"
    assert Request.model_validate_json(request.model_dump_json()) == request
    told = answer(question).model_dump(mode="json")["corrections"]
    assert all(set(row) == {"premise", "fact", "source"} for row in told)
