"""The NVML reader with a fake of the library's bindings."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tools.probe import nvml_child
from tools.units import GIB, MIB


class FakeError(Exception):
    """Stands for pynvml.NVMLError."""


class LibraryNotFound(FakeError):
    """Stands for pynvml.NVMLError_LibraryNotFound."""


def _memory(total: int, used: int) -> SimpleNamespace:
    return SimpleNamespace(total=total, used=used, free=total - used)


@pytest.fixture
def bindings() -> Iterator[Any]:
    """Two A100, the first cut into one MIG instance, the second in use."""
    fake: Any = ModuleType("pynvml")
    fake.NVMLError = FakeError
    fake.NVMLError_LibraryNotFound = LibraryNotFound
    fake.NVML_P2P_CAPS_INDEX_NVLINK = 4
    fake.nvmlInit = lambda: None
    fake.nvmlSystemGetDriverVersion = lambda: b"550.90.07"
    fake.nvmlSystemGetCudaDriverVersion_v2 = lambda: 12040
    fake.nvmlDeviceGetCount = lambda: 2
    fake.nvmlDeviceGetHandleByIndex = lambda index: f"card{index}"
    fake.nvmlDeviceGetName = lambda handle: (
        "NVIDIA A100-SXM4-80GB MIG 1g.10gb" if handle == "mig" else "NVIDIA A100-SXM4-80GB"
    )
    fake.nvmlDeviceGetMemoryInfo = lambda handle: (
        _memory(9728 * MIB, 12 * MIB) if handle == "mig" else _memory(80 * GIB, 20 * GIB)
    )
    fake.nvmlDeviceGetCudaComputeCapability = lambda handle: (8, 0)
    fake.nvmlDeviceGetMigMode = _mig_mode
    fake.nvmlDeviceGetMaxMigDeviceCount = lambda handle: 7
    fake.nvmlDeviceGetMigDeviceHandleByIndex = _mig_handle
    fake.nvmlDeviceGetComputeRunningProcesses = _processes
    fake.nvmlDeviceGetP2PStatus = lambda one, other, kind: 0
    fake.nvmlDeviceGetEnforcedPowerLimit = lambda handle: 400_000
    saved = sys.modules.get("pynvml")
    sys.modules["pynvml"] = fake
    yield fake
    if saved is None:
        del sys.modules["pynvml"]
    else:
        sys.modules["pynvml"] = saved


def _mig_mode(handle: str) -> tuple[int, int]:
    if handle == "mig":
        raise FakeError("not supported on an instance")
    return (1, 1) if handle == "card0" else (0, 0)


def _mig_handle(handle: str, index: int) -> str:
    if index > 0:
        raise FakeError("not found")
    return "mig"


def _processes(handle: str) -> list[SimpleNamespace]:
    if handle == "card1":
        return [SimpleNamespace(pid=4711, usedGpuMemory=19 * GIB)]
    return []


def _answer(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert nvml_child.main() == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_cards_instances_processes_and_links(
    bindings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = _answer(capsys)
    assert (answer["driver_version"], answer["cuda_version"]) == ("550.90.07", 12040)
    first, instance, second = answer["devices"]
    assert first["mig_enabled"] is True
    assert instance["parent_index"] == 0
    assert instance["total_bytes"] == 9728 * MIB
    assert second["processes"] == [{"pid": 4711, "used_bytes": 19 * GIB}]
    assert second["power_limit_w"] == 400
    assert second["ecc_enabled"] is None
    assert answer["links"] == [[0, 1, "NVLINK"]]


def test_an_instance_becomes_a_slice_of_its_card(
    bindings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    from tools.probe.sources import _from_record

    record = _answer(capsys)["devices"][1]
    device = _from_record(record)
    assert device.slice_name == "1g.10gb"
    assert device.spec is not None
    assert device.spec.name == "NVIDIA A100 SXM4 80GB"


def test_a_card_that_answers_nothing_is_left_out(
    bindings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost(index: int) -> str:
        raise FakeError("GPU is lost")

    bindings.nvmlDeviceGetHandleByIndex = lost
    assert _answer(capsys)["devices"] == []


@pytest.mark.parametrize(("error", "status"), [(LibraryNotFound, 3), (FakeError, 4)])
def test_a_library_that_is_absent_or_refuses(
    bindings: Any, error: type[Exception], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise error("no")

    bindings.nvmlInit = refuse
    assert nvml_child.main() == status
    assert capsys.readouterr().err
