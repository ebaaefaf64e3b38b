# SPDX-License-Identifier: Apache-2.0
"""Objects that tell where and how often they ran and died."""

import gc
import threading

from waiting import wait_until


class Tombstone:
    """Record the thread that ran the finalizer."""

    def __init__(self, deaths):
        self.deaths = deaths

    def __del__(self):
        self.deaths.append(threading.get_ident())


class Probe(Tombstone):
    """A callable that records the threads it ran on, and the one it died on."""

    def __init__(self, deaths, runs=None, body=None):
        super().__init__(deaths)
        self.runs = runs if runs is not None else []
        self.body = body

    def __call__(self):
        """Run as a host function."""
        self.runs.append(threading.get_ident())
        return self.body() if self.body is not None else None


def wait_for_deaths(deaths, count, timeout=5.0, launchers=()):
    """Wait until `count` finalizers ran, and no more; all of them on the main thread.

    A launching thread that goes on at the same time may drop its own reference last.
    """
    wait_until(lambda: len(deaths) >= count, timeout)
    gc.collect()
    assert len(deaths) == count
    assert set(deaths) <= {threading.main_thread().ident, *launchers}


class Unraisable:
    """Stand in for sys.unraisablehook: keep what it was told, but not the objects' lives."""

    def __init__(self):
        self.calls = []

    def __call__(self, unraisable):
        """Record type, text, object's id and the thread."""
        self.calls.append(
            (
                unraisable.exc_type,
                str(unraisable.exc_value),
                id(unraisable.object),
                threading.get_ident(),
            )
        )

    @property
    def types(self):
        """The exception types, in order."""
        return [call[0] for call in self.calls]


def resident_kib():
    """Measure the process's resident memory."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
