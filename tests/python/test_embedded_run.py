# SPDX-License-Identifier: Apache-2.0
"""Programs that look for libcuda.so.1 find the embedded driver, and so does hostlaunch."""

import os
import subprocess
import sys

import pytest

from hostlaunch import embedded

RUN = [sys.executable, "-m", "hostlaunch.embedded"]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def run(*arguments, **options):
    return subprocess.run([*RUN, *arguments], capture_output=True, text=True, timeout=60, **options)


# contract: N1
def test_a_program_finds_the_embedded_driver_by_the_name_of_the_drivers_library(cache, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import ctypes, sys, hostlaunch
library = ctypes.CDLL("libcuda.so.1")
assert library.cuInit(0) == 0
streams = [hostlaunch.Stream() for _ in range(3)]
assert hostlaunch.driver().name == "embedded"
assert library.hostlaunch_embedded_live(b"streams") == 3  # one driver in the process
print(*sys.argv[1:])
sys.exit(7)
""")
    ended = run(str(program), "an argument", "--folder")
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, "an argument --folder\n", "")
    ended = run(sys.executable, str(program), "again")
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, "again\n", "")


# contract: N1
def test_the_folder_can_be_set_by_hand(cache):
    told = run("--folder")
    folder = told.stdout.strip()
    assert os.listdir(folder) == ["libcuda.so.1"]
    ended = subprocess.run(
        [sys.executable, "-c", "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuInit(0))"],
        env={**os.environ, "LD_LIBRARY_PATH": folder},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.stdout, ended.stderr) == ("0\n", "")


# contract: N1
def test_what_ld_library_path_had_comes_behind(cache, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/some:/other")
    first, *rest = embedded.environment()["LD_LIBRARY_PATH"].split(":")
    assert first == str(embedded.folder())
    assert rest == ["/some", "/other"]


def test_a_link_to_a_driver_that_is_gone_is_made_anew(cache):
    link = embedded.folder() / "libcuda.so.1"
    right = link.readlink()
    link.unlink()
    link.symlink_to("/no/such/file")
    assert embedded.folder() == link.parent
    assert link.readlink() == right
    assert os.listdir(link.parent) == ["libcuda.so.1"]


def test_a_program_that_is_not_there_is_said(cache):
    ended = run("/no/such/program")
    assert ended.returncode == 127
    assert "/no/such/program" in ended.stderr
    assert run().returncode == 2
