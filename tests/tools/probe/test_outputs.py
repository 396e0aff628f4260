"""What driver tools print, read into devices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.probe.machines import OUTPUTS, output
from tools.probe import parse_pasted
from tools.probe.nvidia_text import (
    QUERY_FIELDS,
    parse_csv,
    parse_list,
    parse_query,
    parse_table,
    parse_topology,
)
from tools.probe.other_text import (
    parse_amd_smi,
    parse_apple,
    parse_hl_smi,
    parse_npu_smi,
    parse_rocm_smi,
    parse_torch,
    parse_xpu_smi,
)
from tools.units import GIB, MIB


def test_the_table_gives_card_memory_driver_and_who_holds_it() -> None:
    found = parse_table(output("a10_table.txt"))
    (device,) = found.devices
    assert (found.driver_version, found.cuda_version) == ("550.54.15", "12.4")
    assert device.spec is not None
    assert device.spec.name == "NVIDIA A10"
    assert device.total_bytes == 23028 * MIB
    assert device.used_bytes == 21340 * MIB
    assert device.free_for_a_process_bytes == 1688 * MIB
    assert (device.power_draw_w, device.power_limit_w) == (132, 150)
    assert (device.utilization_pct, device.temperature_c) == (97, 54)
    assert device.ecc_enabled is True
    assert device.display_active is False
    (process,) = device.processes
    assert (process.pid, process.used_bytes) == (4711, 21332 * MIB)
    assert process.name == "/opt/conda/bin/python"


def test_an_old_table_cuts_the_name_and_the_total_decides() -> None:
    (device,) = parse_table(output("v100_old_table.txt")).devices
    assert device.spec is not None
    assert device.spec.name == "Tesla V100 SXM2 16GB"
    assert device.bf16_supported is False


def test_a_windows_table_is_read_too() -> None:
    (device,) = parse_table(output("laptop.txt")).devices
    assert device.total_bytes == 8188 * MIB
    assert device.spec is not None
    assert device.spec.memory_label_gb == 8
    assert device.display_active is True


def test_mig_instances_are_devices_of_their_own() -> None:
    devices = parse_table(output("mig_table.txt")).devices
    parent, *instances = devices
    assert parent.mig_enabled is True
    assert [device.total_bytes for device in instances] == [40192 * MIB, 9728 * MIB]
    assert {device.parent_index for device in instances} == {0}
    assert all(device.bf16_supported for device in instances)


def test_a_list_names_the_mig_profiles() -> None:
    devices = parse_list(output("mig_list.txt")).devices
    assert [device.slice_name for device in devices] == [None, "3g.40gb", "1g.10gb"]
    assert devices[2].total_bytes == 10 * GIB
    assert devices[2].uuid == "MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d"


def test_a_query_has_two_cards_and_the_frame_buffer_not_the_bar() -> None:
    found = parse_query(output("l40s_query.txt"))
    first, second = found.devices
    assert found.cuda_version == "12.4"
    assert first.spec is not None
    assert first.spec.name == "NVIDIA L40S"
    assert (first.total_bytes, first.used_bytes) == (46068 * MIB, 30010 * MIB)
    assert first.free_bytes == 15460 * MIB
    assert (first.power_limit_w, first.utilization_pct, first.temperature_c) == (350, 55, 61)
    assert second.free_bytes == 45469 * MIB


def test_fields_that_a_driver_cannot_give_are_unknown() -> None:
    (device,) = parse_csv(output("na_fields.csv"), fields=QUERY_FIELDS).devices
    assert device.total_bytes == 81559 * MIB
    assert device.free_bytes is None
    assert device.used_bytes is None
    assert device.ecc_enabled is None
    assert device.power_limit_w is None
    assert device.fp8_supported is True
    assert device.free_for_a_process_bytes == 81080 * MIB


def test_a_pasted_csv_brings_its_own_header() -> None:
    text = "index, name, memory.total [MiB], memory.used [MiB]\n0, Tesla T4, 15360 MiB, 3 MiB\n"
    report = parse_pasted(text)
    assert report is not None
    assert report.devices[0].total_bytes == 15360 * MIB


def test_topology_gives_each_pair_once() -> None:
    links = parse_topology(output("a100x8_topo.txt"))
    assert len(links) == 8 * 7 // 2
    assert {link for _, _, link in links} == {"NV12"}
    assert links[0] == (0, 1, "NV12")


def test_npu_smi_reads_hbm_and_its_processes() -> None:
    first, second = parse_npu_smi(output("ascend_910b.txt"))
    assert first.spec is not None
    assert first.spec.name == "Huawei Ascend 910B3"
    assert (first.used_bytes, first.total_bytes) == (3381 * MIB, 65536 * MIB)
    assert second.processes[0].used_bytes == 41704 * MIB
    assert first.processes == ()


def test_npu_smi_reads_boards_with_two_chips() -> None:
    chips = parse_npu_smi(output("ascend_310p.txt"))
    assert [device.index for device in chips] == [0, 1]
    assert {device.total_bytes for device in chips} == {21527 * MIB}
    assert chips[0].spec is not None
    assert chips[0].spec.name == "Huawei Ascend 310P"


def test_rocm_smi_reads_json_and_text() -> None:
    first, second = parse_rocm_smi(output("mi300x_rocm.json"))
    assert first.spec is not None
    assert first.spec.name == "AMD Instinct MI300X"
    assert second.used_bytes == 103070826496
    (card,) = parse_rocm_smi(output("rx7900_rocm.txt"))
    assert card.spec is not None
    assert card.spec.name == "AMD Radeon RX 7900 XTX"


def test_amd_smi_reads_memory_and_name_from_two_calls() -> None:
    (device,) = parse_amd_smi(
        output("mi300x_amd_metric.json"), static=output("mi300x_amd_static.json")
    )
    assert device.total_bytes == 196592 * MIB
    assert device.spec is not None
    assert device.spec.name == "AMD Instinct MI300X"


def test_gaudi_and_intel() -> None:
    cards = parse_hl_smi(output("gaudi2.csv"))
    assert [card.spec.name for card in cards if card.spec] == ["Intel Gaudi2"] * 2
    assert cards[0].free_bytes == (98304 - 768) * MIB
    (arc,) = parse_xpu_smi(output("arc_page.json"))
    assert arc.spec is not None
    assert arc.spec.name == "Intel Arc A770 16GB"


def test_torch_properties_and_free_memory() -> None:
    (device,) = parse_torch(output("torch.txt"))
    assert device.spec is not None
    assert device.spec.name == "NVIDIA A10"
    assert device.free_bytes == 1774190592
    (held,) = parse_torch(output("torch_summary.txt"))
    assert held.used_bytes == 12288 * MIB
    assert held.bf16_supported is False


def test_a_mac_gives_its_gpu_a_share() -> None:
    (device,) = parse_apple(output("mac.txt"))
    assert device.is_unified
    assert device.total_bytes == 48 * GIB


@pytest.mark.parametrize(
    ("name", "source", "devices"),
    [
        ("a10_table.txt", "nvidia-smi", 1),
        ("mig_table.txt", "nvidia-smi", 3),
        ("mig_list.txt", "nvidia-smi", 3),
        ("l40s_query.txt", "nvidia-smi", 2),
        ("laptop.txt", "nvidia-smi", 1),
        ("v100_old_table.txt", "nvidia-smi", 1),
        ("ascend_910b.txt", "npu-smi", 2),
        ("ascend_310p.txt", "npu-smi", 2),
        ("mi300x_rocm.json", "rocm-smi", 2),
        ("rx7900_rocm.txt", "rocm-smi", 1),
        ("mi300x_amd_metric.json", "amd-smi", 1),
        ("gaudi2.csv", "hl-smi", 2),
        ("torch.txt", "torch", 1),
        ("torch_summary.txt", "torch", 1),
        ("mac.txt", "apple", 1),
    ],
)
def test_pasted_text_is_recognised(name: str, source: str, devices: int) -> None:
    report = parse_pasted(f"帮我看看这台机器\n{output(name)}\n能跑什么?")
    assert report is not None
    assert report.is_pasted
    assert report.source == source
    assert len(report.devices) == devices


def test_a_few_columns_of_a_table_are_enough() -> None:
    line = "| 0  NVIDIA A10  On | 00000000:00:07.0 Off | 21340MiB / 23028MiB | 0% Default | ..."
    report = parse_pasted(line)
    assert report is not None
    assert report.devices[0].used_bytes == 21340 * MIB


@pytest.mark.parametrize(
    "text",
    ["", "7B 能跑吗", "index, name", "GPU 0: broken", "{", "[{]", "npu-smi", "HL-225", "| 0 |"],
)
def test_other_text_is_not_a_machine(text: str) -> None:
    assert parse_pasted(text) is None


@given(st.data())
def test_damaged_outputs_never_break_a_reader(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(path.name for path in OUTPUTS.glob("*.*"))))
    text = output(name)
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 200))
    put = data.draw(st.text(alphabet='|0123456789MiBGPU{}[]":,N/A \n', max_size=20))
    parse_pasted(text[:at] + put + text[at + cut :])
