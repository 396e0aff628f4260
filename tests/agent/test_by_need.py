"""Machines asked for by what they must have: every type listed has it, the unknown stand apart."""

from __future__ import annotations

import re

import pytest

from agent import Advisor, Answer
from agent.answering import composer_of
from agent.answering.plan import Context
from agent.answering.renting import by_need
from agent.understanding import parse
from tools.catalog import InstanceOffer, cheapest, get_instance, has_nvlink, is_bare_metal
from tools.gpus import get_gpu


@pytest.fixture(scope="module")
def advisor() -> Advisor:
    return Advisor()


def _listed(answer: Answer) -> list[InstanceOffer]:
    """Types named in front of those that are listed apart."""
    told = re.split("资料没写全|Listed apart", answer.text)[0]
    names = set(re.findall(r"`([^`]+)`", told))
    return [
        get_instance(offer.instance_type, offer.provider)
        for offer in answer.offers
        if offer.instance_type in names
    ]


@pytest.mark.parametrize(
    ("question", "points"),
    [
        (
            "两张 24G 以上,支持 NVLink,100G RDMA 的机器有哪些",
            {"min_gpu_count": 2, "min_gpu_memory_gb": 24.0, "nvlink": True, "rdma": True,
             "min_rdma_gbps": 100.0},
        ),
        (
            "找一台 64 核以上、内存 256G 以上、单卡 24G 的机器",
            {"min_vcpu": 64, "min_memory_gib": 256.0, "min_gpu_memory_gb": 24.0},
        ),
        (
            "8 vCPU 32G 内存 16G 显存的机器,哪种最便宜",
            {"min_vcpu": 8, "min_memory_gib": 32.0, "min_gpu_memory_gb": 16.0},
        ),
        (
            "which machines give 2 TiB of RAM and at least 8 GPUs?",
            {"min_memory_gib": 2048.0, "min_gpu_count": 8},
        ),
        (
            "8-GPU machines under $3 per GPU per hour with RDMA",
            {"min_gpu_count": 8, "max_price_of_card": True, "rdma": True,
             "max_price": {"amount": 3.0, "currency": "USD", "per": "hour"}},
        ),
        (
            "不支持 NVLink 也行,要 4 张 24G 卡、100G 网络的机器有哪些",
            {"min_gpu_count": 4, "min_gpu_memory_gb": 24.0, "min_network_gbps": 100.0},
        ),
        (
            "instances without NVLink that have 4 GPUs and 48GB each",
            {"nvlink": False, "min_gpu_count": 4, "min_gpu_memory_gb": 48.0},
        ),
        ("有没有整卡 A10 的裸金属",
         {"slices": "none", "gpu_share": 1.0, "bare_metal": True, "gpus": ("NVIDIA A10",)}),
    ],
)  # fmt: skip
def test_conditions_are_read_each_as_its_own_kind(question: str, points: dict[str, object]) -> None:
    need = parse(question).need
    assert need is not None
    aside = {"exact_count": True, "is_list": True, "asks_cards": True, "max_price": {"period"}}
    told = need.model_dump(exclude_defaults=True, exclude=aside)
    assert told == points


def test_excluded_cards_and_clouds_are_no_wishes() -> None:
    need = parse("不要阿里云和腾讯云,不要 T4、V100,8 卡带 NVLink 的实例有哪些").need
    assert need is not None
    assert set(need.exclude_providers) == {"alibaba", "tencent"}
    assert {get_gpu(name).name.split()[1] for name in need.exclude_gpus} == {"T4", "V100"}
    assert not need.providers
    assert not need.gpus


def test_two_cards_with_nvlink_and_rdma(advisor: Advisor) -> None:
    answer = advisor.ask("两张 24G 以上,支持 NVLink,100G RDMA 的机器有哪些")
    assert answer.intent == "catalog_lookup"
    found = _listed(answer)
    assert found
    for offer in found:
        assert (offer.gpu_count or 0) >= 2
        assert (offer.gpu_memory_gb or 0) >= 24
        assert has_nvlink(offer) is True
        assert (offer.rdma_gbps or 0) >= 100
    assert "另列" in answer.text


def test_price_cap_and_eight_bit_floats(advisor: Advisor) -> None:
    answer = advisor.ask("list AWS machines with 100Gbps+ network and FP8 support, under $20/h")
    found = _listed(answer)
    assert found
    for offer in found:
        assert offer.provider == "aws"
        assert (offer.network_gbps or 0) >= 100
        assert offer.gpu_name is not None
        assert get_gpu(offer.gpu_name).fp8_supported is True
        price = cheapest(offer)
        assert price is not None
        assert price.per_hour <= 20


def test_bare_metal_by_the_vendors_names(advisor: Advisor) -> None:
    found = _listed(advisor.ask("bare metal 8 GPU instances with RDMA"))
    assert {offer.provider for offer in found} >= {"aws", "alibaba"}
    assert all(is_bare_metal(offer) and offer.rdma for offer in found)


def test_where_nothing_is_known_to_do_one_condition_is_dropped(advisor: Advisor) -> None:
    answer = advisor.ask("上海地域 24G 显存的机器,16 核以上")
    assert "没有确定符合" in answer.text
    assert "不要求" in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "多机训练要不要买 RDMA 的机器",
        "8 台 gn7i 用 10G 网络做 DDP 划算吗",
        "24G 显存的机器能跑 7B 微调吗",
        "What is the difference between NVLink and PCIe machines?",
        "a box with 2x 4090 and 128GB RAM keeps crashing",
        "机器 4 卡 A10,内存 64G,dataloader 很慢",
        "our servers have 8x A100 NVLink and 100G RDMA, training is slow",
        "my VM shows a GRID A40-48C. is that a whole A40?",
    ],
)
def test_other_questions_about_links_are_left_alone(advisor: Advisor, question: str) -> None:
    text = advisor.ask(question).text
    assert "符合条件" not in text
    assert "the conditions (" not in text


@pytest.mark.parametrize(
    "question",
    [
        "两张 24G 以上,支持 NVLink,100G RDMA",
        "2 GPUs with at least 24 GB each, NVLink and 100G RDMA",
        "8 卡 80G 带 NVLink 和 RDMA",
    ],
)
def test_a_bare_list_of_conditions_is_a_search(advisor: Advisor, question: str) -> None:
    need = parse(question).need
    assert need is not None
    assert need.nvlink
    assert need.rdma
    found = advisor.ask(question)
    assert found.intent == "catalog_lookup"
    assert all(has_nvlink(offer) and offer.rdma for offer in _listed(found))


@pytest.mark.parametrize(
    "question",
    [
        "两台 8 卡 80G NVLink 100G RDMA 扩展效率多少",
        "2 张 80G 卡走 NVLink 和 RDMA 差多少",
        "8 张 80G NVLink+RDMA 全参微调 70B",
    ],
)
def test_conditions_beside_another_question_are_no_search(question: str) -> None:
    assert parse(question).need is None


@pytest.mark.parametrize(
    "question",
    [
        "24G 显存的机器",
        "8 GPU boxes, RDMA",
        "64 核 128G 内存、1 张 T4 的云主机哪个最便宜",
        "list cheap instances with 16 vCPUs, 64 GiB memory and one L4, not on Azure",
    ],
)
def test_a_list_of_conditions_is_a_search(question: str) -> None:
    assert by_need.applies(parse(question), Context())


def test_a_card_alone_is_ranked_by_price() -> None:
    question = "A10 的机器哪家便宜"
    assert composer_of(parse(question), Context()) == "money.prices"
    conditions = parse("64 核 128G 内存、1 张 T4 的云主机哪个最便宜")
    assert composer_of(conditions, Context()) == "renting.by_need"
