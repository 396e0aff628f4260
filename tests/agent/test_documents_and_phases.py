"""Documents of a query in contrastive training; what is asked after a training is over."""

from __future__ import annotations

from agent.advisor import Advisor
from agent.answer import Answer
from tests.agent.answers import answered
from tools.units import GIB


def talk(*turns: str) -> list[Answer]:
    with Advisor() as advisor:
        thread = "documents-" + turns[0]
        advisor.delete(thread)
        answers = [advisor.ask(turn, thread=thread) for turn in turns]
        advisor.delete(thread)
    return answers


def test_every_document_of_a_query_is_a_sequence() -> None:
    """4 queries with 16 documents of 256 tokens keep 16 times the documents of one each."""
    asked = "bge-large-en 对比学习 batch 4 长度256 {} fp16, 3090 24G 放得下吗"
    one, _ = answered(asked.format(""))
    many, _ = answered(asked.format("train_group_size 16"))
    assert one.memory is not None
    assert many.memory is not None
    assert many.request["documents"] == 16
    kept = {f.name: float(f.value) for f in many.figures}
    assert many.memory.low_bytes > one.memory.low_bytes + 2 * GIB, kept


def test_a_training_that_is_over_is_not_asked_about() -> None:
    last = talk("qlora qwen2.5-7b 在3090上能训吗", "训好之后部署,vllm fp16 上下文4k呢")[-1]
    assert last.request["task"] == "infer"
    last = talk(
        "lora llama-3.1-8b on an A10?", "once trained, will the same card serve it in fp16?"
    )[-1]
    assert last.request["task"] == "infer"


def test_other_models_on_the_card_of_the_job_before() -> None:
    last = talk(
        "bge-large-zh对比学习 3080 10G batch 16 能训吗",
        "训完部署:这卡上同时挂bge-large-zh和bge-reranker-v2-m3 fp16 呢",
    )[-1]
    assert last.verdict == "fits"
    assert last.request["gpu"].startswith("GeForce RTX 3080")
    assert len(last.request["models"]) == 2


def test_how_long_until_it_is_trained_is_still_a_question_of_time() -> None:
    answer, _ = answered("7b lora 1万条样本 一张A100 多久能训完")
    assert answer.intent == "time_estimate"
