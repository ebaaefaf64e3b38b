# SPDX-License-Identifier: Apache-2.0
"""The main thread is CPython's own, whatever the module threading says."""

import importlib.util
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import hostfns
from child import run_python

# Launches a thousand functions that die once they have run, and tells on which threads they did.
LAUNCH = """
import _thread, time

class Dies:
    def __init__(self, deaths):
        self.deaths = deaths
    def __call__(self):
        pass
    def __del__(self):
        self.deaths.append(_thread.get_ident())

def launch(hostlaunch, deaths, count=1000):
    with hostlaunch.Stream(0) as stream:
        for _ in range(count):
            hostlaunch.host_launch(stream, Dies(deaths))
        stream.sync()

def wait_for(deaths, count, seconds=20):
    # Runs bytecode, as a main thread does.
    deadline = time.monotonic() + seconds
    while len(deaths) < count and time.monotonic() < deadline:
        time.sleep(0.001)
    return len(deaths)
"""


@pytest.mark.parametrize("library", ["gevent", "eventlet"])
def test_a_program_that_is_patched_releases(library):
    """contract: L1. Its threads are no longer what the module says."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"needs {library}")
    patch = {
        "gevent": "import gevent.monkey; gevent.monkey.patch_all()",
        "eventlet": "import eventlet; eventlet.monkey_patch()",
    }[library]
    result = run_python(
        f"""
import _thread
main = _thread.get_ident()
{patch}
import hostlaunch
{LAUNCH}
deaths = []
launch(hostlaunch, deaths)
print(len(deaths))
import threading
worker = threading.Thread(target=launch, args=(hostlaunch, deaths))
worker.start()
worker.join()
print(wait_for(deaths, 2000), hostlaunch.stats().awaiting_release)
""",
        options=("-W", "ignore"),
    )
    assert result.lines == ["1000", "2000 0"]


@pytest.mark.parametrize("broken", ["main_thread", "current_thread"])
def test_a_module_threading_that_lies_changes_nothing(broken):
    """contract: L1. Whoever patched it."""
    result = run_python(f"""
import _thread, threading, types
main = _thread.get_ident()
threading.{broken} = lambda: types.SimpleNamespace(ident=1)
import hostlaunch
{LAUNCH}
deaths = []
launch(hostlaunch, deaths)
print(len(deaths), set(deaths) == {{main}})
""")
    assert result.lines == ["1000 True"]


def on_a_thread(code):
    """Run code on a thread that the module threading did not start."""
    return f"""
import _thread
main = _thread.get_ident()
done = _thread.allocate_lock()
done.acquire()
def body():
    try:
        exec({code!r}, globals())
    finally:
        done.release()
_thread.start_new_thread(body, ())
assert done.acquire(True, 60)
"""


@pytest.mark.parametrize("imported", ["threading", "hostlaunch"])
def test_a_first_import_on_another_thread_does_not_make_it_the_main_one(imported):
    """contract: L1. Up to Python 3.12 the module threading believes it."""
    if run_python('import sys; print("threading" in sys.modules)').lines == ["True"]:
        pytest.skip("site packages import threading before the program begins")
    result = run_python(f"""
{on_a_thread(f"import {imported}")}
import hostlaunch
{LAUNCH}
deaths = []
launch(hostlaunch, deaths)
print(len(deaths), set(deaths) == {{main}})
{on_a_thread("launch(hostlaunch, deaths)")}
print(wait_for(deaths, 2000), set(deaths) == {{main}})
""")
    assert result.lines == ["1000 True", "2000 True"]


@pytest.mark.forks
def test_a_thread_that_forks_is_the_childs_main_thread():
    """contract: L1. The driver is first used there."""
    result = run_python(
        f"""
import os, sys, threading
import hostlaunch
{LAUNCH}

def child():
    deaths = []
    launch(hostlaunch, deaths)
    os._exit(0 if len(deaths) == 1000 else 3)

def fork():
    pid = os.fork()
    if pid == 0:
        try:
            child()
        finally:
            os._exit(4)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

thread = threading.Thread(target=fork)
thread.start()
thread.join()
""",
        options=("-W", "ignore::DeprecationWarning"),
        env={"HOSTLAUNCH_DRIVER": "embedded"},
    )
    assert result.lines == ["0"]


def shared_python():
    """The folder and name of the library that programs embed, or None."""
    folder, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LDLIBRARY")
    found = folder and name and name.endswith(".so") and (Path(folder) / name).is_file()
    return (folder, name.removeprefix("lib").removesuffix(".so")) if found else None


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    """A program that embeds this Python."""
    library = shared_python()
    if library is None or hostfns.compiler() is None:
        pytest.skip("needs a compiler and Python as a shared library")
    folder, name = library
    program = tmp_path_factory.mktemp("embedder") / "embedder"
    source = Path(hostfns.__file__).parent / "embedder.c"
    include = sysconfig.get_path("include")
    command = [hostfns.compiler(), f"-I{include}", str(source), "-o", str(program), f"-L{folder}"]
    subprocess.run(
        [*command, f"-l{name}", f"-Wl,-rpath,{folder}", "-lpthread"], check=True, timeout=120
    )
    return program


def run_embedded(program, thread, first, last):
    """Run code in an embedded interpreter with this one's modules; what it printed."""
    environment = {
        **os.environ,
        "HOSTLAUNCH_DRIVER": "embedded",
        "PYTHONHOME": sys.base_prefix,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    result = subprocess.run(
        [program, thread, first, last], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


@pytest.mark.parametrize("thread", ["main", "other"])
@pytest.mark.parametrize("first", ["pass", "import threading", "import hostlaunch"])
def test_an_application_that_embeds_python_releases(embedder, thread, first):
    """contract: L1. On the thread that initialised the interpreter, as CPython has it."""
    last = f"""
import _thread
main = _thread.get_ident()
import hostlaunch
{LAUNCH}
deaths = []
launch(hostlaunch, deaths)
print(len(deaths), set(deaths) == {{main}}, flush=True)
{on_a_thread("launch(hostlaunch, deaths)")}
print(wait_for(deaths, 2000), set(deaths) == {{main}}, flush=True)
"""
    assert run_embedded(embedder, thread, first, last) == ["1000 True", "2000 True"]
