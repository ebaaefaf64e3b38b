# SPDX-License-Identifier: Apache-2.0
"""A launch that the driver refuses leaves nothing behind."""

import sys

import pytest

import embedded as embedded_driver
import hostlaunch
import probes
import waiting
from fakes import ForeignStream
from hostlaunch import host_launch

CODES = {
    1: "CUDA_ERROR_INVALID_VALUE",
    2: "CUDA_ERROR_OUT_OF_MEMORY",
    400: "CUDA_ERROR_INVALID_HANDLE",
    801: "CUDA_ERROR_NOT_SUPPORTED",
}


def launch_refused(stream, fn, **kwargs):
    """Launch, expecting an error; references to fn before and when the exception leaves."""
    before = sys.getrefcount(fn)
    try:
        host_launch(stream, fn, **kwargs)
    except hostlaunch.CUDAError as error:
        return before, sys.getrefcount(fn), error.code, error.name
    raise AssertionError("the launch was accepted")


@pytest.mark.parametrize("code", CODES)
def test_the_payload_is_released_before_the_exception_leaves(stream, embedded, code):
    """contract: L3."""
    deaths = []
    probe = probes.Probe(deaths)
    stats = hostlaunch.stats()
    embedded.fail("cuLaunchHostFunc", code)
    before, after, *error = launch_refused(stream, probe)
    assert after == before
    assert error == [code, CODES[code]]
    waiting.sync(stream)
    assert probe.runs == []
    del probe
    assert len(deaths) == 1
    assert hostlaunch.stats() == stats


@pytest.mark.parametrize(
    "entry", ["cuStreamIsCapturing", "cuStreamGetCtx", "cuLaunchHostFunc", "cuCtxGetCurrent"]
)
@pytest.mark.parametrize("kind", ["callable", "compiled", "compiled with data"])
def test_an_error_of_any_step_leaves_nothing_behind(stream, embedded, hostfns, entry, kind):
    """contract: L3, U5. Whichever driver call fails, either all is done or nothing."""
    fn = probes.Probe([]) if kind == "callable" else hostfns.fn("count")
    kwargs = {"user_data": bytes(100)} if kind == "compiled with data" else {}
    foreign = ForeignStream(stream.handle)
    waiting.sync(stream)
    waiting.wait_until(lambda: hostlaunch.stats().awaiting_release == 0)
    events, accepted = embedded.live("events"), hostlaunch.stats().accepted
    before = sys.getrefcount(fn)
    embedded.fail(entry, embedded_driver.OUT_OF_MEMORY)
    try:
        host_launch(foreign, fn, **kwargs)
    except hostlaunch.CUDAError as error:
        assert error.code == embedded_driver.OUT_OF_MEMORY
        assert sys.getrefcount(fn) == before
        assert hostlaunch.stats().accepted == accepted
    else:
        # Exact once nothing moves: a launch may end while it is counted.
        waiting.wait_until(lambda: hostlaunch.stats().accepted == accepted + 1)
    embedded.reset()
    ran = len(fn.runs) if kind == "callable" else hostfns.counter()
    waiting.sync(stream)
    ran = len(fn.runs) if kind == "callable" else hostfns.counter()
    assert ran == hostlaunch.stats().accepted - accepted
    waiting.wait_until(waiting.is_quiet)
    waiting.wait_until(lambda: embedded.live("events") == events)
    waiting.wait_until(lambda: sys.getrefcount(fn) == before)


def test_the_stream_works_after_a_refusal(stream, embedded):
    """contract: L3."""
    ran = []
    for number in range(300):
        if number % 3 == 0:
            embedded.fail("cuLaunchHostFunc", 2)
            with pytest.raises(hostlaunch.CUDAError):
                host_launch(stream, lambda: ran.append("refused"))
        else:
            host_launch(stream, lambda number=number: ran.append(number))
    waiting.sync(stream)
    assert ran == [number for number in range(300) if number % 3]


@pytest.mark.resident_memory
def test_refusals_do_not_grow_memory(stream, embedded, hostfns):
    """contract: L3. A thousand copies would be a gigabyte."""
    data = bytes(10**6)
    before = probes.resident_kib()
    for _ in range(1000):
        embedded.fail("cuLaunchHostFunc", 2)
        with pytest.raises(hostlaunch.CUDAError):
            host_launch(stream, hostfns.note, user_data=data)
    assert probes.resident_kib() - before < 100_000


def test_the_message_says_what_was_attempted_and_what_the_driver_said(stream, embedded):
    """contract: L3, section 2: CUDAError."""
    embedded.fail("cuLaunchHostFunc", 801)
    with pytest.raises(hostlaunch.CUDAError) as caught:
        host_launch(stream, lambda: None)
    assert isinstance(caught.value, RuntimeError)
    message = str(caught.value)
    assert "CUDA_ERROR_NOT_SUPPORTED" in message
    assert "cuLaunchHostFunc" in message or "host_launch" in message
