# SPDX-License-Identifier: Apache-2.0
"""The driver in use, called directly: what another library in the process would do."""

import ctypes
import functools
import pathlib

import hostlaunch

GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2  # capture modes
NOT_CAPTURING, ACTIVE, INVALIDATED = 0, 1, 2  # capture states


class DriverError(Exception):
    """A direct driver call returned an error."""

    def __init__(self, entry, code):
        super().__init__(f"{entry} returned {code}")
        self.code = code


def library_path():
    """The file of the driver library in use."""
    if hostlaunch.driver().name == "embedded":
        return str(pathlib.Path(hostlaunch.__file__).parent / "libhostlaunch_embedded.so")
    return "libcuda.so.1"


class Driver:
    """The few entries that tests need. Calls release the GIL unless made through `with_gil`."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.with_gil = ctypes.PyDLL(path)

    def call(self, entry, *args):
        """Call an exported entry; anything but success raises."""
        code = getattr(self.library, entry)(*args)
        if code:
            raise DriverError(entry, code)

    def device_count(self):
        """How many devices there are."""
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def primary_context(self, device=0):
        """Retain the device's primary context; it is never given back."""
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(device))
        return context.value

    def current_context(self):
        """Get the calling thread's context, or None."""
        context = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(context))
        return context.value

    def set_current(self, context):
        """Make a context current on the calling thread."""
        self.call("cuCtxSetCurrent", ctypes.c_void_p(context))

    def exchange_capture_mode(self, mode):
        """Set the calling thread's capture mode: the former one."""
        exchanged = ctypes.c_int(mode)
        self.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(exchanged))
        return exchanged.value

    def begin_capture(self, stream, mode=GLOBAL):
        """Begin a capture on a stream handle."""
        self.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), ctypes.c_int(mode))

    def capture_status(self, stream):
        """Tell what the stream's capture state is."""
        status = ctypes.c_int(-1)
        self.call("cuStreamIsCapturing", ctypes.c_void_p(stream), ctypes.byref(status))
        return status.value

    def end_capture(self, stream):
        """End the capture: the number of nodes captured."""
        graph = ctypes.c_void_p()
        self.call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        count = ctypes.c_size_t()
        self.call("cuGraphGetNodes", graph, None, ctypes.byref(count))
        self.call("cuGraphDestroy", graph)
        return count.value

    def invalidate_capture(self, stream):
        """Make an illegal call, so that the stream's capture becomes invalid."""
        code = self.library.cuStreamSynchronize(ctypes.c_void_p(stream))
        if code == 0:
            raise AssertionError("synchronising a capturing stream succeeded")

    def launch(self, stream, fn, user_data=0):
        """Launch a ctypes function as another library would; the caller keeps it alive."""
        self.call("cuLaunchHostFunc", ctypes.c_void_p(stream), fn, ctypes.c_void_p(user_data))

    def create_stream(self, flags=1):
        """Create a stream in the current context: its handle."""
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(flags))
        return stream.value

    def destroy_stream(self, stream):
        """Destroy a stream by its handle."""
        self.call("cuStreamDestroy_v2", ctypes.c_void_p(stream))


@functools.cache
def handle():
    """The one Driver of the process."""
    return Driver(library_path())
