# SPDX-License-Identifier: Apache-2.0
"""bare.c, compiled when first asked for: the driver called from C, with gate and stamps."""

import ctypes
import functools
import os
import pathlib
import subprocess
import tempfile

import hostlaunch

_SIGNATURES = {
    "bare_load": (ctypes.c_int, ctypes.c_char_p),
    "bare_device_name": (ctypes.c_int, ctypes.c_char_p, ctypes.c_int),
    "bare_launch": (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p),
    "bare_synchronize": (ctypes.c_int, ctypes.c_void_p),
    "bare_enqueue": (ctypes.c_int64, ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
    "bare_round_trips": (
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_int64),
    ),
    "bare_block": (ctypes.c_int, ctypes.c_void_p),
    "bare_open_gate": (None,),
    "bare_stamp": (ctypes.c_int, ctypes.c_void_p, ctypes.c_int),
    "bare_stamped": (ctypes.c_int64,),
    "bare_second_stamp": (ctypes.c_void_p,),
}


class BareError(RuntimeError):
    """A driver call from C failed."""


def require(result, call):
    """Raise unless a driver's result is 0."""
    if result != 0:
        raise BareError(f"{call} failed with {result}")


@functools.cache
def library():
    """Compile and load bare.c, once per process. Its calls release the GIL."""
    source = pathlib.Path(__file__).with_name("bare.c")
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "bare.so"
        compiler = os.environ.get("CC", "cc")
        subprocess.run(
            [compiler, "-std=c11", "-O2", "-shared", "-fPIC", source, "-o", made, "-ldl"],
            check=True,
        )
        lib = ctypes.CDLL(str(made))
    for name, (result, *arguments) in _SIGNATURES.items():
        function = lib[name]
        function.restype, function.argtypes = result, arguments
        setattr(lib, name, function)
    require(lib.bare_load(hostlaunch.driver().path.encode()), "loading the driver a second time")
    return lib


def device_name():
    """Name device 0."""
    name = ctypes.create_string_buffer(128)
    require(library().bare_device_name(name, len(name)), "cuDeviceGetName")
    return name.value.decode()


def nothing_function():
    """Make the ctypes function pointer of the C function that does nothing."""
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    return prototype(("bare_nothing", library()))


def second_stamp():
    """View the second stamp: its value is 0 until the function that writes it has run."""
    return ctypes.c_int64.from_address(library().bare_second_stamp())


def blocked_round(handle, calls, enqueue):
    """Block the stream, let `enqueue` launch all calls, open the gate and wait.

    `enqueue` returns the nanoseconds that it took. Returns nanoseconds per call for the enqueuing,
    and per function for the draining, measured by C functions queued before and after.
    """
    lib = library()
    require(lib.bare_block(handle), "the gate")
    try:
        require(lib.bare_stamp(handle, 0), "the first stamp")
        spent = enqueue()
        require(lib.bare_stamp(handle, 1), "the second stamp")
    finally:
        lib.bare_open_gate()
        code = lib.bare_synchronize(handle)
    require(code, "cuStreamSynchronize")
    return spent / calls, lib.bare_stamped() / calls


def enqueue_bare(handle, calls, checked):
    """Launch from a loop in C; the nanoseconds that it took."""
    spent = library().bare_enqueue(handle, calls, checked)
    require(0 if spent >= 0 else 1, "the bare loop")
    return spent
