"""Machines that do not exist: a root folder, stub programs on PATH, outputs of their tools."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tools.probe.surroundings import Surroundings

OUTPUTS = Path(__file__).with_name("outputs")
MEMINFO = "MemTotal:       {total} kB\nMemAvailable:   {free} kB\nSwapTotal:      {swap} kB\n"
CPUINFO = (
    "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum 8369B CPU @ 2.70GHz\n"
    "physical id\t: 0\ncore id\t\t: 0\n"
    "flags\t\t: fpu sse4_2 avx avx2 fma f16c avx512f avx512_vnni\n\n"
    "processor\t: 1\nmodel name\t: Intel(R) Xeon(R) Platinum 8369B CPU @ 2.70GHz\n"
    "physical id\t: 0\ncore id\t\t: 1\n\n"
)


def output(name: str) -> str:
    """A recorded output."""
    return (OUTPUTS / name).read_text(encoding="utf-8")


class Machine:
    """A machine made of files and stub programs."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = folder / "root"
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self.platform = "linux"
        monkeypatch.setenv("PATH", f"{self.bin}:/usr/bin:/bin")
        for name in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
                     "KUBERNETES_SERVICE_HOST"):  # fmt: skip
            monkeypatch.delenv(name, raising=False)
        self.file("/proc/meminfo", MEMINFO.format(total=16_000_000, free=12_000_000, swap=0))
        self.file("/proc/cpuinfo", CPUINFO)
        self.file("/proc/version", "Linux version 6.1.0 (gcc 12)\n")

    def file(self, path: str, text: str) -> None:
        """A file of the system."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def program(self, name: str, body: str) -> None:
        """A program on PATH: the body of a shell script."""
        place = self.bin / name
        place.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        place.chmod(place.stat().st_mode | stat.S_IEXEC)

    def prints(self, name: str, **by_argument: str) -> None:
        """A program that prints a recorded output for each pattern of its arguments."""
        cases = []
        for pattern, recorded in by_argument.items():
            cases.append(f'  *{pattern.replace("_", "-")}*) cat "{OUTPUTS / recorded}";;')
        self.program(name, 'case "x $*" in\n' + "\n".join(cases) + "\n  *) exit 2;;\nesac")

    def pci(self, vendor: str, kind: str = "0x030200") -> None:
        """A device on PCI."""
        self.file("/sys/bus/pci/devices/0000:00:07.0/vendor", vendor + "\n")
        self.file("/sys/bus/pci/devices/0000:00:07.0/class", kind + "\n")

    @property
    def surroundings(self) -> Surroundings:
        """What the probe is handed."""
        return Surroundings(root=self.root, platform=self.platform)
