"""Troubles of the environment: a device unseen, a driver too old, /dev/shm, the cache's figures."""

from __future__ import annotations

import pytest

from agent import ungrounded
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("torch.cuda.is_available() gives False though nvidia-smi lists an A10", "+cpu"),
        ("装好了 torch 却识别不到显卡,nvidia-smi 是正常的", "--gpus"),
        ("The NVIDIA driver on your system is too old (found version 11040)", "newest that"),
        ("DataLoader worker exited with Bus error, out of shared memory?", "--shm-size"),
        ("容器里 num_workers 一大就报 shm 不足", "--ipc=host"),
        ("memory_allocated() 只有 3G,nvidia-smi 却是 20G,泄漏了?", "memory_reserved"),
        ("my desktop has a 4070, torch says no CUDA GPUs are available", "+cpu"),
        ("nvidia-smi 里 20G 被占着，进程列表为空，谁占的", "fuser"),
        ("nvidia-smi: Failed to initialize NVML: Driver/library version mismatch", "NVML mismatch"),
    ],
)
def test_the_environment_is_named_not_the_memory(question: str, said: str) -> None:
    answer, _ = answered(question)
    assert said in answer.text
    assert answer.verdict == "not_applicable"
    assert not ungrounded(answer, question=question)


def test_a_job_is_still_computed() -> None:
    """Words of the environment beside a model do not take the question away from its memory."""
    answer, _ = answered("容器里 shm 给了 16G,7B LoRA 单卡 3090 放得下吗")
    assert answer.memory is not None


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("全参训练每个参数 16 字节是怎么来的", ("fp32", "动量", "梯度")),
        ("where do 16 bytes per parameter come from in AdamW training?", ("master", "moments")),
        ("zero1 和 zero3 分别切什么", ("优化器状态", "梯度", "参数")),
        ("difference between zero stage 1, 2 and 3", ("optimizer", "gradients", "parameters")),
        ("gguf 和 awq 有什么不一样", ("llama.cpp", "vLLM")),
    ],
)
def test_what_training_holds_is_told(question: str, words: tuple[str, ...]) -> None:
    answer, _ = answered(question)
    assert all(word in answer.text for word in words)
