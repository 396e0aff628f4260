"""Logs, configuration files and command lines in the text."""

from __future__ import annotations

import pytest

from agent.request import Pasted, Request
from agent.understanding import parse
from tools.units import GIB, MIB


def pasted(request: Request, kind: str) -> Pasted:
    return next(item for item in request.pasted if item.kind == kind)


NEW_OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total "
    "capacity of 23.50 GiB of which 512.00 MiB is free. Process 3210 has 9.50 GiB memory in use. "
    "Including non-PyTorch memory, this process has 13.50 GiB memory in use. Of the allocated "
    "memory 12.75 GiB is allocated by PyTorch, and 256.00 MiB is reserved by PyTorch but "
    "unallocated.\nQwen2.5-7B lora bs=2 怎么回事"
)


def test_out_of_memory_text_gives_every_number() -> None:
    request = parse(NEW_OOM)
    assert request.intent == "oom_diagnosis"
    assert pasted(request, "cuda_oom").fields == {
        "tried_bytes": int(1.5 * GIB),
        "total_bytes": int(23.5 * GIB),
        "free_bytes": 512 * MIB,
        "this_process_bytes": int(13.5 * GIB),
        "other_process_bytes": [int(9.5 * GIB)],
        "other_process_ids": [3210],
        "allocated_bytes": int(12.75 * GIB),
        "reserved_unallocated_bytes": 256 * MIB,
        "gpu_index": 0,
    }
    assert (request.slots.model, request.slots.batch) == ("Qwen/Qwen2.5-7B", 2)
    assert request.slots.billing is None


def test_other_process_is_named_as_the_cause() -> None:
    request = parse(NEW_OOM)
    assert any("3210" in correction.fact for correction in request.corrections)


def test_older_out_of_memory_text_is_read_too() -> None:
    request = parse(
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 14.75 GiB total "
        "capacity; 13.00 GiB already allocated; 800.00 MiB free; 13.40 GiB reserved in total by "
        "PyTorch)"
    )
    fields = pasted(request, "cuda_oom").fields
    assert fields["tried_bytes"] == 2 * GIB
    assert fields["total_bytes"] == int(14.75 * GIB)
    assert fields["free_bytes"] == 800 * MIB


def test_total_of_the_log_tells_the_card_of_two_sizes_apart() -> None:
    text = "CUDA out of memory. GPU 0 has a total capacity of 31.73 GiB. codellama-13b lora v100"
    assert parse(text).slots.gpu == "Tesla V100 SXM2 32GB"


def test_kill_by_the_system_is_not_a_cuda_error() -> None:
    request = parse("Signal 9 (SIGKILL) exitcode: -9 32B 全参 8*A100 内存256G")
    assert [item.kind for item in request.pasted] == ["host_kill"]
    assert request.intent == "oom_diagnosis"
    assert any("主机内存" in correction.fact for correction in request.corrections)
    assert request.slots.host_ram_gb == 256


SMI = """\
|   0  NVIDIA A100-SXM4-80GB  On   | 00000000:3B:00.0 Off |
| N/A   34C    P0    60W / 400W |  31234MiB / 81920MiB |     12%      Default |
|   1  NVIDIA A100-SXM4-80GB  On   | 00000000:5E:00.0 Off |
| N/A   33C    P0    58W / 400W |      4MiB / 81920MiB |      0%      Default |
can I full finetune a 7b here?"""


def test_nvidia_smi_gives_cards_and_use_and_no_bus_id_is_a_size() -> None:
    request = parse(SMI)
    assert pasted(request, "nvidia_smi").fields == {
        "used_mib": [31234, 4],
        "total_mib": [81920, 81920],
    }
    assert (request.slots.gpu_count, request.slots.params_b) == (2, 7)
    assert request.slots.gpu_mem_used_mib == 31234


NPU = """\
| npu-smi 23.0.rc2                 Version: 23.0.rc2                                 |
| NPU   Name                | Health        | Power(W)    Temp(C)   Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)|
| 0     910B3               | OK            | 96.4        49                0    / 0     |
| 0                         | 0000:C1:00.0  | 0           0    / 0          4266 / 65536 |
能跑 32B 吗"""


def test_npu_smi_is_read_too() -> None:
    slots = parse(NPU).slots
    assert slots.gpu == "Huawei Ascend 910B3"
    assert (slots.gpu_mem_used_mib, slots.gpu_mem_total_mib) == (4266, 65536)


def test_llama_factory_yaml_fills_the_slots() -> None:
    request = parse(
        "model_name_or_path: Qwen/Qwen3-8B\nstage: dpo\nfinetuning_type: full\n"
        "deepspeed: ds_z3_offload_config.json\ncutoff_len: 2k\n"
        "per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\n8卡A800"
    )
    slots = request.slots
    assert pasted(request, "yaml_config").fields["program"] == "llamafactory"
    assert (slots.method, slots.seq_len, slots.batch, slots.grad_accum) == ("dpo+full", 2048, 1, 8)
    assert (slots.zero_stage, slots.offload, slots.precision) == (3, True, "bf16")
    assert (slots.framework, slots.gpu_count) == ("llamafactory", 8)


def test_axolotl_yaml_fills_the_slots() -> None:
    request = parse(
        "base_model: NousResearch/Llama-2-13b-hf\nload_in_4bit: true\nadapter: qlora\n"
        "sequence_len: 4096\nmicro_batch_size: 2\nlora_r: 32\nflash_attention: true\non 1x 3090?"
    )
    slots = request.slots
    assert (slots.model, slots.method) == ("meta-llama/Llama-2-13b-hf", "qlora")
    assert (slots.seq_len, slots.batch, slots.lora_rank, slots.attention) == (4096, 2, 32, "flash")
    assert slots.library == "axolotl"


def test_training_arguments_fill_the_slots() -> None:
    request = parse(
        "TrainingArguments(output_dir='o', per_device_train_batch_size=4, "
        "gradient_accumulation_steps=8, num_train_epochs=3, bf16=True, gradient_checkpointing=True,"
        " optim='paged_adamw_8bit') llama 3.1 8b qlora on A10G fits?"
    )
    slots = request.slots
    assert (slots.batch, slots.grad_accum, slots.epochs) == (4, 8, 3)
    assert (slots.gradient_checkpointing, slots.optimizer) == ("full", "paged_adamw_8bit")


def test_deepspeed_json_fills_the_slots() -> None:
    request = parse(
        '{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "zero_optimization": '
        '{"stage": 3, "offload_optimizer": {"device": "cpu"}}} 13B 全参 4张A100 40G 行吗'
    )
    slots = request.slots
    assert (slots.zero_stage, slots.offload, slots.batch, slots.precision) == (3, True, 1, "bf16")


def test_accelerate_config_counts_the_cards_and_offload_false_is_no_offload() -> None:
    request = parse(
        "distributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"
        "fsdp_config:\n  fsdp_offload_params: false\nfull finetune llama-2-7b on A10 24g"
    )
    slots = request.slots
    assert (slots.strategy, slots.gpu_count, slots.precision) == ("fsdp", 8, "bf16")
    assert slots.offload is None


def test_vllm_command_line_fills_the_slots() -> None:
    request = parse(
        "vllm serve Qwen/Qwen2.5-32B-Instruct-AWQ --tensor-parallel-size 2 --max-model-len 32768 "
        "--kv-cache-dtype fp8 --max-num-seqs 16  # 2x A10"
    )
    slots = request.slots
    assert (slots.framework, slots.tp, slots.seq_len) == ("vllm", 2, 32768)
    assert (slots.quantization, slots.kv_cache_dtype, slots.concurrency) == ("awq", "fp8", 16)


def test_llama_server_command_line_fills_the_slots() -> None:
    request = parse(
        "./llama-server -m qwen2.5-32b-instruct-q4_k_m.gguf -c 16384 -np 4   4090上行吗"
    )
    slots = request.slots
    assert (slots.framework, slots.seq_len, slots.concurrency) == ("llama.cpp", 16384, 4)
    assert (slots.model, slots.quantization) == ("Qwen/Qwen2.5-32B", "q4_k_m")


def test_torchrun_line_multiplies_nodes_and_processes() -> None:
    request = parse(
        "torchrun --nproc_per_node=8 --nnodes=2 train.py --model_name_or_path "
        'meta-llama/Llama-2-7b-hf --fsdp "full_shard auto_wrap" --bf16 True  on A100 80GB'
    )
    slots = request.slots
    assert (slots.gpu_count, slots.nodes, slots.strategy) == (16, 2, "fsdp")


def test_vllm_log_gives_weights_cache_and_concurrency() -> None:
    request = parse(
        "model weights take 14.25GiB; the rest of the memory reserved for KV Cache is 4.00GiB.\n"
        "GPU KV cache size: 77,040 tokens\n"
        "Maximum concurrency for 32,768 tokens per request: 2.35x\nQwen2.5-7B 24G卡 正常吗"
    )
    fields = pasted(request, "vllm_log").fields
    assert fields["weights_bytes"] == int(14.25 * GIB)
    assert fields["kv_cache_bytes"] == 4 * GIB
    assert (fields["kv_tokens"], fields["max_concurrency"]) == (77040, 2.35)


def test_context_longer_than_the_cache_is_a_known_message() -> None:
    request = parse(
        "ValueError: The model's max seq len (4096) is larger than the maximum number of tokens "
        "that can be stored in KV cache (3664). llama-2-13b on A10G"
    )
    assert pasted(request, "error_message").fields == {"message": "context_exceeds_kv"}
    assert request.intent == "oom_diagnosis"


def test_config_json_is_a_model_of_its_own() -> None:
    request = parse(
        '{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 3584, '
        '"intermediate_size": 18944, "num_attention_heads": 28, "num_hidden_layers": 28, '
        '"num_key_value_heads": 4, "vocab_size": 152064} lora on a 4090, ok?'
    )
    assert request.slots.params_b is not None
    assert abs(request.slots.params_b - 7.6156) < 0.02  # Qwen2.5-7B: 7,615,616,512
    assert pasted(request, "hf_config").fields["architectures"] == ["Qwen2ForCausalLM"]


def test_needle_in_a_megabyte_of_log_is_found() -> None:
    noise = "[INFO] 12:00:01 step 100 loss 2.31\n" * 15_000
    text = noise + NEW_OOM.split("\n")[0] + "\n" + noise + "7B LoRA A10 为什么爆了"
    request = parse(text)
    assert pasted(request, "cuda_oom").fields["other_process_ids"] == [3210]
    assert request.slots.params_b == 7
    assert request.intent == "oom_diagnosis"


TYPO_OOM = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 0 has a "
    "total capacty of 23.50 GiB of which 768.00 MiB is free. Including non-PyTorch memory, this "
    "process has 22.75 GiB memory in use."
)


def test_the_total_is_read_where_torch_misspells_capacity() -> None:
    request = parse(TYPO_OOM)
    assert pasted(request, "cuda_oom").fields["total_bytes"] == int(23.5 * GIB)
    assert request.slots.gpu_mem_gb is None


def test_other_allocators_run_out_of_memory_too() -> None:
    llama = parse("ggml: allocating 18432.00 MiB on device 0: cudaMalloc failed: out of memory")
    jax = parse("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes")
    assert pasted(llama, "cuda_oom").fields["tried_bytes"] == 18 * GIB
    assert pasted(jax, "cuda_oom").fields["tried_bytes"] == 16 * GIB
    assert llama.intent == jax.intent == "oom_diagnosis"


def test_the_kernel_writes_kb_and_means_kib() -> None:
    request = parse("Out of memory: Killed process 1 (python) total-vm:9kB, anon-rss:125829120kB")
    assert pasted(request, "host_kill").fields["rss_bytes"] == 120 * GIB


def test_a_bar_of_loading_weights_counts_no_steps() -> None:
    request = parse(
        "Loading checkpoint shards:  67%|##    | 2/3 [00:41<00:20, 20.9s/it]\nKilled\n"
        "free -g: 15 total, qwen2.5-7b on A10"
    )
    assert [item.kind for item in request.pasted] == ["host_kill"]
    assert request.slots.host_ram_gb == 15
    assert request.slots.steps is None


def test_a_table_of_nvidia_smi_in_csv_gives_its_cards() -> None:
    slots = parse(
        "index, name, memory.total [MiB], memory.used [MiB]\n"
        "0, NVIDIA GeForce RTX 4090, 24564 MiB, 620 MiB\n"
        "1, NVIDIA GeForce RTX 4090, 24564 MiB, 18 MiB\nqlora 33b ok?"
    ).slots
    assert (slots.gpu_count, slots.gpu_mem_used_mib, slots.gpu_mem_gb) == (2, 620, None)


def test_gpustat_lines_give_use_and_total() -> None:
    slots = parse("[0] NVIDIA A30 | 33'C, 0 % |   512 / 24576 MB | root\nllama3 8b fp16").slots
    assert (slots.gpu_mem_used_mib, slots.gpu_mem_total_mib) == (512, 24576)


def test_slices_listed_under_their_card_are_what_is_meant() -> None:
    slots = parse(
        "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f)\n"
        "  MIG 2g.20gb Device 0: (UUID: MIG-1b7f2a6f-4a5d-5b9e-9c1e-3b7e3f0b7a11)\n"
        "  MIG 3g.40gb Device 1: (UUID: MIG-cf5a7b6e-4a5d-5b9e-9c1e-3b7e3f0b7a12)\n7b fp16?"
    ).slots
    assert slots.gpu == "A100 80GB MIG 2g.20gb"


def test_lines_of_a_config_without_braces_describe_a_model() -> None:
    request = parse(
        "hidden_size: 4096\nnum_hidden_layers: 32\nnum_attention_heads: 32\n"
        "intermediate_size: 11008\nvocab_size: 32000\nlora 24G"
    )
    assert request.slots.params_b == pytest.approx(6.74, rel=0.01)


def test_a_number_under_a_key_that_means_nothing_here_fills_no_slot() -> None:
    request = parse(
        "distributed_type: DEEPSPEED\nmachine_rank: 0\nnum_machines: 2\nnum_processes: 16\n"
        "save_steps: 500\nllama2 70b lora"
    )
    assert request.intent != "invalid_input"
    assert (request.slots.lora_rank, request.slots.steps) == (None, None)
    assert (request.slots.gpu_count, request.slots.nodes) == (16, 2)


def test_the_batch_of_training_is_not_that_of_evaluation() -> None:
    slots = parse(
        "TrainingArguments(\nper_device_eval_batch_size=8,\nper_device_train_batch_size=2,\n"
        "gradient_accumulation_steps=4)\nqwen2.5-3b full"
    ).slots
    assert slots.batch == 2


def test_the_micro_batch_of_deepspeed_counts_and_no_offload_is_none() -> None:
    slots = parse(
        '{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "none"}}, '
        '"train_batch_size": 16, "train_micro_batch_size_per_gpu": 2} 7b full on 8x4090'
    ).slots
    assert (slots.batch, slots.offload, slots.zero_stage) == (2, None, 2)


def test_the_cache_type_is_not_the_format_of_the_weights() -> None:
    slots = parse(
        "llama-server -m Qwen3-32B-Q4_K_M.gguf --cache-type-k q8_0 --cache-type-v q8_0 on a 3090"
    ).slots
    assert (slots.quantization, slots.kv_cache_dtype) == ("q4_k_m", "q8_0")


def test_the_owner_of_a_repository_is_no_program() -> None:
    slots = parse("llama-server -hf unsloth/Qwen3-14B-GGUF:Q5_K_M -c 32768, 16G ok?").slots
    assert (slots.library, slots.task) == (None, "infer")


def test_the_length_that_was_asked_for_is_read_not_the_one_offered() -> None:
    request = parse(
        "ValueError: To serve at least one request with the model's max seq len (131072), 16.00 "
        "GiB KV cache is needed, which is larger than the available KV cache memory (5.35 GiB). "
        "Based on the available memory, the estimated maximum model length is 43824. llama3.1-8b"
    )
    assert request.slots.seq_len == 131072
    assert pasted(request, "vllm_log").fields["largest_length"] == 43824
    assert request.intent == "oom_diagnosis"


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("resume OOMs on rank 0 only, 8xA100 80GB, 13B full", None),
        ("llama-3-8b full, only rank 3 runs out of memory", None),
        ("rank 64 instead?", 64),
        ("qwen2.5-7b lora on rank 16, does it fit a 3090?", 16),
    ],
)
def test_the_number_of_a_process_is_no_rank_of_an_adapter(text: str, rank: int | None) -> None:
    request = parse(text)
    assert request.slots.lora_rank == rank
    assert not request.invalid
