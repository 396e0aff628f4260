"""What questions about processors and host memory say beyond their slots."""

from __future__ import annotations

import pytest

from agent.request import Processor
from agent.understanding import parse


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("hosts.language_models", "which LLMs would a mini PC run"),
        ("hosts.language_models", "老笔记本能聊天吗"),
        ("hosts.system_memory", "how much system RAM for that"),
        ("hosts.system_memory", "服务器内存要多大"),
        ("hosts.on_cpu", "transcribe on a plain 8 core cpu"),
        ("hosts.on_cpu", "就靠 cpu 转写行吗"),
        ("hosts.on_cpu", "cpu only, whisper small"),
        ("hosts.on_cpu", "cpu 上能跑 whisper 吗"),
        ("hosts.no_card", "our server has no graphics card"),
        ("hosts.no_card", "机器没有独显"),
        ("hosts.partly_on_cpu", "ollama spills layers to system ram"),
        ("hosts.partly_on_cpu", "有一半跑到内存里去了"),
        ("hosts.partly_on_cpu", "ollama ps says 35%/65% CPU/GPU"),
        ("hosts.partly_on_cpu", "cpu 拉满了"),
        ("hosts.part_in_host", "把后面几层放到内存"),
        ("hosts.part_in_host", "can I keep the experts in system ram"),
        ("hosts.part_to_host", "with --n-cpu-moe 20"),
        ("hosts.doubts_card", "买 gpu 是不是大材小用"),
        ("hosts.doubts_card", "is a gpu overkill for that"),
        ("hosts.annoyed", "why does it crawl"),
        ("hosts.annoyed", "想全部放显卡"),
        ("hosts.asks_ram", "is 128 GB of host memory sufficient"),
        ("hosts.asks_ram", "主机内存要多少才行"),
        ("hosts.asks_ram", "how much cpu memory does offload take"),
        ("hosts.faster", "does a card speed things up for lightgbm"),
        ("hosts.faster", "上显卡能提速吗"),
    ],
)
def test_words_give_the_mark(mark: str, text: str) -> None:
    assert mark in parse(text).marks


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("hosts.language_models", "a model of the weather"),
        ("hosts.system_memory", "how much vram"),
        ("hosts.system_memory", "program memory layout"),
        ("hosts.on_cpu", "whisper on an A10"),
        ("hosts.no_card", "没有预算"),
        ("hosts.partly_on_cpu", "all of it stays on the card"),
        ("hosts.part_in_host", "put it in the rack"),
        ("hosts.part_in_host", "64G 内存的机器"),
        ("hosts.doubts_card", "is a gpu in stock"),
        ("hosts.asks_ram", "显存够吗"),
        ("hosts.asks_ram", "主机内存 256G"),
        ("hosts.faster", "lightgbm with a million rows"),
    ],
)
def test_near_words_do_not(mark: str, text: str) -> None:
    assert mark not in parse(text).marks


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("双路 EPYC 9354 跑 70b q4", Processor(name="epyc 9354", sockets=2)),
        ("至强 6330 256G", Processor(name="xeon 6330")),
        ("ryzen 9 7900x, 64 GB", Processor(name="ryzen 9 7900x")),
        ("i5-12400 跑 3b", Processor(name="i5-12400")),
        ("quad channel DDR4-2666", Processor(channels=4, ddr=4, mt_s=2666)),
        ("DDR5 十二通道", Processor(channels=12, ddr=5)),
        ("memory bandwidth of 205 GB/s", Processor(bandwidth_gb_s=205)),
        ("鲲鹏 920 64 核", None),
        ("8 channels on youtube", None),
    ],
)
def test_a_processor_is_what_was_said_of_it(text: str, said: Processor | None) -> None:
    assert parse(text).processor == said


@pytest.mark.parametrize(
    ("text", "ram_gb"),
    [
        ("no gpu here, 32gb: which llm", 32),
        ("没有显卡 24g 能跑什么大模型", 24),
        ("laptop without gpu, 16gb 1tb ssd, local llm?", 16),
        ("没显卡 16G 还是 32G", None),
    ],
)
def test_without_a_card_a_lone_size_is_the_computers(text: str, ram_gb: float | None) -> None:
    assert parse(text).slots.host_ram_gb == ram_gb
