# SPDX-License-Identifier: Apache-2.0
"""What host_launch takes as a function, and what it says about the rest."""

import asyncio
import ctypes
import functools
import inspect
import threading
import types
import unittest.mock

import pytest

import hostlaunch
import waiting
from hostfns import CUhostFn
from hostlaunch import host_launch

c_void_p = ctypes.c_void_p


def refused(error, stream, fn, match=None):
    """Check that the launch is refused and nothing was launched."""
    before = hostlaunch.stats().accepted
    with pytest.raises(error, match=match) as caught:
        host_launch(stream, fn)
    assert hostlaunch.stats().accepted == before
    return str(caught.value)


class CallableObject:
    """Counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1

    def method(self):
        self.calls += 1

    @classmethod
    def of_class(cls):
        cls.class_calls = getattr(cls, "class_calls", 0) + 1


def test_every_kind_of_python_callable_runs(stream):
    """contract: F1."""
    ran = []
    thing = CallableObject()
    done = threading.Event()

    def function():
        ran.append("function")

    for fn in (
        function,
        lambda: ran.append("lambda"),
        functools.partial(ran.append, "partial"),
        thing,
        thing.method,
        CallableObject.of_class,
        done.set,  # a method of a Python class
        ran.copy,  # a method written in C
        dict,  # a class
        iter("x").__next__,  # a slot wrapper
    ):
        host_launch(stream, fn)
    waiting.sync(stream)
    assert ran == ["function", "lambda", "partial"]
    assert thing.calls == 2
    assert CallableObject.class_calls == 1
    assert done.is_set()


def test_the_function_runs_with_the_gil(stream):
    """contract: F1."""
    attached = []
    host_launch(stream, lambda: attached.append(ctypes.pythonapi.PyGILState_Check()))
    waiting.sync(stream)
    assert attached == [1]


def test_a_function_that_wants_arguments_fails_when_it_runs(stream, unraisable):
    """contract: F1, E1."""
    before = hostlaunch.stats().raised
    host_launch(stream, lambda argument: None)
    waiting.sync(stream)
    assert unraisable.types == [TypeError]
    assert hostlaunch.stats().raised == before + 1


@pytest.mark.parametrize("thing", [None, 0, 140000000000000, "fn", b"fn", 1.0, [], object()])
def test_what_is_not_callable_is_refused(stream, thing):
    """contract: F3. An int is not taken for a function pointer."""
    message = refused(TypeError, stream, thing)
    assert type(thing).__name__ in message


async def coroutine_function():
    """Never run."""


class AsyncMethod:
    """Has a coroutine method."""

    async def method(self):
        """Never run."""


class AsyncCallable:
    """An object that is called asynchronously."""

    async def __call__(self):
        """Never run."""


class AsyncByClass:
    """The same, bound to the class."""

    @classmethod
    async def __call__(cls):
        """Never run."""


class AsyncByObject:
    """An object that hands its call to another."""

    __call__ = AsyncCallable()


def marked():
    """A plain function that is marked as one whose result must be awaited."""


if hasattr(inspect, "markcoroutinefunction"):
    inspect.markcoroutinefunction(marked)
else:
    marked._is_coroutine = asyncio.coroutines._is_coroutine


@types.coroutine
def old_style():
    """Never run."""
    yield


@pytest.mark.parametrize(
    "fn",
    [
        coroutine_function,
        AsyncMethod().method,
        AsyncCallable(),
        AsyncByClass(),
        AsyncByObject(),
        AsyncCallable().__call__,
        functools.partial(AsyncCallable()),
        functools.partial(functools.partial(coroutine_function)),
        unittest.mock.AsyncMock(),
        unittest.mock.create_autospec(coroutine_function),
        marked,
        old_style,
    ],
)
def test_a_coroutine_function_is_refused(stream, fn):
    """contract: F3."""
    assert "coroutine" in refused(TypeError, stream, fn)


def generator_function():
    """Never run."""
    yield


async def async_generator_function():
    """Never run."""
    yield


class GeneratorCallable:
    """An object whose call makes a generator."""

    def __call__(self):
        """Never run."""
        yield


@pytest.mark.parametrize(
    "fn",
    [
        generator_function,
        functools.partial(generator_function),
        GeneratorCallable(),
        GeneratorCallable().__call__,
    ],
)
def test_a_generator_function_is_refused(stream, fn):
    """contract: F3. A call of it would run nothing."""
    assert "must not be a generator function" in refused(TypeError, stream, fn)


def test_an_asynchronous_generator_function_is_refused(stream):
    """contract: F3."""
    assert "async generator function" in refused(TypeError, stream, async_generator_function)


class Proxy:
    """An object that has every attribute, or fails for each."""

    def __init__(self, answer, ran):
        self.answer, self.ran = answer, ran

    def __getattr__(self, name):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def __call__(self):
        self.ran.append(1)


def test_objects_with_attributes_of_their_own_are_taken_for_what_they_are(stream):
    """contract: F1."""
    ran = []
    mock = unittest.mock.MagicMock()
    for fn in (Proxy(2**80, ran), Proxy("text", ran), Proxy(ValueError("mine"), ran), mock):
        host_launch(stream, fn)
    waiting.sync(stream)
    assert ran == [1, 1, 1]
    mock.assert_called_once_with()


def test_a_thunk_gets_its_pointer(stream):
    """contract: F2."""
    seen = []
    for user_data, expected in [(None, None), (0, None), (7, 7), (2**64 - 1, 2**64 - 1)]:
        host_launch(stream, CUhostFn(seen.append), user_data=user_data)
        waiting.sync(stream)
        assert seen.pop() == expected


WRONG = {
    "int result": ctypes.CFUNCTYPE(ctypes.c_int, c_void_p),
    "pointer result": ctypes.CFUNCTYPE(c_void_p, c_void_p),
    "object result": ctypes.CFUNCTYPE(ctypes.py_object, c_void_p),
    "no argument": ctypes.CFUNCTYPE(None),
    "two arguments": ctypes.CFUNCTYPE(None, c_void_p, c_void_p),
    "int argument": ctypes.CFUNCTYPE(None, ctypes.c_int),
    "size argument": ctypes.CFUNCTYPE(None, ctypes.c_size_t),
    "object argument": ctypes.CFUNCTYPE(None, ctypes.py_object),
    "string argument": ctypes.CFUNCTYPE(None, ctypes.c_char_p),
    "typed pointer": ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_int)),
    "Python API": ctypes.PYFUNCTYPE(None, c_void_p),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("compiled", [True, False])
def test_another_signature_is_refused_and_shown(stream, hostfns, name, compiled):
    """contract: F3."""
    prototype = WRONG[name]
    fn = prototype(hostfns.address("count")) if compiled else prototype(lambda *_: None)
    message = refused(TypeError, stream, fn)
    assert "c_void_p" in message
    assert "None" in message
    shown = {"int result": "c_int", "size argument": "c_ulong", "object argument": "py_object"}
    assert shown.get(name, "") in message
    assert hostfns.counter() == 0


def test_a_library_function_without_a_declaration_is_refused(stream, hostfns):
    """contract: F3."""
    library = ctypes.CDLL(hostfns.path)
    message = refused(TypeError, stream, library["hf_count"])
    assert "c_void_p" in message


def test_a_library_function_of_the_python_api_is_refused(stream, hostfns):
    """contract: F3."""
    fn = ctypes.PyDLL(hostfns.path)["hf_count"]
    fn.restype, fn.argtypes = None, [c_void_p]
    refused(TypeError, stream, fn)


@pytest.mark.parametrize("arguments", [[c_void_p], (c_void_p,)])
def test_the_declaration_on_the_function_object_is_in_force(stream, hostfns, arguments):
    """contract: F2."""
    fn = ctypes.CDLL(hostfns.path)["hf_count"]
    fn.restype, fn.argtypes = None, arguments
    host_launch(stream, fn)
    other = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(hostfns.address("count"))
    other.restype, other.argtypes = None, arguments
    host_launch(stream, other)
    waiting.sync(stream)
    assert hostfns.counter() == 2


@pytest.mark.parametrize(
    ("result", "arguments"),
    [
        (ctypes.c_int, [c_void_p]),
        (None, []),
        (None, [c_void_p, c_void_p]),
        (None, [ctypes.c_int]),
    ],
)
def test_a_wrong_declaration_on_the_function_object_is_in_force(stream, hostfns, result, arguments):
    """contract: F2, F3."""
    fn = CUhostFn(hostfns.address("count"))
    fn.restype, fn.argtypes = result, arguments
    refused(TypeError, stream, fn)


@pytest.mark.parametrize(
    "prototype",
    [
        ctypes.CFUNCTYPE(None, ctypes.py_object),
        ctypes.CFUNCTYPE(ctypes.c_int, c_void_p),
        ctypes.CFUNCTYPE(None),
        ctypes.CFUNCTYPE(None, c_void_p, c_void_p),
    ],
)
def test_a_painted_thunk_is_refused(stream, prototype):
    """contract: F2. The thunk's code reads its arguments by the prototype."""
    thunk = prototype(lambda *_: None)
    thunk.restype, thunk.argtypes = None, [c_void_p]
    refused(TypeError, stream, thunk)


def test_a_thunk_keeps_to_the_declaration_in_force(stream):
    """contract: F2."""
    thunk = CUhostFn(lambda pointer: None)
    thunk.argtypes = [ctypes.c_int]
    refused(TypeError, stream, thunk)


@pytest.mark.parametrize("null", [CUhostFn(), CUhostFn(0)])
def test_a_null_function_pointer_is_refused(stream, null):
    """contract: F3."""
    assert "null" in refused(ValueError, stream, null).lower()


def test_flags_of_errno_do_not_change_the_signature(stream, hostfns):
    """contract: F2."""
    prototype = ctypes.CFUNCTYPE(None, c_void_p, use_errno=True)
    host_launch(stream, prototype(hostfns.address("count")))
    waiting.sync(stream)
    assert hostfns.counter() == 1


@pytest.mark.parametrize("name", ["right", *(name for name in WRONG if name != "Python API")])
def test_a_cast_thunk_is_judged_by_the_prototype_that_made_it(stream, name):
    """contract: F2. Its code would read an argument that is not there."""
    seen = []
    prototype = WRONG.get(name, CUhostFn)
    thunk = ctypes.cast(prototype(lambda *given: seen.append(given)), CUhostFn)
    if prototype is not CUhostFn:
        refused(TypeError, stream, thunk)
        return
    host_launch(stream, thunk, user_data=7)
    waiting.sync(stream)
    assert seen == [(7,)]


class AskedLibrary(ctypes.CDLL):
    """A library that notes which names are looked up in it."""

    def __getattr__(self, name):
        self.__dict__.setdefault("asked", []).append(name)
        return super().__getattr__(name)


def test_the_library_of_a_function_is_not_searched(stream, hostfns):
    """contract: F2. Only what ctypes keeps alive is looked at, not what it could look up."""
    library = AskedLibrary(hostfns.path)
    fn = library.hf_count
    fn.restype, fn.argtypes = None, (c_void_p,)
    library.asked.clear()
    host_launch(stream, fn)
    waiting.sync(stream)
    assert library.asked == []
