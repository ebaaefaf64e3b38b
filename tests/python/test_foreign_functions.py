# SPDX-License-Identifier: Apache-2.0
"""Function pointers of cffi and numba, and capsules."""

import ctypes
import gc
import sys
import threading
import types
import weakref

import pytest

import waiting
from hostfns import CUhostFn, code_address
from hostlaunch import host_launch


def launches(calls):
    """The code address and the pointer of each launch in a log."""
    return [(call.args[1], call.args[2]) for call in calls if call.name == "cuLaunchHostFunc"]


def capsule(address, name):
    """Make a capsule as C code does; what it is named after has to outlive it."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p),
    )
    KEPT.append(name and ctypes.create_string_buffer(name))
    return make(address, KEPT[-1] and ctypes.addressof(KEPT[-1]), None)


KEPT = []


@pytest.fixture
def ffi():
    """A cffi interface."""
    return pytest.importorskip("cffi").FFI()


def cffi_pointer(ffi, address):
    return ffi.cast("void(*)(void *)", address)


def numba_lookalike(monkeypatch, address, prototype=CUhostFn):
    """An object as numba's @cfunc makes it: of that class, with a pointer of ctypes."""
    module = types.ModuleType("numba.core.ccallback")
    module.CFunc = type("CFunc", (), {"__call__": lambda self: pytest.fail("called from Python")})
    monkeypatch.setitem(sys.modules, "numba.core.ccallback", module)
    made = module.CFunc()
    made.ctypes = prototype(address)
    return made


@pytest.fixture(params=["cffi", "capsule", "capsule without a space", "numba"])
def counting(request, hostfns, monkeypatch):
    """The same compiled function in the hands of different makers."""
    address = hostfns.address("count")
    if request.param == "cffi":
        return cffi_pointer(pytest.importorskip("cffi").FFI(), address)
    if request.param == "numba":
        return numba_lookalike(monkeypatch, address)
    return capsule(address, b"void (void *)" if request.param == "capsule" else b"void(void *)")


def test_compiled_code_goes_to_the_driver_as_it_is(stream, embedded, hostfns, counting):
    """contract: F4. Its address and its pointer."""
    with embedded.log() as calls:
        host_launch(stream, counting, user_data=7)
        host_launch(stream, counting)
    waiting.sync(stream)
    assert launches(calls) == [(hostfns.address("count"), 7), (hostfns.address("count"), 0)]
    assert hostfns.counter() == 2


def test_data_is_copied_for_it(stream, hostfns, counting):
    """contract: F4, U3."""
    with pytest.raises(TypeError, match="could mean"):
        host_launch(stream, counting, user_data=True)
    host_launch(stream, counting, user_data=b"abc")
    waiting.sync(stream)
    assert hostfns.counter() == 1


def test_it_may_be_captured(stream, hostfns, counting):
    """contract: F4, B3."""
    builder = stream.create_graph_builder().begin_building()
    builder.callback(counting)
    graph = builder.end_building().complete()
    for _ in range(2):
        graph.launch(stream)
    waiting.sync(stream)
    assert hostfns.counter() == 2


SIGNATURES = ["int(*)(void *)", "void(*)(int)", "void(*)(void *, void *)", "void(*)(void *, ...)"]


@pytest.mark.parametrize("signature", SIGNATURES)
def test_another_signature_of_cffi_is_refused_and_shown(stream, hostfns, ffi, signature):
    """contract: F4."""
    fn = ffi.cast(signature, hostfns.address("count"))
    with pytest.raises(TypeError) as raised:
        host_launch(stream, fn)
    assert signature in str(raised.value)
    assert "void (void *)" in str(raised.value)
    assert hostfns.counter() == 0


def test_other_things_of_cffi_are_no_functions(stream, ffi):
    """contract: F1, F3."""
    for thing, shown in ((ffi.cast("void *", 5), r"void \*"), (ffi.new("int *"), r"int \*")):
        with pytest.raises(TypeError, match=f"with the signature '{shown}'"):
            host_launch(stream, thing)
    with pytest.raises(ValueError, match="null"):
        host_launch(stream, ffi.cast("void(*)(void *)", 0))


@pytest.mark.parametrize("name", [b"int (void *)", b"void (void *, int)", b"void", None])
def test_another_capsule_is_refused_and_its_name_shown(stream, hostfns, name):
    """contract: F4."""
    with pytest.raises(TypeError) as raised:
        host_launch(stream, capsule(hostfns.address("count"), name))
    assert f"'{name.decode() if name else ''}'" in str(raised.value)
    assert "void (void *)" in str(raised.value)


def test_another_signature_of_numba_is_refused_and_shown(stream, hostfns, monkeypatch):
    """contract: F4."""
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
    fn = numba_lookalike(monkeypatch, hostfns.address("count"), prototype)
    with pytest.raises(TypeError, match="c_int"):
        host_launch(stream, fn)


def test_a_callback_of_cffi_is_a_thunk(stream, embedded, gate, ffi):
    """contract: F2, F4. It calls Python, so it goes through the gate and lives until then."""
    seen = []

    class Seen:
        def __call__(self, pointer):
            seen.append((int(ffi.cast("uintptr_t", pointer)), threading.get_ident()))

    function = Seen()
    alive = weakref.ref(function)
    callback = ffi.callback("void(void *)", function)
    address = int(ffi.cast("uintptr_t", callback))
    del function
    gate.hold(stream)
    with embedded.log() as calls:
        host_launch(stream, callback, user_data=7)
    del callback
    gc.collect()
    assert alive() is not None
    [(launched, _)] = launches(calls)
    assert launched != address
    gate.open()
    waiting.sync(stream)
    assert seen == [(7, seen[0][1])]
    assert seen[0][1] != threading.get_ident()
    waiting.wait_until(lambda: gc.collect() is not None and alive() is None)


def test_a_function_of_numba_itself(stream, embedded):
    """contract: F4."""
    numba = pytest.importorskip("numba")
    seen = (ctypes.c_int64 * 1)()

    @numba.cfunc("void(voidptr)")
    def add(pointer):
        numba.carray(pointer, 1, dtype=numba.int64)[0] += 5

    with embedded.log() as calls:
        host_launch(stream, add, user_data=ctypes.addressof(seen))
    waiting.sync(stream)
    assert launches(calls) == [(add.address, ctypes.addressof(seen))]
    assert seen[0] == 5

    @numba.cfunc("int64(int64)")
    def other(number):
        return number

    with pytest.raises(TypeError, match="c_void_p"):
        host_launch(stream, other)


def test_the_address_of_a_function_of_ctypes_may_be_put_into_a_capsule(stream):
    """contract: F4. A thunk is not recognised in there; it runs as it is."""
    seen = []
    thunk = CUhostFn(seen.append)
    host_launch(stream, capsule(code_address(thunk), b"void (void *)"), user_data=3)
    waiting.sync(stream)
    assert seen == [3]
