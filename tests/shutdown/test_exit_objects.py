# SPDX-License-Identifier: Apache-2.0
"""Objects that die after exit has begun, behind a function that never ends."""

import pytest

from exiting import ANY, run_exit

OBJECTS = {
    "device memory": "hostlaunch.Buffer(64)",
    "pinned memory": 'hostlaunch.Buffer(64, kind="pinned")',
    "a view of pinned memory": 'memoryview(hostlaunch.Buffer(64, kind="pinned"))',
    "a stream": "hostlaunch.Stream(0)",
    "an event": "stream.record()",
    "a builder": "hostlaunch.Stream(0).create_graph_builder().begin_building()",
    "a graph": "stream.create_graph_builder().begin_building().end_building().complete()",
}
OWNERS = {
    "a module": "sys.modules['keeps'] = type(sys)('keeps'); sys.modules['keeps'].thing = {}",
    "a cycle": "cell = [{}]; cell.append(cell); del cell",
    "a function that never runs": "host_launch(stream, lambda thing={}: None)",
    "an exit handler": "late_calls.append([{}].clear)",
}
STUCK = {
    "Python": "def body():\n    started.set()\n    time.sleep(100)\nhost_launch(stream, body)",
    "compiled": "host_launch(stream, compiled.block); started.set()",
    "compiled in a graph": (
        "builder = stream.create_graph_builder().begin_building()\n"
        "builder.callback(compiled.block)\n"
        "builder.end_building().complete().launch(stream); started.set()"
    ),
}


@pytest.mark.parametrize("what", OBJECTS)
@pytest.mark.parametrize("owner", OWNERS)
def test_an_object_that_dies_behind_a_function_that_never_ends_does_not_hold_the_exit(
    hostfns, what, owner
):
    """contract: X1. A free would wait for the function; the memory is left to the process."""
    run_exit(
        f"""
gc.disable()  # a collection before the exit would wait, as it has to
started = threading.Event()
{STUCK["Python"]}
started.wait(20)
{OWNERS[owner].format(OBJECTS[what])}
sys.exit(5)
""",
        timeout_setting=0.1,
        drops=ANY,
        returncode=5,
    )


@pytest.mark.parametrize("kind", ["device", "pinned"])
@pytest.mark.parametrize("stuck", STUCK)
def test_memory_may_be_closed_late_whatever_still_runs(hostfns, stuck, kind):
    """contract: X1. Closing still works, and does not wait."""
    result = run_exit(
        f"""
started = threading.Event()
buffer = hostlaunch.Buffer(64, kind={kind!r})
{STUCK[stuck]}
started.wait(20)
def late():
    buffer.close()
    say("closed", buffer.is_closed)
late_calls.append(late)
sys.exit(5)
""",
        timeout_setting=0.1,
        drops=ANY,
        returncode=5,
    )
    assert result.lines == ["closed True"]
