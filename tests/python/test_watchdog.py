# SPDX-License-Identifier: Apache-2.0
"""The watchdog names what does not move, while it does not move."""

import re

import pytest

import hostlaunch
from python_build import FREE_THREADED
from watching import stuck

LIMIT = "hostlaunch.watchdog(0.4)\n"
needs_gil = pytest.mark.skipif(FREE_THREADED, reason="without a GIL nobody waits for it")


@needs_gil
@pytest.mark.parametrize("how", ["call", "environment"])
def test_a_call_that_keeps_the_gil_is_told_with_the_rule_and_the_stacks(how):
    """contract: V1. The deadlock of the README, with a call through ctypes.PyDLL."""
    code = """
entered = threading.Event()

def save():
    entered.set()
    time.sleep(0.2)  # gives the GIL up, and then needs it

def blocks_with_the_gil():
    cu.with_gil.cuStreamSynchronize(ctypes.c_void_p(stream.handle))

host_launch(stream, save)
entered.wait()
blocks_with_the_gil()
"""
    env = {"HOSTLAUNCH_WATCHDOG": "0.4"} if how == "environment" else {}
    with stuck((LIMIT if how == "call" else "") + code, env=env) as program:
        program.wait_for(r"Stacks of the Python threads.*in blocks_with_the_gil.*in <module>")
        text = program.text
    ours, _, rest = text.partition("  The GIL is held by")
    assert re.match(
        r"hostlaunch watchdog: this does not move \(process \d+, limit 0.4 s\):\n", ours
    )
    assert re.search(
        r"  __main__\.save has run for \d+\.\d s, on thread \d+ \(.*\); "
        r"stream 0x[0-9a-f]+ waits until it returns\n",
        ours,
    )
    assert "The deadlock rule" in ours
    holder = rest.splitlines()[0]
    assert re.match(
        r" thread \d+ \(.*, 0x[0-9a-f]+\), which (sleeps while it holds it|runs)", holder
    )
    # A driver that spins while it waits looks like a thread that computes.
    assert "The deadlock rule" in holder or "which runs" in holder


@needs_gil
def test_a_function_that_has_not_begun_is_told_to_wait_for_the_gil(hostfns):
    """contract: V1."""
    code = """
import hostfns
compiled = hostfns.load()

def never_begins():
    pass

def keeps_the_gil():
    cu.with_gil.cuStreamSynchronize(ctypes.c_void_p(stream.handle))

host_launch(stream, compiled.sleep, user_data=300)  # so that it does not begin before the wait
host_launch(stream, never_begins)
keeps_the_gil()
"""
    with stuck(LIMIT + code) as program:
        program.wait_for(
            r"__main__\.never_begins has waited for the GIL for \d+\.\d s, on thread \d+.*"
            r"What fits: some thread keeps the GIL.*"
            r"The GIL is held by thread \d+ .*which (sleeps|runs).*"
            r"in keeps_the_gil"
        )


def test_an_import_lock_circle_is_told():
    """contract: V1. The main thread imports a module that waits for a function that imports it."""
    code = """
import pathlib, tempfile
folder = tempfile.mkdtemp()
pathlib.Path(folder, "circle.py").write_text(
    "import __main__\\n__main__.host_launch(__main__.stream, __main__.needs_the_module)\\n"
    "__main__.stream.sync()\\n")
sys.path.insert(0, folder)

def needs_the_module():
    import circle

import circle
"""
    with stuck(LIMIT + code) as program:
        program.wait_for(
            r"__main__\.needs_the_module has run for \d+\.\d s.*"
            r"an import.*The deadlock rule.*Stacks of the Python threads"
            + ("" if FREE_THREADED else r".*in needs_the_module")
        )


def test_a_function_that_waits_for_another_streams_function_is_told():
    """contract: V1. One thread runs the functions of a context."""
    code = """
other = hostlaunch.Stream(0)
ready = threading.Event()

def waits():
    ready.wait()

def would_end_it():
    ready.set()

host_launch(stream, waits)
host_launch(other, would_end_it)
other.sync()
"""
    with stuck(LIMIT + code) as program:
        found = program.wait_for(
            r"__main__\.waits has run for .*"
            r"1 function is pending on (stream 0x[0-9a-f]+), the first \(__main__\.would_end_it\)"
            r".*one thread runs all functions of a context"
        )
    assert found


def test_a_stream_that_does_not_get_there_is_told(embedded):
    """contract: V1."""
    code = """
import embedded
embedded.knobs().set_manual(1)

def later():
    pass

for _ in range(3):
    host_launch(stream, later)
stream.sync()
"""
    with stuck(LIMIT + code) as program:
        program.wait_for(
            r"  3 functions are pending on stream 0x[0-9a-f]+, the first \(__main__\.later\) for "
            r"\d+\.\d s; the stream does not get there, and no function of its context runs\n.*"
            r"What fits: the stream has work in front of the function"
        )


def test_functions_that_a_failed_context_leaves_are_told(embedded):
    """contract: V1, L4."""
    code = """
import embedded
embedded.knobs().set_manual(1)
for _ in range(5):
    host_launch(stream, int)
embedded.knobs().sticky_error(700)
time.sleep(600)
"""
    with stuck("hostlaunch.watchdog(60)\n" + code) as program:
        # The limit plays no part: nothing can be hoped for any more.
        program.wait_for(r"hostlaunch watchdog: 5 functions will never run: the context has failed")


def test_a_launch_that_the_driver_does_not_take_is_told(embedded):
    """contract: V1."""
    code = """
import embedded
def waits_in_the_driver():
    pass
with embedded.knobs().hold("cuLaunchHostFunc"):
    host_launch(stream, waits_in_the_driver)
"""
    with stuck(LIMIT + code) as program:
        program.wait_for(
            r"the launch of __main__\.waits_in_the_driver has been in the driver for \d+\.\d s.*"
            r"What fits: the driver's queue is full"
        )


def test_it_works_while_the_librarys_own_thread_is_stuck_in_the_driver(embedded, hostfns):
    """contract: V1."""
    code = """
import embedded, hostfns
compiled = hostfns.load()
def runs_long():
    time.sleep(600)
with embedded.knobs().hold("cuEventQuery") as held:
    host_launch(stream, compiled.count)  # asked about in the background
    held(1)
    hostlaunch.watchdog(0.4)
    host_launch(stream, runs_long)
    time.sleep(600)
"""
    with stuck(code) as program:
        program.wait_for(r"__main__\.runs_long has run for \d+\.\d s")


def test_what_began_before_the_watchdog_is_told_too():
    """contract: V1."""
    code = """
def began_before():
    time.sleep(600)
def pending_before():
    pass
host_launch(stream, began_before)
host_launch(stream, pending_before)
waiting.wait_until(lambda: hostlaunch.stats().running == 1)
hostlaunch.watchdog(0.4)
time.sleep(600)
"""
    with stuck(code) as program:
        program.wait_for(
            r"__main__\.began_before has run, or has waited for the GIL, for at least .*"
            r"1 function is pending on stream 0x[0-9a-f]+, the first \(__main__\.pending_before\)"
        )


def test_a_slow_but_healthy_run_is_not_reported():
    """contract: V1. Each function is under the limit, the whole is far above it."""
    code = """
hostlaunch.watchdog(1.0)
other = hostlaunch.Stream(0)
def slow():
    time.sleep(0.2)
for _ in range(10):
    host_launch(stream, slow)
host_launch(other, slow)
stream.sync()
other.sync()
hostlaunch.watchdog(None)
print("done")
"""
    with stuck(code) as program:
        assert program.wait_for_exit() == "done\n"
        assert program.text == ""


def test_a_long_queue_that_moves_is_not_reported(embedded):
    """contract: V1. The last function is pending for far longer than the limit."""
    code = """
import embedded
knobs = embedded.knobs()
knobs.set_manual(1)
hostlaunch.watchdog(0.8)
for _ in range(25):
    host_launch(stream, int)
for _ in range(25):
    time.sleep(0.1)
    assert knobs.step(1, 5000) == 1
knobs.set_manual(0)
stream.sync()
hostlaunch.watchdog(None)
print("done")
"""
    with stuck(code) as program:
        assert program.wait_for_exit() == "done\n"
        assert program.text == ""


def test_it_repeats_with_growing_intervals_and_ends_when_told():
    """contract: V1. The stacks are written once."""
    code = """
entered, release = threading.Event(), threading.Event()
def long():
    entered.set()
    release.wait()
hostlaunch.watchdog(0.2)
host_launch(stream, long)
entered.wait()
time.sleep(2.2)  # reports at about 0.2, 0.4, 0.8 and 1.6 seconds
hostlaunch.watchdog(None)
time.sleep(2.0)
release.set()
stream.sync()
"""
    with stuck(code) as program:
        program.wait_for_exit()
        text = program.text
    assert 2 <= text.count("hostlaunch watchdog: this does not move") <= 4, text
    assert text.count("Stacks of the Python threads") == 1


def test_functions_of_graphs_are_told():
    """contract: V1."""
    code = """
builder = stream.create_graph_builder().begin_building()
def in_a_graph():
    time.sleep(600)
builder.callback(in_a_graph)
graph = builder.end_building().complete()
hostlaunch.watchdog(0.4)
graph.launch(stream)
time.sleep(600)
"""
    with stuck(code) as program:
        program.wait_for(r"__main__\.in_a_graph has run for .*a graph waits until it returns")


def test_wrong_arguments_are_refused():
    """contract: V1."""
    for seconds in (0, -1, float("nan"), 1e9):
        with pytest.raises(ValueError, match="seconds"):
            hostlaunch.watchdog(seconds)
    with pytest.raises(OSError, match="descriptor"):
        hostlaunch.watchdog(1, file=12345)
    with pytest.raises(AttributeError):
        hostlaunch.watchdog(1, file=object())
    hostlaunch.watchdog(None)
