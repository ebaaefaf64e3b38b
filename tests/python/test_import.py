# SPDX-License-Identifier: Apache-2.0
"""Importing the package."""

import pathlib
import shutil

import pytest

import hostlaunch
from child import run_python


def test_another_import_under_the_same_process_is_refused_with_the_reason():
    """contract: section 1. The first one goes on."""
    result = run_python("""
import sys
import hostlaunch

stream = hostlaunch.Stream()
kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("hostlaunch")}
for _ in range(2):
    try:
        import hostlaunch as again
    except ImportError as error:
        print(error)
sys.modules.update(kept)
ran = []
hostlaunch.host_launch(stream, lambda: ran.append(1))
stream.sync()
print(ran)
""")
    assert len(result.lines) == 3
    assert "cannot be imported anew: its modules must stay in sys.modules" in result.lines[0]
    assert result.lines[1] == result.lines[0]
    assert result.lines[2] == "[1]"


USE = """
ran = []
with hostlaunch.Stream(0) as stream:
    hostlaunch.host_launch(stream, lambda: ran.append(1))
    stream.sync()
    builder = stream.create_graph_builder().begin_building()
    builder.callback(lambda: ran.append(2))
    builder.end_building().complete().launch(stream)
    stream.sync()
    try:
        hostlaunch.Stream(99)
    except hostlaunch.CUDAError as error:
        ran.append(error.name)
print(ran)
"""
WORKS = "[1, 2, 'CUDA_ERROR_INVALID_DEVICE']"

# Interrupts the import at each module that is asked for on the way, and where it ends.
INTERRUPTED = """
import builtins, importlib.machinery, os, sys
import typing

def child(at):
    count = 0
    ask, execute = builtins.__import__, importlib.machinery.ExtensionFileLoader.exec_module

    def interrupt():
        nonlocal count
        count += 1
        if count == at:
            raise KeyboardInterrupt

    def asked(*args, **kwargs):
        module = ask(*args, **kwargs)
        interrupt()
        return module

    def executed(self, module):
        interrupt()
        execute(self, module)
        interrupt()

    builtins.__import__ = asked
    importlib.machinery.ExtensionFileLoader.exec_module = executed
    try:
        import hostlaunch
    except KeyboardInterrupt:
        pass
    else:
        if count < at:
            return 1
    finally:
        builtins.__import__ = ask
        importlib.machinery.ExtensionFileLoader.exec_module = execute
    for name in FORGOTTEN if "hostlaunch" not in sys.modules else ():
        sys.modules.pop(name, None)
    import hostlaunch
    exec(USE, {"hostlaunch": hostlaunch})
    sys.stdout.flush()
    return 0

at = 0
while True:
    at += 1
    pid = os.fork()
    if pid == 0:
        status = 2
        try:
            status = child(at)
        except BaseException as error:
            print(at, type(error), error, flush=True)
        os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        break
print(at, status)
"""


@pytest.mark.forks
@pytest.mark.parametrize("forgotten", [[], ["hostlaunch._errors"], ["hostlaunch._native"]])
def test_an_interrupted_import_may_be_repeated(forgotten):
    """contract: section 1. Wherever a Ctrl-C came, and whatever the import system has dropped."""
    result = run_python(f"USE = {USE!r}\nFORGOTTEN = {forgotten!r}\n{INTERRUPTED}")
    *lines, last = result.lines
    assert lines
    assert set(lines) == {WORKS}
    # Each place was tried; at the end none was left, and the import went through.
    assert last == f"{len(lines) + 1} 1"
    assert len(lines) > 10


def test_a_second_copy_is_refused_and_the_first_goes_on(tmp_path):
    """contract: X4. One clear ImportError names both."""
    package = pathlib.Path(hostlaunch.__file__).parent
    shutil.copytree(package, tmp_path / "hostlaunch")
    result = run_python(f"""
import sys
import hostlaunch
first = hostlaunch
names = [name for name in sys.modules if name.startswith("hostlaunch")]
kept = {{name: sys.modules.pop(name) for name in names}}
sys.path.insert(0, {str(tmp_path)!r})
for _ in range(2):
    try:
        import hostlaunch
    except ImportError as error:
        print(error)
sys.modules.update(kept)
hostlaunch = first
{USE}
""")
    assert len(result.lines) == 3
    assert "a process can have one copy" in result.lines[0]
    assert str(package) in result.lines[0]
    assert str(tmp_path) in result.lines[0]
    assert result.lines[1] == result.lines[0]
    assert result.lines[2] == WORKS
