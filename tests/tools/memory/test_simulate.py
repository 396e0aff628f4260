"""The simulator's edges: limits, missing torch, unknown classes, requests, the runner's cache."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tools.errors import BadQuantityError, MissingExtraError, UnsupportedError
from tools.memory import InferenceWorkload, TrainingWorkload
from tools.memory.simulate import (
    Limits,
    SimulationRequest,
    hf_config,
    is_available,
    request_from_case,
    request_of,
    simulate,
)
from tools.models import get_model

SMALL = "HuggingFaceTB/SmolLM2-135M"
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs the simulate extra"
)


def _request(**fields: object) -> SimulationRequest:
    spec = get_model(SMALL)
    given = {"method": "lora", "seq_len": 64, **fields}
    return SimulationRequest(model=SMALL, config=hf_config(spec), **given)  # type: ignore[arg-type]


def test_impossible_requests_are_refused_by_field() -> None:
    with pytest.raises(BadQuantityError, match="batch"):
        _request(batch=0)
    with pytest.raises(BadQuantityError, match="precision"):
        _request(precision="int3")


def test_a_request_survives_the_pipe() -> None:
    request = _request(lora_targets=("q_proj", "v_proj"))
    assert SimulationRequest.from_json(request.to_json()) == request


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"parallelism": "zero3"}, "DeepSpeed"),
        ({"parallelism": "fsdp4+tp2"}, "Megatron"),
        ({"parallelism": "fsdp", "cpu_offload": True}, "offloading"),
    ],
)
def test_engines_that_are_not_simulated_are_refused(fields: dict[str, object], named: str) -> None:
    row = {"model": SMALL, "num_gpus": 8, "precision": "pure-bf16", **fields}
    with pytest.raises(UnsupportedError, match=named):
        request_from_case(row, {})


def test_cards_and_what_they_share_reach_the_step() -> None:
    row = {"model": SMALL, "num_gpus": 8, "parallelism": "fsdp2", "precision": "pure-bf16"}
    request = request_from_case(row, {})
    assert (request.world_size, request.sharding) == (8, "fsdp")
    spec = get_model("Qwen/Qwen2.5-7B")
    asked = request_of(TrainingWorkload(spec, gpu_count=4, parallelism="fsdp"))
    assert (asked.world_size, asked.sharding) == (4, "fsdp")
    assert request_of(TrainingWorkload(spec, gpu_count=2)).sharding == "ddp"
    with pytest.raises(UnsupportedError, match="zero3"):
        request_of(TrainingWorkload(spec, gpu_count=4, parallelism="zero3"))


def test_a_workload_becomes_the_step_it_stands_for() -> None:
    request = request_of(
        TrainingWorkload(
            get_model("Qwen/Qwen2.5-7B"), method="qlora", micro_batch_size=2, seq_len=512
        )
    )
    assert (request.kind, request.method, request.batch, request.seq_len) == (
        "decoder", "qlora", 2, 512,
    )  # fmt: skip
    image = request_of(TrainingWorkload(get_model("timm/resnet50"), micro_batch_size=8))
    assert (image.kind, image.image_px, image.optimizer) == ("timm", 224, "sgd-momentum")
    served = request_of(InferenceWorkload(get_model("Qwen/Qwen2.5-7B"), prompt_len=128))
    assert (served.task, served.seq_len) == ("infer", 128)


def test_what_is_not_simulated_is_said() -> None:
    with pytest.raises(UnsupportedError, match="selective"):
        request_of(
            TrainingWorkload(get_model("Qwen/Qwen2.5-7B"), gradient_checkpointing="selective")
        )


@pytest.mark.skipif(is_available(), reason="torch is here")
def test_without_torch_the_extra_is_named() -> None:
    with pytest.raises(MissingExtraError, match="simulate"):
        simulate(_request())


@pytest.mark.torch
@needs_torch
def test_a_run_beyond_its_time_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XUANKA_STATE_DIR", str(tmp_path))
    with pytest.raises(UnsupportedError, match="longer than"):
        simulate(_request(), limits=Limits(seconds=0.2))


@pytest.mark.torch
@needs_torch
def test_a_run_beyond_its_memory_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XUANKA_STATE_DIR", str(tmp_path))
    with pytest.raises(UnsupportedError, match="RAM"):
        simulate(_request(), limits=Limits(memory_bytes=1_000_000))


@pytest.mark.torch
@needs_torch
def test_an_unknown_class_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XUANKA_STATE_DIR", str(tmp_path))
    with pytest.raises(UnsupportedError, match="no such architecture"):
        simulate(SimulationRequest(model="x", config={"model_type": "nothing-like-it"}))


@pytest.mark.torch
@needs_torch
def test_a_result_is_kept_with_its_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XUANKA_STATE_DIR", str(tmp_path))
    said: list[str] = []
    first = simulate(_request(), progress=said.append)
    again = simulate(_request())
    assert said
    assert not first.from_cache
    assert again.from_cache
    assert again.peak_bytes == first.peak_bytes == sum(first.parts.values())
    assert "torch" in first.versions


@pytest.mark.torch
@needs_torch
def test_a_model_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(
        "import torch\ndef make():\n    return torch.nn.Linear(256, 512), torch.empty(4, 256)\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("XUANKA_STATE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    request = SimulationRequest(
        model="mine:make", kind="custom", config={"target": "mine:make"}, precision="fp32"
    )
    found = simulate(request)
    assert found.params == 256 * 512 + 512
    assert found.parts["params"] == found.params * 4
