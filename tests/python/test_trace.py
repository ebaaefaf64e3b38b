# SPDX-License-Identifier: Apache-2.0
"""A trace shows what happened to each launch, and opens in viewers."""

import functools
import os
import threading

import pytest

import hostlaunch
import traces
import waiting
from child import run_python
from hostlaunch import host_launch


def work():
    """Do nothing."""


def fails():
    """Raise."""
    raise ValueError


def of_kind(events, kind, name=None):
    """The events of a kind, by name."""
    return [e for e in events if e["ph"] == kind and name in (None, e.get("name"))]


@pytest.fixture
def quiet_hook(monkeypatch):
    """Let functions raise without a word."""
    monkeypatch.setattr("sys.unraisablehook", lambda _: None)


def test_each_step_of_each_launch_is_in_the_file(make_stream, tmp_path, quiet_hook):
    """contract: V4, V2."""
    stream, path = make_stream(0), tmp_path / "run.json"
    with hostlaunch.trace(path) as trace:
        for _ in range(10):
            host_launch(stream, work)
        host_launch(stream, fails)
        host_launch(stream, hostlaunch.named(work, 'a "name"\n☃'))
        waiting.sync(stream)
        waiting.wait_until(lambda: hostlaunch.stats().awaiting_release == 0)
    events = traces.check(traces.load(path))
    assert (trace.events, trace.lost) == (len(events), 0)
    assert path.read_text().endswith("\n]\n")
    main = threading.main_thread().native_id
    launches = of_kind(events, "X", "host_launch")
    assert len(launches) == 12
    assert {e["tid"] for e in launches} == {main}
    assert {e["args"]["stream"] for e in launches} == {f"stream 0x{stream.handle:x}"}
    names = [f"{__name__}.work"] * 10 + [f"{__name__}.fails", 'a "name"\n☃']
    assert [e["args"]["function"] for e in launches] == names
    runs = of_kind(events, "B")
    assert [e["name"] for e in runs] == names
    assert len({e["tid"] for e in runs}) == 1
    assert runs[0]["tid"] != main
    assert len(of_kind(events, "s")) == len(of_kind(events, "f")) == 12
    assert len(of_kind(events, "b")) == len(of_kind(events, "e")) == 12
    assert len(of_kind(events, "i", "released")) == 12
    assert {e["tid"] for e in of_kind(events, "i", "released")} == {main}
    on_streams = [e for e in of_kind(events, "X") if e["pid"] == of_kind(events, "b")[0]["pid"]]
    assert [e["args"]["outcome"] for e in on_streams] == ["ran"] * 10 + ["raised", "ran"]
    tracks = {e["args"]["name"] for e in of_kind(events, "M", "thread_name")}
    assert f"stream 0x{stream.handle:x}" in tracks


def test_the_wait_for_the_gil_is_shown(make_stream, tmp_path):
    """contract: V4. Shown is when the stream got there, and when the function began."""
    stream, path = make_stream(0), tmp_path / "run.json"
    with hostlaunch.trace(path):
        with waiting.Gate() as gate:
            gate.hold(stream)
            host_launch(stream, work)
        waiting.sync(stream)
    events = traces.check(traces.load(path))
    waits = of_kind(events, "X", "waits for the GIL")
    assert {e["args"]["function"] for e in waits} <= {"waiting.Gate", f"{__name__}.work"}
    # Nothing of the second function begins before the first has ended.
    [gate_ends, _] = of_kind(events, "E")
    begins = [e["ts"] for e in of_kind(events, "e")]
    assert max(begins) >= gate_ends["ts"] - 0.01


def test_replays_of_graphs_are_shown_without_arrows(make_stream, tmp_path):
    """contract: V4."""
    stream, path = make_stream(0), tmp_path / "run.json"
    builder = stream.create_graph_builder().begin_building()
    builder.callback(work)
    graph = builder.end_building().complete()
    with hostlaunch.trace(path):
        for _ in range(3):
            graph.launch(stream)
        waiting.sync(stream)
    events = traces.check(traces.load(path))
    assert [e["name"] for e in of_kind(events, "B")] == [f"{__name__}.work"] * 3
    assert of_kind(events, "s") == of_kind(events, "f") == []


def test_what_was_launched_before_is_shown_as_it_runs(make_stream, tmp_path):
    """contract: V4."""
    stream, path = make_stream(0), tmp_path / "run.json"
    with waiting.Gate() as gate:
        gate.hold(stream)
        host_launch(stream, work)
        with hostlaunch.trace(path):
            gate.open()
            waiting.sync(stream)
    events = traces.check(traces.load(path))
    assert [e["name"] for e in of_kind(events, "B")][-1] == f"{__name__}.work"


def test_many_threads_and_streams_lose_nothing_that_is_not_counted(make_stream, tmp_path):
    """contract: V4. What the rings cannot hold is counted, and the rest is whole."""
    streams, path = [make_stream(0) for _ in range(4)], tmp_path / "run.json"

    def launch(stream):
        for _ in range(3000):
            host_launch(stream, work)
        stream.sync()

    with hostlaunch.trace(path) as trace:
        waiting.run_threads(*(functools.partial(launch, stream) for stream in streams))
        waiting.wait_until(lambda: hostlaunch.stats().awaiting_release == 0)
    events = traces.load(path)
    traces.check_nesting([e for e in events if e["ph"] in "BE"] if trace.lost == 0 else [])
    runs = len(of_kind(events, "B", f"{__name__}.work"))
    told = sum(
        int(e["name"].split()[0]) for e in of_kind(events, "i") if "events lost" in e["name"]
    )
    assert told == trace.lost
    assert runs == 12000 or trace.lost > 0
    assert runs <= 12000


def test_a_second_trace_is_refused_and_harms_nothing(make_stream, tmp_path):
    """contract: V4."""
    stream, path = make_stream(0), tmp_path / "run.json"
    with hostlaunch.trace(path):
        with pytest.raises(RuntimeError, match="another trace"):
            hostlaunch.trace(tmp_path / "other.json").__enter__()
        host_launch(stream, work)
        waiting.sync(stream)
    assert len(of_kind(traces.load(path), "B")) == 1
    assert not (tmp_path / "other.json").exists()


def test_a_file_that_cannot_be_written_is_told(tmp_path):
    """contract: V4."""
    with pytest.raises(FileNotFoundError, match="nowhere"):
        hostlaunch.trace(tmp_path / "nowhere" / "run.json").__enter__()
    if os.path.exists("/dev/full"):
        trace = hostlaunch.trace("/dev/full")
        trace.__enter__()
        with pytest.raises(OSError, match="No space left"):
            trace.__exit__(None, None, None)
    with hostlaunch.trace(os.fsencode(tmp_path / "run.json")):
        pass


def test_an_exception_in_the_block_ends_the_trace(tmp_path):
    """contract: V4."""
    with pytest.raises(KeyError), hostlaunch.trace(tmp_path / "run.json"):
        raise KeyError
    traces.check(traces.load(tmp_path / "run.json"))
    with hostlaunch.trace(tmp_path / "run.json"):
        pass


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(0)", "sys.exit()"])
def test_a_process_that_ends_leaves_a_file_that_opens(tmp_path, end):
    """contract: V4."""
    path = tmp_path / "run.json"
    run_python(
        f"""
import os, sys, threading, time
import hostlaunch, waiting
stream = hostlaunch.Stream(0)
def work():
    pass
def never_ends():
    time.sleep(600)
trace = hostlaunch.trace({str(path)!r})
trace.__enter__()
for _ in range(100):
    hostlaunch.host_launch(stream, work)
stream.sync()
if {end!r} != "sys.exit()":
    hostlaunch.host_launch(stream, never_ends)
    waiting.wait_until(lambda: "never_ends" in open({str(path)!r}).read().split('"B"')[-1])
{end}
""",
        returncode=-9 if "kill" in end else 0,
    )
    events = traces.check(traces.load(path))
    assert len(of_kind(events, "B", "__main__.work")) == 100
    if end != "sys.exit()":
        [open_slice] = of_kind(events, "B", "__main__.never_ends")
        assert open_slice
    else:
        assert path.read_text().endswith("\n]\n")


def test_a_forked_child_does_not_write_into_its_parents_trace(tmp_path):
    """contract: V4, X2."""
    path = tmp_path / "run.json"
    run_python(
        f"""
import os, warnings
import hostlaunch
warnings.simplefilter("ignore")
stream = hostlaunch.Stream(0)
with hostlaunch.trace({str(path)!r}) as trace:
    hostlaunch.host_launch(stream, int)
    stream.sync()
    child = os.fork()
    if child == 0:
        try:
            trace.__exit__(None, None, None)
        except OSError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    hostlaunch.host_launch(stream, int)
    stream.sync()
"""
    )
    events = traces.check(traces.load(path))
    assert len(of_kind(events, "B", "builtins.int")) == 2
