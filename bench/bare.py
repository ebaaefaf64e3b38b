# SPDX-License-Identifier: Apache-2.0
"""bare.c and timeline.c as a library: the driver called from C, with gate, stamps and events.

Nothing here imports hostlaunch, since processes that measure other libraries use it too.
"""

import ctypes
import os
import pathlib
import subprocess
import sysconfig

_HANDLE = ctypes.c_void_p
_SIGNATURES = {
    "bare_load": (ctypes.c_int, ctypes.c_char_p),
    "bare_device_name": (ctypes.c_int, ctypes.c_char_p, ctypes.c_int),
    "bare_launch": (ctypes.c_int, _HANDLE, ctypes.c_void_p, ctypes.c_void_p),
    "bare_synchronize": (ctypes.c_int, _HANDLE),
    "bare_enqueue": (ctypes.c_int64, _HANDLE, ctypes.c_int, ctypes.c_int),
    "bare_round_trips": (ctypes.c_int, _HANDLE, ctypes.c_int, ctypes.POINTER(ctypes.c_int64)),
    "bare_block": (ctypes.c_int, _HANDLE),
    "bare_open_gate": (None,),
    "bare_pause": (ctypes.c_int, _HANDLE),
    "bare_stamp": (ctypes.c_int, _HANDLE, ctypes.c_int),
    "bare_stamped": (ctypes.c_int64,),
    "bare_drain": (ctypes.c_int, _HANDLE),
    "bare_second_stamp": (ctypes.c_void_p,),
    "bare_open": (ctypes.c_int, ctypes.POINTER(_HANDLE)),
    "bare_load_kernel": (ctypes.c_int, _HANDLE),
    "bare_kernel": (ctypes.c_int, _HANDLE),
    "bare_pairs": (ctypes.c_int, _HANDLE, ctypes.c_int),
    "bare_mark": (ctypes.c_int, _HANDLE, ctypes.c_int),
    "bare_marked": (ctypes.c_double,),
}
HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class BareError(RuntimeError):
    """A driver call from C failed."""


def require(result, call):
    """Raise unless a driver's result is 0."""
    if result != 0:
        raise BareError(f"{call} failed with {result}")


def build(folder):
    """Compile the library, and the extension of the steps where Python.h is; their folder."""
    here = pathlib.Path(__file__).parent
    compiler = os.environ.get("CC", "cc")
    options = [compiler, "-std=gnu11", "-O2", "-shared", "-fPIC"]
    sources = [here / "bare.c", here / "timeline.c"]
    made = pathlib.Path(folder) / "bare.so"
    subprocess.run([*options, *sources, "-o", made, "-ldl"], check=True)
    headers = sysconfig.get_path("include")
    if pathlib.Path(headers, "Python.h").is_file():
        made = pathlib.Path(folder) / "launch_steps.so"
        source = here / "python_steps.c"
        subprocess.run([*options, f"-I{headers}", source, "-o", made], check=True)
    return str(folder)


class Library:
    """The library in this process, and a stream of its own. Its calls release the GIL."""

    def __init__(self, folder, driver):
        self.folder = folder
        self.driver = driver
        self.calls = ctypes.CDLL(os.path.join(folder, "bare.so"))
        for name, (result, *arguments) in _SIGNATURES.items():
            function = self.calls[name]
            function.restype, function.argtypes = result, arguments
            setattr(self.calls, name, function)
        require(self.calls.bare_load(driver.encode()), f"loading {driver}")
        stream = _HANDLE()
        require(self.calls.bare_open(ctypes.byref(stream)), "making a stream")
        self.stream = stream.value
        require(self.calls.bare_load_kernel(self.stream), "loading the kernel")

    def address(self, name):
        """Tell where one of its C functions is."""
        return ctypes.cast(self.calls[name], ctypes.c_void_p).value

    def device_name(self):
        """Name device 0."""
        name = ctypes.create_string_buffer(128)
        require(self.calls.bare_device_name(name, len(name)), "cuDeviceGetName")
        return name.value.decode()

    def nothing_function(self):
        """Make the ctypes function pointer of the C function that does nothing."""
        return HOST_FUNCTION(("bare_nothing", self.calls))

    def sync(self, handle):
        """Wait for a stream."""
        require(self.calls.bare_synchronize(handle), "cuStreamSynchronize")

    def enqueue(self, handle, calls, checked=1):
        """Launch the C function from a loop in C; the nanoseconds that it took."""
        spent = self.calls.bare_enqueue(handle, calls, checked)
        require(0 if spent >= 0 else 1, "the bare loop")
        return spent

    def round_trips(self, handle, trips):
        """Launch the C function and wait, from C; the microseconds of each trip."""
        spent = (ctypes.c_int64 * trips)()
        require(self.calls.bare_round_trips(handle, trips, spent), "the bare round trips")
        return [value / 1000 for value in spent]

    def blocked(self, handle, calls, enqueue):
        """Block the stream, let `enqueue` launch all calls, open the gate and wait.

        `enqueue` returns the nanoseconds that it took. Yields nanoseconds per call for the
        enqueuing, and per function for the draining, between C functions queued before and after.
        """
        lib = self.calls
        require(lib.bare_block(handle), "the gate")
        try:
            require(lib.bare_stamp(handle, 0), "the first stamp")
            spent = enqueue(calls)
            require(lib.bare_stamp(handle, 1), "the second stamp")
        finally:
            lib.bare_open_gate()
            code = lib.bare_drain(handle)
        require(code, "cuStreamSynchronize")
        return spent / calls, lib.bare_stamped() / calls

    def on_timeline(self, handle, pairs, enqueue):
        """Microseconds a pair of kernel and host function on the GPU's clock, all enqueued before.

        The pairs fit into the driver's queue: with more, its launches would block behind the gate.
        """
        lib = self.calls
        require(lib.bare_block(handle), "the gate")
        try:
            require(lib.bare_mark(handle, 0), "the first event")
            enqueue(pairs)
            require(lib.bare_kernel(handle), "the last kernel")
            require(lib.bare_mark(handle, 1), "the second event")
        finally:
            lib.bare_open_gate()
            code = lib.bare_synchronize(handle)
        require(code, "cuStreamSynchronize")
        return lib.bare_marked() / pairs

    def while_busy(self, handle, enqueue):
        """Microseconds for one function while this thread runs Python without a pause.

        After the gate comes a sleep, so that this thread is in its loop by then.
        """
        lib = self.calls
        require(lib.bare_block(handle), "the gate")
        require(lib.bare_pause(handle), "a pause")
        done = ctypes.c_int64.from_address(lib.bare_second_stamp())
        lib.bare_stamp(handle, 0)
        enqueue(1)
        lib.bare_stamp(handle, 1)
        lib.bare_open_gate()
        while done.value == 0:
            pass
        self.sync(handle)
        return lib.bare_stamped() / 1000

    def speed_while_called(self, handle, calls, enqueue):
        """Loops per millisecond of this thread while functions run, one every 2.5 ms."""
        lib = self.calls
        require(lib.bare_block(handle), "the gate")
        done = ctypes.c_int64.from_address(lib.bare_second_stamp())
        lib.bare_stamp(handle, 0)
        for _ in range(calls):
            require(lib.bare_pause(handle), "a pause")
            enqueue(1)
        lib.bare_stamp(handle, 1)
        lib.bare_open_gate()
        loops = 0
        while done.value == 0:
            loops += 1
        self.sync(handle)
        return loops / lib.bare_stamped() * 1e6
