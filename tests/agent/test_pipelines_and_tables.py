"""Models that write no text: pipelines in parts, towers, clips, tables, small networks."""

from __future__ import annotations

import pytest

from agent.toolbox.memory import MemoryArguments, estimate_memory
from agent.understanding import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "slots"),
    [
        ("whisper large-v3 beam 5 推理要多少显存", {"beams": 5}),
        ("whisper-medium with num_beams=3, memory?", {"beams": 3}),
        ("SDXL 推理开 vae slicing 和 vae tiling", {"vae_slicing": True, "vae_tiling": True}),
        ("FLUX.1-dev with sequential cpu offload", {"pipeline_offload": "sequential"}),
        ("SD3 medium 推理 enable_model_cpu_offload", {"pipeline_offload": "model"}),
        ("wav2vec2-base 微调 每条 20 秒 batch 16", {"clip_s": 20}),
        ("fine-tune wav2vec2-large on 15-second clips, batch 4", {"clip_s": 15}),
        ("Wan2.1-14B 720p 81帧 文生视频推理", {"img_size": 960, "frames": 81}),
        ("LightGBM with 10 million rows and 300 features: how much RAM", {"rows": 10_000_000}),
        ("SDXL 8G 能跑吗", {"gpu_mem_gb": 8}),
        ("bge-large 对比学习 batch 64 seq 512", {"task": "train", "method": "contrastive"}),
    ],
)
def test_what_is_said_of_other_kinds_is_read(question: str, slots: dict[str, object]) -> None:
    read = parse(question).slots
    assert {name: getattr(read, name) for name in slots} == slots


def test_beams_repeat_the_encoders_keys_and_values() -> None:
    # 2 x 32 layers x 1280 x 2 bytes x (1500 encoder positions + 128 tokens) for each beam
    per_beam = 2 * 32 * 1280 * 2 * (1500 + 128)
    found = estimate_memory(MemoryArguments(model="whisper-large-v3", task="infer", beams=5))
    assert found.kv_cache_bytes == 5 * per_beam


def test_a_clip_of_twice_the_length_has_twice_the_activations() -> None:
    def work(seconds: float) -> int:
        said = MemoryArguments(model="wav2vec2-base", batch=16, clip_s=seconds)
        return estimate_memory(said).part("activations")

    assert work(20) / work(10) == pytest.approx(2, rel=0.1)


def test_a_pipeline_too_large_at_once_is_open_where_its_parts_fit_in_turn() -> None:
    whole, _ = answered("SDXL 推理 8G 显存够吗")
    assert whole.verdict == "depends"
    assert "enable_model_cpu_offload" in whole.text
    in_turn, _ = answered("SDXL 推理开 model cpu offload 8G 显存够吗")
    assert in_turn.verdict in ("fits", "tight")


@pytest.mark.parametrize("model", ["SDXL", "FLUX.1-dev", "CogVideoX-5B"])
def test_no_change_of_a_denoiser_is_a_format_of_language_models(model: str) -> None:
    found = estimate_memory(MemoryArguments(model=model, task="infer", gpu_mem_gb=6))
    names = [change.name for change in found.changes]
    assert names
    assert not [n for n in names if any(w in n for w in ("awq", "gptq", "gguf", "kv_dtype"))]


@pytest.mark.parametrize(
    ("question", "largest"),
    [
        ("SD1.5 DreamBooth 全参 512 在 24G 上够吗", "大头是权重、梯度和优化器状态"),
        ("wav2vec2-large 微调 batch 8 每条 10 秒,16G 够吗", "大头是权重、梯度和优化器状态"),
        ("ResNet50 训练 batch 128 需要多少显存", "大头是激活"),
    ],
)
def test_what_is_most_of_it_is_the_largest_part(question: str, largest: str) -> None:
    assert largest in answered(question)[0].text


def test_contrastive_training_is_computed_with_both_towers() -> None:
    answer, _ = answered("bge-large embedding 对比学习 batch 64 seq 512 显存")
    assert answer.memory is not None
    assert "共用一个编码器" in answer.text
    plain = estimate_memory(MemoryArguments(model="bge-large-zh", batch=64, seq_len=512))
    both = estimate_memory(
        MemoryArguments(model="bge-large-zh", method="contrastive", batch=64, seq_len=512)
    )
    more = both.part("activations") / plain.part("activations")
    assert 1.05 < more < 1.2  # 512 + 64 tokens a pair where the others have 512


def test_a_card_without_bf16_is_offered_no_bf16() -> None:
    found = estimate_memory(MemoryArguments(model="resnet50", batch=256, gpu="V100 16G"))
    assert not [c for c in found.changes if "bf16" in c.name]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("XGBoost 1 亿行 50 列要多少内存", "内存"),
        ("MNIST CNN 训练要什么显卡", "不需要 GPU"),
    ],
)
def test_tables_and_tiny_networks_are_for_a_cpu_server(question: str, told: str) -> None:
    answer, _ = answered(question)
    assert told in answer.text
    assert "Unknown model" not in answer.text
