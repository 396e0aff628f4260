"""A card that is partly in use, a run that spilled to the CPU, memory of the host."""

from __future__ import annotations

import pytest

from agent.understanding import parse
from tests.agent.answers import answer


@pytest.mark.parametrize(
    ("question", "used"),
    [
        ("4080 SUPER 14120MiB / 16376MiB 还想再起个 qwen3-8b fp16", 14120),
        ("24G的4090已经被占了18G 还能再跑个7B int4吗", 18432),
        ("my 24GB card has 15GB in use, can i still run llama 3.1 8b fp16?", 15360),
    ],
)
def test_what_is_in_use_counts_against_another_run(question: str, used: int) -> None:
    assert parse(question).slots.gpu_mem_used_mib == used
    found = answer(question)
    assert found.verdict == "does_not_fit"
    assert str(used) in found.text


def test_a_batch_to_raise_is_no_other_run() -> None:
    slots = parse("batch 4 时占了18G,24G 的卡还能再加大 batch 吗 7B lora").slots
    assert slots.gpu_mem_used_mib is None


def test_processes_that_are_ended_free_the_card() -> None:
    first = parse("A10 显示 21000MiB / 23028MiB 还能再跑个 7B int4 吗")
    after = parse("把占着的进程全杀了呢", [first])
    assert first.slots.gpu_mem_used_mib == 21000
    assert after.slots.gpu_mem_used_mib is None
    assert "gpu_mem_used_mib" in after.changed


def test_slots_of_ollama_multiply_the_context() -> None:
    found = answer(
        "3090 24g ollama 跑 qwen3:14b OLLAMA_NUM_PARALLEL=8 num_ctx=16384 一半跑到CPU上了 好慢"
    )
    assert found.verdict == "does_not_fit"
    assert "16,384 × 8" in found.text
    assert "OLLAMA_NUM_PARALLEL=1" in found.text


def test_a_killed_llama_cpp_is_reckoned_from_its_layers() -> None:
    """46 of 56 layers of 80 GiB stay in RAM: about 66 GiB."""
    found = answer(
        "llama.cpp 加载 mixtral 8x22b q4_k_m 64G内存 3090 -ngl 10 --no-mmap 加载到一半 Killed"
    )
    assert found.memory is not None
    assert found.memory.scope == "host_ram"
    assert 60e9 < found.memory.low_bytes < 75e9
    assert found.memory.high_bytes < 95e9


@pytest.mark.parametrize(
    ("question", "layers"),
    [
        ("llama.cpp qwen2.5-14b q5_k_m -ngl 30 -c 16384 3060 12G", 30),
        ("qwen2.5-72b q4_k_m, 4090 with -ngl 20, 48GB RAM", 20),
    ],
)
def test_layers_on_the_card_are_read_outside_a_command(question: str, layers: int) -> None:
    assert parse(question).slots.gpu_layers == layers


def test_a_short_context_flag_is_read_beside_llama_cpp() -> None:
    assert parse("gemma3 27b Q4_K_M llama.cpp -c 8192 -ngl 99 3090").slots.seq_len == 8192


def test_sizes_of_paddle_are_in_steps_of_1024() -> None:
    text = (
        "ResourceExhaustedError: Out of memory error on GPU 0. Cannot allocate 512.000000MB memory "
        "on GPU 0, 10.200000GB memory has been allocated and available memory is only "
        "310.000000MB. PP-YOLOE 训练"
    )
    log = next(item for item in parse(text).pasted if item.kind == "cuda_oom")
    assert log.fields["tried_bytes"] == 512 * 2**20
    assert log.fields["free_bytes"] == 310 * 2**20
    assert "batch" in answer(text).text


@pytest.mark.parametrize(
    ("question", "method"),
    [
        ("lora-scripts 里跑 sdxl-finetune(不是lora) 1024 bs1 4090", "full"),
        ("finetune qwen2.5-1.5b on a 3090, not lora", "full"),
        ("是不是LoRA就能在4090上训14B", "lora"),
    ],
)
def test_a_method_that_is_denied_is_not_meant(question: str, method: str) -> None:
    assert parse(question).slots.method == method


def test_a_card_that_stays_with_another_setting_is_no_choice() -> None:
    first = parse("Qwen2.5-14B bf16 在 3090 上推理行吗")
    after = parse("还是3090 换awq", [first])
    assert after.intent == "fit_check"
    assert after.slots.quantization == "awq"


@pytest.mark.parametrize(
    "question",
    ["bs8改成bs1加梯度累积8步 显存是不是能降 效果一样吗",
     "gradient accumulation 8 with batch 1 vs batch 8, same result?"],
)  # fmt: skip
def test_accumulation_keeps_the_effective_batch(question: str) -> None:
    assert "1 × 8 = 8" in answer(question).text


def test_a_smaller_product_is_another_update() -> None:
    assert "2 × 4 = 8" in answer("batch 16 换成 batch 2 累积 4 步 效果一样吗").text


def test_a_disk_that_starves_the_card_is_no_look_at_the_machine() -> None:
    request = parse("训分割网络 数据放机械盘里 nvidia-smi大部分时间0% 显存占着 线程改多少都没用")
    assert request.intent == "io_bottleneck"


def test_a_machine_out_of_sight_is_told_what_to_look_for() -> None:
    found = answer("帮我看下这台机器有没有N卡 能不能跑SDXL出图")
    assert found.memory is not None
    assert "GiB" in found.text


@pytest.mark.parametrize(
    ("question", "card"),
    [
        ("A100单卡40G lora微调4B的模型 够吗", "NVIDIA A100 SXM4 40GB"),
        ("V100 单卡 32G 跑 qwen2.5-7b 推理", "Tesla V100 SXM2 32GB"),
        ("A100 80G 单卡 7B lora", "NVIDIA A100 SXM4 80GB"),
    ],
)
def test_a_size_apart_from_the_name_chooses_the_card(question: str, card: str) -> None:
    assert parse(question).slots.gpu == card


def test_a_goal_that_is_named_goes_before_rlhf() -> None:
    slots = parse("swift rlhf --rlhf_type grpo qwen2.5-7b 4张A100 80g train_type lora").slots
    assert slots.method == "grpo+lora"


def test_cards_in_a_board_are_not_added_to_one() -> None:
    assert parse("主板上插两张16g的4080 能当一张用吗").slots.gpu_count == 2
    assert parse("7B 在一张3090上推理,再插一张呢").slots.gpu_count == 2


def test_pipeline_stages_replace_a_tensor_parallel_size() -> None:
    first = parse("三张4080跑qwen2.5-7b vllm --tensor-parallel-size 3")
    after = parse("那pp=3呢", [first])
    assert (after.slots.tp, after.slots.pp) == (None, 3)


def test_prompt_and_answer_are_one_training_sample() -> None:
    long = answer("chatglm3-6b 4090 lora r=4 bs1 max_input 2048 + max_output 512 够不够")
    short = answer("chatglm3-6b 4090 lora r=4 bs1 长度 512 够不够")
    assert long.memory is not None
    assert short.memory is not None
    assert long.memory.high_bytes > short.memory.high_bytes


def test_a_method_that_is_turned_down_is_not_compared() -> None:
    text = answer("7B 全参 不要lora 单张H100 80G").text
    assert "全参微调" in text.split("\n")[0]


def test_steps_done_are_read_behind_their_name() -> None:
    slots = parse("跑到 step 1200 总共 4000 步 每步 2.3 秒 还剩多久").slots
    assert (slots.steps_done, slots.steps) == (1200, 4000)
