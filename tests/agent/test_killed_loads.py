"""A load that the system killed: host memory, over all processes that read the weights."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from agent.understanding import parse
from tests.agent.answers import answered


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    "question",
    [
        "slurmstepd: error: Detected 2 oom_kill events in StepId=77.batch, #SBATCH --mem=96G, "
        "loading Mixtral-8x7B in bf16",
        "sbatch --mem 96G 加载 mixtral 8x7b bf16 被 slurm oom_kill 了,要换显存更大的卡吗",
        "srun: error: n1: task 0: Out Of Memory. --mem=96G, mixtral 8x7b bf16 on 2x A100 80G?",
    ],
)
def test_what_a_job_asked_for_is_host_memory(question: str) -> None:
    """46.7e9 parameters of two bytes are 93.4 GB: 87.0 GiB, and a fifth more to be safe."""
    assert parse(question).slots.host_ram_gb == 96
    answer, _ = answered(question)
    assert answer.intent == "oom_diagnosis"
    assert "--mem" in answer.text.split("\n")[0]
    assert _figure(answer, "weights_on_disk") / 2**30 == pytest.approx(87.0, abs=0.2)
    assert _figure(answer, "limit_for_one") / 2**30 == pytest.approx(104.4, abs=0.3)
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    "question",
    [
        "torchrun with 4 processes loading Qwen2.5-72B, 256GB RAM, killed with exit code -9",
        "4 卡 H100 微调 qwen2.5-72b lora,主机内存 256G,from_pretrained 时 SIGKILL 被系统杀了",
    ],
)
def test_copies_of_all_processes_are_added_up(question: str) -> None:
    """72.7e9 parameters of two bytes are 145 GB; four copies are 582 GB, of 256."""
    answer, _ = answered(question)
    assert answer.memory is not None
    assert answer.memory.scope == "host_ram"
    assert _figure(answer, "load_of_all") / 1e9 == pytest.approx(581.6, abs=1)
    assert "582 GB" in answer.text
    assert answer.text.count("GPU memory**") + answer.text.count("不是显存**") == 1
    assert len(answer.text) < (1500 if answer.language == "en" else 900)
    assert not ungrounded(answer, question=question)
