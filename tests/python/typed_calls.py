# SPDX-License-Identifier: Apache-2.0
"""Calls as a type checker sees them; run by `mypy`, where an ignored error that is none fails."""

import array
import ctypes
import functools
import mmap
from typing import assert_type

import hostlaunch
from hostlaunch import HostFunction, StreamLike, host_launch

CUhostFn = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Foreign:
    """A stream of another library."""

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 1


class Number:
    """Stands for an int."""

    def __index__(self) -> int:
        return 1


def launch(stream: StreamLike, fn: HostFunction) -> None:
    """Use the names that are exported for annotations."""
    host_launch(stream, fn)


def accepted(stream: hostlaunch.Stream) -> None:
    """What the contract accepts."""
    launch(stream, print)
    launch(Foreign(), functools.partial(print, 1))
    for data in (b"", bytearray(1), memoryview(b"1"), array.array("i"), mmap.mmap(-1, 1)):
        host_launch(stream, CUhostFn(1), user_data=data)
    host_launch(stream, CUhostFn(1), user_data=(ctypes.c_int * 3)())
    host_launch(stream, CUhostFn(1), user_data=5)
    hostlaunch.Buffer(Number(), device_id=Number()).fill(Number(), stream=Foreign())
    assert_type(stream == stream, bool)
    assert_type(hostlaunch.Stream.from_handle(Number()), hostlaunch.Stream)


def refused(stream: hostlaunch.Stream) -> None:
    """What it refuses."""
    host_launch(stream, CUhostFn(1), user_data="x")  # type: ignore[arg-type]
    host_launch(stream, CUhostFn(1), user_data=1.5)  # type: ignore[arg-type]
    host_launch(stream, CUhostFn(1), user_data=[1])  # type: ignore[arg-type]
    host_launch(5, print)  # type: ignore[arg-type]
    host_launch(stream, 5)  # type: ignore[arg-type]
    host_launch(stream, lambda x: x)  # type: ignore[misc, arg-type]
    hostlaunch.Buffer(1.5)  # type: ignore[arg-type]
