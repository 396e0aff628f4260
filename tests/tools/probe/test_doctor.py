"""Findings: what is wrong, in both languages, and the command that mends it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from tests.helpers import ROOT
from tests.tools.probe.machines import Machine, output
from tools.probe import Device, Finding, GpuProcess, MachineReport, parse_pasted, probe
from tools.probe.doctor import TorchBuild, findings_of, installed_torch
from tools.probe.nvidia_text import QUERY_FIELDS, parse_csv
from tools.probe.report import Host
from tools.probe.surroundings import Surroundings
from tools.units import GIB, MIB

NOWHERE = Surroundings(root=Path("/nonexistent"))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def _report(name: str, *, driver: str | None = None) -> MachineReport:
    found = parse_csv(output(name), fields=QUERY_FIELDS)
    return MachineReport(
        devices=tuple(found.devices), driver_version=driver or found.driver_version
    )


def _find(report: MachineReport, code: str, *, torch: TorchBuild | None = None) -> Finding | None:
    found = findings_of(report, NOWHERE, torch=torch)
    return next((item for item in found if item.code == code), None)


def test_a_driver_too_old_for_torch_names_a_build_that_it_runs() -> None:
    report = _report("t4.csv", driver="525.60.13")
    finding = _find(report, "driver_too_old", torch=TorchBuild("2.10.0+cu130", "13.0", False))
    assert finding is not None
    assert "at least 580" in finding.text_en
    assert finding.command is not None
    assert finding.command.endswith("/whl/cu126")
    assert _find(report, "driver_too_old", torch=TorchBuild("2.6.0", "12.4", False)) is None


def test_a_cpu_build_beside_a_card_is_a_problem() -> None:
    finding = _find(_report("t4.csv"), "cpu_build", torch=TorchBuild("2.8.0+cpu", None, True))
    assert finding is not None
    assert finding.severity == "problem"
    assert "Tesla T4" in finding.text_zh


@pytest.mark.parametrize(
    ("capability", "torch", "cuda", "lacks"),
    [
        # pytorch/pytorch issues 157517 and 172352
        (6.1, "2.8.0", "12.8", True),
        (7.0, "2.7.0", "12.8", True),
        (7.0, "2.8.0", "12.8", False),
        (7.0, "2.11.0", "12.8", True),
        (7.0, "2.11.0", "13.0", True),
        (7.0, "2.11.0", "12.6", False),
        (7.5, "2.13.0", "13.0", False),
        (8.9, "2.6.0", "12.4", False),
        (12.0, "2.6.0", "12.4", True),
        (12.1, "2.9.0", "12.8", False),
        (13.0, "2.9.0", "12.8", True),
        (9.0, "2.0.0", "11.8", False),
        (None, "2.9.0", "12.8", False),
    ],
)
def test_a_build_without_kernels_for_the_card(
    capability: float | None, torch: str, cuda: str, lacks: bool
) -> None:
    device = Device(index=0, name="card", vendor="NVIDIA", compute_capability=capability)
    report = MachineReport(devices=(device,))
    finding = _find(report, "build_without_card", torch=TorchBuild(torch, cuda, False))
    assert (finding is not None) is lacks


def test_a_card_on_pci_without_a_driver(machine: Machine) -> None:
    machine.pci("0x10de")
    machine.file("/proc/modules", "nouveau 2400256 1 - Live 0x0\n")
    report = probe(measure=False, surroundings=machine.surroundings)
    finding = next(item for item in report.findings if item.code == "no_driver")
    assert "nouveau" in finding.text_en
    assert finding.command is not None


def test_a_card_of_another_maker_is_no_missing_driver(machine: Machine) -> None:
    machine.pci("0x1af4")
    assert probe(measure=False, surroundings=machine.surroundings).findings == ()


def test_a_container_without_the_device(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.file("/.dockerenv", "")
    machine.pci("0x10de")
    report = probe(measure=False, surroundings=machine.surroundings)
    assert [item.code for item in report.findings] == ["container_without_device"]
    (machine.root / "sys/bus/pci/devices/0000:00:07.0/vendor").unlink()
    monkeypatch.setenv("NVIDIA_VISIBLE_DEVICES", "all")
    report = probe(measure=False, surroundings=machine.surroundings)
    assert "--gpus all" in (report.findings[0].command or "")


def _busy(*, used_gib: int, processes: tuple[GpuProcess, ...]) -> MachineReport:
    (device,) = _report("t4.csv").devices
    busy = dataclasses.replace(
        device, used_bytes=used_gib * GIB, free_bytes=(15 - used_gib) * GIB, processes=processes
    )
    return MachineReport(devices=(busy,))


def test_memory_of_a_dead_process() -> None:
    dead = GpuProcess(pid=2**22 + 7, used_bytes=9 * GIB, is_alive=False)
    finding = _find(_busy(used_gib=9, processes=(dead,)), "memory_of_dead_process")
    assert finding is not None
    assert "fuser" in (finding.command or "")
    assert _find(_busy(used_gib=9, processes=()), "memory_of_dead_process") is not None


def test_memory_of_a_living_process_is_a_hint_with_its_name() -> None:
    alive = GpuProcess(pid=4711, name="python", used_bytes=9 * GIB, is_alive=True)
    report = _busy(used_gib=9, processes=(alive,))
    assert _find(report, "memory_of_dead_process") is None
    finding = _find(report, "memory_in_use")
    assert finding is not None
    assert "python (4711)" in finding.text_en


def test_in_a_container_other_processes_cannot_be_seen() -> None:
    report = dataclasses.replace(_busy(used_gib=9, processes=()), host=Host(is_container=True))
    assert _find(report, "memory_of_dead_process") is None


def test_an_idle_card_has_no_finding() -> None:
    assert findings_of(_report("t4.csv"), NOWHERE) == ()


def test_hidden_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    finding = _find(_report("a100x8.csv"), "hidden_devices")
    assert finding is not None
    assert "2 of 8" in finding.text_en
    assert "2 张" in finding.text_zh


def test_small_shared_memory_in_a_container() -> None:
    host = Host(is_container=True, shm_bytes=64 * MIB)
    report = dataclasses.replace(_report("t4.csv"), host=host)
    assert _find(report, "small_shm") is not None


def test_a_pasted_machine_has_no_findings_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    report = parse_pasted(output("a10_table.txt"))
    assert report is not None
    assert report.findings == ()


def test_every_template_has_both_languages_and_a_severity() -> None:
    text = (ROOT / "tools/probe/data/findings.json").read_text(encoding="utf-8")
    templates = json.loads(text)
    assert len(templates) >= 15
    for code, template in templates.items():
        assert template["severity"] in ("problem", "warning", "hint"), code
        assert template["en"].isascii(), code
        assert not template["zh"].isascii(), code
        for part in ("{index}", "{used}", "{card}"):
            assert (part in template["en"]) == (part in template["zh"]), code


@pytest.mark.parametrize(
    ("version", "cuda", "is_cpu"),
    [
        ("2.6.0+cu124", "12.4", False),
        ("2.13.0+cu130", "13.0", False),
        ("2.8.0+cpu", None, True),
        ("2.8.0", "12.8", False),
        ("1.13.1", None, False),
    ],
)
def test_the_installed_torch_is_read_from_its_metadata(
    version: str, cuda: str | None, is_cpu: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / f"torch-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Name: torch\nVersion: {version}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert installed_torch() == TorchBuild(version, cuda, is_cpu)


def test_a_lost_gpu_and_wsl_without_a_card(machine: Machine) -> None:
    machine.program(
        "nvidia-smi", "echo 'Unable to determine the device handle for GPU0: GPU is lost'; exit 15"
    )
    report = probe(measure=False, surroundings=machine.surroundings)
    assert "gpu_lost" in [item.code for item in report.findings]
    machine.file("/proc/version", "Linux 5.15 microsoft-standard-WSL2")
    machine.file("/dev/dxg", "")
    report = probe(measure=False, surroundings=machine.surroundings)
    assert "wsl_linux_driver" in [item.code for item in report.findings]
