# SPDX-License-Identifier: Apache-2.0
"""A context in an error state: each case in a process of its own, since the error stays."""

import pytest

import hostlaunch
import waiting
from child import run_python
from hostlaunch import host_launch

PRELUDE = """
import ctypes, gc, sys, threading, time, weakref
import embedded, hostlaunch, waiting
from hostlaunch import host_launch
from probes import Probe, resident_kib
knobs = embedded.knobs()
knobs.check_gil()
stream = hostlaunch.Stream(0)
"""
EPILOGUE = """
waiting.wait_until(waiting.is_quiet)
assert waiting.adds_up(hostlaunch.stats()), hostlaunch.stats()
assert knobs.violations() == 0, knobs.first_violation()
print("done")
"""


@pytest.fixture
def run(embedded, hostfns):
    """Run a case; it must end cleanly and say nothing on stderr."""

    def run_case(code):
        result = run_python(PRELUDE + code + EPILOGUE, timeout=60)
        assert result.lines[-1] == "done"

    return run_case


def test_pending_launches_become_abandoned_without_any_call(run):
    """contract: L4, X3. Their payloads are released on the main thread."""
    run("""
deaths, runs = [], []
knobs.set_manual(1)
for _ in range(100):
    host_launch(stream, Probe(deaths, runs))
assert deaths == []
knobs.sticky_error(700)
failed = time.monotonic()
waiting.wait_until(lambda: hostlaunch.stats().abandoned == 100, 10)
assert time.monotonic() - failed < 5, "within one second, generously"
waiting.wait_until(lambda: len(deaths) == 100)
assert set(deaths) == {threading.main_thread().ident}
assert hostlaunch.stats().awaiting_release == 0
assert runs == []
""")


def test_a_running_function_finishes_and_the_rest_is_abandoned(run):
    """contract: L4, X3."""
    run("""
deaths = []
gate = waiting.Gate()
gate.hold(stream)
for _ in range(10):
    host_launch(stream, Probe(deaths))
knobs.sticky_error(700)
waiting.wait_until(lambda: hostlaunch.stats().abandoned == 10, 10)
assert hostlaunch.stats().running == 1
gate.open()
waiting.wait_until(lambda: hostlaunch.stats().ran == 1)
waiting.wait_until(lambda: len(deaths) == 10)
""")


@pytest.mark.parametrize("call", ["cuEventCreate", "cuEventQuery"])
def test_an_error_that_passes_is_not_taken_for_a_failed_context(embedded, stream, call):
    """contract: O1. The housekeeper asks the driver, which errs once."""
    ran = []
    abandoned = hostlaunch.stats().abandoned
    gate = waiting.Gate()
    gate.hold(stream)
    host_launch(stream, lambda: ran.append(1))
    embedded.fail(call, 999)
    asked = embedded.calls("cuEventCreate")
    waiting.wait_until(lambda: embedded.calls("cuEventCreate") >= asked + 2)
    gate.open()
    waiting.sync(stream)
    assert ran == [1]
    assert hostlaunch.stats().abandoned == abandoned


def test_streams_of_every_device_are_abandoned(run):
    """contract: L4. A sticky error is process-wide."""
    run("""
deaths = []
knobs.set_manual(1)
streams = [hostlaunch.Stream(device) for device in (0, 1, 0, 1)]
for each in streams:
    host_launch(each, Probe(deaths))
knobs.sticky_error(719)
waiting.wait_until(lambda: hostlaunch.stats().abandoned == 4, 10)
waiting.wait_until(lambda: len(deaths) == 4)
""")


def test_sync_and_later_launches_raise_the_drivers_error(run):
    """contract: X3."""
    run("""
deaths = []
knobs.sticky_error(700)
for call in (stream.sync, lambda: host_launch(stream, Probe(deaths)),
             lambda: host_launch(stream, Probe(deaths)), lambda: hostlaunch.Stream(0)):
    try:
        call()
    except hostlaunch.CUDAError as error:
        assert (error.code, error.name) == (700, "CUDA_ERROR_ILLEGAL_ADDRESS")
        assert "CUDA_ERROR_ILLEGAL_ADDRESS" in str(error)
    else:
        raise AssertionError("no error")
gc.collect()
assert len(deaths) == 2, "later launches leak nothing"
assert hostlaunch.stats().accepted == 0
""")


@pytest.mark.resident_memory
def test_refused_launches_after_the_failure_do_not_grow(run):
    """contract: X3."""
    run("""
import hostfns
compiled = hostfns.load().count
knobs.sticky_error(700)
data = bytes(10**6)
before = resident_kib()
for _ in range(500):
    for fn, kwargs in ((lambda: None, {}), (compiled, {"user_data": data})):
        try:
            host_launch(stream, fn, **kwargs)
        except hostlaunch.CUDAError:
            pass
assert resident_kib() - before < 100_000
""")


def test_as_is_launches_become_abandoned_and_keep_their_payload(run):
    """contract: L4."""
    run("""
import hostfns
compiled = hostfns.load()
deaths = []
knobs.set_manual(1)
for _ in range(10):
    host_launch(stream, compiled.copy64, user_data=bytes(100))
fn = compiled.fn("count")
fn.owner = Probe(deaths)
host_launch(stream, fn)
del fn
knobs.sticky_error(700)
waiting.wait_until(lambda: hostlaunch.stats().abandoned == 11, 10)
gc.collect()
time.sleep(0)
assert deaths == [], "the function could still be running"
assert compiled.counter() == 0
""")


def test_everything_may_be_dropped_and_closed_after_the_failure(run):
    """contract: X3, L4. Cleanup calls fail as well, and nobody hears of it."""
    run("""
knobs.set_manual(1)
other = hostlaunch.Stream(0)
event = other.record()
buffers = [hostlaunch.Buffer(64), hostlaunch.Buffer(64, kind="pinned")]
for _ in range(10):
    host_launch(other, lambda: None)
knobs.sticky_error(700)
other.close()
event.close()
del buffers, event, other
gc.collect()
waiting.wait_until(lambda: hostlaunch.stats().abandoned == 10, 10)
stream.close()
""")


@pytest.mark.parametrize("state", ["at once", "once abandoned"])
def test_the_process_exits_cleanly_after_the_failure(embedded, state):
    """contract: X3, X1. With functions pending, the exit code is the program's own."""
    wait = "waiting.wait_until(lambda: hostlaunch.stats().abandoned == 50, 10)" * (
        state == "once abandoned"
    )
    result = run_python(
        PRELUDE
        + f"""
knobs.set_manual(1)
event = stream.record()
for _ in range(50):
    host_launch(stream, lambda: print("ran"))
knobs.sticky_error(700)
{wait}
sys.exit(7)
""",
        returncode=7,
        stderr=None,
    )
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert "Fatal" not in result.stderr
