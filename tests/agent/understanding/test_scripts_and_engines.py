"""Training scripts, engines that sample for a trainer, and settings quoted as a command."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    "question",
    [
        "`flux_train_network.py --network_dim 16 --train_batch_size 2 --optimizer_type AdamW8bit` "
        "4090 够吗",
        'run it as "sdxl_train_network.py --network_dim 16 --train_batch_size 2 --optimizer_type '
        'AdamW8bit" on a 3090?',
    ],
)  # fmt: skip
def test_a_quoted_command_of_a_lora_script(question: str) -> None:
    slots = parse(question).slots
    found = (slots.method, slots.lora_rank, slots.batch, slots.optimizer)
    assert found == ("lora", 16, 2, "adamw_8bit")
    assert "method" not in parse(question).inferred


@pytest.mark.parametrize(
    ("question", "task"),
    [
        ("GRPO + vLLM, Phi-3-mini full fine-tune on an A100 40G, OOM", "train"),
        ("PPO / sglang rollout, Yi-6B LoRA, 4090 显存够吗", "train"),
        ("Yi-6B: LoRA 微调 + vllm 推理,一张 4090", "both"),
    ],
)
def test_an_engine_beside_reinforcement_learning_samples_for_it(question: str, task: str) -> None:
    assert parse(question).slots.task == task


@pytest.mark.parametrize(
    ("question", "intent", "goal"),
    [
        ("which max_model_len should I set for Yi-34B AWQ on an L20, default gpu utilization",
         "serving_plan", "longest_context"),
        ("what context is realistic for Phi-3-medium on a 3090", "fit_check", "longest_context"),
        ("gpu util sits at 15% during training", "io_bottleneck", None),
        ("训练时显卡利用率很低", "io_bottleneck", None),
    ],
)  # fmt: skip
def test_a_utilization_that_is_set_is_none_that_is_low(
    question: str, intent: str, goal: str | None
) -> None:
    request = parse(question)
    assert (request.intent, request.goal) == (intent, goal)
