"""Disks for a training of images, machines without a price, lengths that were only assumed."""

from __future__ import annotations

from agent import ungrounded
from tests.agent.answers import answered


def test_a_disk_is_chosen_by_what_the_cards_read() -> None:
    question = "100 万张图 每张 200KB 4 卡 T4 训练 resnet50 用什么硬盘"
    answer, _ = answered(question)
    assert answer.intent == "io_bottleneck"
    assert "200 GB" in answer.text  # a million times 200 kB
    assert "供得上的" in answer.text
    need = next(f.value for f in answer.figures if f.name.endswith(": disk"))
    enough = answer.text.split("供得上的")[1].split("\n")[0]
    assert ("ESSD PL1" in enough) == (need <= 350)
    assert not ungrounded(answer, question=question)


def test_what_is_asked_of_memory_is_not_answered_with_disks() -> None:
    answer, _ = answered("8 卡 V100 训练 ResNet50 batch 256 显存够吗")
    assert answer.intent != "io_bottleneck"


def test_a_machine_that_holds_the_run_is_not_refused_for_its_missing_price() -> None:
    answer, _ = answered("腾讯云 GN10Xp.2XLARGE40 训练 bert-large 一天多少钱")
    head = answer.text.split("\n")[0]
    assert head.startswith("**放得下")
    assert "没有放得下的实例" not in answer.text
    assert "V100" in answer.text
    assert "元/小时" in answer.text


def test_an_assumed_method_leaves_full_training_open() -> None:
    answer, _ = answered("2 台 8 卡 A100 100G 网络 训练 30B 模型 扩展效率多少")
    assert "LoRA" in answer.text
    assert "ZeRO-3/FSDP" in answer.text
    said, _ = answered("4 台 8 卡 A100 100G 网络 全参训练 30B 扩展效率多少")
    assert "LoRA（DDP）" not in said.text


def test_formats_beside_a_short_context_are_of_that_context() -> None:
    answer, _ = answered("A100 80G llama2-13b 并发 32")
    sizes = {f.name: f.value for f in answer.figures}
    assert "0 token 的请求" not in answer.text
    assert "int8 115" not in answer.text
    assert sizes["request_tokens"] > 0
