# SPDX-License-Identifier: Apache-2.0
"""What functions are called in reports and traces."""

import ctypes
import functools

import pytest

import hostlaunch
import waiting
from hostlaunch import host_launch

HERE = __name__


def plain():
    """Do nothing."""


def decorated():
    """Wrap a function in one that looks like it."""

    @functools.wraps(plain)
    def wrapper():
        plain()

    return wrapper


class Thing:
    """Something to call."""

    def method(self):
        """Do nothing."""

    @staticmethod
    def static():
        """Do nothing."""

    def __call__(self):
        """Do nothing."""


class Nosy:
    """An object that tells when it is asked for a name."""

    def __getattr__(self, name):
        assert name not in ("__qualname__", "__name__", "__module__", "name", "func")
        raise AttributeError(name)

    def __call__(self):
        """Do nothing."""


def made_here():
    """Return two lambdas on two lines."""
    return (
        lambda: 1,
        lambda: 2,
    )


def name_in_pending(stream, fn, **kwargs):
    """The name that `pending` tells while the function is pending."""
    with waiting.Gate() as gate:
        gate.hold(stream)
        host_launch(stream, fn, **kwargs)
        [task] = [task for task in hostlaunch.pending() if not task.running]
    waiting.sync(stream)
    return task.name


FIRST = made_here.__code__.co_firstlineno + 3


@pytest.mark.parametrize(
    ("fn", "name"),
    [
        (plain, f"{HERE}.plain"),
        (decorated(), f"{HERE}.plain"),
        (Thing().method, f"{HERE}.Thing.method"),
        (Thing.static, f"{HERE}.Thing.static"),
        (Thing(), f"{HERE}.Thing"),
        (Nosy(), f"{HERE}.Nosy"),
        (functools.partial(Thing().method), f"{HERE}.Thing.method"),
        (functools.partial(functools.partial(plain)), f"{HERE}.plain"),
        (made_here()[0], f"{HERE}.made_here.<locals>.<lambda> (test_names.py:{FIRST})"),
        (made_here()[1], f"{HERE}.made_here.<locals>.<lambda> (test_names.py:{FIRST + 1})"),
        ([].clear, "list.clear"),
        (int, "builtins.int"),
        (hostlaunch.named(plain, "a name of its own"), "a name of its own"),
        (functools.partial(hostlaunch.named(plain, "within")), "within"),
        (hostlaunch.named(plain, "x" * 300), "x" * 200),
        (hostlaunch.named(plain, "zwölf ☃"), "zwölf ☃"),
    ],
    ids=str,
)
def test_a_function_is_named_after_what_it_is(make_stream, fn, name):
    """contract: V2."""
    assert name_in_pending(make_stream(0), fn) == name


def test_a_compiled_function_is_named_after_its_symbol(make_stream, hostfns):
    """contract: V2."""
    assert name_in_pending(make_stream(0), hostfns.count) == "hf_count"
    assert name_in_pending(make_stream(0), hostlaunch.named(hostfns.count, "mine")) == "mine"


def test_code_without_a_symbol_is_named_after_its_address(make_stream):
    """contract: V2."""
    thunk = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
    assert name_in_pending(make_stream(0), thunk).startswith("code at 0x")


def test_a_named_function_is_checked_as_the_function_is(make_stream, hostfns):
    """contract: V2, F2, F3, U3."""

    async def coroutine():
        pass

    stream = make_stream(0)
    with pytest.raises(TypeError, match="coroutine"):
        host_launch(stream, hostlaunch.named(coroutine, "no"))
    with pytest.raises(ValueError, match="user_data"):
        host_launch(stream, hostlaunch.named(plain, "no"), user_data=b"1")
    with pytest.raises(TypeError):
        hostlaunch.named(5, "no")
    with pytest.raises(TypeError):
        hostlaunch.named(plain, 5)
    hostfns.reset()
    host_launch(stream, hostlaunch.named(hostfns.copy64, "yes"), user_data=bytes(range(64)))
    waiting.sync(stream)
    assert hostfns.seen_bytes() == bytes(range(64))
    assert repr(hostlaunch.named(plain, "a")).startswith("hostlaunch.named(<function plain")
