"""Files a second, object stores, checkpoints; start-up and evaluation; sizes in the catalog."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from agent.answering.failures.engine_start import lower_share
from agent.answering.links.storage_rate import object_stores
from tests.agent.answers import answered
from tools.units import GIB


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("question", "files", "mb_s"),
    [
        ("9M jpegs avg 85KB on S3, training needs 3200 img/s, is mounting the bucket ok?",
         3200, 272),
        ("数据在OSS上，每张图120KB，8张A10共要每秒6000张，直接挂载行吗", 6000, 720),
        ("each GPU eats 900 images/s, 8 GPUs, images of 150 KB on NFS, enough?", 7200, 1080),
    ],
)  # fmt: skip
def test_storage_delivers_files_times_their_size(question: str, files: float, mb_s: float) -> None:
    answer, _ = answered(question)
    assert _figure(answer, "files_per_s") == files
    assert _figure(answer, "throughput") == pytest.approx(mb_s)
    assert "WebDataset" in answer.text


def test_an_object_store_is_judged_by_its_requests() -> None:
    answer, _ = answered("4M images of 100KB on S3, 5000 img/s needed, mount the bucket?")
    assert _figure(answer, "gets_limit") == object_stores()["s3"].gets_per_s == 5500
    assert "will not do" in answer.text


def test_rows_of_object_stores_have_their_source() -> None:
    rows = object_stores()
    assert set(rows) == {"s3", "oss", "gcs"}
    assert all(row.origin and row.gets_per_s for row in rows.values())


def test_a_resumable_checkpoint_is_fourteen_bytes_a_parameter() -> None:
    """7 B: 14 GB of 16-bit weights, 28 GB of masters, 56 GB of Adam's moments; three are 294 GB,
    four while the new one is written."""
    answer, _ = answered("7B全参 每次存完整checkpoint(含优化器)多大 盘要预留多少 留3份")
    assert _figure(answer, "checkpoint") == pytest.approx(98e9, rel=0.01)
    assert _figure(answer, "kept") == pytest.approx(294e9, rel=0.01)
    assert _figure(answer, "reserve") == pytest.approx(392e9, rel=0.01)


def test_an_adapters_checkpoint_leaves_the_base_out() -> None:
    answer, _ = answered("how big is a resumable checkpoint of a 13B LoRA r=16 run, keep last 5")
    assert _figure(answer, "checkpoint") < 2e9
    assert _figure(answer, "base_weights") == pytest.approx(26e9, rel=0.02)


def test_checkpointing_of_activations_is_no_file() -> None:
    answer, _ = answered("full finetune qwen2.5-7b on 80GB, gradient checkpointing on, size 2048")
    assert answer.intent != "spot_checkpoint"


def test_memory_held_by_others_gives_the_utilization_to_set() -> None:
    """9.8 of 23.68 GiB free: 13.88 GiB held, 0.4139 less the margin of 0.02."""
    answer, _ = answered(
        "ValueError: Free memory on device (9.8/23.68 GiB) on startup is less than desired GPU "
        "memory utilization (0.92, 21.79 GiB). vLLM worked yesterday"
    )
    assert _figure(answer, "held_by_others") == pytest.approx(13.88 * GIB)
    assert _figure(answer, "utilization_to_set") == lower_share(9.8, 23.68) == 0.39
    assert "nvidia-smi" in answer.text


def test_a_cache_too_short_for_one_request_gives_the_length_to_set() -> None:
    answer, _ = answered(
        "vllm serve qwen2.5-7b: ValueError: The model's max seq len (32768) is larger than the "
        "maximum number of tokens that can be stored in KV cache (9728)."
    )
    assert _figure(answer, "set") == 9216
    assert "--max-model-len" in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "Eval OOMs but training doesn't. HF Trainer, Qwen2.5-7B, 24GB",
        "qwen2.5-7b lora 训练正常，一到验证就 CUDA out of memory，4090",
    ],
)
def test_evaluation_alone_runs_out_by_its_logits(question: str) -> None:
    """1,024 tokens * 152,064 words * 4 B."""
    answer, _ = answered(question)
    assert answer.intent == "oom_diagnosis"
    assert _figure(answer, "logits: each") == 1024 * 152_064 * 4
    assert "eval_accumulation_steps" in answer.text


@pytest.mark.parametrize(
    ("question", "smallest", "ram"),
    [
        ("阿里云哪个规格族是L20的卡，最小的规格多大内存", "ecs.gn8is.2xlarge", 64),
        ("what sizes does AWS g6e come in, vCPU and RAM of each?", "g6e.xlarge", 32),
    ],
)
def test_sizes_are_told_from_the_smallest(question: str, smallest: str, ram: int) -> None:
    answer, _ = answered(question)
    assert smallest in answer.text.split("\n")[0]
    assert _figure(answer, f"{smallest}: RAM") == ram
    assert "| vCPU |" in answer.text
