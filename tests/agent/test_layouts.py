"""Replicas, sharding within or across nodes, links, layers over cards, host memory."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from agent.answering import composer_of
from agent.answering.plan import Context
from agent.toolbox.memory import MemoryReport
from agent.understanding import parse
from tests.agent.answers import answer, answered
from tools.units import GIB


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("4卡V100 DDP 训练，batch只能开到单卡那么大，显存为啥没变成4倍", ("副本", "ZeRO", "64 GB")),
        ("why doesn't DDP on 8 A10s let me use a larger batch on each card?", ("replica", "FSDP")),
    ],
)
def test_data_parallelism_keeps_a_replica_on_every_card(
    question: str, words: tuple[str, ...]
) -> None:
    answer, _ = answered(question)
    assert answer.verdict == "not_applicable"
    assert all(word in answer.text for word in words)


def test_sharding_within_a_node_is_chosen_by_memory_and_bytes() -> None:
    """7 B in 16 bit: full sharding moves 3 * 14 GB * 15/16 = 39.4 GB a step, gradients across two
    nodes 2 * 14 GB / 2 = 14 GB."""
    answer, _ = answered(
        "2 nodes with 8 A10 each over 25GbE, 7B full fine-tune: ZeRO-3 across 16 or hybrid shard?"
    )
    assert _figure(answer, "zero3 traffic") == pytest.approx(39.4e9, rel=0.02)
    assert _figure(answer, "hybrid traffic") == pytest.approx(14e9, rel=0.02)
    assert _figure(answer, "hybrid efficiency") > _figure(answer, "zero3 efficiency")
    assert "HSDP" in answer.text


def test_a_model_that_no_node_holds_is_sharded_over_all_cards() -> None:
    answer, _ = answered(
        "2 nodes of 8 A10 each, 100G RDMA, full fine-tune Qwen2.5-14B: hybrid shard or not?"
    )
    assert "over all 16" in answer.text


def test_adapters_hardly_load_the_network() -> None:
    """At rank 16 about 0.6 % of 7 B train: 42 M * 2 B = 84 MB a step."""
    answer, _ = answered("eRDMA 和普通VPC网络 对多机lora微调影响大不大 7b")
    assert _figure(answer, "adapter_gradients") == pytest.approx(84e6, rel=0.02)
    assert _figure(answer, "share_of_step") < 10
    assert "影响很小" in answer.text


@pytest.mark.parametrize(
    ("question", "share", "word"),
    [
        ("NCCL all_reduce_perf busbw 2.9 GB/s between two p4d nodes, 400 Gbps?", 0.058, "TCP"),
        ("nccl-tests busbw 22 GB/s between nodes with 200Gbps InfiniBand, ok?", 0.88, "normal"),
        ("两台机器 100Gbps RoCE，nccl-tests busbw 6 GB/s 正常吗", 0.48, "偏低"),
    ],
)
def test_bus_bandwidth_is_judged_by_its_share_of_the_link(
    question: str, share: float, word: str
) -> None:
    answer, _ = answered(question)
    assert _figure(answer, "share_of_link") == pytest.approx(share, abs=1e-3)
    assert word in answer.text


def test_a_rate_inside_a_machine_is_that_of_nvlink_and_one_between_machines_that_of_the_links() -> (
    None
):
    """A100: 235 GB/s in a ring over NVLink 3; 14 GB/s are 112 Gbit/s, a little over one card."""
    told = answer(
        "A100 boxes: all_reduce busbw 230 GB/s within one node, only 14 GB/s over two. expected?"
    )
    assert _figure(told, "share inside") == pytest.approx(230 / 235, abs=1e-3)
    assert _figure(told, "as a link") == pytest.approx(112)
    assert "NVLink" in told.text


def test_a_rate_inside_a_machine_that_is_far_below_its_link_is_low() -> None:
    told = answer("单机 8 卡 A100 nccl-tests busbw 只有 20GB/s 正常吗")
    assert _figure(told, "share inside") == pytest.approx(20 / 235, abs=1e-3)
    assert "偏低" in told.text


def test_another_link_under_a_measured_rate_is_judged_anew_and_another_question_is_not() -> None:
    first = parse("nccl-tests busbw 11 GB/s over two nodes with 100Gbps RoCE, ok?")
    wider = parse("and with a link of 8x100Gbps?", [first])
    assert wider.slots.bandwidth_gbps == 800
    assert composer_of(wider, Context(earlier=(first,))) == "links.busbw"
    other = parse("how long does a 7B LoRA on one A100 take, 50k samples of 512 tokens?", [first])
    assert composer_of(other, Context(earlier=(first,))) != "links.busbw"


def test_layers_of_llama_cpp_are_dealt_out_over_the_cards() -> None:
    answer, results = answered("llama.cpp 两张P40跑 GLM-4-32B Q8_0 8k上下文 行吗")
    report = results[0].report
    assert isinstance(report, MemoryReport)
    assert answer.verdict == "fits"
    assert _figure(answer, "total_over_cards") == report.process_bytes * 2
    assert _figure(answer, "layers_of_a_card") == 31  # 61 layers over two cards
    assert "--tensor-split" in answer.text


def test_a_cache_in_eight_bits_lets_all_layers_stay_on_the_card() -> None:
    answer, _ = answered(
        "./llama-server -m Qwen3-32B-Q4_K_M.gguf -ngl 99 -c 16384 --cache-type-k q8_0 "
        "--cache-type-v q8_0\nsingle 3090. does all of it stay on gpu?"
    )
    assert answer.verdict in ("tight", "fits")
    assert answer.text.startswith("**All of it stays on the card**")


@pytest.mark.parametrize(("ram", "verdict"), [(1024, "fits"), (128, "does_not_fit")])
def test_offloaded_states_are_set_against_the_hosts_memory(ram: int, verdict: str) -> None:
    """ZeRO-3 with everything offloaded keeps at least 16 B of each of 14.8 G parameters."""
    answer, _ = answered(
        f"qwen2.5-14b full finetune zero3 offload 2x A100 80GB, {ram}GB host ram, seq 2048"
    )
    assert _figure(answer, "host_need") >= 16 * 14.77e9 * 0.99
    assert answer.verdict == verdict
    assert "RAM" in answer.text


def test_a_headline_of_a_run_short_of_host_memory_says_so() -> None:
    answer, _ = answered("qwen2.5-14b full finetune zero3 offload 2x A100 80GB, 128GB host ram")
    assert "host RAM does not" in answer.text.split("\n")[0]


def test_host_memory_is_told_where_none_was_said() -> None:
    answer, _ = answered("V100-32G x8, LLaMA-2-13B full finetune fp16 with zero3 offload")
    assert _figure(answer, "host_need") > 150 * GIB
    assert "Host RAM" in answer.text


def test_cards_in_a_pasted_list_are_counted() -> None:
    answer, _ = answered(
        "GPU 0: NVIDIA L4 (UUID: GPU-aa)\nGPU 1: NVIDIA L4 (UUID: GPU-bb)\n"
        "can I serve Qwen2.5-32B AWQ here with 8k context?"
    )
    assert answer.request["gpu_count"] == 2
    assert answer.verdict == "fits"


def test_a_link_of_400_gigabit_is_no_card_of_400_gigabytes() -> None:
    answer, _ = answered(
        "4 nodes x 8 H100 with 400Gb IB: HSDP or full shard for a 30B full fine-tune?"
    )
    assert _figure(answer, "link") == 400
    assert not answer.corrections


def test_a_size_behind_a_hyphen_is_no_exit_code() -> None:
    answer, _ = answered("glm-4-9b-chat bf16 单张4090 上下文 131072 放得下吗")
    assert answer.verdict == "does_not_fit"
    assert ".wslconfig" not in answer.text


@pytest.mark.parametrize(
    ("question", "machines", "cards"),
    [
        # 671 GB of weights in FP8: 8 * 79 GiB are too few, 16 are enough
        ("one node of 8 A100 80GB for DeepSeek-V3 fp8, else how many nodes?", 2, 16),
        # 1,342 GB in 16 bit: 24 * 79 GiB are 2,040 GB
        ("8 卡 H100 放得下 DeepSeek-V3 bf16 吗,不行要几台", 3, 24),
    ],
)
def test_machines_for_what_the_cards_of_one_do_not_hold(
    question: str, machines: int, cards: int
) -> None:
    told = answer(question)
    assert told.verdict == "does_not_fit"
    assert _figure(told, "machines") == machines
    assert _figure(told, "cards of all machines") == cards
    assert f"{machines}×8" in told.text
