"""One rank of FSDP and of data parallelism on fake tensors, by hand and beside the closed form."""

from __future__ import annotations

from typing import Any

import pytest

# The pinned transformers announces renames for its version 6; the simulator is pinned to it.
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
pytest.importorskip("torch")

from tools.memory import TrainingWorkload, estimate  # noqa: E402
from tools.memory.simulate import SimulationRequest, hf_config, is_available  # noqa: E402
from tools.memory.simulate.child import run  # noqa: E402
from tools.models import get_model  # noqa: E402

if not is_available():
    pytest.skip("transformers or peft is not installed", allow_module_level=True)

SMALL = "HuggingFaceTB/SmolLM2-135M"
PARAMS = 134_515_008
CARDS = 4


def _step(**fields: Any) -> dict[str, Any]:
    given = {"seq_len": 256, "precision": "pure-bf16", **fields}
    request = SimulationRequest(model=SMALL, config=hf_config(get_model(SMALL)), **given)
    return run(request)


def test_a_rank_holds_its_share_of_weights_and_states() -> None:
    parts = _step(world_size=CARDS, sharding="fsdp")["parts"]
    assert parts["params"] == pytest.approx(PARAMS * 2 / CARDS, rel=0.002)
    assert parts["opt"] == pytest.approx(PARAMS * 4 / CARDS, rel=0.002)


def test_a_rank_of_mixed_precision_holds_fp32_shards_and_gathers_16_bit() -> None:
    fields: dict[str, Any] = {"precision": "bf16-mixed", "gradient_checkpointing": "full"}
    alone, sharded = _step(**fields), _step(world_size=CARDS, sharding="fsdp", **fields)
    assert sharded["parts"]["params"] == pytest.approx(PARAMS * 4 / CARDS, rel=0.002)
    states = PARAMS * 12 / CARDS
    embedding = 49_152 * 576 * 2
    assert sharded["peak_bytes"] > states + embedding  # the root unit stays gathered
    assert sharded["peak_bytes"] < alone["peak_bytes"]


def test_more_cards_never_need_more() -> None:
    peaks = [_step(world_size=n, sharding="fsdp")["peak_bytes"] for n in (2, 4, 8)]
    assert peaks == sorted(peaks, reverse=True)


def test_data_parallelism_holds_buckets_of_all_gradients() -> None:
    alone, replica = _step(), _step(world_size=2, sharding="ddp")
    assert replica["peak_bytes"] - alone["peak_bytes"] == pytest.approx(PARAMS * 2, rel=0.002)


def test_the_closed_form_of_a_rank_agrees() -> None:
    fields: dict[str, Any] = {"precision": "bf16-mixed", "gradient_checkpointing": "full"}
    name = "Qwen/Qwen2.5-0.5B"
    request = SimulationRequest(
        model=name, config=hf_config(get_model(name)), world_size=CARDS, sharding="fsdp",
        seq_len=2048, **fields,
    )  # fmt: skip
    workload = TrainingWorkload(
        get_model(name), method="full", micro_batch_size=1, seq_len=2048, gpu_count=CARDS,
        parallelism="fsdp", optimizer="adamw", optimizer_impl="fused", **fields,
    )  # fmt: skip
    assert estimate(workload).allocated_bytes == pytest.approx(run(request)["peak_bytes"], rel=0.05)
