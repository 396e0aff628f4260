"""`python -m tools probe`: what this machine has, and what fits on it now.

python -m tools probe                    devices, host, what fits
python -m tools probe --doctor           only what is wrong, and the command that mends it
python -m tools probe --pasted FILE      the same for a pasted nvidia-smi, npu-smi, rocm-smi
python -m tools probe --calibrate        short real steps beside their estimates (torch, a GPU)
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from tools.errors import UserInputError
from tools.probe.report import MachineReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's flags."""
    parser.add_argument("--doctor", action="store_true", help="findings only; exit 1 on a problem")
    parser.add_argument("--pasted", metavar="FILE", help="read pasted output instead (- = stdin)")
    parser.add_argument("--calibrate", action="store_true", help="run short steps on the GPU")
    parser.add_argument("--no-fit", action="store_true", help="leave out what fits")
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Prints the report; exit 0, or 1 when the doctor finds a problem."""
    if args.calibrate:
        return _calibrate(as_json=args.json)
    report = _pasted(args.pasted) if args.pasted else _probe()
    if args.doctor:
        return _doctor(report, as_json=args.json)
    from tools.probe.fits import FitTable, fits_here
    from tools.probe.render import fit_lines, report_lines

    table = FitTable(rows=(), notes=()) if args.no_fit else fits_here(report)
    if args.json:
        record = report.as_dict()
        record["fits"] = [dataclasses.asdict(row) for row in table.rows]
        record["nearest"] = [dataclasses.asdict(row) for row in table.nearest]
        record["notes"] = list(table.notes)
        print(json.dumps(record, ensure_ascii=False, indent=2))
        return 0
    for line in (*report_lines(report), *fit_lines(table)):
        print(line)
    return 0


def _probe() -> MachineReport:
    from tools.probe.machine import probe

    return probe()


def _pasted(name: str) -> MachineReport:
    from tools.probe.pasted import parse_pasted

    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserInputError(f"{name} cannot be read: {error}.") from error
    report = parse_pasted(text)
    if report is None:
        raise UserInputError(
            f"{name} holds no output of nvidia-smi, npu-smi, rocm-smi, amd-smi, hl-smi or torch. "
            "Paste the whole output."
        )
    return report


def _doctor(report: MachineReport, *, as_json: bool) -> int:
    findings = report.findings
    if as_json:
        print(json.dumps([dataclasses.asdict(item) for item in findings], ensure_ascii=False))
    elif not findings:
        print("nothing wrong was found")
    for finding in () if as_json else findings:
        print(f"[{finding.severity}] {finding.text_en}")
        if finding.command:
            print(f"    mend: {finding.command}")
    return 1 if any(finding.severity == "problem" for finding in findings) else 0


def _calibrate(*, as_json: bool) -> int:
    from tools.probe.calibrate import calibrate

    calibration = calibrate()
    if as_json:
        print(json.dumps(dataclasses.asdict(calibration), indent=2))
        return 0
    from tools.probe.calibrate import calibration_lines

    for line in calibration_lines(calibration):
        print(line)
    return 0
