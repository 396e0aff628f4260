"""A family without a size is answered, with what the other sizes change."""

from __future__ import annotations

import pytest

from tests.agent.answers import answer, answered
from tools.models import find_family, usual_member


@pytest.mark.parametrize(
    ("family", "usual"),
    [
        ("qwen2.5", "Qwen/Qwen2.5-7B"),
        ("llama3", "meta-llama/Meta-Llama-3-8B"),
        ("resnet", "timm/resnet50"),
        ("yolov8", "ultralytics/yolov8m"),
    ],
)
def test_the_usual_member_is_near_7b_or_in_the_middle(family: str, usual: str) -> None:
    found = find_family(family)
    assert found is not None
    assert usual_member(found.candidates) == usual


def test_sizes_that_decide_come_first_with_one_question() -> None:
    answer, _ = answered("qwen2.5 在 4090 上能跑吗")
    assert answer.verdict == "depends"
    head = answer.text.partition("\n\n")[0]
    assert "Qwen2.5-7B" in head
    assert "Qwen2.5-72B" in head
    assert answer.clarifying_question is not None


def test_a_family_that_fits_in_every_size_asks_nothing() -> None:
    answer, _ = answered("can I serve resnet on an A100 80GB?")
    assert answer.verdict == "fits"
    assert answer.clarifying_question is None
    assert "resnet152" in answer.text


def test_time_and_rent_are_counted_for_the_usual_member() -> None:
    hours, _ = answered("lora 微调 qwen2.5 1万条数据每条 1000 token A100 要多久")
    assert "Qwen2.5-7B" in hours.text
    assert any(figure.unit in ("h", "hour") for figure in hours.figures)
    rent, _ = answered("which instance to train resnet on aws")
    assert rent.offers
    assert "token/s" not in rent.text
    assert "tokens/s" not in rent.text


def test_a_family_of_networks_trains_all_its_weights() -> None:
    answer, _ = answered("gpu 云服务器 训练 yolov8 最便宜的 一小时多少钱")
    assert answer.offers
    assert "全参" in answer.text


def test_sizes_on_several_cards_are_counted_as_the_answer_beneath_counts_them() -> None:
    answer, _ = answered("Llama 全参微调 8 张 A100 80G")
    lines = {line.partition(":")[0].partition("：")[0]: line for line in answer.text.splitlines()}
    eight = lines["- Llama-3.1-8B"]
    assert "放不下" not in eight
    assert "ZeRO-3/FSDP" in eight
    need = eight.partition("每张约需 ")[2].partition(" GiB")[0]
    assert f"**{need} GiB**" in answer.text  # the same figure in the list and in the verdict
    # 70.6e9 parameters x 18 B over 8 cards are 148 GiB of weights and states on each
    assert "放不下" in lines["- Llama-3.1-70B"]


def test_a_size_whose_replica_fits_is_not_sharded() -> None:
    answer, _ = answered("DeepSeek LoRA on 8×H100")
    small = next(
        x for x in answer.text.splitlines() if x.startswith("- DeepSeek-R1-Distill-Qwen-7B")
    )
    large = next(x for x in answer.text.splitlines() if x.startswith("- DeepSeek-R1-Distill-Llama"))
    assert "ZeRO-3" not in small
    assert "sharded with ZeRO-3/FSDP over 8, fits" in large  # 141 GB of weights / 8 = 16.4 GiB


def test_sizes_of_a_family_are_counted_by_the_method_that_the_answer_takes() -> None:
    # LoRA keeps the frozen weights in 16 bit: 9.24e9 * 2 B are 17.2 GiB, no 16 B a parameter
    found = answer("fine-tune Gemma in fp16 on a T4, does it fit?")
    line = next(line for line in found.text.split("\n") if line.startswith("- gemma-2-9b"))
    need = float(line.split("about ")[1].split(" GiB")[0])
    assert 17.2 < need < 40
