"""Without a card: transcription keeps up on a processor, and RAM says which models run."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.understanding.parser import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    "text", ["whisper base on a CPU, too slow?", "用 CPU 跑 whisper tiny 行吗"]
)
def test_a_small_whisper_is_faster_than_real_time_on_a_processor(text: str) -> None:
    answer, _ = answered(text)
    told = next(f.value for f in answer.figures if f.name == "times real time low")
    assert told > 1
    assert answer.verdict == "fits"
    assert not ungrounded(answer, question=text)


def test_whisper_on_a_card_is_timed_on_the_card() -> None:
    answer, _ = answered("whisper large-v3 on a T4, how fast?")
    assert "T4" in answer.text.split("\n")[0]


@pytest.mark.parametrize(
    ("text", "ram"),
    [
        ("我的 32G 内存的电脑没有显卡 能跑大模型吗", 32),
        ("8GB laptop without a GPU, can it run an LLM?", 8),
        ("64G 笔记本 没显卡 能跑什么大模型", 64),
    ],
)
def test_sizes_that_fit_follow_the_memory(text: str, ram: int) -> None:
    assert parse(text).slots.host_ram_gb == ram
    answer, _ = answered(text)
    needs = {f.name: float(f.value) for f in answer.figures if f.name.endswith(": host need")}
    usable = next(float(f.value) for f in answer.figures if f.name == "usable_memory")
    largest = max((n for n in needs if needs[n] <= usable), key=lambda n: needs[n]).split(":")[0]
    assert f"**{largest}**" in answer.text.split("\n")[0]
    assert answer.memory is not None
    assert answer.memory.scope == "host_ram"
    assert not ungrounded(answer, question=text)


def test_speed_without_a_card_falls_with_the_bytes_of_the_weights() -> None:
    answer, _ = answered("没有显卡 16G 内存 能跑大模型吗")
    rate = {f.name: float(f.value) for f in answer.figures if f.name.endswith("speed value")}
    assert 1.7 < rate["7B: speed value"] / rate["14B: speed value"] < 2.3
    assert rate["7B: speed value"] < 51 / 3.9  # bandwidth over the bytes of a 4-bit 7B


@pytest.mark.parametrize(
    "text",
    [
        "nvidia-smi shows 24564MiB total, 9000MiB used, can I still run llama3 8b int4?",
        "nvidia-smi 显示 24564MiB 用了 9000MiB 能跑 llama3 8b int4 吗",
    ],
)
def test_figures_of_a_card_given_in_words_are_computed_with(text: str) -> None:
    answer, _ = answered(text)
    free = next(float(f.value) for f in answer.figures if f.name == "card: free")
    assert abs(free - (24564 - 9000)) <= 1
    assert answer.verdict == "fits"


def test_several_readers_on_a_processor_depend_on_its_speed() -> None:
    several, _ = answered("a CPU server with 64 cores and 256 GB RAM, serve a 70B q4 to 10 users?")
    one, _ = answered("a CPU server with 64 cores and 256 GB RAM, can it run a 70B q4?")
    assert (several.verdict, one.verdict) == ("depends", "fits")
