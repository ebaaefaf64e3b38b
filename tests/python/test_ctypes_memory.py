# SPDX-License-Identifier: Apache-2.0
"""Function pointers that lie in structures, arrays, unions and pointers of ctypes.

What is read out of them is a window on their memory. Another function pointer that is assigned
there later replaces the code, and what kept the old one alive.
"""

import ctypes
import gc
import mmap
import weakref

import pytest

import waiting
from hostfns import CUhostFn, code_address
from hostlaunch import host_launch
from probes import Tombstone, wait_for_deaths


class Table(ctypes.Structure):
    """As a C library would declare its callbacks."""

    _fields_ = (("size", ctypes.c_int), ("first", CUhostFn), ("second", CUhostFn))


class Nested(ctypes.Structure):
    """One in another."""

    _fields_ = (("tables", Table * 2),)


class Either(ctypes.Union):
    """A function or its address."""

    _fields_ = (("address", ctypes.c_size_t), ("fn", CUhostFn))


class Hiding(ctypes.Structure):
    """Its fields hide what ctypes calls by these names."""

    _fields_ = (("_objects", ctypes.c_int), ("_b_base_", ctypes.c_int), ("fn", CUhostFn))


class Place:
    """Where a function pointer lies: how to write it and how to read it."""

    def __init__(self, memory, write, read):
        self.memory, self._write, self._read = memory, write, read

    def write(self, fn):
        """Assign."""
        self._write(self.memory, fn)

    def read(self):
        """Give a window."""
        return self._read(self.memory)


def set_index(number):
    def write(memory, fn):
        memory[number] = fn

    return write


def set_nested(memory, fn):
    memory.tables[1].second = fn


def cast_pointer(memory):
    return ctypes.cast(ctypes.pointer(memory), ctypes.POINTER(CUhostFn))


PLACES = {
    "structure": lambda: Place(Table(), lambda m, fn: setattr(m, "second", fn), lambda m: m.second),
    "union": lambda: Place(Either(), lambda m, fn: setattr(m, "fn", fn), lambda m: m.fn),
    "array": lambda: Place((CUhostFn * 3)(), set_index(1), lambda m: m[1]),
    "array in structure in array": lambda: Place(
        Nested(), set_nested, lambda m: m.tables[1].second
    ),
    "pointer": lambda: Place(ctypes.POINTER(CUhostFn)(CUhostFn()), set_index(0), lambda m: m[0]),
    "what a pointer points at": lambda: Place(
        ctypes.POINTER(CUhostFn)(),
        lambda m, fn: setattr(m, "contents", fn),
        lambda m: m.contents,
    ),
    "pointer that was cast": lambda: Place(
        (CUhostFn * 2)(), set_index(0), lambda m: cast_pointer(m)[0]
    ),
    "fields of these names": lambda: Place(
        Hiding(), lambda m, fn: setattr(m, "fn", fn), lambda m: m.fn
    ),
}


@pytest.fixture(params=PLACES)
def place(request):
    """Memory that holds a function pointer."""
    return PLACES[request.param]()


class Function(Tombstone):
    """Note each call; dies with its thunk."""

    def __init__(self, name, calls, deaths):
        super().__init__(deaths)
        self.name, self.calls = name, calls

    def __call__(self, pointer):
        """Run as a host function."""
        self.calls.append((self.name, pointer))


def replaced(place, calls, deaths):
    """Assign another function, and use the memory that the old thunk had."""
    place.write(CUhostFn(Function("never launched", calls, deaths)))
    gc.collect()
    return [CUhostFn(Function("reused", calls, [])) for _ in range(50)]


def test_what_was_launched_runs_whatever_is_assigned_meanwhile(stream, gate, place):
    """contract: F2, L1. Its code lives until then, and no longer."""
    calls, deaths = [], []
    place.write(CUhostFn(Function("launched", calls, deaths)))
    gate.hold(stream)
    host_launch(stream, place.read(), user_data=7)
    others = replaced(place, calls, deaths)
    assert deaths == []
    gate.open()
    waiting.sync(stream)
    assert calls == [("launched", 7)]
    wait_for_deaths(deaths, 1)
    del others


def test_what_was_captured_runs_whatever_is_assigned_meanwhile(stream, place):
    """contract: F2, B2. In every replay."""
    calls, deaths = [], []
    place.write(CUhostFn(Function("captured", calls, deaths)))
    builder = stream.create_graph_builder().begin_building()
    node = builder.callback(place.read(), user_data=7)
    graph = builder.end_building().complete()
    others = replaced(place, calls, deaths)
    for _ in range(2):
        graph.launch(stream)
    waiting.sync(stream)
    assert calls == [("captured", 7)] * 2
    calls.clear()
    place.write(CUhostFn(Function("updated", calls, deaths)))
    graph.update_callback(node, place.read(), user_data=8)
    others += replaced(place, calls, deaths)
    graph.launch(stream)
    waiting.sync(stream)
    assert calls == [("updated", 8)]


def launches(calls):
    """The code address of each launch in a log."""
    return [call.args[1] for call in calls if call.name == "cuLaunchHostFunc"]


def test_a_thunk_is_recognised_there(stream, embedded, place):
    """contract: F2. So it goes through the gate."""
    seen = []
    thunk = CUhostFn(seen.append)
    place.write(thunk)
    with embedded.log() as calls:
        host_launch(stream, place.read(), user_data=3)
    waiting.sync(stream)
    [address] = launches(calls)
    assert address != code_address(thunk)
    assert seen == [3]


def test_compiled_code_beside_a_thunk_goes_as_it_is(stream, embedded, hostfns):
    """contract: F2. Each is told by its own code."""
    table = Table(0, hostfns.count, CUhostFn(lambda pointer: None))
    with embedded.log() as calls:
        host_launch(stream, table.first)
        host_launch(stream, table.second)
    waiting.sync(stream)
    first, second = launches(calls)
    assert first == hostfns.address("count")
    assert second not in (first, code_address(table.second))
    assert hostfns.counter() == 1


OTHERS = {
    "object argument": ctypes.CFUNCTYPE(None, ctypes.py_object),
    "int result": ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p),
    "Python API": ctypes.PYFUNCTYPE(None, ctypes.c_void_p),
    "subclass": type(
        "subclass",
        (CUhostFn,),
        {"_flags_": 1, "_restype_": None, "_argtypes_": (ctypes.py_object,)},
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_thunk_there_is_judged_by_the_prototype_that_made_it(stream, place, name):
    """contract: F2. The declaration of the field says nothing of the code."""
    other = OTHERS[name](lambda *_: None)
    place.write(other if isinstance(other, CUhostFn) else ctypes.cast(other, CUhostFn))
    with pytest.raises(TypeError, match="c_void_p"):
        host_launch(stream, place.read())


def test_a_chain_of_casts_is_searched_once(stream):
    """contract: F2. They share what they keep, which grows with each."""
    seen = []
    kept = [CUhostFn(seen.append)]
    for _ in range(300):
        kept.append(ctypes.cast(kept[-1], CUhostFn))
    # The code of another one, which nobody keeps here.
    lonely = CUhostFn(seen.append)
    ctypes.memmove(ctypes.byref(kept[-1]), ctypes.byref(lonely), ctypes.sizeof(lonely))
    host_launch(stream, kept[-1], user_data=5)
    waiting.sync(stream)
    assert seen == [5]


class Code(mmap.mmap):
    """Memory with machine code that returns."""

    def __new__(cls):
        memory = super().__new__(cls, -1, mmap.PAGESIZE, prot=7)
        memory[0] = 0xC3
        return memory


def test_code_that_an_object_holds_lives_until_it_has_run(stream, gate, place):
    """contract: F2. As a compiler's would that makes code at run time."""
    code = Code()
    alive = weakref.ref(code)
    fn = ctypes.cast((ctypes.c_char * mmap.PAGESIZE).from_buffer(code), CUhostFn)
    place.write(fn)
    del code, fn
    gate.hold(stream)
    host_launch(stream, place.read())
    place.write(CUhostFn())
    gc.collect()
    assert alive() is not None
    gate.open()
    waiting.sync(stream)
    waiting.wait_until(lambda: gc.collect() is not None and alive() is None)
