# SPDX-License-Identifier: Apache-2.0
"""Each driver call of streams, events and buffers fails in turn: one clear error, nothing left."""

import gc

import pytest

import failing
import hostlaunch
import probes
import waiting
from embedded import INVALID_HANDLE, LAUNCH_FAILED, OUT_OF_MEMORY
from failing import fail_each_call
from fakes import ForeignStream, TorchLikeStream
from hostlaunch import Buffer, Stream, host_launch

NOT_PERMITTED = 800
# Asks whether this is a host function, and believes nothing but that answer.
ASKS_WHERE = ("cuCtxGetCurrent",)


@pytest.fixture(autouse=True)
def _no_collection(driver_in_use):
    with failing.no_collection():
        yield


@pytest.fixture(params=[0, 1, None], ids=lambda device: f"current={device}")
def current(request, cu):
    """The device whose context this thread has, or None; put back by `cu`."""
    device = request.param
    cu.set_current(None if device is None else cu.primary_context(device))
    return device


@pytest.fixture(params=["own", "borrowed", "default of a named device"])
def carrier(request, stream):
    """A stream as its carrier names it."""
    return {
        "own": stream,
        "borrowed": ForeignStream(stream.handle),
        "default of a named device": TorchLikeStream(0, 0),
    }[request.param]


MADE = {
    "Stream()": lambda: Stream(),
    "Stream(0)": lambda: Stream(0),
    "Stream(1, priority=0)": lambda: Stream(1, nonblocking=False, priority=0),
    "Buffer(64)": lambda: Buffer(64),
    "Buffer(64, device_id=1)": lambda: Buffer(64, device_id=1),
    "Buffer(64, kind='pinned')": lambda: Buffer(64, kind="pinned"),
}


@pytest.mark.parametrize("what", MADE)
def test_each_call_of_making_an_object_fails_in_turn(embedded, current, what):
    """contract: section 2, O4. What destroys it again is the next test's business."""
    held = []

    def make():
        held.clear()
        held.append(MADE[what]())

    for call in failing.driver_calls(embedded, make):
        held.clear()
        if call.entry in failing.RELEASES:
            continue
        before = failing.live(embedded)
        with failing.failed(embedded, call, OUT_OF_MEMORY):
            if call.restores:
                make()
                held.clear()
            else:
                with pytest.raises(hostlaunch.CUDAError) as caught:
                    make()
                failing.check_error(caught.value, call, OUT_OF_MEMORY, what.split("(")[0] + "()")
            assert failing.live(embedded) == before
        make()


DESTROYED_BY = {
    "cuStreamDestroy": lambda: Stream(0),
    "cuEventDestroy": lambda: Stream(0).record(),
    "cuMemFree": lambda: Buffer(64),
    "cuMemFreeHost": lambda: Buffer(64, kind="pinned"),
}


def closed(thing):
    """Close it, twice."""
    thing.close()
    assert thing.is_closed
    thing.close()


def dropped(thing):
    """Let the caller's reference be the last one."""


@pytest.mark.parametrize("end", [closed, dropped])
@pytest.mark.parametrize("code", [OUT_OF_MEMORY, INVALID_HANDLE, LAUNCH_FAILED])
@pytest.mark.parametrize("entry", DESTROYED_BY)
def test_an_object_that_the_driver_does_not_destroy_is_gone_all_the_same(
    embedded, entry, code, end
):
    """contract: section 2. Neither an exception nor a second try; later objects work."""
    gc.collect()
    calls = embedded.calls(entry)
    thing = DESTROYED_BY[entry]()
    made = embedded.calls(entry)
    with failing.failed(embedded, failing.DriverCall(entry, 1), code):
        end(thing)
        del thing
    assert embedded.calls(entry) == made + 1, calls
    DESTROYED_BY[entry]().close()


@pytest.mark.parametrize("entry", DESTROYED_BY)
def test_an_object_whose_destruction_is_not_permitted_here_is_destroyed_later_once(
    embedded, entry, stream
):
    """contract: L2, E3. So answers the driver inside another library's host function."""
    thing = DESTROYED_BY[entry]()
    made, before = embedded.calls(entry), failing.live(embedded)
    with failing.failed(embedded, failing.DriverCall(entry, 1), NOT_PERMITTED):
        thing.close()
    assert thing.is_closed
    waiting.wait_until(lambda: embedded.calls(entry) == made + 2)
    del thing
    stream.sync()
    assert embedded.calls(entry) == made + 2
    assert sum(failing.live(embedded).values()) == sum(before.values()) - 1


@pytest.mark.parametrize("call", failing.MODE_CALLS)
def test_an_object_is_destroyed_though_the_capture_mode_cannot_be_set(embedded, call):
    """contract: G4."""
    for make in DESTROYED_BY.values():
        before = failing.live(embedded)
        thing = make()
        with failing.failed(embedded, call, OUT_OF_MEMORY):
            thing.close()
        del thing
        assert failing.live(embedded) == before


def test_each_call_of_what_a_stream_does_fails_in_turn(embedded, current, stream, make_stream):
    """contract: section 2, O4."""
    other, again, before = make_stream(1), stream.record(), make_stream(0).record()
    borrowed = Stream.from_handle(stream.handle)
    for each in (stream, borrowed):
        fail_each_call(embedded, each.sync, "Stream.sync", LAUNCH_FAILED, ASKS_WHERE)
        fail_each_call(embedded, each.record, "Stream.record", OUT_OF_MEMORY)
        fail_each_call(embedded, lambda each=each: each.record(again), "Stream.record", 1)
        fail_each_call(embedded, lambda each=each: each.wait(before), "Stream.wait", 1)
        for source in (other, ForeignStream(other.handle), TorchLikeStream(1, 1)):
            wait = lambda each=each, source=source: each.wait(source)  # noqa: E731
            fail_each_call(embedded, wait, "Stream.wait", OUT_OF_MEMORY)
    fail_each_call(embedded, lambda: borrowed.device_id, "Stream.device_id", OUT_OF_MEMORY)
    # An own stream knows its device.
    stream.device_id  # noqa: B018


def test_each_call_of_what_an_event_does_fails_in_turn(embedded, current, stream):
    """contract: section 2."""
    event = stream.record()
    fail_each_call(embedded, event.sync, "Event.sync", LAUNCH_FAILED, ASKS_WHERE)
    fail_each_call(embedded, lambda: event.is_done, "Event.is_done", LAUNCH_FAILED)
    event.close()


def test_each_call_of_work_on_buffers_fails_in_turn(embedded, current, carrier):
    """contract: section 2, O4."""
    device, pinned = Buffer(64, device_id=0), Buffer(64, kind="pinned", device_id=0)

    def check(method, *args):
        name = f"Buffer.{method.__name__}"
        fail_each_call(embedded, lambda: method(*args, stream=carrier), name, OUT_OF_MEMORY)

    check(device.fill, 7)
    check(pinned.copy_from, device)
    check(device.copy_to, pinned)
    assert bytes(pinned) == bytes([7]) * 64
    device.close()
    pinned.close()


@pytest.mark.parametrize("wait", ["Stream.sync", "Event.sync"])
def test_each_call_of_a_wait_fails_in_turn_with_compiled_functions_to_settle(
    embedded, hostfns, stream, wait
):
    """contract: section 5. Whichever fails, each launch ends as one that ran."""

    def work():
        deaths = []
        host_launch(stream, hostfns.count, user_data=bytes(64))
        host_launch(stream, probes.Probe(deaths))
        assert embedded.wait_idle()
        return stream.sync if wait == "Stream.sync" else stream.record().sync

    for call in failing.driver_calls(embedded, work(), warm_up=False):
        if call.entry in failing.RELEASES:
            continue  # of the event behind the function, which is left to the driver
        before, objects = hostlaunch.stats(), failing.live(embedded)
        sync = work()
        with failing.failed(embedded, call, OUT_OF_MEMORY):
            try:
                sync()
            except hostlaunch.CUDAError as error:
                failing.check_error(error.with_traceback(None), call, OUT_OF_MEMORY, wait)
        del sync
        failing.settle(embedded)
        after = hostlaunch.stats()
        assert after.ran == before.ran + 2
        assert failing.live(embedded) == objects
