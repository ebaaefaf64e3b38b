#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a suite of others file by file and count; see scripts/peer_suite.sh, which calls this."""

import collections
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as Xml
from pathlib import Path

LIMIT = 600  # seconds for a file

# Why a test of cuda.core cannot pass here, by what its failure says. The first that fits counts.
REASONS = (
    ("management library", r"nvml|NVML"),
    ("compiler", r"nvrtc|NVRTC|nvvm|NVVM|nvJitLink|nvjitlink|nvfatbin|Program|Linker|nvcc"),
    ("runtime library", r"cudaError|cudart|libcudart"),
    ("kernel", r"Kernel|kernel|ObjectCode|cuLibrary|cuLaunchKernel|cuModule"),
    ("compiler headers", r"CUDA_HOME|CUDA_PATH|cuda_runtime\.h"),
    ("version", r"CUDA_VERSION|driver.*version|requires.*(?:CUDA|driver)|Function .* not found"),
    ("not built", r"CUDA_ERROR_NOT_SUPPORTED|IPC|ipc|green|texture|surface|virtual memory"),
    ("a package is missing", r"ModuleNotFoundError|No module named|ImportError"),
)


def reason_for(text: str) -> str:
    """Say why a test failed, or that nobody knows."""
    return next((name for name, pattern in REASONS if re.search(pattern, text)), "NO REASON")


def run_file(path: Path, arguments: list[str]) -> tuple[collections.Counter, list[tuple[str, str]]]:
    """Run one file; return its counts, and each failure with its reason."""
    counts: collections.Counter = collections.Counter()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
        command += [f"--junitxml={report}", *arguments]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return collections.Counter(crashed=1), [(str(path), "hung")]
        if ended.returncode < 0 or not report.exists():
            last = (ended.stdout + ended.stderr).strip().splitlines()[-1:] or [""]
            return collections.Counter(crashed=1), [(f"{path}: {last[0]}", "CRASH")]
        for case in Xml.parse(report).iter("testcase"):
            name = f"{case.get('classname')}::{case.get('name')}"
            wrong = case.find("failure") if case.find("failure") is not None else case.find("error")
            if wrong is not None:
                counts["failed"] += 1
                # What was raised, not the lines of source around it.
                message = wrong.get("message") or (wrong.text or "").strip()[-500:]
                failures.append((name, reason_for(message)))
            else:
                counts["skipped" if case.find("skipped") is not None else "passed"] += 1
    return counts, failures


def main(folder: str, *arguments: str) -> int:
    """Run all test files below a folder. 1 if one crashed or a failure has no reason."""
    total: collections.Counter = collections.Counter()
    reasons: collections.Counter = collections.Counter()
    unknown = []
    print(f"{'passed':>7}{'failed':>7}{'skipped':>8}{'crashed':>8}")
    for path in sorted(Path(folder).rglob("test_*.py")):
        counts, failures = run_file(path, list(arguments))
        total += counts
        reasons.update(reason for _, reason in failures)
        unknown += [name for name, reason in failures if reason in ("NO REASON", "CRASH", "hung")]
        show(counts, str(path.relative_to(folder)))
    show(total, "all of them")
    print("\nreasons:")
    for reason, count in reasons.most_common():
        print(f"{count:>7}  {reason}")
    for name in unknown:
        print(f"unexplained: {name}")
    return 1 if unknown else 0


def show(counts: collections.Counter, name: str) -> None:
    """Print one line of the table."""
    print(
        f"{counts['passed']:>7}{counts['failed']:>7}{counts['skipped']:>8}{counts['crashed']:>8}"
        f"  {name}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
