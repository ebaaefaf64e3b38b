# SPDX-License-Identifier: Apache-2.0
"""Exit and fork with graphs: pending, running, stuck, half built."""

import pytest

from child import run_python
from exiting import run_exit

BUILD = """
def build(*functions):
    builder = stream.create_graph_builder().begin_building()
    for fn in functions:
        builder.callback(fn)
    return builder.end_building().complete()
started = threading.Event()
"""


def test_pending_launches_of_a_graph_run_no_function(embedded):
    """contract: X1."""
    result = run_exit(
        f"""{BUILD}
graph = build(lambda: say("ran"))
knobs.set_manual(1)
for _ in range(100):
    graph.launch(stream)
sys.exit(3)
""",
        returncode=3,
    )
    assert result.stdout == ""


def test_a_running_function_of_a_graph_is_waited_for():
    """contract: X1. Those behind it are not begun."""
    result = run_exit(
        f"""{BUILD}
def body():
    started.set()
    time.sleep(0.3)
    say("finished")
graph = build(body, lambda: say("next"))
graph.launch(stream)
started.wait(20)
""",
    )
    assert result.lines == ["finished"]


def test_a_thunk_that_is_not_recognised_is_waited_for_in_a_graph_too():
    """contract: X1, F2."""
    result = run_exit(
        f"""{BUILD}
def body(pointer):
    started.set()
    time.sleep(0.3)
    say("finished")
thunk = CUhostFn(body)
graph = build(bare(thunk), bare(thunk))
graph.launch(stream)
started.wait(20)
""",
    )
    assert result.lines == ["finished"]


@pytest.mark.forced_unwinding
@pytest.mark.parametrize("stuck", ["time.sleep(100)", "while True: pass", "lock.acquire()"])
def test_a_function_of_a_graph_that_never_ends_does_not_hold_the_exit(stuck):
    """contract: X1."""
    run_exit(
        f"""{BUILD}
lock = threading.Lock()
lock.acquire()
def body():
    started.set()
    {stuck}
graph = build(body)
graph.launch(stream)
started.wait(20)
sys.exit(5)
""",
        timeout_setting=0.3,
        returncode=5,
    )


STATES = {
    "building": "builder = stream.create_graph_builder().begin_building(); builder.callback(int)",
    "built": "graph = build(int)",
    "closed in flight": "graph = build(int); graph.launch(stream); graph.close()",
    "in a cycle": "cell = []; cell.append(build(lambda: cell)); cell[0].launch(stream)",
    "a global": "global_graph = build(int); sys.modules['keeps'] = global_graph",
    "in a callback": "held = [build(int)]; host_launch(stream, held.clear); stream.sync()",
}


@pytest.mark.parametrize("state", STATES)
def test_objects_alive_at_exit_are_no_trouble(state):
    """contract: X1. Silent, and with the exit code kept."""
    run_exit(f"{BUILD}{STATES[state]}\nsys.exit(4)\n", returncode=4)


def test_launches_of_graphs_after_exit_has_begun_are_refused():
    """contract: X1. Closing still works."""
    result = run_exit(
        f"""{BUILD}
graph = build(int)
builder = stream.create_graph_builder().begin_building()
def late():
    for call in (lambda: graph.launch(stream), lambda: builder.callback(int)):
        try:
            call()
        except RuntimeError as error:
            say("exiting" in str(error))
    builder.close()
    graph.close()
    stream.sync()
    say("closed")
late_calls.append(late)
""",
    )
    assert result.lines == ["True", "True", "closed"]


def test_daemon_threads_that_launch_graphs_during_exit():
    """contract: X1."""
    for _ in range(3):
        run_exit(
            f"""{BUILD}
def work():
    mine = hostlaunch.Stream(0)
    try:
        builder = mine.create_graph_builder().begin_building()
        builder.callback(lambda: [1])
        graph = builder.end_building().complete()
        while True:
            graph.launch(mine)
            started.set()
    except RuntimeError:
        started.set()  # exit has begun
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
started.wait(20)
"""
        )


@pytest.mark.forks
def test_a_forked_child_neither_launches_nor_releases_what_graphs_hold():
    """contract: X2."""
    result = run_python(
        """
import gc, os, signal, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import hostlaunch
from hostlaunch import host_launch
from probes import Probe
stream, deaths, runs = hostlaunch.Stream(0), [], []
builder = stream.create_graph_builder().begin_building()
node = builder.callback(Probe(deaths, runs))
graph = builder.end_building().complete()
building = hostlaunch.Stream(0).create_graph_builder().begin_building()
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    for call in (lambda: graph.launch(stream), lambda: graph.upload(stream),
                 lambda: graph.update(builder), lambda: graph.update_callback(node, int),
                 builder.complete, lambda: building.callback(int), building.end_building,
                 stream.create_graph_builder, lambda: hostlaunch.GraphBuilder.attach(stream)):
        try:
            call()
        except RuntimeError as error:
            assert "fork" in str(error), error
        else:
            raise AssertionError("accepted")
    graph.close()
    builder.close()
    building.close()
    del graph, builder, building
    gc.collect()
    assert deaths == []
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
graph.launch(stream)
stream.sync()
assert len(runs) == 1
print("done")
""",
        timeout=60,
    )
    assert result.lines == ["done"]
