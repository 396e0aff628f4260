"""The probe on machines made of files and stub programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.helpers import ROOT
from tests.tools.probe.machines import MEMINFO, Machine
from tools.probe import MachineReport, fits_here, probe
from tools.units import GIB, KIB, MIB


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def _probe(machine: Machine) -> MachineReport:
    return probe(measure=False, surroundings=machine.surroundings)


def _names(report: MachineReport) -> list[str | None]:
    return [device.spec.name if device.spec else None for device in report.devices]


def _codes(report: MachineReport) -> list[str]:
    return [finding.code for finding in report.findings]


def test_t4(machine: Machine) -> None:
    machine.prints("nvidia-smi", query_gpu="t4.csv")
    report = _probe(machine)
    assert report.source == "nvidia-smi"
    assert _names(report) == ["Tesla T4"]
    device = report.devices[0]
    assert device.compute_capability == 7.5
    assert (device.bf16_supported, device.flash_attention2_supported) == (False, False)
    assert device.free_for_a_process_bytes == 14909 * MIB
    assert report.driver_version == "535.183.01"


def test_eight_a100_with_nvlink(machine: Machine) -> None:
    machine.prints("nvidia-smi", query_gpu="a100x8.csv", topo="a100x8_topo.txt")
    report = _probe(machine)
    assert _names(report) == ["NVIDIA A100 SXM4 80GB"] * 8
    assert len(report.links) == 28
    assert report.links[0][2] == "NV12"
    table = fits_here(report)
    together = table.largest("lora", place="8 x NVIDIA A100 SXM4 80GB")
    alone = table.largest("lora", place="0: NVIDIA A100 SXM4 80GB")
    assert together is not None
    assert alone is not None
    assert together.cards == 8
    assert float(together.size.split("B")[0]) > float(alone.size.split("B")[0])


def test_mig_instances(machine: Machine) -> None:
    machine.prints("nvidia-smi", query_gpu="mig.csv", _L="mig_list.txt")
    report = _probe(machine)
    assert [device.slice_name for device in report.devices] == [None, "3g.40gb", "1g.10gb"]
    assert len(report.cards) == 2
    table = fits_here(report)
    assert all("g." in place for place in table.places)


def test_vgpu(machine: Machine) -> None:
    machine.prints("nvidia-smi", query_gpu="vgpu.csv")
    (device,) = _probe(machine).devices
    assert device.slice_name == "A10-12Q"
    assert device.spec is not None
    assert device.spec.name == "NVIDIA A10"
    assert device.free_for_a_process_bytes == 11264 * MIB


def test_mixed_cards_are_bound_by_the_smallest(machine: Machine) -> None:
    machine.prints("nvidia-smi", query_gpu="mixed.csv", topo="a10_table.txt")
    report = _probe(machine)
    assert _names(report) == ["GeForce RTX 3090", "GeForce RTX 4090"]
    assert {"mixed_cards", "power_capped", "display"} <= set(_codes(report))
    table = fits_here(report)
    assert any("mixed cards" in note for note in table.notes)
    free = report.devices[0].free_for_a_process_bytes
    together = next(row for row in table.rows if row.cards == 2)
    assert together.free_bytes == free


def test_jetson_shares_its_memory(machine: Machine) -> None:
    machine.file("/proc/device-tree/model", "NVIDIA Jetson AGX Orin Developer Kit\0")
    machine.file("/proc/meminfo", MEMINFO.format(total=64_349_000, free=58_000_000, swap=0))
    report = _probe(machine)
    assert report.source == "jetson"
    (device,) = report.devices
    assert device.is_unified
    assert device.spec is not None
    assert device.spec.name == "Jetson AGX Orin 64GB"
    assert device.free_for_a_process_bytes == 58_000_000 * KIB


def test_v100_with_an_old_driver(machine: Machine) -> None:
    recorded = Path(__file__).with_name("outputs") / "v100_old.csv"
    machine.program(
        "nvidia-smi",
        textwrap.dedent(f"""\
        case "$*" in
          *compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2;;
          *query-gpu*) cat "{recorded}";;
          *) exit 1;;
        esac"""),
    )
    report = _probe(machine)
    assert _names(report) == ["Tesla V100 SXM2 16GB"]
    assert report.driver_version == "396.44"
    assert report.devices[0].compute_capability == 7.0


def test_fields_that_are_not_available(machine: Machine) -> None:
    machine.prints("nvidia-smi", query_gpu="na_fields.csv")
    report = _probe(machine)
    assert _names(report) == ["NVIDIA H100 SXM5 80GB"]
    assert report.devices[0].free_for_a_process_bytes == 81080 * MIB


def test_ascend(machine: Machine) -> None:
    machine.prints("npu-smi", info="ascend_910b.txt")
    report = _probe(machine)
    assert report.source == "npu-smi"
    assert _names(report) == ["Huawei Ascend 910B3"] * 2
    assert any("CUDA" in note for note in fits_here(report).notes)


def test_mi300x_by_amd_smi_and_by_rocm_smi(machine: Machine) -> None:
    machine.prints("rocm-smi", showmeminfo="mi300x_rocm.json")
    assert _names(_probe(machine)) == ["AMD Instinct MI300X"] * 2
    machine.prints("amd-smi", mem_usage="mi300x_amd_metric.json", static="mi300x_amd_static.json")
    report = _probe(machine)
    assert report.source == "amd-smi"
    assert _names(report) == ["AMD Instinct MI300X"]


def test_gaudi_and_arc(machine: Machine) -> None:
    machine.prints("hl-smi", memory="gaudi2.csv")
    assert _names(_probe(machine)) == ["Intel Gaudi2"] * 2
    (machine.bin / "hl-smi").unlink()
    machine.prints("xpu-smi", _d="arc_page.json", discovery="arc_list.json")
    report = _probe(machine)
    assert _names(report) == ["Intel Arc A770 16GB"]
    assert report.devices[0].total_bytes == 16225243136


def test_apple_silicon(machine: Machine) -> None:
    machine.platform = "darwin"
    machine.program(
        "sysctl",
        'case "$*" in *brand*) echo "Apple M2 Pro";; *memsize*) echo 34359738368;; esac',
    )
    report = _probe(machine)
    assert report.source == "apple"
    (device,) = report.devices
    assert device.is_unified
    assert device.total_bytes == 32 * GIB * 2 // 3


def test_cpu_only_says_what_runs_in_ram(machine: Machine) -> None:
    report = _probe(machine)
    assert report.devices == ()
    assert report.source is None
    assert report.host.cpu_name is not None
    assert "8369B" in report.host.cpu_name
    assert report.host.physical_cores == 2
    assert "avx512f" in report.host.instruction_sets
    assert report.host.usable_ram_bytes == 12_000_000 * KIB
    table = fits_here(report)
    assert table.places == ("CPU",)
    best = table.largest("chat_4bit")
    assert best is not None
    assert best.size == "14B"


def test_a_container_has_its_own_limit(machine: Machine) -> None:
    machine.file("/.dockerenv", "")
    machine.file("/sys/fs/cgroup/memory.max", f"{4 * GIB}\n")
    machine.file("/sys/fs/cgroup/memory.current", f"{3 * GIB}\n")
    machine.file("/sys/fs/cgroup/memory.stat", f"anon 1\ninactive_file {2 * GIB}\n")
    machine.file("/sys/fs/cgroup/cpu.max", "150000 100000\n")
    report = _probe(machine)
    assert report.host.is_container
    assert report.host.ram_limit_bytes == 4 * GIB
    assert report.host.usable_ram_bytes == 3 * GIB
    assert report.host.usable_cores is not None
    assert report.host.usable_cores <= 1.5
    assert "low_container_ram" in _codes(report)
    best = fits_here(report).largest("chat_4bit")
    assert best is not None
    assert best.size == "0.5B"


def test_a_nested_cgroup_and_version_one_limit_too(machine: Machine) -> None:
    machine.file("/proc/self/cgroup", "0::/user.slice/job\n")
    machine.file("/sys/fs/cgroup/user.slice/job/memory.max", f"{2 * GIB}\n")
    assert _probe(machine).host.ram_limit_bytes == 2 * GIB
    machine.file("/sys/fs/cgroup/user.slice/job/memory.max", "max\n")
    assert _probe(machine).host.ram_limit_bytes is None
    machine.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", f"{2**63 - 4096}\n")
    assert _probe(machine).host.ram_limit_bytes is None
    machine.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", f"{GIB}\n")
    assert _probe(machine).host.ram_limit_bytes == GIB


def test_wsl(machine: Machine) -> None:
    machine.file("/proc/version", "Linux version 5.15.153.1-microsoft-standard-WSL2\n")
    machine.prints("nvidia-smi", query_gpu="wsl_4090.csv")
    report = _probe(machine)
    assert report.host.is_wsl
    assert _names(report) == ["GeForce RTX 4090"]
    assert "wsl_memory" in _codes(report)


def test_an_unknown_card_is_described_by_what_it_reports(machine: Machine) -> None:
    machine.prints("nvidia-smi", query_gpu="unknown.csv")
    (device,) = _probe(machine).devices
    assert device.spec is None
    assert device.bf16_supported is True
    assert device.fp8_supported is True
    assert device.flash_attention2_supported is None
    assert device.free_for_a_process_bytes == (40000 - 512) * MIB
    assert any("no table" in note for note in fits_here(_probe(machine)).notes)


def test_a_hanging_tool_is_left_after_two_seconds(machine: Machine) -> None:
    machine.program("nvidia-smi", "sleep 60")
    machine.prints("rocm-smi", showmeminfo="mi300x_rocm.json")
    report = _probe(machine)
    assert report.source == "rocm-smi"
    assert "tool_hangs" in _codes(report)
    attempt = next(item for item in report.attempts if item.source == "nvidia-smi")
    assert attempt.outcome == "failed"
    assert "2 s" in attempt.detail


@pytest.mark.parametrize(
    "body",
    ["kill -SEGV $$", "exit 9", "echo '\\377\\376 not text'", "echo; echo ',,,'", "printf x"],
)
def test_a_crashing_or_babbling_tool_is_passed_over(machine: Machine, body: str) -> None:
    for name in ("nvidia-smi", "amd-smi", "rocm-smi", "npu-smi", "hl-smi", "xpu-smi"):
        machine.program(name, body)
    report = _probe(machine)
    assert report.devices == ()
    assert {item.outcome for item in report.attempts} <= {"none", "absent", "failed"}


def test_a_version_mismatch_is_named(machine: Machine) -> None:
    machine.program(
        "nvidia-smi",
        "echo 'Failed to initialize NVML: Driver/library version mismatch' ; exit 18",
    )
    report = _probe(machine)
    assert "library_mismatch" in _codes(report)
    finding = next(item for item in report.findings if item.code == "library_mismatch")
    assert finding.command == "sudo reboot"


FAKE_NVML = r"""
#include <string.h>
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned int gpu, memory; } rates_t;
int nvmlInit_v2(void) { return INIT; }
int nvmlInitWithFlags(unsigned int f) { return INIT; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int r) { return r == 999 ? "GPU is lost" : "Not Supported"; }
int nvmlSystemGetDriverVersion(char *v, unsigned int n) { strncpy(v, "570.86.15", n); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 12080; return 0; }
int nvmlDeviceGetCount_v2(unsigned int *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **d) { *d = (void *)1; return 0; }
int nvmlDeviceGetName(void *d, char *s, unsigned int n) { strncpy(s, "NVIDIA A10", n); return 0; }
int nvmlDeviceGetUUID(void *d, char *s, unsigned int n) { strncpy(s, "GPU-1", n); return 0; }
int nvmlDeviceGetMemoryInfo(void *d, memory_t *m) {
  m->total = 23028ULL << 20; m->free = 22000ULL << 20; m->used = 1028ULL << 20; return 0; }
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) { *a = 8; *b = 6; return 0; }
int nvmlDeviceGetUtilizationRates(void *d, rates_t *r) { r->gpu = 7; r->memory = 1; return 0; }
int nvmlDeviceGetPersistenceMode(void *d, unsigned int *m) { *m = 1; return 0; }
int nvmlDeviceGetMigMode(void *d, unsigned int *a, unsigned int *b) { CRASH return 3; }
"""


def _fake_nvml(folder: Path, *, init: int = 0, crash: str = "") -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler for a fake NVML library")
    folder.mkdir()
    source = folder / "nvml.c"
    source.write_text(FAKE_NVML.replace("INIT", str(init)).replace("CRASH", crash), "utf-8")
    target = folder / "libnvidia-ml.so.1"
    command = [compiler, "-shared", "-fPIC", "-w", "-o", str(target), str(source)]
    subprocess.run(command, check=True, timeout=60)
    return folder


def test_nvml_comes_first(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(_fake_nvml(tmp_path / "lib")))
    machine.prints("nvidia-smi", query_gpu="t4.csv")
    report = _probe(machine)
    assert report.source == "nvml"
    assert (report.driver_version, report.cuda_version) == ("570.86.15", "12.8")
    (device,) = report.devices
    assert device.spec is not None
    assert device.spec.name == "NVIDIA A10"
    assert device.compute_capability == 8.6
    assert device.utilization_pct == 7
    assert device.ecc_enabled is None
    assert device.free_for_a_process_bytes == 22000 * MIB


@pytest.mark.parametrize(
    ("init", "crash", "word"),
    [(999, "", "NVML"), (0, "*(volatile int *)0 = 1;", "exit"), (0, "for (;;) ;", "2 s")],
    ids=["refuses", "crashes", "hangs"],
)
def test_when_nvml_fails_the_next_source_is_asked(
    machine: Machine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    init: int,
    crash: str,
    word: str,
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(_fake_nvml(tmp_path / "lib", init=init, crash=crash)))
    machine.prints("nvidia-smi", query_gpu="t4.csv")
    report = _probe(machine)
    assert report.source == "nvidia-smi"
    assert report.attempts[0].outcome == "failed"
    assert word in report.attempts[0].detail


def test_the_probe_of_this_very_machine_never_raises() -> None:
    report = probe()
    assert report.host.logical_cores
    assert report.elapsed_ms is not None
    assert isinstance(report.as_dict()["devices"], list)
    fits_here(report)


def test_the_command_imports_no_torch_and_prints_a_table(tmp_path: Path) -> None:
    program = (
        "import sys; from tools.__main__ import main; code = main(['probe']); "
        "heavy = {'torch', 'langchain', 'chromadb', 'gradio', 'numpy', 'pydantic'}; "
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=60,
        env={**os.environ, "XUANKA_STATE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip().endswith("[]")
    assert "RAM" in done.stdout


def test_a_report_is_plain_json(machine: Machine) -> None:
    machine.prints("nvidia-smi", query_gpu="t4.csv")
    record = json.loads(json.dumps(_probe(machine).as_dict()))
    assert record["devices"][0]["gpu"] == "Tesla T4"
    assert record["host"]["usable_ram_bytes"] == 12_000_000 * KIB


TORCH = """
class _Properties:
    name, major, minor = "NVIDIA A10", 8, 6
class cuda:
    device_count = staticmethod(lambda: 1)
    get_device_properties = staticmethod(lambda index: _Properties)
    mem_get_info = staticmethod(lambda index: (20 << 30, 23609475072))
class version:
    cuda = "12.8"
"""


def test_torch_is_asked_only_where_the_kernel_shows_a_card(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "packages"
    (packages / "torch").mkdir(parents=True)
    (packages / "torch" / "__init__.py").write_text(TORCH, encoding="utf-8")
    monkeypatch.syspath_prepend(str(packages))
    monkeypatch.setenv("PYTHONPATH", str(packages))
    assert _probe(machine).devices == ()
    machine.file("/dev/nvidia0", "")
    report = _probe(machine)
    assert report.source == "torch"
    assert _names(report) == ["NVIDIA A10"]
    assert report.devices[0].free_bytes == 20 << 30
    assert "torch" not in sys.modules


def test_arm_processors_have_their_own_names(machine: Machine) -> None:
    machine.file(
        "/proc/cpuinfo",
        "processor\t: 0\nFeatures\t: fp asimd asimddp sve bf16 i8mm\nCPU part\t: 0xd40\n",
    )
    host = _probe(machine).host
    assert host.instruction_sets == ("asimd", "asimddp", "bf16", "i8mm", "sve")
    assert host.logical_cores == 1


def test_without_proc_the_system_library_is_asked(machine: Machine) -> None:
    (machine.root / "proc/meminfo").unlink()
    host = _probe(machine).host
    assert host.ram_total_bytes is not None
    assert host.ram_available_bytes is not None
    assert host.ram_available_bytes <= host.ram_total_bytes


def test_a_living_and_a_dead_holder_are_told_apart(machine: Machine) -> None:
    table = (Path(__file__).with_name("outputs") / "a10_table.txt").read_text(encoding="utf-8")
    dead = 2**22 - 3
    for pid, word in ((os.getpid(), "memory_in_use"), (dead, "memory_of_dead_process")):
        text = table.replace("     4711 ", f"{pid:>9} ")
        (machine.bin / "table.txt").write_text(text, encoding="utf-8")
        machine.program(
            "nvidia-smi", f'case "$*" in "") cat "{machine.bin}/table.txt";; *) exit 2;; esac'
        )
        report = _probe(machine)
        assert report.devices[0].processes[0].pid == pid
        assert word in _codes(report)


def test_a_measured_host_has_a_disk_and_a_memory_speed() -> None:
    host = probe(measure=True).host
    assert host.memory_copy_bytes_per_s is not None
    assert host.memory_copy_bytes_per_s > 1e8
    assert host.disk_free_bytes is not None
