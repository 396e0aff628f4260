"""What fits: against free memory, never against the label."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.tools.probe.machines import output
from tools.cli.probe import add_arguments, run
from tools.gpus import get_gpu
from tools.probe import Device, Host, MachineReport, fits_here, parse_pasted
from tools.probe.calibrate import Measured, calibrate, calibration_lines
from tools.probe.calibration import load_calibration
from tools.probe.recognize import described
from tools.units import GIB, MIB


def _card(name: str, *, index: int = 0, used_mib: int = 0) -> Device:
    spec = get_gpu(name)
    total = (spec.memory_smi_mib or 0) * MIB
    used = used_mib * MIB
    return described(
        Device(index=index, name=name, total_bytes=total, used_bytes=used, free_bytes=total - used)
    )


def test_an_idle_a10_takes_a_7b_adapter_and_not_the_full_model() -> None:
    table = fits_here(MachineReport(devices=(_card("NVIDIA A10"),)))
    by_workload = {row.workload: row for row in table.rows if row.size == "7B"}
    assert by_workload["qlora"].verdict == "fits"
    assert by_workload["chat_4bit"].verdict == "fits"
    assert by_workload["full"].verdict == "does_not_fit"
    assert by_workload["full"].free_bytes == 22476 * MIB


def test_what_is_in_use_counts() -> None:
    idle = fits_here(MachineReport(devices=(_card("NVIDIA A10"),)))
    busy = fits_here(MachineReport(devices=(_card("NVIDIA A10", used_mib=16_000),)))
    large, small = idle.largest("chat_4bit"), busy.largest("chat_4bit")
    assert large is not None
    assert small is not None
    assert float(small.size.rstrip("B")) < float(large.size.rstrip("B"))


def test_when_nothing_fits_the_nearest_is_named() -> None:
    report = MachineReport(devices=(_card("NVIDIA A10", used_mib=22_900),))
    table = fits_here(report)
    assert {row.verdict for row in table.rows} == {"does_not_fit"}
    (nearest,) = table.nearest
    assert (nearest.size, nearest.workload) == ("0.5B", "chat_4bit")
    assert nearest.need_bytes > nearest.free_bytes


def test_larger_models_never_need_less() -> None:
    table = fits_here(MachineReport(devices=(_card("NVIDIA A10"),)))
    for workload in ("chat_4bit", "qlora", "lora", "full"):
        dense = [row for row in table.rows if row.workload == workload and "-A" not in row.size]
        needs = [row.need_bytes for row in dense]
        assert needs == sorted(needs)


def test_equal_cards_share_one_row_and_one_set() -> None:
    cards = tuple(_card("Tesla T4", index=index) for index in range(4))
    table = fits_here(MachineReport(devices=cards))
    assert table.places == ("0: Tesla T4", "4 x Tesla T4")
    assert any("no bf16" in note for note in table.notes)


def test_a_device_without_memory_is_said_and_left_out() -> None:
    device = Device(index=0, name="Mystery")
    table = fits_here(MachineReport(devices=(device,)))
    assert table.rows == ()
    assert "Mystery" in table.notes[0]


def test_a_cpu_gets_sizes_and_a_speed_range() -> None:
    host = Host(ram_available_bytes=32 * GIB, memory_copy_bytes_per_s=20e9, usable_cores=8)
    table = fits_here(MachineReport(host=host))
    row = next(row for row in table.rows if row.size == "7B")
    assert row.verdict == "fits"
    assert row.tokens_per_s is not None
    low, high = row.tokens_per_s
    # 4-bit weights of 7B are about 4.5 GB: half of 20 GB/s gives about 2 tokens a second
    assert low == pytest.approx(0.5 * 20e9 / row.need_bytes)
    assert 1 < low < high < 30


def test_a_host_that_says_nothing_gives_an_empty_table() -> None:
    table = fits_here(MachineReport())
    assert table.rows == ()
    assert table.notes


class FakeBench:
    """A GPU that measures what the test says."""

    device_name = "NVIDIA A10"
    driver_version: str | None = "550.54.15"
    torch_version = "2.13.0"

    def context_bytes(self) -> int:
        return 400 * MIB

    def train(self) -> Measured:
        return Measured(3 * GIB, 4 * GIB, 5 * GIB)

    def prefill(self) -> Measured:
        return Measured(1 * GIB, 1 * GIB, None)


def test_a_calibration_compares_stores_and_is_named_by_later_fits() -> None:
    calibration = calibrate(FakeBench())
    assert calibration.context_bytes == 400 * MIB
    assert calibration.reserve_ratio == pytest.approx(4 / 3)
    assert load_calibration("NVIDIA A10") == calibration
    assert load_calibration("Tesla T4") is None
    train = calibration.steps[0]
    # 0.26 B parameters: weights, gradients and two states of two bytes each are 2 GiB already
    assert 1.5 * GIB < train.predicted_allocated_bytes < 8 * GIB
    lines = list(calibration_lines(calibration))
    assert any("allocated" in line and "3 GiB" in line for line in lines)
    table = fits_here(MachineReport(devices=(_card("NVIDIA A10"),)))
    assert any("measured here" in note for note in table.notes)


def test_a_measured_context_moves_the_need_by_its_difference() -> None:
    report = MachineReport(devices=(_card("NVIDIA A10"),))
    before = fits_here(report).rows[0]

    class Larger(FakeBench):
        def context_bytes(self) -> int:
            return 2 * GIB

    calibrate(Larger())
    after = fits_here(report).rows[0]
    assert after.need_bytes > before.need_bytes
    pasted = dataclasses.replace(report, is_pasted=True)
    assert fits_here(pasted).rows[0].need_bytes == before.need_bytes


def test_a_damaged_calibration_counts_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XUANKA_STATE_DIR", str(tmp_path))
    for text in ("", "{}", "[]", '{"steps": [{}]}'):
        (tmp_path / "calibration.json").write_text(text, encoding="utf-8")
        assert load_calibration() is None


def _run(*flags: str) -> int:
    import argparse

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args(flags))


def test_the_command_reads_a_pasted_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "smi.txt"
    file.write_text(output("a10_table.txt"), encoding="utf-8")
    assert _run("--pasted", str(file)) == 0
    text = capsys.readouterr().out
    assert "held by /opt/conda/bin/python 4711" in text
    assert "0: NVIDIA A10, 1.65 GiB free" in text
    assert _run("--pasted", str(file), "--doctor") == 0


def test_pasted_machines_of_every_recording_get_a_table() -> None:
    for name in ("a10_table.txt", "ascend_910b.txt", "mi300x_rocm.json", "mac.txt", "torch.txt"):
        report = parse_pasted(output(name))
        assert report is not None
        table = fits_here(report)
        assert table.rows, name
