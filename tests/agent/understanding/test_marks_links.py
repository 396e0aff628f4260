"""What a question says of networks, storage and loading: marks, amounts, links and rates."""

from __future__ import annotations

import pytest

from agent.answering.links.network import has_rdma
from agent.answering.links.storage_rate import files_per_s, size_kb
from agent.understanding import parse


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("network", "4 台 A10 走内网做数据并行够不够"),
        ("network", "does the interconnect matter for DDP on two servers"),
        ("several", "三台机器各 8 张 V100 一起训"),
        ("several", "training distributed over a few boxes"),
        ("rdma", "两台 H800 配了 400G NDR"),
        ("rdma", "cluster on EFA, 70B FSDP"),
        ("sockets", "nccl 回退到 TCP 了吗"),
        ("worth", "加一台机器跑全参值得吗"),
        ("worth", "does a second node pay off for a 7B full finetune"),
        ("slower", "双机反而变慢了"),
        ("slower", "two nodes took longer than one"),
        ("zones", "两台机器不在同一个可用区,能一起训吗"),
        ("zones", "nodes in different AZs, ok for DDP?"),
        ("hybrid", "FSDP hybrid_shard 还是 full_shard"),
        ("hybrid", "would HSDP help on 4 nodes"),
        ("hybrid_across", "shard across all 32 or keep each node a replica"),
        ("hybrid_across", "should we shard inside each node only"),
        ("one_machine", "单台 8 卡 all_reduce 有多快"),
        ("one_machine", "busbw within a node"),
        ("each_gpu", "每块卡要 1200 张/秒"),
        ("each_gpu", "2000 img/s per GPU"),
        ("each_card", "each A100 takes 2400 images/s"),
        ("object_store", "训练集放在 COS 桶里"),
        ("object_store", "mounted with gcsfuse"),
        ("images", "train on 3M photos"),
        ("keeps_up", "ESSD 供得上吗"),
        ("keeps_up", "will NFS keep up with 8 cards"),
        ("which_disk", "训练集 2TB 小图,存储该用哪种"),
        ("which_disk", "what kind of storage should I get for ImageNet training"),
        ("no_rdma", "机器没有 IB,只有 25G"),
        ("no_rdma", "do we need InfiniBand for LoRA"),
        ("with_rdma", "两机 100G RoCE"),
    ],
)
def test_marks_are_read(mark: str, text: str) -> None:
    assert parse(text).says(f"links.{mark}")


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("object_store", "gpt-oss-20b 放得进 4080 吗"),
        ("object_store", "Seed-OSS-36B AWQ on an A100"),
        ("rdma", "which library is best for a 7B"),
        ("which_disk", "what storage throughput do I need for 2000 images a second"),
        ("which_disk", "本地盘存 checkpoint 够吗"),
        ("hybrid_across", "do two A10 in one box share memory"),
        ("zones", "单机 8 卡训练"),
        ("each_gpu", "每张图 120KB"),
        ("with_rdma", "两机 25G 以太网,要不要上 RDMA"),
        ("one_machine", "two nodes of 8 A100"),
        ("worth", "两台 A10 之间 10G 网络多慢"),
        ("mixed_plus", "2x A10 or 1x L20 for a 14B"),
        ("mixed_sum", "T4 加钱换 A10 还是 L4"),
    ],
)
def test_near_misses_are_no_marks(mark: str, text: str) -> None:
    assert not parse(text).says(f"links.{mark}")


@pytest.mark.parametrize(
    ("text", "gbps"),
    [
        ("4 nodes of 8 H100, 8x400G NDR per node, 70B full", 3200),
        ("每台 8*200Gb IB,两台 A100", 1600),
        ("400G RoCE x8 on each of 2 boxes", 3200),
        ("两机,网卡 4x100G", 400),
        ("3.2T RDMA between two p5", 3200),
        ("200Gb/s InfiniBand, two nodes", 200),
        ("50GB/s InfiniBand, two nodes", 400),
        ("双25G网卡 两台机器", 50),
        ("two nodes, 100Gbps", 100),
        ("两台万兆互联", 10),
    ],
)
def test_links_of_a_machine_are_added_up(text: str, gbps: float) -> None:
    slots = parse(text).slots
    assert slots.bandwidth_gbps == gbps
    assert slots.gpu_mem_gb is None


@pytest.mark.parametrize(
    "text",
    [
        "A100 40G x2 跑 72B",
        "V100-32G x8 full finetune 13B",
        "8x80G, 70B bf16",
        "p4d.24xlarge has 8x 80GB",
        "1600 GB/s of memory bandwidth, 7B decode",
    ],
)
def test_memories_of_cards_are_no_links(text: str) -> None:
    assert parse(text).slots.bandwidth_gbps is None


@pytest.mark.parametrize(
    ("text", "rates", "gbps"),
    [
        ("nccl-tests busbw 850 MB/s between two nodes", (0.85,), None),
        ("all_reduce_perf 单机 busbw 366GB/s,双机只有45GB/s", (366, 45), None),
        ("busbw 22 GB/s over 200Gb/s IB", (22,), 200),
        ("NVLink 900GB/s, 8x400Gb IB, nccl-tests busbw 330 GB/s", (330,), 3200),
        ("NCCL 带宽测出来 5.1GB/s,网卡 100G", (5.1,), 100),
        ("H100 has 3350 GB/s of memory bandwidth", None, None),
    ],
)
def test_measured_rates_are_bytes_and_links_bits(
    text: str, rates: tuple[float, ...] | None, gbps: float | None
) -> None:
    slots = parse(text).slots
    assert slots.busbw_gb_s == rates
    assert slots.bandwidth_gbps == gbps


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("两机 100G RoCE 全参 7B", True),
        ("is 40G RoCE or 100G RoCE better for two nodes", True),
        ("两台 A100 没配 RDMA", False),
        ("need RDMA for two nodes with 25G?", False),
        ("two nodes on InfiniBand", True),
        ("two nodes on 25GbE", False),
    ],
)
def test_rdma_is_had_lacked_or_asked_for(text: str, *, has: bool) -> None:
    assert has_rdma(parse(text)) is has


@pytest.mark.parametrize(
    ("text", "rate", "size"),
    [
        ("storage has to feed 4000 files/s of 30 KB each, S3", 4000, 30),
        ("每秒要读2万个小文件,每个 8KB,放 OSS 行吗", 20_000, 8),
        ("8 GPUs, 500 images/s per GPU, 200 KB an image, from NFS", 4000, 200),
        ("100 samples per second, 1.5 MB each, training from a bucket", 100, 1500),
    ],
)
def test_rates_of_files_and_their_size(text: str, rate: float, size: float) -> None:
    request = parse(text)
    assert files_per_s(request) == pytest.approx(rate)
    assert size_kb(request) == pytest.approx(size)


@pytest.mark.parametrize("text", ["ESSD 350 MB/s, nfs", "decode 30 token/s", "磁盘 120 MB 每秒"])
def test_a_rate_of_bytes_is_no_size_and_tokens_are_no_files(text: str) -> None:
    request = parse(text)
    assert request.slots.img_kb is None
    assert not {"links.file_kb", "links.file_mb", "links.files_per_s"} & set(request.amounts)


@pytest.mark.parametrize(
    ("text", "tokens", "params_b"),
    [
        ("pretrain on 300B freshly tokenized tokens", 300e9, None),
        ("2T deduplicated web tokens, 256 H100", 2e12, None),
        ("train a 7B on 20B tokens", 20e9, 7),
        ("7B model with 4k tokens", None, 7),
        ("13b lora long tokens", None, 13),
    ],
)
def test_words_between_an_amount_and_its_tokens(
    text: str, tokens: float | None, params_b: float | None
) -> None:
    slots = parse(text).slots
    assert slots.params_b == params_b
    if tokens is not None:
        assert slots.tokens == tokens


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("mixed", "T4 跟 P40 混用行不行"),
        ("mixed", "an A5000 and a 3090 in the same machine"),
        ("mixed_sum", "一张 A10 再加一张 T4"),
        ("mixed_plus", "我有两张 P40 一张 T4"),
        ("mixed_plus", "I have a 3060 and a P40, 30B?"),
        ("instead", "把 A10 换成 L20"),
        ("instead", "compare A10 and L20"),
        ("tensor_parallel", "两张卡张量并行"),
        ("data_parallel", "DDP over both"),
    ],
)
def test_cards_on_one_job_are_told_from_cards_in_place_of_others(mark: str, text: str) -> None:
    assert parse(text).says(f"links.{mark}")
