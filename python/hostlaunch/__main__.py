# SPDX-License-Identifier: Apache-2.0
"""Tells what a bug report needs, and tests the installation: ``python -m hostlaunch``."""

import argparse
import io
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from hostlaunch import _report

_NO_DRIVER = (
    "There is no usable driver. Set HOSTLAUNCH_DRIVER=embedded to work without a GPU, or unset it "
    "to take the NVIDIA driver where there is one; docs/drivers.md tells how a driver is chosen."
)
_FAILED = (
    "The self-test failed. Try it again with HOSTLAUNCH_DRIVER=embedded: if that passes, look at "
    "the NVIDIA driver (nvidia-smi); if not, report it with what is above."
)


def _yes(flag: bool | None) -> str:
    return "unknown" if flag is None else "yes" if flag else "no"


def _python(python: dict[str, Any]) -> str:
    build = " free-threaded" if python["free_threaded"] else ""
    gil = "with the GIL" if python["gil"] else "without the GIL"
    return f"{python['implementation']} {python['version']}{build}, {gil}, {python['executable']}"


def _driver(driver: dict[str, Any]) -> str:
    if "error" in driver:
        return f"none: {driver['error']}"
    major, minor = driver["version"] // 1000, driver["version"] % 1000 // 10
    why = f"; taken since {driver['fallback_reason']}" if driver["fallback_reason"] else ""
    return f"{driver['name']}, CUDA {major}.{minor}, {driver['path']}{why}"


def _device(device: dict[str, Any]) -> str:
    return (
        f"{device['name']}, compute capability {device['compute_capability']}, "
        f"64-bit stream memory operations: {_yes(device['stream_memory_operations_64_bit'])}, "
        f"wait for NOR: {_yes(device['stream_wait_value_nor'])}"
    )


def _lines(report: dict[str, Any]) -> Iterator[str]:
    library, system = report["hostlaunch"], report["system"]
    yield f"hostlaunch  {library['version']}, built by {library['compiler']}, {library['path']}"
    yield f"python      {_python(report['python'])}"
    yield f"system      {system['platform']}, {system['libc']}, {system['processors']} processors"
    yield f"driver      {_driver(report['driver'])}"
    for device in report["devices"]:
        yield f"device {device['ordinal']}    {_device(device)}"
    yield "settings"
    for name, setting in report["settings"].items():
        value = "(unset)" if setting["value"] is None else setting["value"]
        yield f"    {name}={value}{'' if setting['set'] else ' (default)'}"
    yield "self-test"
    for name, wrong in report["self_test"].items():
        yield f"    {'failed' if wrong else 'ok':8}{name}{f': {wrong}' if wrong else ''}"
    if not report["self_test"]:
        yield "    not run"
    if not report["passed"]:
        yield _NO_DRIVER if "error" in report["driver"] else _FAILED


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return 1 if something that must work does not."""
    parser = argparse.ArgumentParser(
        prog="python -m hostlaunch",
        description="Tell what a bug report needs, and test the installation. "
        "The exit status is 1 if the test fails.",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for paths that are no text
    report = _report.collect()
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        for line in _lines(report):
            print(line)
    return 0 if report["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
