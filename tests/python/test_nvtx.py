# SPDX-License-Identifier: Apache-2.0
"""A profiler that comes by NVTX sees each run as a range."""

import re

import pytest

import hostfns
from child import run_python

CODE = """
import threading
import hostlaunch
stream = hostlaunch.Stream(0)
driver_thread = []
def work():
    driver_thread.append(threading.get_native_id())
def fails():
    raise ValueError
import sys
sys.unraisablehook = lambda _: None
builder = stream.create_graph_builder().begin_building()
builder.callback(work)
graph = builder.end_building().complete()
hostlaunch.host_launch(stream, work)
hostlaunch.host_launch(stream, fails)
hostlaunch.host_launch(stream, hostlaunch.named(work, "mine"))
graph.launch(stream)
stream.sync()
print(*driver_thread)
"""


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    """Build the tool; skips without a compiler."""
    if hostfns.compiler() is None:
        pytest.skip("needs a C compiler")
    return hostfns.build("nvtx_tool.c", tmp_path_factory.mktemp("nvtx") / "tool.so")


def test_each_run_is_a_range_in_our_domain(tool, tmp_path):
    """contract: V3."""
    seen = tmp_path / "seen"
    result = run_python(
        CODE, env={"NVTX_INJECTION64_PATH": tool, "NVTX_TOOL_OUTPUT": str(seen)}, stderr=None
    )
    domain, *ranges = seen.read_text().splitlines()
    assert domain == "domain hostlaunch"
    names = ["__main__.work", "__main__.fails", "mine", "__main__.work"]
    threads = result.lines[0].split()
    assert len(set(threads)) == 1
    thread = threads[0]
    expected = []
    for name in names:
        expected += [f"push hostlaunch {name} on {thread}", f"pop hostlaunch on {thread}"]
    assert ranges == expected


@pytest.mark.parametrize("why", ["no such file", "refuses"])
def test_a_tool_that_does_not_load_does_no_harm(tool, tmp_path, why):
    """contract: V3."""
    env = {"NVTX_TOOL_OUTPUT": str(tmp_path / "seen"), "NVTX_INJECTION64_PATH": tool}
    if why == "refuses":
        env["NVTX_TOOL_REFUSES"] = "1"
    else:
        env["NVTX_INJECTION64_PATH"] = "/nowhere/tool.so"
    result = run_python(CODE, env=env)
    assert re.fullmatch(r"\d+( \d+){2}", result.lines[0])
    assert not (tmp_path / "seen").exists()
