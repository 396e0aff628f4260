"""Cards that are shared, pooled in thought, modified, or filled by one of several."""

from __future__ import annotations

import pytest

from tests.agent.answers import answer


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("LMDeploy 在 A100 80G 上先起了 14B,再起一个 reranker 就爆显存", "cache_max_entry_count"),
        ("sglang 在 H800 80G 上起了 8B,第二个模型起不来", "mem_fraction_static"),
        ("vllm serves a 3B on one 4090 and a second service runs out of memory",
         "gpu_memory_utilization"),
    ],
)  # fmt: skip
def test_a_second_service_is_told_the_setting_of_the_first(question: str, word: str) -> None:
    assert word in answer(question).text


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("vllm takes the whole card with a 1.5B model, a second service?", "of the whole card"),
        ("lmdeploy 起了一个 7B，再起一个就显存不足", "加载权重之后"),
        ("trtllm 先起了 8B，第二个模型起不来", "free_gpu_memory_fraction"),
    ],
)  # fmt: skip
def test_without_a_card_the_rule_of_the_engine_is_told(question: str, word: str) -> None:
    assert word in answer(question).text


def test_share_of_the_free_memory_is_reckoned_after_the_weights() -> None:
    text = answer("lmdeploy 在 A100 80G 上先起了个 7B,再起第二个就说显存不足").text
    assert "(79.1 GiB − 14.8 GiB) × 0.8 ≈ 51.5 GiB" in text.replace("（", "(").replace("）", ")")


@pytest.mark.parametrize(
    "question",
    [
        "两块 3090 显存自动合成 48G 吗",
        "四张 T4 插一起程序里算一张 64G 的卡吗",
        "do two 4090s act as one 48GB gpu?",
        "两张A100 NVLink 连着 显存是不是就变160G了",
    ],
)
def test_cards_that_do_not_pool_are_told_as_devices(question: str) -> None:
    found = answer(question)
    assert found.corrections
    assert "cuda:0" in found.text
    assert "OOM" not in found.text


def test_a_model_loaded_onto_one_of_several_cards_is_told() -> None:
    log = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 300.00 MiB. GPU 0 has a "
        "total capacity of 79.11 GiB of which 120.00 MiB is free. Including non-PyTorch memory, "
        "this process has 78.9 GiB memory in use."
    )
    text = answer(f"4 张 H100 80G 推理 Qwen2.5-72B 报\n{log}").text
    assert "GPU 0 这一张卡" in text
    assert "--tensor-parallel-size 4" in text


@pytest.mark.parametrize(
    ("question", "size"),
    [("英伟达官方的 2080Ti 22G 还值得买吗", "11 GB"), ("is the RTX 4090 48GB official?", "24 GB")],
)
def test_a_modified_board_is_not_the_makers(question: str, size: str) -> None:
    assert any(size in correction.fact for correction in answer(question).corrections)


@pytest.mark.parametrize("name", ["gn8is", "gn7i", "g5.48xlarge"])
def test_nvlink_said_of_a_type_without_it_is_put_right(name: str) -> None:
    found = answer(f"{name} 多卡之间是 NVLink 对吧,想全参训 32B")
    assert any("NVLink" in correction.fact for correction in found.corrections)


def test_a_cache_without_room_names_the_share_and_the_settings() -> None:
    text = answer(
        "ValueError: No available memory for the cache blocks. Try increasing "
        "`gpu_memory_utilization` when initializing the engine.\n"
        "vllm serve Qwen/Qwen3-8B, 一张 A10,怎么改"
    ).text
    assert "21.9 GiB × 0.9" in text
    assert "--max-num-seqs" in text
