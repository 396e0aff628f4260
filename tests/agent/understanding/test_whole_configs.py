"""A paste that says itself which weights are trained, by a switch, a key or the lack of one."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    "text",
    [
        "torchrun --nproc_per_node 4 tune.py --model llama-3-8b --full --seq 2048 on A100 80G?",
        "accelerate launch run.py --model_name_or_path google/gemma-2-9b --full_finetune, 8xH100",
        '{"model": "mistralai/Mistral-7B-v0.3", "zero_optimization": {"stage": 1}, '
        '"train_micro_batch_size_per_gpu": 2} 4×A100 40G 够吗',
        "base_model: meta-llama/Llama-3.1-8B\nsequence_len: 2048\nmicro_batch_size: 1\n"
        "num_epochs: 2\noptimizer: adamw_torch\nsample_packing: true\nfits 2x A100 80G?",
        '{"model_name_or_path":"Qwen/Qwen2.5-3B","per_device_train_batch_size":4,'
        '"num_train_epochs":2,"learning_rate":2e-5} 48G 行吗',
    ],
)
def test_all_weights_are_trained(text: str) -> None:
    assert parse(text).slots.method == "full"


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("tune.py --model llama-3-8b --lora rank 8 --seq 2048, 24G ok?", "lora"),
        ("base_model: Qwen/Qwen2.5-32B | load_in_4bit: true | adapter: qlora | "
         "micro_batch_size: 1 | sequence_len: 2048, 24G?", "qlora"),
        ("model_name_or_path: Qwen/Qwen2.5-7B\ncutoff_len: 2048\ntemplate: qwen\n"
         "per_device_train_batch_size: 1\nlearning_rate: 1e-4\n24G 够吗", "lora"),
        ("7B 微调 per_device_train_batch_size=2 gradient_accumulation_steps=8 24G 够吗", "lora"),
    ],
)  # fmt: skip
def test_an_adapter_that_is_named_or_usual_stays(text: str, method: str) -> None:
    assert parse(text).slots.method == method


def test_a_block_of_stages_keeps_its_model_and_its_batch() -> None:
    slots = parse(
        '{"model_name_or_path":"google/gemma-2-27b","per_device_train_batch_size":1,"bf16":true,'
        '"zero_optimization":{"stage":3}}'
    ).slots
    assert (slots.params_b or 0) > 26
    assert (slots.zero_stage, slots.batch, slots.precision) == (3, 1, "bf16")


def test_length_and_stage_stay_beside_a_switch() -> None:
    slots = parse("deepspeed --num_gpus 8 t.py --model qwen2.5-7b --full --seq 8192 --zero 2").slots
    assert (slots.method, slots.seq_len, slots.zero_stage) == ("full", 8192, 2)
