"""Saving checkpoints against saving money, the machine spoken of, base weights, texts to write."""

from __future__ import annotations

import pytest

from agent import Advisor, Settings
from agent.answer import Answer
from agent.understanding import parse


@pytest.fixture(scope="module")
def advisor() -> Advisor:
    return Advisor(Settings(backend="embedded", simulation=False))


def _talk(advisor: Advisor, name: str, *turns: str) -> list[Answer]:
    return [advisor.ask(turn, thread=f"saves-{name}") for turn in turns]


@pytest.mark.parametrize(
    "question",
    [
        "36 h job on p5.48xlarge spot, saving a checkpoint takes 90 s. how often should I save?",
        "g6e.xlarge spot for 20 h, one save takes 2 minutes, when do I save",
    ],
)
def test_saving_a_checkpoint_is_no_saving_of_money(question: str, advisor: Advisor) -> None:
    answer = _talk(advisor, question[:6], question)[0]
    assert answer.intent == "spot_checkpoint"
    assert "minutes" in answer.text


def test_what_spot_saves_is_still_a_sum(advisor: Advisor) -> None:
    answer = _talk(advisor, "sum", "how much do I save on spot for 36 h of p5.48xlarge")[0]
    assert answer.intent == "cost_estimate"
    assert "varies with the market" in answer.text


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("saving a checkpoint takes 90 s on spot. how often should I save?",
         "say it gets interrupted every 4 hours or so"),
        ("放抢占式 存checkpoint一次90秒 多久存一次合适", "平均4小时被收一次"),
    ],
)  # fmt: skip
def test_time_between_interruptions_goes_into_the_interval_before(
    first: str, then: str, advisor: Advisor
) -> None:
    answer = _talk(advisor, first[:5], first, then)[1]
    # Young/Daly: sqrt(2 * 90 s * 14,400 s) = 1,610 s
    assert "27" in answer.text
    assert answer.request["ckpt_minutes"] == 1.5


@pytest.mark.parametrize(
    ("first", "then", "card"),
    [
        ("GN7.2XLARGE32 是什么卡 几核多少内存", "能fp16跑7B推理吗", "Tesla T4"),
        ("what GPU is in g5.xlarge", "would a 13B int4 fit?", "NVIDIA A10G"),
    ],
)
def test_a_job_asked_with_yes_or_no_runs_on_the_machine_looked_up(
    first: str, then: str, card: str, advisor: Advisor
) -> None:
    answer = _talk(advisor, card, first, then)[1]
    assert answer.intent == "fit_check"
    assert answer.request["gpu"] == card
    assert answer.verdict in ("fits", "tight")


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("gn6v-c8g1.2xlarge 是什么卡", "13B要多大显存"),
        ("what GPU is in g5.xlarge", "which card fits a 70B?"),
    ],
)
def test_a_machine_that_is_looked_for_is_none_spoken_of(first: str, then: str) -> None:
    base = parse(first)
    assert parse(then, (base,)).slots.instance is None


@pytest.mark.parametrize(
    "claim",
    [
        "QLoRA 训练时4bit权重也在更新吧 7B",
        "LoRA微调7B时底座的权重会被更新吗",
        "does QLoRA also update the base weights of a 7B?",
        "In QLoRA the 4-bit weights are trained, 13B on A10?",
    ],
)
def test_base_weights_are_frozen(claim: str) -> None:
    assert [c.source for c in parse(claim).corrections] == ["rule:frozen_base"]


@pytest.mark.parametrize(
    "text",
    [
        "LoRA微调时底座权重不更新对吧 7B A10够吗",
        "QLoRA 13B: are the 4-bit base weights not updated?",
        "全参微调7B 权重都会更新吗",
        "lora训练7B 更新权重要多久",
    ],
)
def test_what_is_so_is_not_put_right(text: str) -> None:
    assert not parse(text).corrections


def test_the_number_in_a_name_is_its_vcpus() -> None:
    found = parse("Standard_NC4as_T4_v3: the 4 means four T4s?").corrections
    assert len(found) == 1
    assert "1 GPU" in found[0].fact
    assert "vCPU" in found[0].fact


@pytest.mark.parametrize(
    ("text", "is_outside"),
    [
        ("write me a cover letter for a machine learning job", True),
        ("帮我写一封求职信 投AI算法岗", True),
        ("想微调一个7B写小说 4090够不够", False),
        ("7B 微调做简历解析 A10 行吗", False),
        ("can I run a speech model like whisper on a T4", False),
    ],
)
def test_a_text_to_be_written_is_not_ours_but_a_model_for_it_is(
    text: str, *, is_outside: bool
) -> None:
    assert (parse(text).intent == "out_of_scope") is is_outside
