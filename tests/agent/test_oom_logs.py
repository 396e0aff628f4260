"""What happened comes first, from the numbers of the log."""

from __future__ import annotations

from tests.agent.answers import answered
from tools.units import GIB

_OLD_STYLE = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB "
    "total capacity; 20.12 GiB already allocated; 1.10 GiB free; 21.80 GiB reserved in total by "
    "PyTorch)  I'm finetuning mistral 7b lora bs 4 seq 2048"
)
_NEW_STYLE = (
    "CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 79.15 GiB of "
    "which 512.00 MiB is free. Of the allocated memory 77.00 GiB is allocated by PyTorch, and "
    "600.00 MiB is reserved by PyTorch but unallocated. Qwen2.5-7B 全参微调 batch 2 长度 4096"
)


def test_reserved_minus_allocated_would_have_been_enough() -> None:
    """21.80 - 20.12 = 1.68 GiB in fragments and 1.10 free: more than the 2.00 asked for."""
    answer, results = answered(_OLD_STYLE)
    assert answer.text.startswith("**Fragmentation")
    assert "expandable_segments" in answer.text.split("\n")[0]
    figures = {f.name: float(f.value) for f in answer.figures}
    assert abs(figures["reserved_unallocated"] - 1.68 * GIB) < 0.01 * GIB
    asked = next(r.arguments for r in results if r.name == "estimate_memory")
    assert (asked["batch"], asked["seq_len"], asked["method"]) == (4, 2048, "lora")
    assert asked["gpu_mem_gb"] == 24


def test_a_full_card_is_no_fragmentation() -> None:
    """0.5 free and 0.59 in fragments are less than the 1.5 GiB asked for."""
    answer, _ = answered(_NEW_STYLE)
    first = answer.text.split("\n")[0]
    assert "峰值" in first
    assert "1.0 GiB" in first
    assert answer.verdict == "does_not_fit"


def test_a_killed_process_lacked_host_memory() -> None:
    for question, words in (
        ("训练进程 exitcode -9 被杀 是显存不够吗", "主机内存"),
        ("deepspeed finetune of llama 13b died with exit code 137 on a 64GB box, "
         "do I need a bigger GPU?", "host RAM"),
    ):  # fmt: skip
        answer, _ = answered(question)
        assert words in answer.text.split("\n")[0]
        assert "dmesg" in answer.text
