# SPDX-License-Identifier: Apache-2.0
"""The embedded driver's knobs (src/embedded/control.hpp) for Python tests."""

import contextlib
import ctypes
import functools
import pathlib

import hostlaunch

THREADS_PER_CONTEXT, THREADS_PER_STREAM, THREADS_FRESH = 0, 1, 2
LAUNCH_QUEUES, LAUNCH_WAITS_RUNNING, LAUNCH_WAITS_DONE, LAUNCH_BOUNDED = 0, 1, 2, 3

INVALID_VALUE, OUT_OF_MEMORY, INVALID_HANDLE = 1, 2, 400
ILLEGAL_ADDRESS, NOT_SUPPORTED, LAUNCH_FAILED = 700, 801, 719


class Call(ctypes.Structure):
    """One entry of the log."""

    _fields_ = (
        ("entry", ctypes.c_char_p),
        ("args", ctypes.c_uint64 * 4),
        ("thread", ctypes.c_uint64),
        ("result", ctypes.c_int),
        ("in_host_function", ctypes.c_int),
    )

    @property
    def name(self):
        """The base name of the entry."""
        return self.entry.decode()


class Knobs:
    """One method for each knob. Calls release the GIL."""

    def __init__(self, path):
        self._library = ctypes.CDLL(path)
        self.first_violation = self._knob("first_violation", ctypes.c_char_p)
        self.violations = self._knob("violations", ctypes.c_int)
        self.reset_knobs = self._knob("reset", None)
        self.set_entry_check = self._knob("set_entry_check", None, ctypes.c_void_p)
        self.set_manual = self._knob("set_manual", None, ctypes.c_int)
        self.set_threads = self._knob("set_threads", None, ctypes.c_int)
        self.step = self._knob("step", ctypes.c_int, ctypes.c_int, ctypes.c_int)
        self.sticky_error = self._knob("sticky_error", None, ctypes.c_int)
        self._calls = self._knob("calls", ctypes.c_uint64, ctypes.c_char_p)
        failure = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int)
        self._fail = self._knob("fail_call", *failure)
        self._fail_own = self._knob("fail_own_call", *failure)
        self._hold = self._knob("hold", ctypes.c_int, ctypes.c_char_p)
        self._idle = self._knob("wait_idle", ctypes.c_int, ctypes.c_int)
        self._launch = self._knob("set_launch", None, ctypes.c_int, ctypes.c_int)
        self._live = self._knob("live", ctypes.c_int64, ctypes.c_char_p)
        self._log = self._knob("set_log", None, ctypes.c_int)
        self._log_get = self._knob("log_get", ctypes.c_int, ctypes.c_int, ctypes.POINTER(Call))
        self._log_size = self._knob("log_size", ctypes.c_int)
        self._release = self._knob("release", None, ctypes.c_char_p)
        self._wait_held = self._knob(
            "wait_held", ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int
        )

    def _knob(self, name, result, *args):
        knob = self._library[f"hostlaunch_embedded_{name}"]
        knob.restype = result
        knob.argtypes = args
        return knob

    def reset(self):
        """Put every knob back; the GIL check stays on."""
        self.reset_knobs()
        self.check_gil()

    def check_gil(self):
        """Count as a violation each driver entry on a thread that holds the GIL."""
        check = ctypes.cast(ctypes.pythonapi.PyGILState_Check, ctypes.c_void_p)
        self.set_entry_check(check)

    def report_gil(self, compiled):
        """Tell of each such entry on stderr, too, at once; `compiled` from hostfns."""
        self.set_entry_check(ctypes.cast(compiled.library.hf_report_gil, ctypes.c_void_p))

    def fail(self, entry, code, nth=1):
        """Let the nth call of an entry from now fail."""
        assert self._fail(entry.encode(), nth, code) == 0, f"no entry {entry}"

    def fail_own(self, entry, code, nth=1):
        """Let the nth call fail that this thread makes of an entry from now."""
        assert self._fail_own(entry.encode(), nth, code) == 0, f"no entry {entry}"

    def set_launch(self, mode, depth=0):
        """Choose how cuLaunchHostFunc returns."""
        self._launch(mode, depth)

    def calls(self, entry):
        """How often an entry was called since load."""
        return self._calls(entry.encode())

    def live(self, what):
        """How many objects of a kind exist."""
        count = self._live(what.encode())
        assert count >= 0, f"no kind {what}"
        return count

    def wait_idle(self, timeout=10.0):
        """Wait until nothing is queued or running; whether that came true."""
        return self._idle(int(timeout * 1000)) == 0

    @contextlib.contextmanager
    def manual(self):
        """Host functions run only when stepped; the rest runs at the end."""
        self.set_manual(1)
        try:
            yield self
        finally:
            self.set_manual(0)

    def release(self, entry):
        """Let the blocked callers of an entry go on."""
        self._release(entry.encode())

    @contextlib.contextmanager
    def hold(self, entry):
        """Block every call of an entry; yields a function that waits for n blocked callers."""
        name = entry.encode()
        assert self._hold(name) == 0, f"no entry {entry}"

        def wait_held(count=1, timeout=10.0):
            held = self._wait_held(name, count, int(timeout * 1000))
            assert held >= count, f"{held} of {count} callers in {entry}"

        try:
            yield wait_held
        finally:
            self.release(entry)

    @contextlib.contextmanager
    def log(self):
        """Log calls in the block; yields a list that is filled at its end."""
        entries = []
        self._log(1)
        before = self._log_size()
        try:
            yield entries
        finally:
            self._log(0)
            for index in range(before, self._log_size()):
                entry = Call()
                assert self._log_get(index, ctypes.byref(entry)) == 0
                entries.append(entry)


def path():
    """The embedded driver's file in the package."""
    return str(pathlib.Path(hostlaunch.__file__).parent / "libhostlaunch_embedded.so")


def in_use():
    """Whether the process runs on the embedded driver."""
    return hostlaunch.driver().name == "embedded"


@functools.cache
def knobs():
    """The one Knobs of the process."""
    return Knobs(path())
