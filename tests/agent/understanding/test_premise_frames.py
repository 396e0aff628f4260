"""False premises that are shown by the order of words: rows of premises.yaml with frames."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("checkpointing_states", "打开重计算之后优化器状态会不会少一半"),
        ("checkpointing_states", "will activation checkpointing shrink my optimizer states?"),
        ("more_by_segments", "设了 expandable_segments 就能装下 32B 了吧"),
        ("more_by_segments", "does expandable_segments help when a 70B is too big"),
        ("spot_safe", "抢占式不会半路被回收吧,准备跑 7B 三天"),
        ("spot_safe", "a spot VM doesn't actually get preempted, right?"),
        ("spot_unsaved", "spot on an A10, 40 hour run, I can skip checkpoints, right?"),
        ("spot_unsaved", "竞价实例跑 48 小时,不用存检查点吧"),
        ("newer_card", "L20 比 A100 新,训练应该更快吧"),
        ("newer_card", "the L20 is newer than an A100 so training is faster?"),
        ("type_carries", "is gn6i an A100 type? want to LoRA a 7B"),
        ("type_memory", "gn7i-c8g1.2xlarge 带 48G 显存吧,跑 14B fp16"),
        ("type_has_more", "g5.8xlarge has more GPUs than g5.4xlarge, yes?"),
        ("type_has_fewer", "g5.4xlarge 的卡更少吧,比 g5.8xlarge"),
        ("type_without_gpu", "AWS 的 g6.2xlarge 是纯 CPU 机器吧"),
        ("type_without_gpu", "g5.2xlarge on AWS is a plain CPU box, right?"),
        ("small_optimizer_weights", "换成 adamw_8bit 之后权重就是 int8 了?"),
        ("small_optimizer_weights", "with the 8-bit optimizer the weights are 8-bit as well?"),
        ("small_optimizer_weights", "8bit 优化器会把模型也量化吗"),
        ("tf32_memory", "开 TF32 能省一半显存吗"),
        ("tf32_memory", "does allow_tf32 save memory on an A40"),
        ("active_params", "Qwen3-30B-A3B 不过激活 3B,8G 卡够了吧"),
        ("adapter_share", "LoRA 训练 0.3% 的权重,那 32B 的 lora 放进 24G 够了吧"),
    ],
)  # fmt: skip
def test_what_is_taken_for_granted_is_put_right(kind: str, text: str) -> None:
    assert kind in [correction.kind for correction in parse(text).corrections]


@pytest.mark.parametrize(
    "text",
    [
        "除了梯度检查点,还有什么能减少优化器状态",
        "how do I use gradient checkpointing and shrink optimizer states too?",
        "抢占式怎么设置才不会被回收",
        "how do I make sure a spot VM is never stopped?",
        "H100 is newer than the A100, so training is faster?",
        "L20 比 A100 新,推理更快吗",
        "g5.12xlarge has more GPUs than g5.4xlarge, yes?",
        "gn7i-c8g1.2xlarge 带 24G 显存吧,跑 7B fp16",
        "阿里云 g6 是纯 CPU 机器吧",
        "gn7i 不是纯 CPU 的",
        "gn6i 没有显卡驱动怎么装",
        "g5.xlarge shows no GPU found in nvidia-smi",
        "gn7i 和 CPU 服务器差多少",
        "adamw_8bit 不会把权重变成 8bit 吧",
        "重计算省激活,优化器状态放到 CPU 上也省显存",
        "8bit 优化器加上模型量化,14B 够不够",
        "TF32 训练快多少",
        "LoRA of an int8 7B with paged_adamw_8bit on a 3090",
        "Qwen3-30B-A3B 激活 3B,全部专家都要放进显存吧",
    ],
)
def test_near_misses_are_left_alone(text: str) -> None:
    kinds = {correction.kind for correction in parse(text).corrections}
    assert not kinds & {
        "checkpointing_states", "more_by_segments", "spot_safe", "spot_unsaved", "newer_card",
        "type_carries", "type_memory", "type_has_more", "type_has_fewer", "type_without_gpu",
        "small_optimizer_weights", "tf32_memory",
    }  # fmt: skip


def test_the_card_that_was_said_is_no_slot_where_the_type_has_another() -> None:
    request = parse("gn6i is the V100 type, right? LoRA of a 7B on it")
    assert request.slots.instance == "gn6i"
    assert request.slots.gpu is None
    assert request.intent == "fit_check"


def test_a_wrong_size_of_a_type_is_told_once() -> None:
    kinds = [c.kind for c in parse("p4d.24xlarge with 8x A100 80GB, 70B fp16 ok?").corrections]
    assert kinds == ["type_memory"]
