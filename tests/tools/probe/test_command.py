"""`python -m tools probe`, on machines made of files and stub programs."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.tools.probe.machines import Machine, output
from tools.__main__ import main
from tools.probe import MachineReport, fits_here, probe
from tools.probe.render import fit_lines, report_lines


def _text(report: MachineReport) -> str:
    return "\n".join((*report_lines(report), *fit_lines(fits_here(report))))


def test_a_whole_machine_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, monkeypatch)
    machine.prints("nvidia-smi", query_gpu="a100x8.csv", topo="a100x8_topo.txt")
    report = probe(measure=False, surroundings=machine.surroundings)
    text = _text(report)
    assert "driver 550.90.07 (read by nvidia-smi)" in text
    assert "compute capability 8.0: bf16 yes, FP8 no, FlashAttention-2 yes" in text
    assert "link 0-1: NV12" in text
    assert "8 x NVIDIA A100 SXM4 80GB" in text
    assert "ECC on, power cap 400 W" in text
    assert "Xeon" in text


def test_a_machine_where_nothing_fits_names_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path, monkeypatch)
    machine.file("/proc/meminfo", "MemTotal: 2100000 kB\nMemAvailable: 300000 kB\n")
    text = _text(probe(measure=False, surroundings=machine.surroundings))
    assert "no GPU or NPU found" in text
    assert "nothing fits on CPU; nearest: 0.5B" in text


def test_json_of_a_pasted_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(output("mig_list.txt")))
    assert main(["probe", "--pasted", "-", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [device["slice_name"] for device in record["devices"]] == [None, "3g.40gb", "1g.10gb"]
    assert record["fits"]
    assert record["is_pasted"] is True


def test_text_that_is_no_machine_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "note.txt"
    file.write_text("hello", encoding="utf-8")
    assert main(["probe", "--pasted", str(file)]) == 2
    assert "holds no output" in capsys.readouterr().err
    assert main(["probe", "--pasted", str(tmp_path / "absent.txt")]) == 2


def test_the_doctor_exits_with_1_on_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Machine(tmp_path, monkeypatch)
    machine.program("nvidia-smi", "echo 'Driver/library version mismatch'; exit 18")
    assert main(["probe", "--doctor"]) == 1
    assert "sudo reboot" in capsys.readouterr().out
    assert main(["probe", "--doctor", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)
    assert findings[0]["code"] == "library_mismatch"


def test_fits_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "--no-fit"]) == 0
    assert "chat 4-bit" not in capsys.readouterr().out


def test_calibration_without_torch_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import importlib.util

    if importlib.util.find_spec("torch") is not None:
        pytest.skip("torch is installed")
    assert main(["probe", "--calibrate"]) == 2
    assert "simulate" in capsys.readouterr().err
