# SPDX-License-Identifier: Apache-2.0
"""Programs of cuda.core and cuda.bindings run as they are, on the embedded driver and on a GPU.

Each program is one that a user could have written, in a process of its own. What it prints is the
same on either driver.
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

import hostlaunch
from child import run_python
from hostlaunch import embedded

EMBEDDED = hostlaunch.driver().name == "embedded"
NEWEST = Path(sys.prefix) / "newest"

only_embedded = pytest.mark.skipif(not EMBEDDED, reason="uses knobs of the embedded driver")


def installed(*folders):
    """Whether cuda.core is there, in a folder or on the path."""
    if folders:
        return any((folder / "cuda" / "core").is_dir() for folder in folders)
    try:
        return importlib.util.find_spec("cuda.core") is not None
    except ModuleNotFoundError:
        return False


@pytest.fixture(params=["pinned", "newest"])
def run(request):
    """Run a program with one version of the libraries, and give the lines that it printed."""
    newest = request.param == "newest"
    if not (installed(NEWEST) if newest else installed()):
        pytest.skip("cuda.core is not installed")
    env = {}
    if EMBEDDED:
        env["LD_LIBRARY_PATH"] = embedded.environment()["LD_LIBRARY_PATH"]
    if newest:
        env["PYTHONPATH"] = os.pathsep.join([str(NEWEST), os.environ.get("PYTHONPATH", "")])

    def run_program(code):
        return run_python(code, env=env).lines

    return run_program


BEGIN = """
from cuda.core import Device, EventOptions
device = Device()
device.set_current()
stream = device.create_stream()
"""


# contract: N1
def test_streams_and_events_of_two_streams_are_ordered_and_timed(run):
    assert run(
        BEGIN
        + """
other = device.create_stream()
begin = stream.record(options=EventOptions(timing_enabled=True))
event = stream.record()
other.wait(event)
other.wait(stream)
end = other.record(options=EventOptions(timing_enabled=True))
end.sync()
print(event.is_done, end - begin >= 0)
other.sync()
stream.sync()
print(stream.is_nonblocking, stream.priority <= 0)
"""
    ) == ["True True", "True True"]


# contract: N2
def test_buffers_of_every_kind_are_filled_and_copied(run):
    assert run(
        BEGIN
        + """
import ctypes
from cuda.core import LegacyPinnedMemoryResource

def show(buffer):
    stream.sync()
    print(bytes((ctypes.c_ubyte * 6).from_address(int(buffer.handle))))

host = LegacyPinnedMemoryResource().allocate(64)
first = device.allocate(64, stream=stream)
second = device.allocate(64, stream=stream)
for pattern in (b"\\1", b"\\1\\2", b"\\1\\2\\3\\4"):
    first.fill(pattern, stream=stream)
    first.copy_to(second, stream=stream)
    second.copy_to(host, stream=stream)
    show(host)
print(first.is_device_accessible, first.is_host_accessible, first.device_id, first.size)
print(host.is_device_accessible, host.is_host_accessible)
first.close(stream)
second.close(stream)
stream.sync()
"""
    ) == [
        r"b'\x01\x01\x01\x01\x01\x01'",
        r"b'\x01\x02\x01\x02\x01\x02'",
        r"b'\x01\x02\x03\x04\x01\x02'",
        "True False 0 64",
        "True True",
    ]


# contract: N2
def test_a_pool_tells_what_is_used(run):
    assert run(
        BEGIN
        + """
from cuda.core import DeviceMemoryResource, DeviceMemoryResourceOptions
pool = DeviceMemoryResource(device, DeviceMemoryResourceOptions(max_size=1 << 26))
buffer = pool.allocate(1000, stream=stream)
print(pool.attributes.used_mem_current >= 1000)
buffer.close(stream)
stream.sync()
print(pool.attributes.used_mem_current)
pool.close()
"""
    ) == ["True", "0"]


# contract: N2
def test_a_captured_graph_forks_joins_and_calls_back_at_each_launch(run):
    assert run(
        BEGIN
        + """
out = []
builder = device.create_graph_builder().begin_building()
builder.callback(lambda: out.append("first"))
left, right = builder.split(2)
left.callback(lambda: out.append("branch"))
right.callback(lambda: out.append("branch"))
builder = type(builder).join(left, right)
builder.callback(lambda: out.append("last"))
graph = builder.end_building().complete()
for _ in range(2):
    graph.launch(stream)
stream.sync()
print(out)
"""
    ) == [str(["first", "branch", "branch", "last"] * 2)]


# contract: N2
def test_a_graph_built_of_nodes_sets_copies_records_and_allocates(run):
    assert run(
        BEGIN
        + """
import ctypes
from cuda.core import LegacyPinnedMemoryResource
from cuda.core.graph import GraphDefinition
host = LegacyPinnedMemoryResource().allocate(64)
called = []
event = device.create_event()
definition = GraphDefinition()
allocated = definition.empty().allocate(64)
node = allocated.memset(allocated.dptr, 5, 64)
node = node.memcpy(host.handle, allocated.dptr, 64)
node = node.callback(lambda: called.append(1)).record(event)
node.deallocate(allocated.dptr)
print(sorted(type(n).__name__ for n in definition.nodes()), len(definition.edges()))
graph = definition.instantiate()
for _ in range(2):
    graph.launch(stream)
stream.sync()
print(bytes((ctypes.c_ubyte * 4).from_address(int(host.handle))), called, event.is_done)
"""
    ) == [
        "['AllocNode', 'EmptyNode', 'EventRecordNode', 'FreeNode', 'HostCallbackNode',"
        " 'MemcpyNode', 'MemsetNode'] 6",
        r"b'\x05\x05\x05\x05' [1, 1] True",
    ]


# contract: N2
def test_an_executable_is_updated_and_a_graph_is_embedded(run):
    assert run(
        BEGIN
        + """
out = []

def build(word):
    builder = device.create_graph_builder().begin_building()
    builder.callback(lambda: out.append(word))
    return builder.end_building()

first, second = build("first"), build("second")
graph = first.complete()
graph.launch(stream)
stream.sync()
graph.update(second)
graph.launch(stream)
stream.sync()
outer = device.create_graph_builder().begin_building()
outer.embed(build("inner"))
outer.callback(lambda: out.append("outer"))
outer.end_building().complete().launch(stream)
stream.sync()
print(out)
"""
    ) == ["['first', 'second', 'inner', 'outer']"]


# contract: N1
def test_hostlaunch_in_the_same_process_uses_the_same_driver(run):
    assert run(
        BEGIN
        + """
import hostlaunch
out = []
hostlaunch.host_launch(stream, lambda: out.append("in stream order"))
stream.sync()
print(out)
builder = device.create_graph_builder().begin_building()
hostlaunch.host_launch(builder, lambda: out.append("in a graph"))
graph = builder.end_building().complete()
graph.launch(stream)
stream.sync()
print(out[-1])
"""
    ) == ["['in stream order']", "in a graph"]


ASKED_FOR = """
import ctypes
from cuda.bindings import driver

class Call(ctypes.Structure):
    _fields_ = (
        ("entry", ctypes.c_char_p), ("args", ctypes.c_uint64 * 4), ("thread", ctypes.c_uint64),
        ("result", ctypes.c_int), ("in_host_function", ctypes.c_int),
    )

library = ctypes.CDLL("libcuda.so.1")
library.hostlaunch_embedded_set_log(1)
driver.cuDriverGetVersion()
library.hostlaunch_embedded_set_log(0)
count = 0
for index in range(library.hostlaunch_embedded_log_size()):
    call = Call()
    library.hostlaunch_embedded_log_get(index, ctypes.byref(call))
    if call.entry == b"cuGetProcAddress":
        name, version = ctypes.string_at(call.args[0]), call.args[2]
        pointer = ctypes.c_void_p()
        library.cuGetProcAddress_v2(
            name, ctypes.byref(pointer), int(version), ctypes.c_uint64(0), None
        )
        count += 1
        if not pointer.value:
            print(name.decode(), version)
print(count > 400)
"""


# contract: N1
@only_embedded
def test_every_function_that_the_bindings_ask_for_is_there(run):
    assert run(ASKED_FOR) == ["True"]


# contract: N1
@only_embedded
def test_what_is_not_built_says_so(run):
    assert (
        run("""
from cuda.bindings import driver
driver.cuInit(0)
print(driver.cuModuleLoadData(b"")[0].name)
print(driver.cuMemCreate(1, driver.CUmemAllocationProp(), 0)[0].name)
print(driver.cuArrayDestroy(0)[0].name)
print(driver.cuLinkDestroy(0)[0].name)
""")
        == ["CUDA_ERROR_NOT_SUPPORTED"] * 4
    )
