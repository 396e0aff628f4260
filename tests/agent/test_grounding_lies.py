"""A model that lies is caught; one that rewords, converts or rounds is not."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from agent.answer import Answer
from agent.grounding import Evidence, problems
from agent.toolbox.memory import MemoryReport
from tests.agent.answers import answered, evidence_of

QUESTIONS = {"zh": "7B 微调能在 A10 上跑吗?", "en": "Can I fine-tune a 7B model on an A10?"}
GIB = 1024**3


@cache
def _grounds(language: str) -> tuple[Evidence, Answer, SimpleNamespace]:
    """Evidence of the question, its answer, and the numbers that the sentences below use."""
    evidence, answer = evidence_of(QUESTIONS[language])
    reports: dict[str, MemoryReport] = {}
    for result in answered(QUESTIONS[language])[1]:
        if isinstance(result.report, MemoryReport):
            reports.setdefault(result.report.method or "", result.report)
    offer = answer.offers[0]
    assert offer.price is not None
    numbers = SimpleNamespace(
        lora=reports["lora"].process_bytes / GIB,
        lora_gb=reports["lora"].process_bytes / 1e9,
        qlora=reports["qlora"].process_bytes / GIB,
        full=reports["full"].process_bytes / GIB,
        weights=reports["lora"].weights_bytes / GIB,
        price=float(offer.price),
        day=float(offer.price) * 24,
        month=float(offer.price) * 720,
        type=offer.instance_type,
        passage=next(c for c in answer.citations if c.id.startswith("guide:")).id,
    )
    return evidence, answer, numbers


LIES: dict[str, list[tuple[str, str]]] = {
    "zh": [
        ("number", "LoRA 每张卡大约需要 {lora_wrong:.1f} GiB。"),
        ("number", "QLoRA 只要 {qlora_wrong:.1f} GiB 就行。"),
        ("number", "全参微调要 {full_wrong:.0f} GiB 左右。"),
        ("number", "A10 的可用显存是 23.4 GiB。"),
        ("number", "程序能用的显存为 23,900 MiB。"),
        ("unit", "LoRA 每张卡约需 {lora:.1f} GB。"),
        ("unit", "A10 可用 21.95 GB。"),
        ("unit", "A10 的标称显存是 24 TB。"),
        ("unit", "价格是 {price:.2f} 美元/小时。"),
        ("card", "建议直接换 RTX 5090。"),
        ("card", "换成 H200 更合适。"),
        ("card", "用 L40S 也可以。"),
        ("instance", "推荐 ecs.gn9x.2xlarge。"),
        ("instance", "也可以租 gn7i-gpu8。"),
        ("instance", "ecs.gn7i-c99g9.8xlarge 也带 A10。"),
        ("instance", "AWS 上选 p5.48xlarge。"),
        ("price", "按量只要 {price_wrong:.2f} 元/小时。"),
        ("price", "一天大约 {day_wrong:.0f} 元。"),
        ("price", "包下来每月 999 元。"),
        ("date", "这是 2026-05-01 的目录价。"),
        ("date", "价格取自 2023 年 1 月 15 日。"),
        ("count", "全参微调需要 16 张卡。"),
        ("count", "这台实例有 3 张卡。"),
        ("citation", "出处见 [guide:vram#nowhere.zh]。"),
        ("citation", "参考《GPU 选购大全》。"),
        ("citation", "详见 https://example.com/gpu 。"),
        ("capability", "A10 支持 NVLink,两张可以互联。"),
        ("capability", "A10 自带 NVLink 互联。"),
        ("capability", "A10 原生支持 FP8 计算。"),
        ("capability", "A10 不支持 bf16。"),
        ("verdict", "全参微调在这张卡上放得下。"),
        ("verdict", "QLoRA 放不下。"),
    ],
    "en": [
        ("number", "LoRA needs about {lora_wrong:.1f} GiB per card."),
        ("number", "QLoRA takes only {qlora_wrong:.1f} GiB."),
        ("number", "Full fine-tuning needs {full_wrong:.0f} GiB."),
        ("number", "The A10 gives you 23.4 GiB of usable memory."),
        ("unit", "LoRA needs {lora:.1f} GB per card."),
        ("unit", "21.95 GB of it is usable."),
        ("unit", "The instance costs ${price:.2f} per hour."),
        ("unit", "The A10 says 24 TB on the box."),
        ("card", "An RTX 5090 would be the better choice."),
        ("card", "Take an H200 instead."),
        ("card", "An L40S works as well."),
        ("card", "The RTX 3090 is the same thing."),
        ("instance", "Rent an ecs.gn9x.2xlarge."),
        ("instance", "The type gn7i-gpu8 has eight of them."),
        ("instance", "ecs.gn7i-c99g9.8xlarge carries an A10 too."),
        ("instance", "On AWS take p5.48xlarge."),
        ("price", "On demand it is {price_wrong:.2f} CNY per hour."),
        ("price", "That is {day_wrong:.0f} CNY a day."),
        ("price", "A month comes to 999 CNY."),
        ("date", "That is the list price of 2026-05-01."),
        ("date", "The price was taken on 2023-01-15."),
        ("count", "Full fine-tuning takes 16 GPUs."),
        ("count", "You would need three cards."),
        ("citation", "See [guide:vram#nowhere.en]."),
        ("citation", "More at https://example.com/gpu."),
        ("citation", "This is shown in arXiv:2401.12345."),
        ("capability", "The A10 has NVLink, so two of them pool well."),
        ("capability", "The A10 supports FP8 natively."),
        ("capability", "The A10 does not support bf16."),
        ("capability", "The A10 has no FlashAttention support."),
        ("verdict", "Full fine-tuning fits on this card."),
        ("verdict", "QLoRA does not fit."),
    ],
}
TRUTHS: dict[str, list[str]] = {
    "zh": [
        "LoRA 每张卡约需 {lora:.1f} GiB。",
        "LoRA 大约 {lora:.0f} GiB。",
        "LoRA 约合 {lora_gb:.1f} GB。",
        "QLoRA 只要约 {qlora:.1f} GiB。",
        "全参微调约需 {full:.0f} GiB,放不下。",
        "A10 可用 21.95 GiB,也就是 22,476 MiB。",
        "A10 标称 24 GB,实际能用的只有约 22 GiB。",
        "整份 16 位权重约 {weights:.1f} GiB。",
        "QLoRA 放得下。",
        "全参微调放不下:优化器状态太大。",
        "推荐 {type}。",
        "`{type}` 按量 {price:.2f} 元/小时。",
        "按 {price:.2f} 元/小时算,一天约 {day:.0f} 元。",
        "开满 30 天约 {month:.0f} 元。",
        "这是 2024-10-09 的目录价。",
        "价格来自 2024 年 10 月 9 日的目录。",
        "A10 没有 NVLink,多卡走 PCIe。",
        "A10 支持 bf16,可以用 bf16 训练。",
        "A10 不支持 FP8。",
        "A10 支持 FlashAttention-2。",
        "需要 1 张 A10。",
        "一张卡就够做 QLoRA。",
        "出处 [{passage}]。",
        "如果序列更长,LoRA 可能放不下。",
        "batch 1、长度 1024 下测算。",
        "gn7i 是带 A10 的规格族。",
        "余量不大,先从小 batch 开始。",
        "“A10 带 NVLink”的说法是错的。",
        "不要把 24 GB 当成全部可用。",
        "要不要换成 QLoRA?",
    ],
    "en": [
        "LoRA needs about {lora:.1f} GiB per card.",
        "LoRA needs roughly {lora:.0f} GiB.",
        "LoRA comes to about {lora_gb:.1f} GB.",
        "QLoRA takes about {qlora:.1f} GiB and fits.",
        "Full fine-tuning needs about {full:.0f} GiB and does not fit.",
        "The A10 has 24 GB on the label and 21.95 GiB usable (22,476 MiB).",
        "About 22 GiB of the A10 is usable.",
        "The 16-bit weights alone are {weights:.1f} GiB.",
        "QLoRA fits.",
        "Full fine-tuning does not fit.",
        "Rent {type}.",
        "`{type}` costs {price:.2f} CNY/h on demand.",
        "At {price:.2f} CNY an hour that is about {day:.0f} CNY a day.",
        "Thirty days around the clock come to about {month:,.0f} CNY.",
        "The list price is of 2024-10-09.",
        "The A10 has no NVLink; two of them talk over PCIe.",
        "The A10 supports bf16.",
        "The A10 does not support FP8.",
        "The A10 supports FlashAttention-2.",
        "One GPU is enough for QLoRA.",
        "See [{passage}].",
        "If the sequence is longer, LoRA may not fit.",
        "Counted at batch 1 and a length of 1024 tokens.",
        "gn7i is the family that carries the A10.",
        "Headroom is small, so start with a small batch.",
        "The claim that the A10 has NVLink is wrong.",
        "Do not count on all 24 GB.",
        "Would QLoRA do?",
        "Weights, gradients and optimizer states make full fine-tuning large.",
        "With gradient checkpointing the activations stay small.",
    ],
}


def _told(template: str, numbers: SimpleNamespace) -> str:
    wrong: dict[str, Any] = {
        "lora_wrong": numbers.lora * 0.6,
        "qlora_wrong": numbers.qlora * 0.41,
        "full_wrong": numbers.full * 2.3,
        "price_wrong": numbers.price * 0.43,
        "day_wrong": numbers.day * 0.37,
    }
    return template.format(**vars(numbers), **wrong)


@pytest.mark.parametrize(
    ("language", "kind", "template"),
    [(language, kind, text) for language, rows in LIES.items() for kind, text in rows],
)
def test_lie_is_caught(language: str, kind: str, template: str) -> None:
    evidence, _, numbers = _grounds(language)
    text = _told(template, numbers)
    assert problems(text, evidence), text


@pytest.mark.parametrize(
    ("language", "template"),
    [(language, text) for language, rows in TRUTHS.items() for text in rows],
)
def test_truthful_rewording_passes(language: str, template: str) -> None:
    evidence, _, numbers = _grounds(language)
    text = _told(template, numbers)
    assert problems(text, evidence) == ()


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_embedded_answer_is_grounded_in_itself(language: str) -> None:
    evidence, answer, _ = _grounds(language)
    assert problems(answer.text, evidence) == ()


def test_there_are_sixty_lies_and_sixty_truths() -> None:
    assert sum(len(rows) for rows in LIES.values()) >= 60
    assert sum(len(rows) for rows in TRUTHS.values()) >= 60
    kinds = {kind for rows in LIES.values() for kind, _ in rows}
    assert kinds >= {
        "number", "unit", "card", "instance", "price", "date", "count", "citation", "capability",
        "verdict",
    }  # fmt: skip
