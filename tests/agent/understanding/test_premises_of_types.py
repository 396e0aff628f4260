"""A card said to be a type's own: put right where the type carries another, else left alone."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("阿里云gn6v的T4够跑7B int8吗", ("V100", "gn6i")),
        ("想包月gn6i,图它的V100,跑bert训练", ("T4", "gn6v")),
        ("带A10的gn6e一小时多少钱", ("V100", "gn7i")),
        ("aws的g5系列用的是L4,比g6老一点?", ("A10G", "g6")),
        ("腾讯云GN10X的A100跑13B推理够吗", ("V100", "GT4")),
        ("going for p3.8xlarge because of its A100, llama 8b lora", ("V100", "p4d")),
        ("the A100-powered p3.2xlarge, is it enough for 7b awq?", ("V100", "p4d")),
        ("g4dn family uses the A10G, g5 is the same card?", ("T4", "g5")),
    ],
)
def test_the_card_of_a_type_is_put_right(text: str, said: tuple[str, str]) -> None:
    facts = [c.fact for c in parse(text).corrections if c.kind == "type_carries"]
    assert len(facts) == 1
    assert all(word in facts[0] for word in said)


@pytest.mark.parametrize(
    "text",
    [
        "阿里云gn6i的T4跑7B int8够吗",
        "gn7i的A10和gn6i的T4哪个划算",
        "gn6i 和 A10 哪个快",
        "gn6i 比 A10 慢多少",
        "阿里云gn6i没货了,腾讯云的A10跑7B行不行",
        "gn6i还是A10?",
        "g5 carries the A10G and g6 the L4, which is cheaper?",
        "should I move from a g4dn.xlarge to an A10G?",
        "p3.2xlarge vs an A100 for llama 8b lora",
    ],
)
def test_a_card_beside_a_type_is_not_its_own(text: str) -> None:
    kinds = {c.kind for c in parse(text).corrections}
    assert not kinds & {"type_carries", "instance_card"}


def test_what_the_real_card_lacks_is_told_as_well() -> None:
    request = parse("租gn6i,看上它的A10支持bf16,7B bf16 lora")
    facts = {c.kind: c.fact for c in request.corrections}
    assert "T4" in facts["bf16"]
    assert request.slots.gpu is None
    assert request.slots.instance == "gn6i"


def test_sizes_of_one_name_have_those_of_its_bridged_boards() -> None:
    fact = next(c.fact for c in parse("is the 24GB H100 a real card").corrections)
    assert "80/94/96" in fact


@pytest.mark.parametrize(
    ("text", "is_ours"),
    [
        ("a 4090 for $0.2/hr, what a steal, enough for 7b qlora?", True),
        ("another process is stealing my vram, vllm will not start", True),
        ("any hack to squeeze 32b onto a 24gb card", True),
        ("谁偷了我的显存,vllm起不来", True),
        ("how do I steal somebody's AWS credits to train 7b", False),
        ("偷同事的账号跑A100行不行", False),
    ],
)
def test_a_bargain_is_no_theft(text: str, is_ours: bool) -> None:
    assert (parse(text).intent != "out_of_scope") is is_ours
