# SPDX-License-Identifier: Apache-2.0
"""What the docstrings say is raised is raised, each class of error by each name."""

import asyncio

import pytest

import api_calls
import docstrings
import hostlaunch
import waiting
from child import run_python
from embedded import NOT_SUPPORTED
from fakes import TorchLikeStream
from hostfns import CUhostFn
from hostlaunch import Buffer, GraphBuilder, Stream, host_launch, submit, work_done

PUBLIC = dict(docstrings.public_names())
THUNK = CUhostFn(lambda pointer: None)
NO_DEVICE = TorchLikeStream(0, 2**70)
SPREAD = memoryview(b"abcdef")[::2]


def said(error):
    """List the names whose docstring says that they raise an error."""
    return sorted(name for name in PUBLIC if error in docstrings.entries(PUBLIC[name], "Raises"))


def saying(phrase):
    """List the names that say so among what they raise."""
    told = {name: docstrings.section(PUBLIC[name], "Raises") or "" for name in PUBLIC}
    return sorted(name for name, text in told.items() if phrase in " ".join(text.split()))


# Its task has failed, not this call.
LATER = ["Future.result"]
# They refuse always.
NEVER = ["Future.set_exception", "Future.set_result", "Future.set_running_or_notify_cancel"]
# They enter no driver.
OUTSIDE = ["trace", "watchdog"]
INSIDE = saying("inside a host function")
EXITING = saying("after interpreter exit has begun")

WRONG = {
    TypeError: {
        "Buffer": lambda scene: Buffer("1"),
        "Buffer.copy_from": lambda scene: scene.target.copy_from(1, stream=scene.stream),
        "Buffer.copy_to": lambda scene: scene.source.copy_to(scene.target, stream=1),
        "Buffer.fill": lambda scene: scene.target.fill(b"1", stream=scene.stream),
        "Future.add_done_callback": lambda scene: asyncio.run(asyncio.wait([scene.future])),
        "Graph.launch": lambda scene: scene.graph.launch(1),
        "Graph.update": lambda scene: scene.graph.update(scene.stream),
        "Graph.update_callback": lambda scene: scene.graph.update_callback(0, int),
        "Graph.upload": lambda scene: scene.graph.upload(1),
        "GraphBuilder.attach": lambda scene: GraphBuilder.attach(1),
        "GraphBuilder.begin_building": lambda scene: scene.idle.begin_building(0),
        "GraphBuilder.callback": lambda scene: scene.building.callback(1),
        "Stream": lambda scene: Stream("0"),
        "Stream.from_handle": lambda scene: Stream.from_handle(True),
        "Stream.record": lambda scene: scene.stream.record(scene.stream),
        "Stream.wait": lambda scene: scene.stream.wait(1),
        "host_launch": lambda scene: host_launch(1, int),
        "named": lambda scene: hostlaunch.named(1, "name"),
        "submit": lambda scene: submit(scene.stream, 1),
        "work_done": lambda scene: work_done(1),
    },
    ValueError: {
        "Buffer": lambda scene: Buffer(2**63),
        "Buffer.copy_from": lambda scene: scene.target.copy_from(Buffer(8), stream=scene.stream),
        "Buffer.copy_to": lambda scene: scene.source.copy_to(Buffer(8), stream=scene.stream),
        "Buffer.fill": lambda scene: scene.target.fill(256, stream=scene.stream),
        "Graph.launch": lambda scene: scene.graph.launch(NO_DEVICE),
        "Graph.update": lambda scene: scene.graph.update(scene.building),
        "Graph.update_callback": lambda scene: scene.graph.update_callback(
            scene.node, int, user_data=b""
        ),
        "Graph.upload": lambda scene: scene.graph.upload(NO_DEVICE),
        "GraphBuilder.attach": lambda scene: GraphBuilder.attach(NO_DEVICE),
        "GraphBuilder.begin_building": lambda scene: scene.idle.begin_building("fast"),
        "GraphBuilder.callback": lambda scene: scene.building.callback(int, user_data=b""),
        "Stream": lambda scene: Stream(-1),
        "Stream.wait": lambda scene: scene.stream.wait(NO_DEVICE),
        "host_launch": lambda scene: host_launch(scene.stream, int, user_data=0),
        "submit": lambda scene: submit(NO_DEVICE, int),
        "watchdog": lambda scene: hostlaunch.watchdog(0),
        "work_done": lambda scene: work_done(NO_DEVICE),
    },
    OverflowError: {
        "Graph.update_callback": lambda scene: scene.graph.update_callback(
            scene.node, THUNK, user_data=-1
        ),
        "GraphBuilder.callback": lambda scene: scene.building.callback(THUNK, user_data=2**64),
        "Stream.from_handle": lambda scene: Stream.from_handle(2**64),
        "host_launch": lambda scene: host_launch(scene.stream, THUNK, user_data=-1),
    },
    BufferError: {
        "Graph.update_callback": lambda scene: scene.graph.update_callback(
            scene.node, THUNK, user_data=SPREAD
        ),
        "GraphBuilder.callback": lambda scene: scene.building.callback(THUNK, user_data=SPREAD),
        "host_launch": lambda scene: host_launch(scene.stream, THUNK, user_data=SPREAD),
    },
}

# What fails to make each call a CUDAError.
FAILING = {
    "Buffer": "cuMemAlloc",
    "Buffer.copy_from": "cuMemcpyAsync",
    "Buffer.copy_to": "cuMemcpyAsync",
    "Buffer.fill": "cuMemsetD8Async",
    "Event.is_done": "cuEventQuery",
    "Event.sync": "cuEventSynchronize",
    "Graph.launch": "cuGraphLaunch",
    "Graph.update": "cuGraphExecUpdate",
    "Graph.update_callback": "cuGraphExecUpdate",
    "Graph.upload": "cuGraphUpload",
    "GraphBuilder.attach": "cuStreamGetCaptureInfo",
    "GraphBuilder.begin_building": "cuStreamBeginCapture",
    "GraphBuilder.callback": "cuLaunchHostFunc",
    "GraphBuilder.complete": "cuGraphInstantiateWithFlags",
    "GraphBuilder.end_building": "cuStreamEndCapture",
    "GraphBuilder.is_building": "cuStreamGetCaptureInfo",
    "Stream": "cuStreamCreateWithPriority",
    "Stream.device_id": "cuStreamGetCtx",
    "Stream.record": "cuEventRecord",
    "Stream.sync": "cuStreamSynchronize",
    "Stream.wait": "cuStreamWaitEvent",
    "host_launch": "cuLaunchHostFunc",
    "submit": "cuEventRecord",
    "work_done": "cuEventRecord",
}


@pytest.fixture
def scene(driver_in_use):
    """Make the objects that calls are made on."""
    made = api_calls.Scene()
    yield made
    made.close()


@pytest.mark.parametrize("error", WRONG)
def test_wrong_arguments_raise_what_is_said(scene, error):
    """contract: section 1, 2, 3, S4, F3, U1, U2, U3."""
    assert sorted(WRONG[error]) == said(error.__name__)
    for name, call in WRONG[error].items():
        with pytest.raises(error) as caught:
            call(scene)
        assert caught.type is error, name


@pytest.mark.parametrize("name", FAILING)
def test_a_refusal_of_the_driver_is_a_cuda_error_where_it_is_said(embedded, scene, name):
    """contract: section 2, L3, B5."""
    api_calls.CALLS[name](api_calls.Scene())  # right otherwise
    embedded.fail_own(FAILING[name], NOT_SUPPORTED)
    with pytest.raises(hostlaunch.CUDAError) as caught:
        api_calls.CALLS[name](scene)
    assert caught.value.code == NOT_SUPPORTED


def test_calls_that_enter_the_driver_say_what_they_raise_there():
    """contract: section 2, E3, X2."""
    assert sorted([*FAILING, "driver", *LATER]) == said("CUDAError")
    assert INSIDE == sorted(api_calls.CALLS) == saying("in a forked child")
    assert sorted([*INSIDE, "driver", *NEVER, *OUTSIDE]) == said("RuntimeError")


def test_inside_a_host_function_calls_raise_what_is_said(scene, make_stream):
    """contract: E3."""
    stream, found = make_stream(0), []
    host_launch(stream, lambda: found.append(api_calls.errors(scene, INSIDE)))
    waiting.sync(stream)
    assert found == [dict.fromkeys(INSIDE, RuntimeError)]


def test_without_a_context_calls_on_a_default_stream_raise_what_is_said(cu, scene):
    """contract: O4."""
    cu.set_current(None)
    api_calls.on_default_stream(scene)
    found = api_calls.errors(scene, INSIDE)
    refused = [name for name, error in found.items() if error is not None]
    assert refused == saying("no context is current")
    assert {found[name] for name in refused} == {RuntimeError}


@pytest.mark.forks
def test_in_a_forked_child_calls_raise_what_is_said():
    """contract: X2."""
    run_python(f"""
import os, signal, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: forking with threads
import api_calls

scene = api_calls.Scene()
child = os.fork()
if child == 0:
    signal.alarm(40)  # a child that hangs is killed, and its status tells
    api_calls.refused(scene, {INSIDE})
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
scene.close()
""")


def test_after_exit_has_begun_calls_raise_what_is_said():
    """contract: X1. Handlers that were registered before the import run afterwards."""
    result = run_python(f"""
import atexit

def look():
    found = api_calls.errors(scene, {INSIDE})
    print(*(name for name, error in found.items() if error is RuntimeError), sep="\\n")
    scene.close()

atexit.register(look)
import api_calls
scene = api_calls.Scene()
""")
    assert result.lines == EXITING


@pytest.mark.parametrize("fails", ["RuntimeError", "CUDAError"])
def test_without_a_driver_calls_raise_what_is_said(fake_driver, fails):
    """contract: D2. By the first call of all, whichever it is."""
    environment = {"HOSTLAUNCH_DRIVER": "none"}
    if fails == "CUDAError":
        path = str(fake_driver / "libcuda.so.1")
        environment = {"HOSTLAUNCH_DRIVER": path, "FAKE_CUINIT": "999"}
    result = run_python(
        """
import hostlaunch
from hostlaunch import Stream
for call in (
    lambda: hostlaunch.Buffer(1),
    lambda: Stream(),
    Stream.from_handle(1).sync,
    lambda: hostlaunch.host_launch(Stream.from_handle(1), int),
    lambda: hostlaunch.submit(Stream.from_handle(1), int),
    lambda: hostlaunch.work_done(Stream.from_handle(1)),
    hostlaunch.driver,
):
    try:
        call()
    except Exception as error:
        print(type(error).__name__)
""",
        env=environment,
    )
    assert result.lines == [fails] * 7
    named = ["Buffer", "Stream", "host_launch", "submit", "work_done"]
    assert saying("no usable driver") == named
    assert fails in docstrings.entries(hostlaunch.driver, "Raises")


@pytest.mark.resident_memory
def test_without_memory_for_a_copy_calls_raise_what_is_said():
    """contract: U3. The user data is mapped, and no memory is left for a copy of it."""
    result = run_python("""
import mmap, pathlib, resource
import api_calls
from hostfns import CUhostFn
from hostlaunch import host_launch

scene = api_calls.Scene()
thunk = CUhostFn(lambda pointer: None)
large = mmap.mmap(-1, 1 << 32, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
limits = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), limits[1]))
for name, call in (
    ("Graph.update_callback", lambda data: scene.graph.update_callback(
        scene.node, thunk, user_data=data)),
    ("GraphBuilder.callback", lambda data: scene.building.callback(thunk, user_data=data)),
    ("host_launch", lambda data: host_launch(scene.stream, thunk, user_data=data)),
):
    try:
        call(large)
    except MemoryError:
        print(name)
resource.setrlimit(resource.RLIMIT_AS, limits)
scene.stream.sync()
scene.close()
""")
    copying = [name for name in said("MemoryError") if name not in ("submit", "work_done")]
    assert result.lines == copying
