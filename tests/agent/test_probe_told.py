"""The asker's own machine: how a probe is asked for, and what is told of features and versions."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.understanding import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    "question",
    [
        "瞄一下这台服务器现在有几张卡,空着的有没有",
        "扫一眼这台主机的驱动版本",
        "瞅瞅现在这台的显卡型号",
        "can you take a look at this workstation and tell me if fp8 works on it",
        "could you peek at which gpu this vm has",
        "这台服务器支持bf16吗 你查一下",
    ],
)
def test_a_look_at_this_machine_is_a_probe(question: str) -> None:
    assert parse(question).intent == "probe_local"


@pytest.mark.parametrize(
    "question",
    [
        "看看这台服务器租一个月多少钱合适",
        "look at this instance: g5.xlarge, is it enough for 7b",
        "查一下A10在哪家云最便宜",
        "这台机器32G内存,能跑7B吗",
    ],
)
def test_a_look_for_something_else_is_none(question: str) -> None:
    assert parse(question).intent != "probe_local"


@pytest.mark.parametrize("own_machine", [False, True])
@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("check this box for me: which driver, and does bfloat16 work", "8.0"),
        ("这台服务器支持fp8吗 你查一下", "8.9"),
        ("我这台服务器显卡能用flash attention不 帮看下", "Ampere"),
        ("扫一眼本机驱动版本和cuda版本", "CUDA"),
    ],
)
def test_what_is_asked_of_the_machine_is_told(
    question: str, said: str, *, own_machine: bool
) -> None:
    answer, _ = answered(question, own_machine=own_machine)
    assert answer.intent == "probe_local"
    assert said in answer.text
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    ("question", "is_told"),
    [
        (
            "| 30%   38C    P0    60W / 300W |  70123MiB / 81559MiB |      0%      Default | "
            "util is 0 so it is free, can i start a bge-m3 server on it",
            True,
        ),
        (
            "|  0%   35C    P8    15W / 320W |    420MiB / 16376MiB |      0%      Default | "
            "can i start a bge-m3 server on it",
            False,
        ),
    ],
)
def test_an_idle_card_may_be_full(question: str, *, is_told: bool) -> None:
    answer, _ = answered(question)
    assert ("not empty" in answer.text) is is_told
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    ("question", "is_put_right"),
    [
        ("loading a 70B just says Killed, 64GB RAM and two A100 80GB, is vram too small", True),
        ("加载30B到一半进程被杀,没有cuda报错,是显存不够吗 内存32G", True),
        ("comfyui prints 'Killed' with 16GB ram on a 3090, how do i get more vram", True),
        ("loading a 70B just says Killed on a box with 64GB RAM, how to load it", False),
        ("my job was killed by slurm after 24h on an A100, does it need more vram", False),
    ],
)
def test_a_kill_is_no_lack_of_gpu_memory(question: str, *, is_put_right: bool) -> None:
    assert ("host_ram" in {c.kind for c in parse(question).corrections}) is is_put_right


@pytest.mark.parametrize(
    ("question", "is_put_right"),
    [
        ("Bus error, out of shared memory: my A10 doesn't have enough VRAM?", True),
        ("DataLoader bus error, insufficient shared memory (shm). 显存24G还不够训resnet吗", True),
        ("DataLoader bus error, out of shared memory; vram is fine, what do i set", False),
    ],
)
def test_shared_memory_is_no_gpu_memory(question: str, *, is_put_right: bool) -> None:
    answer, _ = answered(question)
    assert bool(answer.corrections) is is_put_right


def test_a_program_around_an_engine_is_no_engine() -> None:
    answer, _ = answered("comfyui with some 14B video model in fp8, will a 4090 hold it")
    assert answer.memory is not None
