# SPDX-License-Identifier: Apache-2.0
"""The child of a fork: each case in a fresh interpreter, which forks."""

import pytest

from child import run_python

pytestmark = pytest.mark.forks

PRELUDE = """
import gc, os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: forking with threads
import embedded, hostlaunch, waiting
from hostlaunch import host_launch
from probes import Probe

def in_child(body):
    pid = os.fork()
    if pid == 0:
        signal.alarm(40)  # a child that hangs is killed, and its status tells
        try:
            body()
        except Exception:  # on whichever thread
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        sys.exit(0)
    return pid

def check(pid):
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, os.waitstatus_to_exitcode(status)

def refused(call):
    try:
        call()
    except hostlaunch.CUDAError:
        raise
    except RuntimeError as error:
        assert "fork" in str(error), error
    else:
        raise AssertionError(f"{call} was accepted")
"""


# Loads the driver.
WATCH = "knobs = embedded.knobs() if embedded.in_use() else None\nknobs and knobs.check_gil()\n"
UNSEEN = "\nassert not knobs or knobs.violations() == 0, knobs.first_violation()\n"


def run(code, *, loads=True, **kwargs):
    """Run a case in a process of its own; `loads`: with the driver loaded before it begins."""
    if loads:
        code = WATCH + code + UNSEEN
    result = run_python(PRELUDE + code + '\nprint("done")\n', timeout=60, **kwargs)
    assert result.lines[-1] == "done", result


def test_calls_that_enter_the_driver_are_refused_in_the_child():
    """contract: X2."""
    run("""
stream = hostlaunch.Stream(0)
event = stream.record()
buffer = hostlaunch.Buffer(64)

def child():
    for call in (lambda: host_launch(stream, int), stream.sync, stream.record, event.sync,
                 lambda: event.is_done, lambda: stream.wait(event), hostlaunch.Stream,
                 lambda: hostlaunch.Buffer(64), lambda: buffer.fill(1, stream=stream),
                 lambda: hostlaunch.Stream.from_handle(0).sync()):
        refused(call)
    assert not stream.is_closed

check(in_child(child))
host_launch(stream, int)
waiting.sync(stream)
""")


def test_the_parents_functions_neither_run_nor_are_released_in_the_child():
    """contract: X2."""
    run("""
stream = hostlaunch.Stream(0)
deaths, runs = [], []
gate = waiting.Gate()
gate.hold(stream)
for _ in range(50):
    host_launch(stream, Probe(deaths, runs))

def child():
    gc.collect()
    gate.open()
    deadline = time.monotonic() + 0.3
    while time.monotonic() < deadline:
        time.sleep(0.01)
        refused(lambda: host_launch(stream, int))
    assert deaths == [], deaths
    assert runs == [], runs

check(in_child(child))
gate.open()
waiting.sync(stream)
waiting.wait_until(lambda: len(deaths) == 50)
assert len(runs) == 50
""")


def test_releases_that_await_the_main_thread_do_not_happen_in_the_child(hostfns):
    """contract: X2. The queue of pending calls is inherited, and up to 3.12 it is worked off."""
    run("""
import ctypes, hostfns
compiled = hostfns.load()
stream = hostlaunch.Stream(0)
deaths, called = [], []
call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: called.append(1) or 0)
add_pending = ctypes.pythonapi.Py_AddPendingCall
add_pending.argtypes = [ctypes.c_void_p, ctypes.c_void_p]

def child():  # on its main thread, which is the one that forked
    add_pending(ctypes.cast(call, ctypes.c_void_p), None)  # behind the request for releases
    deadline = time.monotonic() + 0.3
    while not called and time.monotonic() < deadline:
        time.sleep(0.001)
    assert called or sys.version_info >= (3, 13)  # which may not see that the main thread changed
    refused(lambda: host_launch(stream, int))
    refused(stream.sync)
    gc.collect()
    os._exit(0 if deaths == [] else 3)

def work():  # while the main thread can release nothing
    for _ in range(20):
        host_launch(stream, Probe(deaths))
    stream.sync()
    waiting.wait_until(lambda: hostlaunch.stats().awaiting_release == 20)
    assert deaths == []
    check(in_child(child))

compiled.while_main_is_in_c(work)
stream.sync()  # releases, here
waiting.wait_until(lambda: len(deaths) == 20)
""")


def test_close_and_destructors_do_nothing_in_the_child():
    """contract: X2. All still works in the parent."""
    run("""
from one_of_each import OneOfEach
closed, dropped = OneOfEach(), [OneOfEach()]

def child():
    closed.close()
    dropped.clear()
    gc.collect()

check(in_child(child))
for things in (closed, *dropped):
    things.use()
""")


def test_no_driver_call_comes_from_the_child(embedded):
    """contract: X2. None at all: the driver's log stays empty."""
    run("""
import embedded
from one_of_each import OneOfEach
closed, dropped = OneOfEach(), [OneOfEach()]
for _ in range(10):
    host_launch(closed.stream, int)
waiting.sync(closed.stream)

def child():
    with embedded.knobs().log() as calls:
        refused(lambda: host_launch(closed.stream, int))
        refused(closed.stream.sync)
        refused(lambda: closed.graph.launch(closed.stream))
        refused(lambda: closed.builder.callback(int))
        closed.close()
        dropped.clear()
        gc.collect()
    assert calls == [], [call.name for call in calls]

check(in_child(child))
""")


@pytest.mark.parametrize("state", ["running", "pending", "as is"])
def test_the_child_exits_cleanly_whatever_the_parent_has_pending(state, hostfns):
    """contract: X2, X1. A child that waited for functions that it does not have would be killed."""
    run(
        f"""
import hostfns
compiled = hostfns.load()
stream = hostlaunch.Stream(0)
gate = waiting.Gate()
if {state!r} == "as is":
    host_launch(stream, compiled.block)
    host_launch(stream, compiled.count, user_data=b"x")
else:
    gate.hold(stream)
    if {state!r} == "pending":
        for _ in range(100):
            host_launch(stream, int)
check(in_child(lambda: None))
gate.open()
compiled.library.hf_open()
waiting.sync(stream)
""",
        env={"HOSTLAUNCH_EXIT_TIMEOUT": "50"},
    )


def test_the_child_of_a_child_is_refused_as_well():
    """contract: X2."""
    run("""
stream = hostlaunch.Stream(0)

def child():
    refused(stream.sync)
    check(in_child(lambda: refused(stream.sync)))

check(in_child(child))
""")


def test_a_fork_before_the_driver_was_initialised_works_normally():
    """contract: X2."""
    run(
        """
def use():
    stream = hostlaunch.Stream(0)
    ran = []
    for _ in range(10):
        host_launch(stream, lambda: ran.append(1))
    stream.sync()
    assert len(ran) == 10
    stream.close()

check(in_child(use))
use()
""",
        loads=False,
    )


def test_a_fork_from_inside_a_function_leaves_a_child_that_exits():
    """contract: X2. The thread that forked is the child's main thread."""
    run("""
stream = hostlaunch.Stream(0)
statuses = []

def fork():
    pid = os.fork()
    if pid == 0:
        signal.alarm(40)
        try:
            refused(lambda: host_launch(stream, int))
        except BaseException:
            os._exit(3)
        os._exit(0)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

host_launch(stream, fork)
waiting.sync(stream)
assert statuses == [0], statuses
""")


def test_a_fork_from_inside_a_function_may_return_through_the_callback():
    """contract: X2. The driver's thread ends in the child; the parent's stream is not touched."""
    run("""
stream = hostlaunch.Stream(0)
deaths, runs, statuses = [], [], []
gate = waiting.Gate()

def end_child():
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        time.sleep(0.01)
        refused(lambda: host_launch(stream, int))
    os._exit(0 if runs == deaths == [] else 3)

class Fork(Probe):
    def __call__(self):
        pid = os.fork()
        if pid == 0:
            signal.alarm(40)
            threading.Thread(target=end_child, daemon=True).start()
            return [self]
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

gate.hold(stream)
host_launch(stream, Fork(deaths))
for _ in range(20):
    host_launch(stream, Probe(deaths, runs))
gate.open()
waiting.sync(stream)
assert statuses == [0], statuses
waiting.wait_until(lambda: len(deaths) == 21)
assert len(runs) == 20
""")


def test_a_fork_while_another_thread_loads_the_driver_is_refused_in_the_child(fake_driver):
    """contract: X2. The thread that would end the loading is not there."""
    started, go = "r_started, w_started = os.pipe()", "r_go, w_go = os.pipe()"
    run(
        f"""
{started}; {go}
os.environ.update(FAKE_STARTED=str(w_started), FAKE_GO=str(r_go))
failures = []

def load():
    try:
        hostlaunch.driver()
    except hostlaunch.CUDAError as error:
        failures.append(error.code)

loads = threading.Thread(target=load)
loads.start()
assert os.read(r_started, 1)

def child():
    for call in (hostlaunch.driver, hostlaunch.Stream, lambda: hostlaunch.Buffer(64),
                 lambda: host_launch(hostlaunch.Stream.from_handle(0), int)):
        refused(call)
    hostlaunch.Stream.from_handle(0).close()

check(in_child(child))
os.write(w_go, b"x")
loads.join()
assert failures == [999], failures
check(in_child(lambda: load() or failures.remove(999)))  # a failure is told in a child as well
""",
        env={"HOSTLAUNCH_DRIVER": f"{fake_driver}/libcuda.so.1", "FAKE_CUINIT": "999"},
        loads=False,
    )


def test_multiprocessing_with_fork_reports_the_refusal():
    """contract: X2."""
    run("""
import multiprocessing
stream = hostlaunch.Stream(0)

def child(queue):
    try:
        host_launch(stream, int)
    except RuntimeError as error:
        queue.put(str(error))

context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=child, args=(queue,))
process.start()
assert "fork" in queue.get(timeout=20)
process.join(20)
assert process.exitcode == 0
""")


def test_a_finalizer_that_forks_leaves_the_rest_to_the_parent():
    """contract: X2, L1. The child comes back into the drain that its parent was in,
    and does not enter the driver to undo what the parent did."""
    run("""
parent = os.getpid()
released = []
children = []

class Payload:
    def __init__(self, number):
        self.number = number

    def __call__(self):
        pass

    def __del__(self):
        released.append(self.number)
        if self.number == 0:
            children.append(os.fork())
            if children[0] == 0:
                signal.alarm(40)
                entered.append(mode_changes())

def mode_changes():
    return knobs.calls("cuThreadExchangeStreamCaptureMode") if knobs else 0

entered = []
stream = hostlaunch.Stream(0)
gate = waiting.Gate()
gate.hold(stream)
for number in range(4):
    host_launch(stream, Payload(number))
gate.open()
stream.sync()  # releases, here
if os.getpid() != parent:
    os._exit(0 if released == [0] and entered == [mode_changes()] else 3)
check(children[0])
assert released == [0, 1, 2, 3], released
""")
