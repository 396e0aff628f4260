"""Counts that multiply a sum, steps that are done, copies that are kept."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("每次 4 小时，机器 9 元一小时，扫 8 组超参要多少钱", 8),
        ("5 seeds, each run 3 h at $2/h, what is the bill", 5),
        ("4 learning rates x 3 seeds, 2 hours each at $1.5/h, total cost?", 12),
        ("5折交叉验证，每折 2 小时，A10 一小时 9 块，多少钱", 5),
        ("10-fold CV at 1 hour per fold on g5.xlarge, cost?", 10),
        ("微调 7B 训练 3 轮，5000 条", None),
        ("how much does a 7B LoRA run need", None),
    ],
)
def test_runs_of_one_kind_multiply_and_epochs_are_none(text: str, runs: int | None) -> None:
    assert parse(text).slots.runs == runs


def test_folds_are_no_discount() -> None:
    slots = parse("5折交叉验证，每折训练3小时，A10一小时9块，打8折").slots
    assert (slots.runs, slots.discount) == (5, 0.8)


@pytest.mark.parametrize(
    ("text", "done", "total"),
    [
        ("3.4 s/it, 12,600 steps total, I'm at step 900. ETA?", 900, 12_600),
        (" 23%|##3   | 2310/10000 [1:17:00<4:16:20, 2.0s/it] 还要多久", 2310, 10_000),
        ("总共2万步，现在跑到第3500步，每步2.1秒，还要多久", 3500, 20_000),
        ("step 400 of 5000, 1.2 s per step, how long left", 400, 5000),
    ],
)
def test_steps_done_are_read_beside_their_total(text: str, done: int, total: int) -> None:
    slots = parse(text).slots
    assert (slots.steps_done, slots.steps) == (done, total)


@pytest.mark.parametrize(
    ("text", "copies"),
    [
        ("7B 全参 checkpoint 多大 留3份", 3),
        ("13B full finetune, keep the last 5 checkpoints, how much disk", 5),
        ("save_total_limit=2 的话 7B 全参 检查点占多少盘", 2),
    ],
)
def test_copies_kept_are_read(text: str, copies: int) -> None:
    assert parse(text).slots.copies == copies


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("4 x g5.12xlarge for 36 hours, what's the bill", 4),
        ("三台 ecs.gn7i-c8g1.2xlarge 跑48小时多少钱", 3),
        ("ecs.gn7i-c8g1.2xlarge 2台 一天多少钱", 2),
        ("g5.xlarge for 10 hours", None),
    ],
)
def test_machines_stand_beside_their_type(text: str, count: int | None) -> None:
    assert parse(text).slots.instance_count == count
