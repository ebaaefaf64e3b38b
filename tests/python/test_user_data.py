# SPDX-License-Identifier: Apache-2.0
"""What user_data may be, and what the compiled function sees of it."""

import array
import ctypes
import struct

import pytest

import hostlaunch
import waiting
from hostfns import CUhostFn
from hostlaunch import host_launch

NUMBERS = bytes(range(64))


class Pair(ctypes.Structure):
    """64 bytes."""

    _fields_ = (("words", ctypes.c_uint64 * 8),)


class Both(ctypes.Union):
    """64 bytes."""

    _fields_ = (("bytes", ctypes.c_uint8 * 64), ("words", ctypes.c_uint64 * 8))


def refused(error, stream, fn, user_data, match=None):
    """Check that the launch is refused and nothing was launched."""
    before = hostlaunch.stats().accepted
    with pytest.raises(error, match=match) as caught:
        host_launch(stream, fn, user_data=user_data)
    assert hostlaunch.stats().accepted == before
    return str(caught.value)


@pytest.mark.parametrize("data", [0, 1, b"", b"x", False, "", [], 0.0, object()])
def test_a_python_callable_takes_no_data(stream, data):
    """contract: U1. Also falsy values are refused."""
    refused(ValueError, stream, lambda: None, data)


@pytest.mark.parametrize("pointer", [0, 1, 0x1234, 2**63, 2**64 - 1])
def test_an_int_is_the_pointer_itself(stream, hostfns, pointer):
    """contract: U2."""
    host_launch(stream, hostfns.note, user_data=pointer)
    waiting.sync(stream)
    assert hostfns.library.hf_seen_pointer() == pointer


def test_none_is_the_null_pointer(stream, hostfns):
    """contract: U2, F2."""
    host_launch(stream, hostfns.note, user_data=5)
    host_launch(stream, hostfns.note)
    waiting.sync(stream)
    assert hostfns.library.hf_seen_pointer() == 0
    assert hostfns.counter() == 2


def test_the_memory_behind_an_int_is_the_callers(stream, hostfns, gate):
    """contract: U2. It is read when the function runs, not copied."""
    memory = ctypes.create_string_buffer(64)
    gate.hold(stream)
    host_launch(stream, hostfns.copy64, user_data=ctypes.addressof(memory))
    memory.raw = NUMBERS
    gate.open()
    waiting.sync(stream)
    assert hostfns.seen_bytes() == NUMBERS
    assert hostfns.library.hf_seen_pointer() == ctypes.addressof(memory)


@pytest.mark.parametrize("number", [-1, -(2**63), 2**64, 10**30])
def test_an_int_out_of_range_is_refused(stream, hostfns, number):
    """contract: U2."""
    refused(OverflowError, stream, hostfns.note, number)


def buffers():
    """Every kind of buffer that holds the 64 bytes."""
    return {
        "bytes": NUMBERS,
        "bytearray": bytearray(NUMBERS),
        "memoryview": memoryview(NUMBERS),
        "middle of a memoryview": memoryview(b"abc" + NUMBERS + b"def")[3:67],
        "cast memoryview": memoryview(NUMBERS).cast("B", (8, 8)),
        "array of bytes": array.array("B", NUMBERS),
        "array of doubles": array.array("d", NUMBERS),
        "ctypes array": (ctypes.c_uint8 * 64)(*NUMBERS),
        "ctypes structure": Pair.from_buffer_copy(NUMBERS),
        "ctypes union": Both.from_buffer_copy(NUMBERS),
    }


@pytest.mark.parametrize("kind", buffers())
def test_bytes_like_data_is_copied_during_the_call(stream, hostfns, gate, kind):
    """contract: U3, F2."""
    data = buffers()[kind]
    gate.hold(stream)
    host_launch(stream, hostfns.copy64, user_data=data)
    if kind == "bytearray":
        data[:] = bytes(64)
        data.extend(b"more")  # no export is left
        data.clear()
    del data
    gate.open()
    waiting.sync(stream)
    assert hostfns.seen_bytes() == NUMBERS
    assert hostfns.library.hf_seen_pointer() % 64 == 0


def test_numpy_arrays_are_copied_during_the_call(stream, hostfns, gate):
    """contract: U3."""
    numpy = pytest.importorskip("numpy")
    gate.hold(stream)
    for data in (
        numpy.frombuffer(NUMBERS, dtype="f8"),
        numpy.arange(64, dtype="u1").reshape(4, 4, 4),
        numpy.frombuffer(NUMBERS, dtype=[("a", "i4"), ("b", "f4")]),
    ):
        data = data.copy()
        host_launch(stream, hostfns.copy64, user_data=data)
        data[...] = numpy.zeros(data.shape, data.dtype)
    gate.open()
    waiting.sync(stream)
    assert hostfns.counter() == 3
    assert hostfns.seen_bytes() == NUMBERS


def test_a_zero_dimensional_array_is_an_array(stream, hostfns):
    """contract: U3, U4."""
    numpy = pytest.importorskip("numpy")
    value = numpy.array(NUMBERS, dtype="S64")
    assert value.ndim == 0
    host_launch(stream, hostfns.copy64, user_data=value)
    waiting.sync(stream)
    assert hostfns.seen_bytes() == NUMBERS


@pytest.mark.parametrize("size", [1, 8, 47, 48, 55, 56, 57, 63, 64, 65, 500, 4096, 10**6])
def test_data_of_every_size_arrives_whole_and_aligned(stream, hostfns, gate, size):
    """contract: U3. Small copies may lie elsewhere than large ones."""
    body = bytes(i * 7 % 251 for i in range(size))
    expected = 0
    for byte in body:
        expected = (expected * 31 + byte) % 2**64
    gate.hold(stream)
    host_launch(stream, hostfns.sum, user_data=struct.pack("Q", size) + body)
    for _ in range(50):
        host_launch(stream, hostfns.note, user_data=bytes(size))
        bytes(size)
    gate.open()
    waiting.wait_until(lambda: hostfns.counter() == 51)
    assert hostfns.library.hf_seen_sum() == expected
    assert hostfns.library.hf_seen_pointer() % 64 == 0
    waiting.sync(stream)


def empties():
    """Buffers without bytes."""
    return [b"", bytearray(), memoryview(b""), array.array("d"), (ctypes.c_int * 0)()]


@pytest.mark.parametrize("data", empties(), ids=lambda data: type(data).__name__)
def test_empty_data_is_the_null_pointer(stream, hostfns, data):
    """contract: U3."""
    host_launch(stream, hostfns.note, user_data=9)
    host_launch(stream, hostfns.note, user_data=data)
    waiting.sync(stream)
    assert hostfns.counter() == 2
    assert hostfns.library.hf_seen_pointer() == 0


def test_an_empty_numpy_array_is_the_null_pointer(stream, hostfns):
    """contract: U3."""
    numpy = pytest.importorskip("numpy")
    host_launch(stream, hostfns.note, user_data=numpy.empty((0, 3)))
    waiting.sync(stream)
    assert hostfns.library.hf_seen_pointer() == 0


def test_data_that_is_not_contiguous_is_refused(stream, hostfns):
    """contract: U3."""
    refused(BufferError, stream, hostfns.copy64, memoryview(bytes(128))[::2])
    refused(BufferError, stream, hostfns.copy64, memoryview(bytes(64))[::-1])
    numpy = pytest.importorskip("numpy")
    table = numpy.arange(64, dtype="u1").reshape(8, 8)
    for data in (table[::2], table[:, 1:3], numpy.asfortranarray(table)):
        refused(BufferError, stream, hostfns.copy64, data)


class Overwritten:
    """Exports a buffer (Python 3.12 and later)."""

    def __init__(self):
        self.released = 0

    def __buffer__(self, flags):
        return memoryview(NUMBERS)

    def __release_buffer__(self, view):
        self.released += 1
        view.release()


def test_a_class_that_exports_a_buffer_is_copied_and_released(stream, hostfns):
    """contract: U3."""
    data = Overwritten()
    try:
        memoryview(data).release()
    except TypeError:
        pytest.skip("Python 3.12 and later")
    data.released = 0
    host_launch(stream, hostfns.copy64, user_data=data)
    assert data.released == 1
    waiting.sync(stream)
    assert hostfns.seen_bytes() == NUMBERS


AMBIGUOUS = [
    True,
    False,
    ctypes.c_void_p(5),
    ctypes.c_void_p(),
    ctypes.c_int(5),
    ctypes.c_uint64(5),
    ctypes.c_double(1.0),
    ctypes.c_char_p(b"text"),
    ctypes.pointer(ctypes.c_int(5)),
    ctypes.byref(ctypes.c_int(5)),
]


@pytest.mark.parametrize("data", AMBIGUOUS, ids=lambda data: type(data).__name__)
def test_what_could_mean_pointer_or_bytes_is_refused(stream, hostfns, data):
    """contract: U4."""
    message = refused(TypeError, stream, hostfns.note, data)
    if not isinstance(data, type(ctypes.byref(ctypes.c_int()))):
        assert "int(" in message
        assert "bytes(" in message


@pytest.mark.parametrize("name", ["int64", "uint8", "float32", "bool_", "complex128"])
def test_numpy_scalars_are_refused(stream, hostfns, name):
    """contract: U4."""
    numpy = pytest.importorskip("numpy")
    message = refused(TypeError, stream, hostfns.note, getattr(numpy, name)(1))
    assert "int(" in message
    assert "bytes(" in message


@pytest.mark.parametrize(
    "data",
    ["text", "", [1], (1,), {}, 1.5, 2j, object(), CUhostFn(len), range(3), len],
    ids=repr,
)
def test_everything_else_is_refused(stream, hostfns, data):
    """contract: U4."""
    message = refused(TypeError, stream, hostfns.note, data)
    assert type(data).__name__ in message


def test_nothing_reaches_the_driver_unless_all_arguments_are_valid(stream, hostfns, embedded):
    """contract: U5."""
    wrong = [
        (stream, 3, None),
        (stream, lambda: None, b""),
        (stream, CUhostFn(), None),
        (stream, hostfns.note, True),
        (stream, hostfns.note, -1),
        (stream, hostfns.note, memoryview(bytes(8))[::2]),
        (5, hostfns.note, None),
        (object(), hostfns.note, b"x"),
    ]
    before = embedded.calls("cuLaunchHostFunc"), embedded.calls("cuEventCreate")
    for target, fn, data in wrong:
        with pytest.raises((TypeError, ValueError, OverflowError, BufferError)):
            host_launch(target, fn, user_data=data)
    assert (embedded.calls("cuLaunchHostFunc"), embedded.calls("cuEventCreate")) == before


def test_a_launch_stands_if_only_its_tracking_fails(stream, hostfns, embedded):
    """contract: U5. The payload is kept: the function sees it however late it runs."""
    with embedded.manual():
        embedded.fail("cuEventRecord", 999)
        host_launch(stream, hostfns.copy64, user_data=NUMBERS)
        for _ in range(2000):
            host_launch(stream, hostfns.note, user_data=bytes(64))
    waiting.wait_until(lambda: hostfns.counter() == 2001)
    waiting.sync(stream)
    assert hostfns.seen_bytes() == NUMBERS


def test_nothing_is_launched_if_the_tracking_cannot_be_made(stream, hostfns, embedded):
    """contract: U5, L3."""
    before = embedded.calls("cuLaunchHostFunc")
    embedded.fail("cuEventCreate", 2)
    with pytest.raises(hostlaunch.CUDAError, match="OUT_OF_MEMORY"):
        host_launch(stream, hostfns.copy64, user_data=NUMBERS)
    assert embedded.calls("cuLaunchHostFunc") == before
    waiting.sync(stream)
    assert hostfns.counter() == 0
