# SPDX-License-Identifier: Apache-2.0
"""The examples with graphs, run as a user runs them."""

import hashlib
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def run(name, *args):
    """Run an example: what it printed and its exit code."""
    command = [sys.executable, str(EXAMPLES / name), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("size", [0, 1, 4096, 10_000, 100_000])
def test_each_replay_takes_the_next_chunk(tmp_path, size):
    """contract: B3. What came back is the file, whatever is left for the last chunk."""
    path = tmp_path / "input"
    data = bytes(n * 7 % 251 for n in range(size))
    path.write_bytes(data)
    done = run("graph_pipeline.py", path, "--chunk-size", 4096)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == hashlib.sha256(data).hexdigest()


def test_without_a_file_it_makes_one():
    """A first try needs nothing."""
    done = run("graph_pipeline.py")
    assert done.returncode == 0, done.stderr
    assert "one graph, launched" in done.stdout


@pytest.mark.parametrize("args", [["/no/such/file"], ["/"], ["--chunk-size", "0"]])
def test_what_goes_wrong_is_told_in_one_line(args):
    """No traceback, and a failing exit code."""
    done = run("graph_pipeline.py", *args)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("graph_pipeline.py: ")


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_a_capture_of_another_library_steps_host_logic(driver_in_use, library):
    """contract: B4. A hundred replays, each seen once and in order."""
    if driver_in_use.name != "cuda":
        pytest.skip("needs an NVIDIA GPU")
    pytest.importorskip(library)
    done = run("attach_capture.py", library)
    assert done.returncode == 0, done.stderr
    assert "100 replays" in done.stdout
