"""Pastes of machines and of failures: idle cards, more cards, host RAM, the environment."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.understanding import parse
from tests.agent.answers import answered

TWO = (
    "|   0  NVIDIA A30   | 21000MiB / 24576MiB |\n|   1  NVIDIA A30   | 12MiB / 24576MiB |\n"
    "nvidia-smi\n"
)


def test_a_run_goes_on_the_idle_card() -> None:
    """24,576 - 12 = 24,564 MiB are free on the second card."""
    answer, _ = answered(TWO + "qwen2.5-7b lora 长度 1024 能跑吗")
    assert "CUDA_VISIBLE_DEVICES=1" in answer.text
    assert any(f.name == "card 1: free" and f.value == 24_564 for f in answer.figures)
    assert answer.request["gpu_count"] == 1
    assert not ungrounded(answer)


def test_a_run_over_both_cards_is_not_moved_to_one() -> None:
    answer, _ = answered(TWO + "qwen2.5-14b bf16 tp=2 两张一起")
    assert "CUDA_VISIBLE_DEVICES=1" not in answer.text


def test_an_idle_card_is_named_without_a_model() -> None:
    answer, _ = answered(TWO + "which card is free right now?")
    assert answer.verdict == "not_applicable"
    assert "GPU 1" in answer.text.splitlines()[0]


@pytest.mark.parametrize(
    ("columns", "first", "second"),
    [("memory.used,memory.total", 500, 81_920), ("memory.free,memory.total", 81_420, 81_920)],
)
def test_sizes_without_a_header_are_read_by_their_columns(
    columns: str, first: int, second: int
) -> None:
    text = (
        f"nvidia-smi --query-gpu=index,name,{columns} --format=csv,noheader\n"
        f"0, NVIDIA A100-SXM4-80GB, {first} MiB, {second} MiB\nllama-3.1-8b bf16?"
    )
    slots = parse(text).slots
    assert (slots.gpu_mem_used_mib, slots.gpu_mem_total_mib) == (500, 81_920)


def test_a_total_tells_the_size_of_a_card_that_comes_in_two() -> None:
    slots = parse("NVIDIA GeForce RTX 4060 Ti, 16380 MiB\nqwen3-14b int4 能跑吗").slots
    assert slots.gpu == "GeForce RTX 4060 Ti 16GB"


@pytest.mark.parametrize(
    ("turns", "count"),
    [
        (["qwen2.5-32b bf16 on one 4090?", "what if i add a second one"], 2),
        (["qwen2.5-14b bf16 两张3090", "再加两张呢"], 4),
        (["gemma-2-27b bf16 vllm 一张A6000", "加一张A6000 tp=2呢"], 2),
        (["llama-3.1-70b awq on an A100 80GB", "what about tp=4"], 4),
    ],
)
def test_cards_on_top_are_added_to_those_there_are(turns: list[str], count: int) -> None:
    history = [parse(turns[0])]
    assert parse(turns[1], history).slots.gpu_count == count


def test_one_more_card_in_one_question() -> None:
    assert parse("一张3090装不下qwen2.5-14b bf16,再插一张3090行吗").slots.gpu_count == 2
    assert parse("add another layer of lora to qwen2.5-7b on a 3090?").slots.gpu_count == 1


def test_a_failure_on_one_card_and_a_question_about_two() -> None:
    answer, _ = answered(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has a "
        "total capacity of 23.58 GiB of which 12.88 MiB is free.\n"
        "sglang qwen2.5-14b bf16 on one 3090, would adding a second 3090 with --tp 2 do?"
    )
    assert answer.verdict in ("fits", "tight")
    assert "should fit" not in answer.text
    assert "The error was of GeForce RTX 3090 alone" in answer.text


def test_the_rank_in_a_stamp_is_no_setting() -> None:
    request = parse(
        "[2025-02-18 11:40:03 TP0] Load weight begin. avail mem=23.23 GB\nqwen3-8b 3090?"
    )
    assert request.slots.tp is None
    assert not request.invalid


def test_swap_of_nothing_is_no_size_of_a_model() -> None:
    request = parse(
        "              total   used   free\nMem:            31Gi  4.1Gi  21Gi\n"
        "Swap:             0B     0B     0B\nollama run llama3.3:70b 4090 行吗"
    )
    assert not request.invalid
    assert request.slots.host_ram_gb == 31


def test_memory_that_a_program_misses_is_of_the_host() -> None:
    """28.4 - 26.4 = 2.0 GiB are missing."""
    answer, _ = answered(
        "ollama run qwen2.5:32b\nError: model requires more system memory (18.4 GiB) than is "
        "available (12.4 GiB)\n16GB ram laptop, 4GB 3050. is that vram?"
    )
    assert answer.verdict == "does_not_fit"
    assert "host RAM, not GPU memory" in answer.text
    assert "6.0 GiB short" in answer.text
    assert "dmesg" not in answer.text
    assert not ungrounded(answer)


@pytest.mark.parametrize(
    ("text", "word", "is_corrected"),
    [
        ("RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. out of shared "
         "memory.\nin docker, 80GB card 11GB used, need a bigger gpu?", "--shm-size", True),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. is the "
         "card broken?", "driver", False),
        ("RuntimeError: CUDA error: no kernel image is available for execution on the device, "
         "RTX 5090, do i need a different card?", "get_arch_list", True),
        ("what is the 5.9 GiB reserved by PyTorch but unallocated?", "expandable_segments", False),
    ],
)  # fmt: skip
def test_what_the_environment_explains(text: str, word: str, *, is_corrected: bool) -> None:
    answer, _ = answered(text)
    assert answer.verdict == "not_applicable"
    assert word in answer.text
    assert bool(answer.corrections) is is_corrected
    assert not ungrounded(answer, question=text)


def test_a_message_of_a_failure_is_read_in_any_line() -> None:
    answer, _ = answered(
        "ERROR 03-12 10:22:01 core.py:400] ValueError: Free memory on device (7.02/11.63 GiB) on "
        "startup is less than desired GPU memory utilization (0.9, 10.47 GiB).\n"
        "vllm, 3060 12gb, qwen2.5-7b awq"
    )
    assert "--gpu-memory-utilization" in answer.text
    assert answer.memory is not None
