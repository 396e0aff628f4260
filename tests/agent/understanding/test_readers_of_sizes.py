"""Lists of stages and tables of ids: typed readings beyond the slots."""

from __future__ import annotations

import pytest

from agent.request import IdTable
from agent.understanding import parse


@pytest.mark.parametrize(
    ("question", "stages"),
    [
        ("8 张 A800 全参 Yi-34B,zero1 2 3 选哪个,还是干脆 fsdp", (1, 2, 3)),
        ("Yi-34B 全参 8 卡:普通数据并行还是 zero3", (0, 3)),
        ("deepspeed zero stage 1, stage 2 or stage 3 for Mistral-7B full", (1, 2, 3)),
        ("hybrid_shard or shard_grad_op on 16 GPUs", (2, 3)),
        ("ZeRO-2 -> ZeRO-3, what do I gain on 4 cards", (2, 3)),
        ("zero2\n4090 two of them", (2,)),
        ("stage 2 H100s or more", ()),
        ("zero3 2 cards", (3,)),
        ("zero 3 epochs, 2 or 4 nodes", ()),
        ("多卡训练慢", ()),
    ],
)
def test_stages_that_are_set_against_each_other(question: str, stages: tuple[int, ...]) -> None:
    assert parse(question).stages == stages


@pytest.mark.parametrize(
    ("question", "table"),
    [
        ("CTR 模型,嵌入表 3 亿个特征 × 32 维,放 CPU 还是 GPU", IdTable(rows=300_000_000, width=32)),
        ("sparse embeddings for 40M users, 48 dims each", IdTable(rows=40_000_000, width=48)),
        ("id embedding 2 billion keys with dim 16", IdTable(rows=2_000_000_000, width=16)),
        ("embedding表 8000万行 宽度128", IdTable(rows=80_000_000, width=128)),
        ("the sparse tables take 300 GB", IdTable()),
        ("bge-m3 给 200 万条文本算 1024 维向量", None),
        ("用户表 3 亿行 64 列 XGBoost", None),
    ],
)  # fmt: skip
def test_rows_and_width_of_tables_of_ids(question: str, table: IdTable | None) -> None:
    request = parse(question)
    assert request.id_table == table
    assert request.slots.params_b is None or table is None


@pytest.mark.parametrize(
    ("question", "billions"),
    [
        ("full fine-tuning of a 650M protein model on an A5000", 0.65),
        ("a 300M speech encoder on a T4, fine-tune", 0.3),
        ("classifier trained on 10M images, which model for a T4", None),
        ("a 1M context model on an H100", None),
        ("dataset of 5M text pairs, fine-tune an encoder", None),
    ],
)
def test_millions_beside_a_described_model_are_its_size(
    question: str, billions: float | None
) -> None:
    assert parse(question).slots.params_b == billions


@pytest.mark.parametrize(
    ("question", "model", "length"),
    [
        ("ESM2 3B LoRA, proteins up to 600 residues, batch 4, 4090", "esm2_t36_3B_UR50D", 600),
        ("微调 ESM-2 150M,序列 512 个氨基酸,batch 8,3090 够吗", "esm2_t30_150M_UR50D", 512),
        ("esm2_t12_35M_UR50D full fine-tune, 1022 aa, T4", "esm2_t12_35M_UR50D", 1022),
    ],
)
def test_protein_models_and_their_lengths(question: str, model: str, length: int) -> None:
    slots = parse(question).slots
    assert slots.model == f"facebook/{model}"
    assert slots.seq_len == length
    assert slots.has_card
