# SPDX-License-Identifier: Apache-2.0
"""Builds hostfns.c and other small C sources with the system's compiler, and loads them."""

import concurrent.futures
import ctypes
import functools
import os
import pathlib
import shutil
import subprocess

ENVIRONMENT = "HOSTLAUNCH_TEST_HOSTFNS"  # the built library, for processes that tests start
COMPILERS = ("cc", "gcc", "clang", "g++", "clang++")

CUhostFn = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_NAMES = (
    "count",
    "copy64",
    "note",
    "sum",
    "block",
    "sleep",
    "identify",
    "append",
    "print",
    "pin_state",
)


def code_address(fn):
    """Where the code of a ctypes function begins."""
    return ctypes.cast(fn, ctypes.c_void_p).value


def bare(thunk):
    """Make a CUhostFn of a thunk's code alone, which nothing recognises; keep the thunk alive."""
    return CUhostFn(code_address(thunk))


def compiler():
    """The first compiler found, or None."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


def build(source, target, *options):
    """Compile one C file of tests/support to a shared library."""
    path = pathlib.Path(__file__).parent / source
    language = ["-x", "c++"] if compiler().endswith("++") else []
    command = [compiler(), "-O1", "-g", "-fPIC", "-shared", *language, str(path), "-ldl"]
    subprocess.run([*command, *options, "-o", str(target)], check=True, timeout=120)
    return str(target)


class HostFunctions:
    """The compiled host functions as CUhostFn attributes, the rest as methods of `library`."""

    def __init__(self, path):
        self.path = path
        self.library = ctypes.CDLL(path)
        self.with_gil = ctypes.PyDLL(path)
        self.library.hf_thread.restype = ctypes.c_long
        self.library.hf_seen_pointer.restype = ctypes.c_size_t
        self.library.hf_seen_sum.restype = ctypes.c_uint64
        for name in _NAMES:
            setattr(self, name, self.fn(name))

    def address(self, name):
        """The code address of a host function."""
        return code_address(self.library[f"hf_{name}"])

    def fn(self, name):
        """Make a CUhostFn of a host function."""
        return CUhostFn(self.address(name))

    def reset(self):
        """Forget what was seen."""
        self.library.hf_reset()

    def counter(self):
        """How many runs were counted."""
        return self.library.hf_counter()

    def seen_bytes(self):
        """The 64 bytes that hf_copy64 saw."""
        buffer = ctypes.create_string_buffer(64)
        self.library.hf_seen_bytes(buffer)
        return buffer.raw

    def while_main_is_in_c(self, body, timeout=60.0):
        """Run body on another thread while the main thread runs no bytecode; its exception."""

        def work():
            assert self.library.hf_wait_sitting(int(timeout * 1000))
            try:
                body()
            finally:
                self.library.hf_let_go()

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            done = pool.submit(work)
            assert self.library.hf_sit(int(timeout * 1000)), "the other thread hangs"
            done.result(timeout)

    def order(self):
        """The pointers that hf_append was given, in order."""
        room = (ctypes.c_size_t * 65536)()
        return list(room[: self.library.hf_order(room, len(room))])


@functools.cache
def load():
    """Load the library that the parent process built."""
    return HostFunctions(os.environ[ENVIRONMENT])
