# SPDX-License-Identifier: Apache-2.0
"""The deadlocks that remain are the user's, and the documentation is true about them."""

import pathlib
import re

import pytest

from child import run_python
from python_build import FREE_THREADED

PRELUDE = """
import ctypes, faulthandler, os, threading, time
import cudriver, hostlaunch, waiting
from hostlaunch import host_launch
cu = cudriver.handle()
stream = hostlaunch.Stream(0)
gate = waiting.Gate()
"""
# A process that is stuck is ended with code 1 by its watchdog; one that goes on ends with code 0.
WATCHDOG = """
os.write(1, b"waiting\\n")
faulthandler.dump_traceback_later(float(os.environ["WATCHDOG"]), exit=True)
"""
AFTERWARDS = """
faulthandler.cancel_dump_traceback_later()
os.write(1, b"went on\\n")
os._exit(0)
"""
# Where there is no GIL to keep, a call that is made with it blocks no callback.
WITH_GIL = "by itself" if FREE_THREADED else "stuck"


def ends(code, seconds=1.0):
    """How the case ended: with the watchdog or by itself."""
    env = {"WATCHDOG": str(seconds)}
    result = run_python(PRELUDE + code, env=env, returncode=None, stderr=None)
    assert result.lines[0] == "waiting", result
    if "went on" in result.lines:
        assert result.returncode == 0, result
        return "by itself"
    assert result.returncode == 1, result
    assert "Timeout (" in result.stderr, result  # an exception would end with 1 as well
    return "stuck"


@pytest.mark.parametrize(
    ("library", "end", "seconds"),
    [("cu.with_gil", WITH_GIL, 20 if FREE_THREADED else 1), ("cu.library", "by itself", 20)],
)
def test_a_blocking_call_that_keeps_the_gil_deadlocks_with_a_python_function(library, end, seconds):
    """contract: G3. The same call without the GIL goes on."""
    assert (
        ends(
            f"""
def fn():
    time.sleep(0.05)  # gives the GIL up, and then needs it
host_launch(stream, int)  # free-threaded 3.13 stops the world when the second thread appears
stream.sync()
host_launch(stream, fn)
{WATCHDOG}
{library}.cuStreamSynchronize(ctypes.c_void_p(stream.handle))
{AFTERWARDS}
""",
            seconds,
        )
        == end
    )


def documented_to_block():
    """The calls that docs/errors.md says block until the function returns."""
    text = (pathlib.Path(__file__).parents[2] / "docs/errors.md").read_text()
    [row] = re.findall(r"^\| \*\*block\*\* until the function returns \| (.*) \|$", text, re.M)
    return row


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("cuMemFree_v2(memory)", "`cuMemFree`"),
        ("cuMemFreeHost(pinned)", "`cuMemFreeHost`"),
        ("cuCtxSynchronize()", "context synchronise"),
    ],
)
def test_other_calls_that_block_are_documented(embedded, call, told):
    """contract: G3. Freeing memory and context synchronisation wait for running functions."""
    assert told in documented_to_block()
    assert (
        ends(f"""
cu.set_current(cu.primary_context(0))
memory, pinned = ctypes.c_uint64(), ctypes.c_void_p()
cu.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(64))
cu.call("cuMemHostAlloc", ctypes.byref(pinned), ctypes.c_size_t(64), ctypes.c_uint(0))
gate.hold(stream)
threading.Timer(0.05, gate.open).start()
{WATCHDOG}
cu.with_gil.{call}
{AFTERWARDS}
""")
        == WITH_GIL
    )


def test_a_function_that_waits_for_a_lock_whose_owner_waits_for_the_stream_is_stuck():
    """contract: G3. No GIL is needed for this deadlock."""
    assert (
        ends(f"""
lock = threading.Lock()
with lock:
    host_launch(stream, lock.acquire)
    {WATCHDOG.strip().replace(chr(10), chr(10) + "    ")}
    stream.sync()
{AFTERWARDS}
""")
        == "stuck"
    )


def test_compiled_functions_do_not_take_part(hostfns):
    """contract: G3, F2. A caller that keeps the GIL may wait for compiled code."""
    assert (
        ends(
            f"""
import hostfns
compiled = hostfns.load()
host_launch(stream, compiled.sleep, user_data=50)
{WATCHDOG}
cu.with_gil.cuStreamSynchronize(ctypes.c_void_p(stream.handle))
{AFTERWARDS}
""",
            20,
        )
        == "by itself"
    )
