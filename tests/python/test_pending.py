# SPDX-License-Identifier: Apache-2.0
"""`pending` lists what is pending and running."""

import threading
import time

import hostlaunch
import waiting
from hostlaunch import host_launch


def work():
    """Do nothing."""


def test_it_lists_what_is_pending_and_running(make_stream):
    """contract: V5."""
    stream = make_stream(0)
    assert hostlaunch.pending() == []
    with waiting.Gate() as gate:
        gate.hold(stream)
        began = time.monotonic()
        for _ in range(3):
            host_launch(stream, work)
        tasks = hostlaunch.pending()
        stats = hostlaunch.stats()
        assert len(tasks) == stats.pending + stats.running == 4
        assert {task.stream for task in tasks} == {stream.handle}
        assert {task.route for task in tasks} == {"driver thread"}
        assert [task.name for task in tasks if task.running] == ["waiting.Gate"]
        assert [task.name for task in tasks if not task.running] == [f"{__name__}.work"] * 3

        def old():
            tasks = hostlaunch.pending()
            return min(task.age for task in tasks) >= 0.1 and tasks

        tasks = waiting.wait_until(old)
        assert max(task.age for task in tasks) <= time.monotonic() - began + 1
    waiting.sync(stream)
    waiting.wait_until(lambda: hostlaunch.pending() == [])


def test_compiled_code_is_listed_by_its_route(make_stream, hostfns):
    """contract: V5."""
    stream = make_stream(0)
    with waiting.Gate() as gate:
        gate.hold(stream)
        host_launch(stream, hostfns.count)
        [task] = [task for task in hostlaunch.pending() if task.route == "native"]
        assert (task.name, task.stream, task.running) == ("hf_count", stream.handle, False)
    waiting.sync(stream)
    waiting.wait_until(waiting.is_quiet)
    assert hostlaunch.pending() == []


def test_it_may_be_asked_while_everything_moves(make_stream):
    """contract: V5, L1. Names are read while functions run and are released."""
    streams = [make_stream(0) for _ in range(3)]
    done = threading.Event()
    names = set()

    def ask():
        while not done.is_set():
            names.update(task.name for task in hostlaunch.pending())

    def launch(stream):
        def body():
            for _ in range(2000):
                host_launch(stream, lambda: None)
            stream.sync()

        return body

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        waiting.run_threads(*(launch(stream) for stream in streams))
    finally:
        done.set()
        asking.join(20)
    own = f"{__name__}.test_it_may_be_asked_while_everything_moves.<locals>."
    assert {name.split(" ")[0] for name in names} <= {
        f"{own}launch.<locals>.body.<locals>.<lambda>"
    }
