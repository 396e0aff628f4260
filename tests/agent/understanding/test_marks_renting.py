"""What questions about machines to rent say: wordings with each mark, near ones without it."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("mark", "said", "not_said"),
    [
        ("renting.wanted", ("帮我挑个双卡带 NVLink 的机型", "show me boxes with RDMA"),
         ("我们的服务器是 8 卡 NVLink 的", "our servers are wired with RDMA")),
        ("renting.which_of_them", ("列举一下 48G 显存的型号", "which servers come with 48GB cards"),
         ("48G 显存的型号要多少钱", "a server with 48GB cards")),
        ("renting.no_search", ("多卡训练有必要上 RDMA 机器吗", "how do NVLink machines differ"),
         ("有 RDMA 的机器列一下", "machines with NVLink")),
        ("renting.doubts_need", ("跑 7B 上两张 A100 是不是大材小用", "is one H100 overkill"),
         ("跑 7B 用两张 A100", "one H100")),
        ("renting.sizes", ("gn7i 入门规格什么配置", "which sizes does g6 come in", "gn6i 哪些规格"),
         ("gn7i 是什么卡", "is g6 new", "L20 在阿里云是哪些规格族")),
        ("renting.a_day", ("A10 每天多少钱", "A10 price per day", "rent it daily"),
         ("A10 三天多少钱", "A10 for five days")),
        ("renting.a_week", ("A10 一星期什么价", "A10 weekly price"),
         ("A10 两周什么价", "A10 for three weeks")),
        ("renting.a_time", ("T4 包月多少", "hourly price of a T4", "T4 $/hr"),
         ("T4 跑三个小时", "T4 for 40 hours")),
        ("renting.price", ("T4 租金多少", "what does a T4 cost"),
         ("T4 性价比高吗", "is a T4 good")),
        ("renting.of_rdma", ("gn8v 支持 RoCE 吗", "does p5 have EFA"),
         ("gn8v 啥卡", "library of p5")),
        ("renting.of_links", ("gn7 卡间怎么连", "p4d p2p?"), ("gn7 几张卡", "p4d price")),
        ("renting.of_vram", ("gn7i 多大显存", "how much VRAM on g5.xlarge"),
         ("gn7i 多大内存", "how much RAM on g5.xlarge")),
        ("renting.of_hbm", ("gn8v 用的 HBM3 吗", "is that HBM on p5"),
         ("gn8v 用的什么卡", "p5 card")),
        ("renting.of_ram", ("gn7i 内存多少", "RAM of g5.xlarge"),
         ("gn7i 显存", "VRAM of g5.xlarge")),
        ("renting.of_vcpu", ("gn7i 几个核", "how many vCPUs on g5.xlarge"),
         ("gn7i 几张卡", "g5 cards")),
        ("renting.of_cpu_model", ("gn7i 用的哪种 CPU", "which CPU is in g5"),
         ("gn7i 的 CPU 占用高", "g5")),
        ("renting.of_network", ("gn7i 网卡多快", "g5.xlarge networking"),
         ("gn7i 多快", "g5.xlarge")),
        ("renting.of_bandwidth", ("gn7i 带宽", "g5.xlarge bandwidth"),
         ("gn7i", "g5.xlarge band")),
        ("renting.of_disk", ("gn7i 带本地盘不", "local NVMe on g5?"),
         ("gn7i 云盘", "g5 with EBS")),
        ("renting.of_regions", ("gn7i 哪些地域能开", "regions for g5"),
         ("gn7i 在上海", "g5 in Ohio")),
    ],
)  # fmt: skip
def test_marks_of_renting(mark: str, said: tuple[str, ...], not_said: tuple[str, ...]) -> None:
    assert [text for text in said if not parse(text).says(mark)] == []
    assert [text for text in not_said if parse(text).says(mark)] == []
