# SPDX-License-Identifier: Apache-2.0
"""A sticky error on one of two devices, and exit, each in a process of its own.

The error is process-wide on the driver that was measured: every later call fails on the other
device too, and its launches are abandoned as well, unless their turn comes before that.
"""

import pytest

import faults
from child import run_python
from exiting import run_exit

pytestmark = pytest.mark.usefixtures("two_devices")

PRELUDE = """
import gc, sys, threading, time
import cudriver, faults, hostfns, hostlaunch, waiting
from fakes import TorchLikeStream
from hostlaunch import host_launch
from probes import Probe, wait_for_deaths
compiled = hostfns.load()
cu = cudriver.handle()
knobs = None
if hostlaunch.driver().name == "embedded":
    import embedded
    knobs = embedded.knobs()
    knobs.check_gil()
main = threading.main_thread().ident
streams = [hostlaunch.Stream(device) for device in (0, 1)]
broken, other = streams[FAULTY], streams[1 - FAULTY]
fault = faults.Fault(cu, FAULTY)
gates = [waiting.Gate(), waiting.Gate()]
deaths, runs = [], []

def pend(stream, number):
    for _ in range(number):
        host_launch(stream, Probe(deaths, runs))

def strike():
    fault.strike()
    gates[FAULTY].open()
    # Until the whole process has failed, the other device goes on: wait before it is let go.
    waiting.wait_until(fault.is_visible, 20)

def abandoned():
    return hostlaunch.stats().abandoned
"""
EPILOGUE = """
for gate in gates:
    gate.open()
waiting.wait_until(waiting.is_quiet, 20)
assert waiting.adds_up(hostlaunch.stats()), hostlaunch.stats()
assert runs == []
assert knobs is None or knobs.violations() == 0, knobs.first_violation()
print("done")
"""


@pytest.fixture(params=[0, 1])
def run(hostfns, request):
    """Run a case with the fault on either device; it must end cleanly and in silence."""

    def run_case(code):
        prelude = f"FAULTY = {request.param}\n{PRELUDE}"
        result = run_python(prelude + code + EPILOGUE, env=faults.ENVIRONMENT, timeout=60)
        assert result.lines[-1] == "done"

    return run_case


def test_pending_launches_of_both_devices_become_abandoned(run):
    """contract: L4, X3. While a function of the other device runs, which ends as ran."""
    run("""
for stream, gate in zip(streams, gates):
    gate.hold(stream)
fault.enqueue(broken)
for stream in streams:
    pend(stream, 50)
# Not on the broken device: its default stream does not wait for the kernel.
pend(TorchLikeStream(0, other.device_id), 5)
assert hostlaunch.stats().pending == 105 and deaths == []
failed = time.monotonic()
strike()
waiting.wait_until(lambda: abandoned() == 105, 20)
assert time.monotonic() - failed < 5, "within one second, generously"
waiting.wait_until(lambda: len(deaths) == 105)
assert set(deaths) == {main}
gates[1 - FAULTY].open()
waiting.wait_until(lambda: hostlaunch.stats().ran == 2)
assert len(deaths) == 105 and hostlaunch.stats().awaiting_release == 0
""")


def test_launches_that_wait_for_the_other_device_become_abandoned(run):
    """contract: L4, X3. They are behind an event that never happens."""
    run("""
gates[FAULTY].hold(broken)
fault.enqueue(broken)
other.wait(broken.record())
pend(other, 50)
strike()
waiting.wait_until(lambda: abandoned() == 50, 20)
wait_for_deaths(deaths, 50)
""")


def test_as_is_launches_of_both_devices_become_abandoned_and_keep_their_payload(run):
    """contract: L4."""
    run("""
for stream, gate in zip(streams, gates):
    gate.hold(stream)
fault.enqueue(broken)
for stream in streams:
    for _ in range(10):
        host_launch(stream, compiled.count, user_data=bytes(100))
    fn = compiled.fn("count")
    fn.owner = Probe(deaths)
    host_launch(stream, fn)
    del fn
strike()
waiting.wait_until(lambda: abandoned() == 22, 20)
gc.collect()
assert deaths == [], "the functions could still be running"
assert compiled.counter() == 0
""")


def test_later_calls_on_both_devices_raise_the_drivers_error(run):
    """contract: X3, O4. They leak nothing, and leave the current context as it was."""
    run("""
graphs, events, buffers = [], [], []
for stream in streams:
    builder = stream.create_graph_builder().begin_building()
    builder.callback(int)
    graphs.append(builder.end_building().complete())
    builder.close()
    events.append(stream.record())
    buffers.append(hostlaunch.Buffer(64, device_id=stream.device_id))
    waiting.sync(stream)
gates[FAULTY].hold(broken)
fault.enqueue(broken)
strike()
waiting.wait_until(lambda: hostlaunch.stats().running == 0)

def told(call):
    try:
        call()
    except hostlaunch.CUDAError as error:
        assert (error.code, error.name) == (700, "CUDA_ERROR_ILLEGAL_ADDRESS"), error
    else:
        raise AssertionError("no error")

told(broken.sync)
for context in (None, cu.primary_context(0), cu.primary_context(1)):
    cu.set_current(context)
    for device, stream in enumerate(streams):
        for call in (
            stream.sync,
            lambda: host_launch(stream, Probe(deaths, runs)),
            lambda: host_launch(TorchLikeStream(0, device), Probe(deaths, runs)),
            lambda: host_launch(stream, compiled.count, user_data=bytes(10**6)),
            stream.record,
            events[device].sync,
            lambda: events[device].is_done,
            lambda: buffers[device].fill(0, stream=stream),
            lambda: graphs[device].launch(stream),
            lambda: hostlaunch.Stream(device),
            lambda: hostlaunch.Buffer(64, device_id=device),
        ):
            told(call)
            assert cu.current_context() == context
gc.collect()
assert len(deaths) == 12, "later launches leak nothing"
assert hostlaunch.stats().accepted == 1 and hostlaunch.stats().ran == 1
""")


def test_graphs_of_both_devices_end(run):
    """contract: B2, X3. Their functions never run; what they hold may stay to process end."""
    run("""
graphs = []
for stream, gate in zip(streams, gates):
    builder = stream.create_graph_builder().begin_building()
    builder.callback(Probe(deaths, runs if stream is broken else []))
    graphs.append(builder.end_building().complete())
    builder.close()
    gate.hold(stream)
fault.enqueue(broken)
for stream, graph in zip(streams, graphs):
    graph.launch(stream)
strike()
gates[1 - FAULTY].open()  # what is pending on the other device may run all the same
waiting.wait_until(lambda: hostlaunch.stats().running == 0)
for stream in streams:
    try:
        waiting.sync(stream)
    except hostlaunch.CUDAError as error:
        assert error.code == 700
    else:
        raise AssertionError("no error")
for graph in graphs:
    waiting.bounded(graph.close)
del graphs, graph
gc.collect()
assert len(deaths) <= 2 and set(deaths) <= {main}
""")


def test_everything_of_both_devices_may_be_closed_after_the_failure(run):
    """contract: X3, L4. Cleanup calls fail as well, and nobody hears of it."""
    run("""
things = [hostlaunch.Buffer(64, device_id=device) for device in (0, 1)]
things += [hostlaunch.Buffer(64, kind="pinned", device_id=device) for device in (0, 1)]
things += [stream.record() for stream in streams]
for stream, gate in zip(streams, gates):
    gate.hold(stream)
fault.enqueue(broken)
for stream in streams:
    pend(stream, 10)
strike()
waiting.wait_until(lambda: abandoned() == 20, 20)
gates[1 - FAULTY].open()
for each in things + streams:
    waiting.bounded(each.close)
del each, things
gc.collect()
wait_for_deaths(deaths, 20)
""")


@pytest.mark.parametrize("state", ["at once", "once abandoned"])
@pytest.mark.parametrize("faulty", [0, 1])
def test_the_process_exits_cleanly_after_the_failure(hostfns, faulty, state):
    """contract: X3, X1. With functions of both devices pending, with its own exit code."""
    wait = "waiting.wait_until(lambda: abandoned() == 100, 20)" * (state == "once abandoned")
    result = run_python(
        f"FAULTY = {faulty}\n{PRELUDE}"
        + f"""
for stream, gate in zip(streams, gates):
    gate.hold(stream)
fault.enqueue(broken)
for stream in streams:
    for _ in range(50):
        host_launch(stream, lambda: print("ran"))
strike()
{wait}
gates[1 - FAULTY].open()
sys.exit(7)
""",
        env=faults.ENVIRONMENT,
        returncode=7,
        stderr=None,
    )
    # What was pending on the other device may run, until it is abandoned or exit begins.
    assert set(result.lines) <= ({"ran"} if state == "at once" else set())
    assert "Traceback" not in result.stderr
    assert "Fatal" not in result.stderr


def test_running_functions_of_both_devices_are_waited_for_at_exit():
    """contract: X1. At once, and the functions behind them too."""
    result = run_exit(
        """
streams = [stream, hostlaunch.Stream(1)]
started = threading.Barrier(3)

def body():
    started.wait(20)
    time.sleep(0.3)
    say("finished")

for each in streams:
    host_launch(each, body)
started.wait(20)
for each in streams:
    for _ in range(10):
        host_launch(each, lambda: say("ran"))
late_calls.append(lambda: say("late"))
""",
    )
    assert sorted(result.lines[:-1]) == ["finished"] * 2 + ["ran"] * 20
    assert result.lines[-1] == "late"
