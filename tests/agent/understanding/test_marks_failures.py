"""Marks of failures: wordings that have them, and near misses that do not."""

from __future__ import annotations

import pytest

from agent.answering.failures.symptoms import symptoms_of
from agent.understanding import parse

SAID = {
    "all_cards": (["两张4090都用上行吗", "run it over both A100s", "8 卡 torchrun 起训练"],
                  ["两张卡里有一张空着", "one of my two cards is idle"]),
    "second_service": (["同一张卡再起一个 embedding 服务", "a second vllm on the same gpu crashes",
                        "running another model alongside"],
                       ["20 tokens a second", "vllm 起不来"]),
    "takes_all": (["显存被占满了", "it takes up all of the vram", "sglang hogs everything"],
                  ["占用多少显存", "how much does it take"]),
    "odd": (["这正常吗", "is this expected?", "模型才 8G"], ["能放下吗", "will it fit"]),
    "bf16": (["does bfloat16 work here", "支持 bf16 吗"], ["fp16 works"]),
    "fp8": (["fp8 能用吗", "is FP8 possible"], ["int8"]),
    "versions": (["which driver version is in it", "看下 cuda 版本"], ["which gpu is in it"]),
    "fails": (["第二个服务起不来", "the server won't start", "it crashes"],
              ["能放得下吗", "it starts fine"]),
    "out_of_memory": (["一跑就爆显存", "it OOMs", "the run runs out"], ["显存多大", "memory use"]),
    "killed": (["进程被系统杀了", "the process was killed"], ["killer feature of vllm"]),
    "killed_by_system": (["进程直接被杀", "it gets killed while loading", "SIGKILL"],
                         ["我手动杀掉了", "the job was killed by slurm", "killer feature",
                          "worker is killed by signal: Bus error"]),
    "killed_by_limit": (["pod 被 kill 退出码137", "container exited with code 137", "OOMKilled"],
                        ["exit code 1", "i killed the old run"]),
    "container": (["docker 里跑", "my pods restart", "容器内存限制 32G"], ["contain the cost"]),
    "generation": (["一生成就爆", "it fails while generating", "the prefill step"],
                   ["训练 batch 4", "training with lora"]),
    "evaluation": (["做验证的时候", "during evaluation", "compute_metrics"], ["evil twin"]),
    "only_evaluation": (["训练一切正常，到了验证就爆", "training is fine but eval dies",
                         "the moment validation starts it blows up"],
                        ["评估一下显存", "evaluate the memory for me"]),
    "cards_counted": (["只识别到 1 张卡", "torch.cuda.device_count() says 1", "it only sees one"],
                      ["我只有两张卡", "I have one card"]),
    "flash": (["支持 flash-attn 吗", "does FlashAttention 2 run here", "fa2"], ["flash storage"]),
    "at_save": (["保存模型的时候", "it dies when it saves", "merge_and_unload"],
                ["怎么省显存", "how to save memory", "save some vram"]),
    "at_resume": (["断点续训就 OOM", "crashes when I resume", "torch.load"],
                  ["trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)",
                   "从头训"]),
    "at_load": (["加载权重的时候", "from_pretrained runs out", "it dies at init"],
                ["try increasing gpu_memory_utilization when initializing the engine",
                 "payload of 3 GB"]),
    "host_load": (["colab 上卡住", "exit code -9", "the run gets killed"],
                  ["worker is killed by signal: Bus error", "code review"]),
    "later": (["跑了 300 步才爆", "oom after 2 epochs", "dies at step 400", "几百步之后 OOM"],
              ["训 3 个 epoch 要多久", "batch 4, 3 epochs"]),
    "grows": (["显存每个 step 都在涨", "gpu memory keeps climbing", "running_loss += loss",
               "越训越大", "memory leak?"],
              ["total += loss.item()", "batch 越大显存越大", "loss 每个 epoch 都涨"]),
    "one_used": (["8 卡只用了一张", "only one GPU is busy", "the other GPUs are idle"],
                 ["我只有一张卡", "only one gpu in this box"]),
    "several": (["第3个起不来", "多个实例", "the second instance"], ["一个实例", "one instance"]),
    "slow_parallel": (["两张卡反而慢", "tp=2 is slower", "it drops to 20 tok/s"],
                      ["batch 降到 1", "更快"]),
    "at_step": (["optimizer.step() 那里 OOM", "exp_avg 分配失败"], ["step by step", "第一步"]),
    "no_driver": (["nvidia-smi 直接报错", "服务器还没装驱动", "nvidia-smi: command not found"],
                  ["nvidia-smi 正常 torch 报错", "nvidia-smi shows 3 GB"]),
    "no_kernel": (["no kernel image is available for execution"], ["kernel panic", "内核版本"]),
    "no_device": (["torch 看不到显卡", "pytorch can't find my gpu", "cuda.is_available() False",
                   "device_count() 返回 0", "No CUDA GPUs are available"],
                  ["找不到便宜的机器", "i can't use the office network", "8 张卡都看得到"]),
    "old_driver": (["驱动版本太旧", "your driver is too old", "Driver/library version mismatch"],
                   ["驱动怎么装", "the new driver"]),
    "shared_memory": (["/dev/shm 满了", "bus error in the loader"], ["显存共享", "share memory"]),
    "workers": (["dataloader 一开就挂", "num_workers=16"], ["working set", "工作站"]),
    "memory_shown": (["nvidia-smi 里看到 20G", "gpustat"], ["显存 20G"]),
    "memory_in_tensors": (["memory_allocated 才 3G", "only 3 GB allocated"], ["location"]),
    "no_process_listed": (["显存占着但没有进程", "no running processes found", "进程列表为空"],
                          ["default process group is not initialized", "一个进程占着"]),
    "reserved": (["reserved but unallocated", "是碎片吗", "reserved 比 allocated 多很多"],
                 ["reserved instances", "预留实例"]),
    "asks_meaning": (["是什么意思", "what does that mean", "能要回来吗"], ["帮我算一下"]),
    "on_the_bus": (["lspci 里有卡", "3D controller: NVIDIA"], ["pci express 4.0"]),
    "total_of_smi": (["nvidia-smi 显示 15360MiB", "gpustat"], ["smile"]),
    "total_of_torch": (["torch 看到 23.5G", "the error says 21.98 GiB"], ["torches"]),
    "total_of_label": (["标称 24G", "24 GB on the box"], ["this box", "实际 24G"]),
    "total_that_counts": (["按哪个算", "which one do I plan with", "少的去哪了"], ["24G 够不够"]),
    "wants_larger_card": (["是不是要换张大点的卡", "do I need a bigger GPU", "显存是不是不够"],
                          ["换成 lora", "a larger batch"]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("mark", "text"), [(mark, text) for mark, (said, _) in SAID.items() for text in said]
)
def test_what_is_said_has_its_mark(mark: str, text: str) -> None:
    assert parse(text).says(f"failures.{mark}")


@pytest.mark.parametrize(
    ("mark", "text"), [(mark, text) for mark, (_, other) in SAID.items() for text in other]
)
def test_a_near_miss_has_not(mark: str, text: str) -> None:
    assert not parse(text).says(f"failures.{mark}")


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("held_gb", "vllm 占了 21G 显存", (21.0,)),
        ("held_gb", "sglang takes up about 70 GiB", (pytest.approx(75.16, abs=0.01),)),
        ("held_pct", "the server uses 92% of it", (92.0,)),
        ("file_gb", "the gguf is only 4.7 GB", (4.7,)),
        ("file_gb", "一个 9G 的文件，模型文件才 9G", (9.0,)),
        ("asked_gb", "ollama 提示需要 18G", (18.0,)),
        ("asked_gb", "it asks for 12 GB", (12.0,)),
        ("shown_mib", "nvidia-smi shows 15360MiB, torch says 14.5 GiB", (15360.0, 14848.0)),
        ("tokens_per_s", "one card 40 tok/s, two cards 31 tok/s", (40.0, 31.0)),
    ],
)
def test_numbers_by_the_words_beside_them(name: str, text: str, values: tuple[float, ...]) -> None:
    assert parse(text).amounts.get(f"failures.{name}") == values


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("held_gb", "显存 24G 的卡"),
        ("file_gb", "ollama needs 20 GB"),
        ("asked_gb", "the card has 24 GB"),
        ("tokens_per_s", "3000 tokens of input"),
    ],
)
def test_numbers_of_other_things(name: str, text: str) -> None:
    assert f"failures.{name}" not in parse(text).amounts


def test_a_start_that_failed_is_read_with_its_sizes() -> None:
    log = next(
        p for p in parse(
            "ValueError: Free memory on device cuda:0 (5.5/39.49 GiB) on startup is less than "
            "desired GPU memory utilization (0.85, 33.57 GiB). vllm"
        ).pasted if p.kind == "vllm_log"
    )  # fmt: skip
    assert log.fields["device_free_bytes"] == round(5.5 * 2**30)
    assert log.fields["device_total_bytes"] == pytest.approx(39.49 * 2**30, rel=1e-6)
    assert log.fields["wanted_bytes"] == pytest.approx(33.57 * 2**30, rel=1e-6)
    assert log.fields["utilization"] == 0.85


@pytest.mark.parametrize(
    ("text", "advised"),
    [
        ("想把 phi-4 加载到 A5000 上聊聊,行吗", False),
        ("phi-4 加载到 A5000 就爆显存", True),
        ("is there room on an A10 for loading the model phi-4", False),
    ],
)
def test_to_load_is_no_trouble_by_itself(text: str, *, advised: bool) -> None:
    assert ("at_load" in symptoms_of(parse(text))) is advised
