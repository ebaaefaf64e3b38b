# SPDX-License-Identifier: Apache-2.0
"""Compiled functions reach the driver as they are; thunks of Python functions do not."""

import ctypes
import gc
import threading

import pytest

import hostlaunch
import probes
import waiting
from hostfns import CUhostFn, bare, code_address
from hostlaunch import host_launch


def launches(calls):
    """The function and the pointer of each launch in a log."""
    return [(call.args[1], call.args[2]) for call in calls if call.name == "cuLaunchHostFunc"]


@pytest.mark.parametrize("pointer", [0, 5, 2**64 - 1])
def test_the_driver_gets_this_code_address_and_this_pointer(stream, hostfns, embedded, pointer):
    """contract: F2."""
    with embedded.log() as calls:
        host_launch(stream, hostfns.note, user_data=pointer)
    assert launches(calls) == [(hostfns.address("note"), pointer)]
    waiting.sync(stream)


def test_the_driver_gets_the_code_address_with_copied_data(stream, hostfns, embedded):
    """contract: F2, U3."""
    with embedded.log() as calls:
        host_launch(stream, hostfns.copy64, user_data=bytes(64))
    [(address, pointer)] = launches(calls)
    waiting.sync(stream)
    assert address == hostfns.address("copy64")
    assert pointer == hostfns.library.hf_seen_pointer()


def test_one_launch_makes_one_driver_launch(stream, hostfns, embedded):
    """contract: F2. An event, not a second host function, tells when it has run."""
    with embedded.log() as calls:
        for _ in range(10):
            host_launch(stream, hostfns.count)
    waiting.sync(stream)
    assert len(launches(calls)) == 10


def test_compiled_code_runs_without_the_gil_on_a_thread_of_the_driver(stream, hostfns):
    """contract: F2, O2."""
    host_launch(stream, hostfns.identify)
    waiting.sync(stream)
    assert hostfns.library.hf_attached() == 0
    assert hostfns.library.hf_thread() not in (0, threading.get_native_id())


def test_compiled_code_runs_while_another_thread_keeps_the_gil(stream, hostfns):
    """contract: F2. The main thread waits in C code that does not release the GIL."""
    host_launch(stream, hostfns.count)
    host_launch(stream, hostfns.count, user_data=b"payload")
    assert hostfns.with_gil.hf_wait_count(2, 20000) == 1


def test_a_thunk_goes_through_the_trampoline_with_its_pointer(stream, embedded):
    """contract: F2 (the stated deviation)."""
    seen = []
    thunk = CUhostFn(seen.append)
    with embedded.log() as calls:
        host_launch(stream, thunk, user_data=7)
    [(address, _)] = launches(calls)
    assert address != code_address(thunk)
    waiting.sync(stream)
    assert seen == [7]


def test_a_thunk_keeps_its_thread_state(stream):
    """contract: F2. Called bare it would find an empty threading.local each time."""
    local = threading.local()
    counts = []

    def count(pointer):
        local.calls = getattr(local, "calls", 0) + 1
        counts.append(local.calls)

    for _ in range(4):
        host_launch(stream, CUhostFn(count))
        waiting.sync(stream)
    assert counts == [1, 2, 3, 4]


def test_a_temporary_thunk_lives_until_it_has_run(stream, gate):
    """contract: L1, F2."""
    seen, deaths = [], []

    class Function(probes.Tombstone):
        def __call__(self, pointer):
            seen.append(pointer)

    gate.hold(stream)
    host_launch(stream, CUhostFn(Function(deaths)), user_data=7)
    gc.collect()
    others = [CUhostFn(lambda pointer: seen.append("wrong")) for _ in range(500)]
    gc.collect()
    assert deaths == []
    gate.open()
    waiting.sync(stream)
    assert seen == [7]
    del others
    probes.wait_for_deaths(deaths, 1)


def test_a_temporary_function_pointer_is_kept_until_it_has_run(stream, hostfns, gate):
    """contract: L1. With it goes what it refers to, for example the library that holds the code."""
    deaths = []
    gate.hold(stream)
    fn = hostfns.fn("count")
    fn.owner = probes.Tombstone(deaths)
    host_launch(stream, fn)
    del fn
    gc.collect()
    assert deaths == []
    gate.open()
    waiting.sync(stream)
    probes.wait_for_deaths(deaths, 1)
    assert hostfns.counter() == 1


def test_a_thunk_sees_copied_data(stream, gate):
    """contract: F2, U3."""
    seen = []
    data = bytearray(range(64))
    gate.hold(stream)
    host_launch(
        stream, CUhostFn(lambda pointer: seen.append(ctypes.string_at(pointer, 64))), user_data=data
    )
    data.clear()
    gate.open()
    waiting.sync(stream)
    assert seen == [bytes(range(64))]


def test_a_thunk_that_is_not_recognised_runs_as_it_is(stream, embedded):
    """contract: F2."""
    seen = []
    thunk = CUhostFn(seen.append)
    with embedded.log() as calls:
        host_launch(stream, bare(thunk), user_data=3)
    assert launches(calls) == [(code_address(thunk), 3)]
    waiting.sync(stream)
    assert seen == [3]


def test_as_is_launches_count_as_ran_without_any_call(stream, hostfns):
    """contract: section 5."""
    before = hostlaunch.stats()
    for _ in range(20):
        host_launch(stream, hostfns.count, user_data=b"x")
    waiting.wait_until(lambda: hostlaunch.stats().ran == before.ran + 20)
    after = hostlaunch.stats()
    assert after.accepted == before.accepted + 20
    assert (after.abandoned, after.dropped) == (before.abandoned, before.dropped)


def test_as_is_launches_are_pending_until_they_have_run(stream, hostfns):
    """contract: section 5."""
    before = hostlaunch.stats()
    host_launch(stream, hostfns.block)
    host_launch(stream, hostfns.count, user_data=b"x")
    assert hostfns.library.hf_wait_blocked(20000)
    during = hostlaunch.stats()
    assert during.pending + during.running == before.pending + before.running + 2
    hostfns.library.hf_open()
    waiting.sync(stream)
    waiting.wait_until(lambda: hostlaunch.stats().ran == before.ran + 2)


def test_sync_makes_as_is_launches_end(stream, hostfns):
    """contract: L1."""
    before = hostlaunch.stats()
    host_launch(stream, hostfns.count, user_data=b"x")
    stream.sync()
    after = hostlaunch.stats()
    assert after.ran == before.ran + 1
    assert after.awaiting_release == 0


@pytest.mark.resident_memory
def test_copies_of_data_are_freed(stream, hostfns):
    """contract: L1. Two gigabytes in all; the process stays small."""
    data = bytes(10**6)
    grown = probes.resident_kib()
    for number in range(2000):
        host_launch(stream, hostfns.note, user_data=data)
        if number % 20 == 19:
            stream.sync()
    waiting.sync(stream)
    assert probes.resident_kib() - grown < 100_000
    assert hostfns.counter() == 2000
