# SPDX-License-Identifier: Apache-2.0
"""Every call, on things of the second device: the caller's current context stays as it was."""

import dataclasses
import gc
from collections.abc import Callable
from typing import Any

import pytest

import hostlaunch
import waiting
from devices import CONTEXTS
from embedded import OUT_OF_MEMORY
from fakes import ForeignStream, TorchLikeStream
from hostlaunch import Buffer, GraphBuilder, Stream, host_launch

pytestmark = pytest.mark.usefixtures("two_devices")


class Scene:
    """What the calls work on, all of it on the second device but for one stream."""

    def __init__(self, hostfns):
        self.compiled = hostfns.count
        self.other = Stream(0)
        self.stream, self.building = Stream(1), Stream(1)
        self.default, self.foreign = TorchLikeStream(0, 1), ForeignStream(self.stream.handle)
        self.device = Buffer(64, device_id=1)
        self.host = Buffer(64, kind="pinned", device_id=1)
        self.event = self.stream.record()
        self.fresh = Stream(1).create_graph_builder()
        self.builder = self.building.create_graph_builder().begin_building()
        self.node = self.builder.callback(int)
        self.built = Stream(1).create_graph_builder().begin_building()
        self.built_node = self.built.callback(int)
        self.graph = self.built.end_building().complete()

    def close(self):
        """Let all work end."""
        self.fresh.close()
        self.builder.close()
        waiting.sync(*(each for each in (self.stream, self.other) if not each.is_closed))
        gc.collect()


@dataclasses.dataclass
class Case:
    """A call, and the entries of the driver that can refuse it, each at its nth call."""

    call: Callable[[Scene], Any]
    entries: tuple[tuple[str, int], ...] = ()


CASES = {
    "launch": Case(lambda s: host_launch(s.stream, int), (("cuLaunchHostFunc", 1),)),
    "launch as is": Case(
        lambda s: host_launch(s.stream, s.compiled),
        (("cuEventCreate", 1), ("cuLaunchHostFunc", 1)),
    ),
    "launch on another library's stream": Case(
        lambda s: host_launch(s.foreign, int), (("cuLaunchHostFunc", 1), ("cuStreamGetCtx", 1))
    ),
    "launch as is on another library's stream": Case(
        lambda s: host_launch(s.foreign, s.compiled),
        (("cuEventCreate", 1), ("cuLaunchHostFunc", 1), ("cuStreamGetCtx", 1)),
    ),
    "launch on a default stream": Case(
        lambda s: host_launch(s.default, int),
        (("cuLaunchHostFunc", 1), ("cuStreamIsCapturing", 1)),
    ),
    "launch as is on a default stream": Case(
        lambda s: host_launch(s.default, s.compiled),
        (("cuEventCreate", 1), ("cuLaunchHostFunc", 1)),
    ),
    "launch into a capture": Case(
        lambda s: host_launch(s.builder, int),
        (("cuLaunchHostFunc", 1), ("cuUserObjectCreate", 1), ("cuGraphRetainUserObject", 1)),
    ),
    "record": Case(lambda s: s.stream.record(), (("cuEventCreate", 1), ("cuEventRecord", 1))),
    "record again": Case(lambda s: s.stream.record(s.event), (("cuEventRecord", 1),)),
    "wait for an event": Case(lambda s: s.other.wait(s.event), (("cuStreamWaitEvent", 1),)),
    "wait for a stream": Case(
        lambda s: s.stream.wait(s.other),
        (("cuEventCreate", 1), ("cuEventRecord", 1), ("cuStreamWaitEvent", 1)),
    ),
    "wait for a default stream": Case(
        lambda s: s.other.wait(s.default),
        (("cuEventCreate", 1), ("cuEventRecord", 1), ("cuStreamWaitEvent", 1)),
    ),
    "sync": Case(lambda s: s.stream.sync(), (("cuStreamSynchronize", 1),)),
    "sync an event": Case(lambda s: s.event.sync(), (("cuEventSynchronize", 1),)),
    "ask an event": Case(lambda s: s.event.is_done, (("cuEventQuery", 1),)),
    "fill": Case(lambda s: s.device.fill(1, stream=s.stream), (("cuMemsetD8Async", 1),)),
    "copy": Case(lambda s: s.device.copy_to(s.host, stream=s.stream), (("cuMemcpyAsync", 1),)),
    "copy on another library's stream": Case(
        lambda s: s.device.copy_to(s.host, stream=s.foreign),
        (("cuMemcpyAsync", 1), ("cuStreamGetCtx", 1)),
    ),
    "copy on a default stream": Case(
        lambda s: s.device.copy_from(s.host, stream=s.default), (("cuMemcpyAsync", 1),)
    ),
    "make a stream": Case(
        lambda _: Stream(1), (("cuStreamCreateWithPriority", 1), ("cuCtxGetDevice", 1))
    ),
    "make a stream of a priority": Case(
        lambda _: Stream(1, priority=0), (("cuCtxGetStreamPriorityRange", 1),)
    ),
    "make device memory": Case(lambda _: Buffer(64, device_id=1), (("cuMemAlloc", 1),)),
    "make pinned memory": Case(
        lambda _: Buffer(64, kind="pinned", device_id=1), (("cuMemHostAlloc", 1),)
    ),
    "begin building": Case(
        lambda s: s.fresh.begin_building(),
        (
            ("cuStreamBeginCapture", 1),
            ("cuStreamGetCaptureInfo", 1),
            ("cuStreamGetCaptureInfo", 2),
        ),
    ),
    "attach": Case(lambda s: GraphBuilder.attach(s.building), (("cuStreamGetCaptureInfo", 1),)),
    "end building": Case(
        lambda s: s.builder.end_building(),
        (("cuStreamGetCaptureInfo", 1), ("cuStreamEndCapture", 1)),
    ),
    "complete": Case(lambda s: s.built.complete(), (("cuGraphInstantiateWithFlags", 1),)),
    "upload": Case(lambda s: s.graph.upload(s.stream), (("cuGraphUpload", 1),)),
    "launch a graph": Case(lambda s: s.graph.launch(s.stream), (("cuGraphLaunch", 1),)),
    "launch a graph on a default stream": Case(
        lambda s: s.graph.launch(s.default), (("cuGraphLaunch", 1),)
    ),
    "update": Case(lambda s: s.graph.update(s.built), (("cuGraphExecUpdate", 1),)),
    "update a function": Case(
        lambda s: s.graph.update_callback(s.built_node, int),
        (("cuGraphClone", 1), ("cuGraphHostNodeSetParams", 1), ("cuGraphExecUpdate", 1)),
    ),
    "close a stream": Case(lambda s: s.stream.close()),
    "close an event": Case(lambda s: s.event.close()),
    "close memory": Case(lambda s: s.device.close()),
    "close a builder": Case(lambda s: s.builder.close()),
    "close a graph": Case(lambda s: s.graph.close()),
}
FAILURES = [
    pytest.param(case.call, entry, nth, id=f"{name}-{entry}-{nth}")
    for name, case in CASES.items()
    for entry, nth in case.entries
]


@pytest.fixture
def scene(cu, hostfns):
    """Make a scene that ends before the counters are looked at."""
    made = Scene(hostfns)
    yield made
    cu.set_current(None)
    made.close()


def in_context(cu, current, call):
    """Call on a fresh thread; the context that was current must be current afterwards."""

    def body():
        wanted = None if current is None else cu.primary_context(current)
        cu.set_current(wanted)
        try:
            call()
        finally:
            assert cu.current_context() == wanted

    waiting.bounded(body)


@pytest.mark.parametrize("current", CONTEXTS)
@pytest.mark.parametrize("name", CASES)
def test_a_call_leaves_the_current_context_as_it_was(cu, scene, name, current):
    """contract: O4."""
    in_context(cu, current, lambda: CASES[name].call(scene))


@pytest.mark.parametrize("current", CONTEXTS)
@pytest.mark.parametrize(("call", "entry", "nth"), FAILURES)
def test_a_refused_call_does_so_too(cu, embedded, scene, call, entry, nth, current):
    """contract: O4 (also on errors). Refused once, it works the next time."""
    embedded.fail(entry, OUT_OF_MEMORY, nth)
    with pytest.raises(hostlaunch.CUDAError, match="OUT_OF_MEMORY"):
        in_context(cu, current, lambda: call(scene))
    embedded.reset()
    in_context(cu, current, lambda: call(scene))


@pytest.mark.parametrize("current", [None, 0])
@pytest.mark.parametrize("entry", ["cuCtxSetCurrent", "cuCtxGetCurrent"])
@pytest.mark.parametrize("name", CASES)
def test_a_context_that_cannot_be_made_current_is_told_or_not_needed(
    cu, embedded, scene, name, entry, current
):
    """contract: O4. Closing tells nobody."""
    before = cu.primary_context(0) if current == 0 else None
    said = []

    def call():
        cu.set_current(before)
        embedded.fail(entry, OUT_OF_MEMORY)
        try:
            CASES[name].call(scene)
        except hostlaunch.CUDAError as error:
            said.append(str(error))
        embedded.reset()
        assert cu.current_context() == before

    waiting.bounded(call)
    assert all(entry in text and "OUT_OF_MEMORY" in text for text in said)


@pytest.mark.parametrize("current", [None, 0])
@pytest.mark.parametrize(
    "call",
    [
        lambda s: host_launch(s.default, int),
        lambda s: host_launch(s.default, s.compiled),
        lambda s: s.graph.launch(s.default),
        lambda s: s.device.fill(1, stream=s.default),
    ],
)
def test_nothing_is_enqueued_in_the_callers_context_instead(cu, embedded, scene, call, current):
    """contract: O4. The named device cannot be made current; the token would mean another."""
    cu.set_current(None if current is None else cu.primary_context(current))
    embedded.fail("cuCtxSetCurrent", OUT_OF_MEMORY)
    with (
        embedded.log() as calls,
        pytest.raises(hostlaunch.CUDAError, match="cuCtxSetCurrent"),
    ):
        call(scene)
    enqueuing = {"cuLaunchHostFunc", "cuGraphLaunch", "cuMemsetD8Async", "cuEventRecord"}
    assert not enqueuing & {entry.name for entry in calls}
