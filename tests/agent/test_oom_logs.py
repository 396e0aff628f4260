"""The verdict comes first, then what happened, from the numbers of the log."""

from __future__ import annotations

import pytest

from agent.toolbox.memory import MemoryReport
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
    should_fit, verdict, log = answer.text.split("\n\n")[:3]
    assert should_fit.startswith("**By the settings you name it should fit")
    assert verdict.startswith("**It fits, but it is tight**")
    assert "fragmentation" in log
    assert "expandable_segments" in log
    figures = {f.name: float(f.value) for f in answer.figures}
    assert abs(figures["reserved_unallocated"] - 1.68 * GIB) < 0.01 * GIB
    asked = next(r.arguments for r in results if r.name == "estimate_memory")
    assert (asked["batch"], asked["seq_len"], asked["method"]) == (4, 2048, "lora")
    assert asked["gpu_mem_gb"] == 23.69


def test_a_full_card_is_no_fragmentation() -> None:
    """0.5 free and 0.59 in fragments are less than the 1.5 GiB asked for."""
    answer, _ = answered(_NEW_STYLE)
    assert answer.text.startswith("**放不下**")
    log = next(part for part in answer.text.split("\n\n") if part.startswith("报错"))
    assert "碎片" not in log
    assert "1.0 GiB" in log
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


_ONE_PROCESS = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total "
    "capacity of 23.69 GiB of which 900.00 MiB is free. Process 12345 has 22.80 GiB memory in use. "
    "Of the allocated memory 20.40 GiB is allocated by PyTorch, and 2.10 GiB is reserved by "
    "PyTorch but unallocated. llama-3-8b LoRA, batch 8, seq 2048 on a 3090"
)


def test_a_process_that_holds_what_pytorch_allocated_is_this_one() -> None:
    """20.40 + 2.10 of 22.80 GiB: the number is the run's own, whatever the text calls it."""
    answer, _ = answered(_ONE_PROCESS)
    assert answer.text.startswith("**It does not fit**")
    assert not answer.corrections
    assert "another process holds" not in answer.text


def test_others_on_the_card_are_the_verdict_where_the_run_would_fit() -> None:
    log = (
        "CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.69 GiB "
        "of which 300.00 MiB is free. Process 991 has 15.20 GiB memory in use. Process 1002 has "
        "8.10 GiB memory in use. Of the allocated memory 7.40 GiB is allocated by PyTorch. "
        "qwen2.5-1.5b lora"
    )
    answer, _ = answered(log)
    assert answer.text.startswith("**Your job is not too large; another process holds the card**")
    assert answer.verdict == "depends"
    assert [c.source for c in answer.corrections] == ["user:pasted_log"]


def test_an_error_without_a_model_opens_with_what_it_means() -> None:
    answer, _ = answered("CUDA out of memory. Tried to allocate 50.00 MiB. GPU 0 is full")
    assert answer.text.startswith("**The card was full**")


def test_changes_are_distinct_and_ordered_by_what_they_cost() -> None:
    answer, results = answered(_NEW_STYLE)
    report = next(r.report for r in results if isinstance(r.report, MemoryReport))
    listed = [line for line in answer.text.split("\n") if line.startswith("- ")]
    assert len(listed) == len({line.split("：")[0] for line in listed})
    shown = [c for c in report.changes if f"after {c.name}" in {f.name for f in answer.figures}]
    assert shown
    assert len({c.name.partition("=")[0] for c in shown}) == len(shown)


@pytest.mark.parametrize(
    ("question", "ways"),
    [
        ("batch size 太大 OOM 除了减 batch 还有什么办法", ("梯度累积", "检查点", "8-bit", "QLoRA")),
        ("out of memory in training, what can I do?", ("accumulation", "checkpointing", "QLoRA")),
        ("vllm OOM 怎么办", ("max_model_len", "gpu_memory_utilization", "量化")),
    ],
)
def test_without_a_run_the_ways_out_are_listed(question: str, ways: tuple[str, ...]) -> None:
    answer, _ = answered(question)
    assert answer.intent == "oom_diagnosis"
    assert [way for way in ways if way not in answer.text] == []
