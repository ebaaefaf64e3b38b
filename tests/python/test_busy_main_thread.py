# SPDX-License-Identifier: Apache-2.0
"""A main thread that computes in Python lets a waiting callback in without its switch interval.

The contract does not promise it: decision 9, docs/decisions/0009-the-main-thread-stands-aside.md.

Each case runs in a process of its own with a switch interval of 1,000 s: a callback that had to
wait for it would not run within the limit.
"""

import sys

import pytest

import embedded as embedded_driver
from child import run_python

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 13), reason="a pending call interrupts a busy main thread from 3.13 on"
)

# A thread that finds no core within a few milliseconds misses its turn, on any machine at times; so
# one of two attempts has to succeed. Without the request none does: the gate is opened with the GIL
# held, and what follows is bytecode without a pause.
BUSY = """
import ctypes, sys, threading, time
import cudriver, embedded, hostfns, hostlaunch, waiting
from hostlaunch import host_launch

compiled = hostfns.load()
driver = cudriver.handle()

def hold(stream):
    # Not through the library, whose releases let other threads in by the way.
    driver.call("cuLaunchHostFunc", ctypes.c_void_p(stream.handle), compiled.block, None)

def attempt(streams):
    ran = []
    compiled.reset()
    for stream in streams:
        hold(stream)
        host_launch(stream, lambda: ran.append(threading.get_ident()))
    sys.setswitchinterval(1000)
    compiled.with_gil.hf_open()
    give_up = time.monotonic() + 2
    while len(ran) < len(streams) and time.monotonic() < give_up:
        pass
    let_in = len(ran) == len(streams)
    sys.setswitchinterval(0.005)
    waiting.sync(*streams)
    assert threading.get_ident() not in ran
    return let_in

def check(streams, attempts=10):
    successes = sum(attempt(streams) for _ in range(attempts))
    assert successes * 2 >= attempts, successes
    print("ok")
"""


def test_a_callback_does_not_wait_for_the_switch_interval(hostfns):
    """decision 9. It runs while the main thread computes."""
    assert run_python(f"{BUSY}check([hostlaunch.Stream(0)])").lines == ["ok"]


@pytest.mark.parametrize(
    "mode", [embedded_driver.THREADS_PER_STREAM, embedded_driver.THREADS_FRESH]
)
def test_several_threads_that_wait_are_all_let_in(embedded, hostfns, mode):
    """decision 9; contract: X4."""
    result = run_python(f"""{BUSY}
embedded.knobs().set_threads({mode})
check([hostlaunch.Stream(0) for _ in range(5)])
""")
    assert result.lines == ["ok"]
