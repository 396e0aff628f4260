"""Sizing by load, by machines on a link, and over cards where no single one is large enough."""

from __future__ import annotations

import pytest

from agent.understanding import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "rate"),
    [
        ("bge-m3 embedding 服务用什么机器,每秒 200 个请求", 200),
        ("QPS 50 resnet50 inference, cpu or gpu on aws?", 50),
        ("bert-base classification 600 requests per minute, do I need a GPU?", 10),
        ("resnet50 推理 100 QPS 阿里云 CPU 够吗", 100),
    ],
)
def test_a_load_on_a_small_network_is_a_question_of_place(question: str, rate: float) -> None:
    request = parse(question)
    assert request.intent == "ecs_vs_gpu"
    assert request.slots.request_rate_per_s == rate


def test_the_load_is_told_in_cores_and_the_machine_is_of_the_cloud_asked_for() -> None:
    answer, _ = answered("QPS 50 resnet50 inference, cpu or gpu on aws?")
    assert "50 requests per second" in answer.text
    assert any(f.unit == "vCPU" for f in answer.figures)
    assert {offer.provider for offer in answer.offers} == {"aws"}


@pytest.mark.parametrize(
    ("question", "each"),
    [
        ("1Gbps network 2 nodes x 1 A100 DDP 7B full fine-tuning, how bad", 1),
        ("2 nodes x 4 A100 25Gbps DDP 7B full fine-tuning, is the network a problem?", 4),
        ("两台机器各 1 张 A10 25G 网络 7B LoRA 会慢吗", 1),
    ],
)
def test_cards_of_one_machine(question: str, each: int) -> None:
    answer, results = answered(question)
    shares = [r for r in results if r.name == "check_network"]
    assert {r.arguments["gpus_per_node"] for r in shares} == {each}
    assert f"{each} NVIDIA A100" in answer.text or f"{each} 张 NVIDIA A10" in answer.text


def test_a_bare_g_beside_a_network_is_bandwidth() -> None:
    slots = parse("两台机器各 1 张 A10 25G 网络 7B LoRA 会慢吗").slots
    assert (slots.bandwidth_gbps, slots.gpu_mem_gb) == (25, None)


@pytest.mark.parametrize(
    "question",
    ["llama 3.1 405b fp8 serving hardware?", "deepseek-v3 fp8 部署要什么配置"],
)
def test_what_no_single_card_holds_is_told_in_cards(question: str) -> None:
    """405 GB of weights take 8 cards of 80 GB or 4 of 141; 671 GB take 16 or 8 (heads divide)."""
    answer, _ = answered(question)
    counts = {f.name: f.value for f in answer.figures if f.name.startswith("cards: ")}
    is_405 = "405b" in question
    assert counts["cards: NVIDIA H100 SXM5 80GB"] == (8 if is_405 else 16)
    assert counts["cards: NVIDIA H200 SXM 141GB"] == (4 if is_405 else 8)


def test_a_link_of_rdma_is_counted_as_one() -> None:
    question = "在 RoCE 200G 的 4 台 8 卡 H800 上训练 70B 全参 网络是瓶颈吗"
    assert parse(question).slots.bandwidth_gbps == 200
    answer, results = answered(question)
    assert all(r.arguments["rdma"] for r in results if r.name == "check_network")
    assert "没有 RDMA" not in answer.text


def test_throughput_of_a_store_is_rate_times_size() -> None:
    """2000 images a second of 110 KB are 220 MB/s."""
    question = (
        "My GPUs eat 2000 images per second at 110 KB each from NFS. What throughput do I need?"
    )
    assert parse(question).slots.request_rate_per_s is None
    assert "220 MB/s" in answered(question)[0].text
