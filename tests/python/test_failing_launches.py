# SPDX-License-Identifier: Apache-2.0
"""Each driver call of a launch fails in turn: one clear error and nothing kept, or it stands."""

import weakref

import pytest

import cudriver
import failing
import hostlaunch
import probes
from embedded import LAUNCH_FAILED, OUT_OF_MEMORY
from fakes import CupyLikeStream, ForeignStream, TorchLikeStream
from hostfns import CUhostFn, bare
from hostlaunch import host_launch

UNKNOWN_CODE = 54321  # one that no driver has a name for

# Whoever carries the stream, and the device whose context the calling thread has.
STREAMS = {
    "own": (lambda stream: stream, 0),
    "own, on another device": (lambda stream: stream, 1),
    "own, without a context": (lambda stream: stream, None),
    "borrowed": (lambda stream: hostlaunch.Stream.from_handle(stream.handle), 0),
    "foreign, on another device": (lambda stream: ForeignStream(stream.handle), 1),
    "foreign, without a context": (lambda stream: ForeignStream(stream.handle), None),
    "default": (lambda _: hostlaunch.Stream.from_handle(0), 0),
    "per thread": (lambda _: ForeignStream(2), 0),
    "default of a named device": (lambda _: TorchLikeStream(0, 0), 1),
    "per thread of a named device": (lambda _: CupyLikeStream(2, 0), None),
}


class Callable:
    """A Python callable."""

    def __init__(self, _):
        self.runs = []

    def make(self):
        """Make a function, and the rest of the arguments of a launch."""
        return probes.Probe([], self.runs), {}

    def ran(self):
        """How many ran, all in all."""
        return len(self.runs)


class Thunk(Callable):
    """A ctypes thunk of a Python function."""

    def make(self):
        """As above."""
        return CUhostFn(self.runs.append), {"user_data": 7}


class BareThunk(Callable):
    """A thunk that cannot be recognised: its code address alone."""

    def __init__(self, _):
        super().__init__(_)
        self.thunk = CUhostFn(self.runs.append)

    def make(self):
        """As above."""
        return bare(self.thunk), {}


class Compiled:
    """Compiled code with a pointer that is passed on."""

    data = 7

    def __init__(self, hostfns):
        self.hostfns = hostfns

    def make(self):
        """As above."""
        return self.hostfns.fn("note"), {"user_data": self.data}

    def ran(self):
        """As above."""
        return self.hostfns.counter()


class CompiledWithData(Compiled):
    """Compiled code with data that is copied."""

    data = bytes(100)


GATED = [Callable, Thunk]
AS_IS = [BareThunk, Compiled, CompiledWithData]


@pytest.fixture(autouse=True)
def _no_collection(driver_in_use):
    with failing.no_collection():
        yield


@pytest.fixture
def current(cu):
    """Make the context of a device current on this thread, or none; put back by `cu`."""

    def make_current(device):
        cu.set_current(None if device is None else cu.primary_context(device))

    return make_current


def attempt(stream, kind):
    """Launch once: the error, if there is one, and a reference that tells of the payload's life."""
    fn, more = kind.make()
    alive = weakref.ref(fn)
    try:
        host_launch(stream, fn, **more)
    except hostlaunch.CUDAError as error:
        return error.with_traceback(None), alive
    return None, alive


def check_kept(embedded, alive, kind, before):
    """A launch that cannot be tracked stands; its payload is kept for good."""
    assert embedded.wait_idle()
    after = hostlaunch.stats()
    assert (kind.ran(), after.abandoned) == (before[0] + 1, before[1].abandoned + 1)
    assert alive() is not None


def check_launched(embedded, alive, kind, before):
    """All as if nothing had failed."""
    failing.settle(embedded)
    after = hostlaunch.stats()
    assert (kind.ran(), after.ran) == (before[0] + 1, before[1].ran + 1)
    assert alive() is None


def check_refused(embedded, alive, kind, before):
    """Released before the exception leaves; never called."""
    assert alive() is None
    assert embedded.wait_idle()
    assert (kind.ran(), hostlaunch.stats()) == before


WHERE_AND_CODE = [(where, OUT_OF_MEMORY) for where in STREAMS]
WHERE_AND_CODE += [("own", LAUNCH_FAILED), ("foreign, on another device", UNKNOWN_CODE)]


@pytest.mark.parametrize(("where", "code"), WHERE_AND_CODE)
@pytest.mark.parametrize("make_kind", GATED + AS_IS, ids=lambda kind: kind.__name__)
def test_each_call_of_a_launch_fails_in_turn(
    embedded, hostfns, stream, current, make_kind, where, code
):
    """contract: L3, U5, O4."""
    kind = make_kind(hostfns)
    carrier, device = STREAMS[where][0](stream), STREAMS[where][1]
    current(0)
    attempt(hostlaunch.Stream.from_handle(1), kind)  # keeps the device's context
    current(device)
    calls = failing.driver_calls(embedded, lambda: attempt(carrier, kind))
    assert "cuLaunchHostFunc" in {call.entry for call in calls}
    for call in calls:
        failing.settle(embedded)
        objects, before = failing.live(embedded), (kind.ran(), hostlaunch.stats())
        with failing.failed(embedded, call, code):
            error, alive = attempt(carrier, kind)
            # Without the stream's id the launch is looked at by itself.
            if call.restores or call.entry == "cuStreamGetId":
                assert error is None
                check_launched(embedded, alive, kind, before)
            elif call.entry == "cuEventRecord":
                assert error is None
                check_kept(embedded, alive, kind, before)
            else:
                failing.check_error(error, call, code, "host_launch")
                check_refused(embedded, alive, kind, before)
            assert failing.live(embedded) == objects
        error, alive = attempt(carrier, kind)
        assert error is None
        failing.settle(embedded)
        assert alive() is None


@pytest.mark.parametrize("kind", AS_IS, ids=lambda kind: kind.__name__)
def test_an_event_that_cannot_be_destroyed_is_all_that_a_failed_launch_leaves(
    embedded, hostfns, stream, kind
):
    """contract: L3. Two calls fail: the launch, and what takes back the step before it."""
    kind = kind(hostfns)
    failing.settle(embedded)
    objects, before = failing.live(embedded), (kind.ran(), hostlaunch.stats())
    embedded.fail_own("cuLaunchHostFunc", OUT_OF_MEMORY)
    embedded.fail_own("cuEventDestroy", LAUNCH_FAILED)
    error, alive = attempt(stream, kind)
    failing.check_error(
        error, failing.DriverCall("cuLaunchHostFunc", 1), OUT_OF_MEMORY, "host_launch"
    )
    check_refused(embedded, alive, kind, before)
    assert failing.live(embedded) == {**objects, "events": objects["events"] + 1}


@pytest.mark.parametrize("entry", ["cuGetErrorName", "cuGetErrorString"])
def test_an_error_for_which_the_driver_has_no_words_is_told_by_its_number(embedded, stream, entry):
    """contract: section 2: CUDAError."""
    kind = Callable(None)
    embedded.fail_own("cuLaunchHostFunc", OUT_OF_MEMORY)
    embedded.fail_own(entry, LAUNCH_FAILED)
    error, _ = attempt(stream, kind)
    failing.check_error(
        error, failing.DriverCall("cuLaunchHostFunc", 1), OUT_OF_MEMORY, "host_launch"
    )


@pytest.mark.parametrize("entry", ["cuStreamIsCapturing", "cuLaunchHostFunc"])
def test_a_capture_is_as_it_was_after_a_launch_that_failed(
    embedded, stream, cu, entry, make_stream
):
    """contract: S5, G4. Another thread's stream captures; the launch fails."""
    capturing = make_stream(0)
    cu.begin_capture(capturing.handle)
    try:
        embedded.fail_own(entry, OUT_OF_MEMORY)
        error, _ = attempt(stream, Callable(None))
        assert error.code == OUT_OF_MEMORY
        assert cu.capture_status(capturing.handle) == cudriver.ACTIVE
    finally:
        assert cu.end_capture(capturing.handle) == 0
