# SPDX-License-Identifier: Apache-2.0
"""The benchmark program of Python, in short: that it measures, and whom."""

import json
import pathlib
import subprocess
import sys

import pytest

import hostfns as compiled

BENCH = pathlib.Path(__file__).parents[2] / "bench"

pytestmark = pytest.mark.skipif(compiled.compiler() is None, reason="needs a C compiler")


def measure(tmp_path, only, ways):
    out = tmp_path / "run.json"
    command = [sys.executable, BENCH / "python_launch.py", "--rounds", "3", "--calls", "100"]
    command += ["--only", only, "--ways", ways, "--json", out]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(out.read_text())["figures"]


@pytest.mark.parametrize(
    "only", ["launches", "round-trips", "timeline", "graphs", "memory", "busy"]
)
def test_every_group_measures_ours_beside_the_bare_driver(tmp_path, only):
    """contract: none, the benchmarks' own."""
    figures = measure(tmp_path, only, "hostlaunch")
    ours = [f for f in figures if f["name"] == "hostlaunch"]
    assert ours
    for figure in ours:
        assert figure["status"] == "measured"
        assert all(value > 0 for value in figure["samples"])
    if only != "memory":
        bare = {f["group"] for f in figures if f["name"] == "capture check + launch, from C"}
        assert {f["group"] for f in ours} <= bare


def test_other_ways_run_where_hostlaunch_was_never_imported(tmp_path):
    """contract: none, the benchmarks' own. Else they would use the thread state that it keeps."""
    code = f"""
import json, subprocess, sys
import hostlaunch
sys.path.insert(0, {str(BENCH)!r})
import bare, ways
folder = bare.build({str(tmp_path)!r})
for name in ("hostlaunch", "ctypes by hand", "step: + call the Python callable"):
    command = [sys.executable, {str(BENCH / "worker.py")!r}, name]
    command += ["--folder", folder, "--driver", hostlaunch.driver().path]
    asked = json.dumps({{"measure": "probe"}})
    told = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=60)
    print(json.loads(told.stdout)["hostlaunch"])
"""
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert ran.stdout.split() == ["True", "False", "False"], ran.stderr
