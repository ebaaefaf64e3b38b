# SPDX-License-Identifier: Apache-2.0
"""Streams of two devices at once: order, payloads, events and memory."""

import ctypes
import gc
import struct
import threading
from contextlib import closing

import pytest

import cudriver
import hostlaunch
import hostmemory
import waiting
from child import repeats
from devices import CONTEXTS, DEVICES, make_current
from fakes import CupyLikeStream, ForeignStream, TorchLikeStream
from hostfns import CUhostFn
from hostlaunch import Buffer, host_launch
from probes import Probe, wait_for_deaths

pytestmark = pytest.mark.usefixtures("two_devices")


def callback_thread(stream):
    """Tell which thread runs the functions of the stream's context."""
    idents = []
    host_launch(stream, lambda: idents.append(threading.get_ident()))
    waiting.sync(stream)
    return idents[0]


@pytest.mark.parametrize("current", CONTEXTS)
@pytest.mark.parametrize("present", [lambda s: s, lambda s: ForeignStream(s.handle)])
def test_a_fresh_thread_launches_on_both_devices(cu, streams, hostfns, present, current):
    """contract: O4. The current context is that of one of them, or none."""
    ran = []

    def launch():
        context = make_current(cu, current) if current is not None else cu.current_context()
        for device in (1, 0, 1):
            host_launch(present(streams[device]), lambda device=device: ran.append(device))
            host_launch(present(streams[device]), hostfns.count)
            assert cu.current_context() == context
        for stream in streams:
            stream.sync()
            assert cu.current_context() == context

    waiting.bounded(launch)
    assert sorted(ran) == [0, 1, 1]
    assert hostfns.counter() == 3


def test_a_thousand_functions_on_each_device_keep_order_and_payload(make_stream):
    """contract: O1, U3. Two streams a device; callables, and a copied payload for every third."""
    streams = [make_stream(device) for device in (0, 1, 0, 1)]
    ran = [[] for _ in streams]
    packing = struct.Struct("<4q")

    @CUhostFn
    def enter(payload):
        stream, number, *check = packing.unpack(ctypes.string_at(payload, packing.size))
        whole = check == [stream * 7919 + number, ~number]
        ran[stream].append(number if whole else "mixed")

    for number in range(1000):
        for index, stream in enumerate(streams):
            if number % 3 == 0:
                payload = packing.pack(index, number, index * 7919 + number, ~number)
                host_launch(stream, enter, user_data=payload)
            else:
                host_launch(stream, lambda at=ran[index], number=number: at.append(number))
    waiting.sync(*streams)
    assert ran == [list(range(1000))] * 4


def test_functions_of_both_devices_meet_inside(streams):
    """contract: O2, L1. They run at once, again and again; all are released on the main thread."""
    deaths = []
    meeting = threading.Barrier(2)
    rounds = repeats(300)

    def meet():
        meeting.wait(20)

    for _ in range(rounds):
        for stream in streams:
            host_launch(stream, Probe(deaths, body=meet))
    waiting.sync(*streams)
    assert not meeting.broken
    wait_for_deaths(deaths, 2 * rounds)


def test_each_device_has_a_callback_thread_of_its_own(make_stream):
    """contract: O2. One for all streams of a context."""
    idents = [callback_thread(make_stream(device)) for device in (0, 1, 0, 1)]
    assert idents[:2] == idents[2:]
    assert idents[0] != idents[1]


def test_a_held_device_does_not_delay_the_other_ones_functions_or_releases(streams, gate):
    """contract: O1, L1."""
    held, free = streams
    deaths, waits = [], []
    before = hostlaunch.stats().pending
    gate.hold(held)
    for _ in range(1000):
        host_launch(held, Probe(waits))
        host_launch(free, Probe(deaths))
    waiting.sync(free)
    wait_for_deaths(deaths, 1000)
    assert waits == []
    assert hostlaunch.stats().pending - before == 1000
    gate.open()
    waiting.sync(held)
    wait_for_deaths(waits, 1000)


def test_threads_on_both_devices_keep_order_payload_and_context(cu, make_stream):
    """contract: X4, O1, O4. Each thread uses both devices, with one of three contexts current."""
    streams = [make_stream(device) for device in (0, 1, 0, 1)]
    launchers, each = 6, 200
    ran = [[[] for _ in range(launchers)] for _ in streams]
    contexts = [make_current(cu, device) for device in CONTEXTS]

    def launch(index):
        context = contexts[index % 3]
        cu.set_current(context)
        for number in range(each):
            for at, stream in enumerate(streams):
                there = ran[at][index]
                host_launch(stream, lambda there=there, number=number: there.append(number))
                assert cu.current_context() == context
            if number % 50 == 0:
                streams[number % 4].record().sync()
                assert cu.current_context() == context

    waiting.run_threads(*(lambda index=index: launch(index) for index in range(launchers)))
    waiting.sync(*streams)
    assert ran == [[list(range(each))] * launchers] * 4


def test_streams_wait_for_each_other_across_devices(cu, streams):
    """contract: O1, O4. By events and by streams, with no context current."""
    cu.set_current(None)
    first, second = streams
    ran = []
    event = first.record()
    for number in range(0, 600, 3):
        host_launch(first, lambda number=number: ran.append(number))
        second.wait(first.record(event))
        host_launch(second, lambda number=number: ran.append(number + 1))
        first.wait(ForeignStream(second.handle))
        host_launch(first, lambda number=number: ran.append(number + 2))
        second.wait(first)
    assert cu.current_context() is None
    waiting.sync(second)
    assert ran == list(range(600))


@pytest.mark.parametrize("current", CONTEXTS)
def test_an_event_of_one_device_is_asked_from_anywhere(cu, streams, gate, current):
    """contract: O3, O4."""
    gate.hold(streams[1])
    event = streams[1].record()

    def ask():
        context = make_current(cu, current)
        assert not event.is_done
        gate.open()
        event.sync()
        assert event.is_done
        assert cu.current_context() == context

    waiting.bounded(ask)


def test_an_event_is_recorded_on_its_own_device_only(cu, streams):
    """contract: section 2, O4. The refusal harms neither the event nor the streams."""
    context = make_current(cu, 0)
    event = streams[0].record()
    with pytest.raises(hostlaunch.CUDAError):
        streams[1].record(event)
    assert cu.current_context() == context
    ran = []
    host_launch(streams[0], lambda: ran.append(0))
    streams[1].wait(streams[0].record(event))
    host_launch(streams[1], lambda: ran.append(1))
    waiting.sync(streams[1])
    assert ran == [0, 1]


@pytest.mark.parametrize("writer", DEVICES)
@pytest.mark.parametrize("memory", ["pinned", "registered"])
def test_a_copy_on_the_other_device_reads_what_a_function_wrote(cu, streams, memory, writer):
    """contract: O1. The event wait between them is all that orders them; 10,000 rounds."""
    rounds = 10_000
    writes, reads = streams[writer], streams[1 - writer]
    if memory == "registered" and not hostmemory.can_register(cu):
        pytest.skip("the embedded driver registers no memory")
    source = hostmemory.Pinned(writer) if memory == "pinned" else hostmemory.Registered(cu)
    cu.set_current(cu.primary_context(writer))
    device = Buffer(hostmemory.NBYTES, device_id=1 - writer)
    target = Buffer(hostmemory.NBYTES, kind="pinned", device_id=1 - writer)
    with closing(source), closing(device), closing(target):
        written, read = source.view(), memoryview(target)
        patterns = [bytes([value]) * hostmemory.NBYTES for value in range(251)]
        wrong = []

        def write(number):
            written[:] = patterns[number % 251]

        def check(number):
            if read != patterns[number % 251]:
                wrong.append(number)

        there, back = writes.record(), reads.record()
        for number in range(rounds):
            host_launch(writes, lambda number=number: write(number))
            reads.wait(writes.record(there))
            source.copy_to(device, reads)
            device.copy_to(target, stream=reads)
            host_launch(reads, lambda number=number: check(number))
            writes.wait(reads.record(back))
            if number % 200 == 199:
                reads.sync()  # a bound on what is queued
        waiting.sync(*streams)
        written.release()
        read.release()
    assert wrong == []


@pytest.mark.parametrize("by", DEVICES)
@pytest.mark.parametrize("current", CONTEXTS)
def test_memory_is_copied_between_the_devices(cu, streams, by, current):
    """contract: section 2, O4. On a stream of either; functions see the result in order."""
    context = make_current(cu, current)
    stream, other = streams[by], streams[1 - by]
    with (
        closing(Buffer(4096, device_id=0)) as first,
        closing(Buffer(4096, device_id=1)) as second,
        closing(Buffer(4096, kind="pinned", device_id=1 - by)) as host,
    ):
        view = memoryview(host)
        seen = []
        for value in range(1, 101):
            first.fill(value, stream=streams[0])
            stream.wait(streams[0])
            second.copy_from(first, stream=stream)
            other.wait(stream)
            second.copy_to(host, stream=other)
            host_launch(other, lambda: seen.append((view[0], view[4095])))
            streams[0].wait(other)
            assert cu.current_context() == context
        waiting.sync(*streams)
        view.release()
    assert seen == [(value, value) for value in range(1, 101)]


@pytest.mark.parametrize("kind", ["device", "pinned"])
@pytest.mark.parametrize("current", CONTEXTS)
def test_memory_of_the_second_device_is_freed_from_anywhere(cu, kind, current):
    """contract: section 2, O4. To free it once more is an error of the driver."""
    buffer = Buffer(1 << 20, kind=kind, device_id=1)
    address = ctypes.c_uint64(buffer.handle)

    def close():
        context = make_current(cu, current)
        buffer.close()
        assert cu.current_context() == context

    waiting.bounded(close)
    make_current(cu, 1)
    entry = "cuMemFree_v2" if kind == "device" else "cuMemFreeHost"
    with pytest.raises(cudriver.DriverError):
        cu.call(entry, address)


@pytest.mark.parametrize("carrier", [TorchLikeStream, CupyLikeStream])
@pytest.mark.parametrize("token", [0, 1, 2])
@pytest.mark.parametrize("current", CONTEXTS)
def test_a_default_stream_is_that_of_the_device_it_names(
    cu, streams, hostfns, carrier, token, current
):
    """contract: O4. Told by the thread that runs the function, one for each context."""
    threads = [callback_thread(stream) for stream in streams]
    context = make_current(cu, current)
    for device in (1, 0, 1):
        idents = []
        default = carrier(token, device)
        host_launch(default, lambda idents=idents: idents.append(threading.get_ident()))
        host_launch(default, hostfns.count)
        assert cu.current_context() == context
        waiting.wait_until(lambda idents=idents: idents)
        assert idents == [threads[device]]
    waiting.wait_until(lambda: hostfns.counter() == 3)


@pytest.mark.parametrize("current", CONTEXTS)
def test_every_argument_that_takes_a_stream_minds_the_device_it_names(cu, streams, current):
    """contract: O4, S3. The per-thread default stream of device 1, told by what it waits for."""
    context = make_current(cu, current)
    default = TorchLikeStream(2, 1)
    buffer, host = Buffer(64, device_id=1), Buffer(64, kind="pinned")
    with closing(buffer), closing(host), memoryview(host) as view:
        seen = []
        buffer.fill(7, stream=default)
        host.copy_from(buffer, stream=default)
        streams[0].wait(default)
        host_launch(streams[0], lambda: seen.append(view[63]))
        assert cu.current_context() == context
        waiting.sync(streams[0])
    assert seen == [7]


@pytest.mark.parametrize("current", CONTEXTS)
def test_a_device_that_is_not_there_is_told(cu, current):
    """contract: O4."""
    context = make_current(cu, current)
    deaths = []
    for carrier in (TorchLikeStream, CupyLikeStream):
        for token in (0, 1, 2):
            with pytest.raises(hostlaunch.CUDAError, match="INVALID_DEVICE"):
                host_launch(carrier(token, 99), Probe(deaths))
            assert cu.current_context() == context
    gc.collect()
    assert len(deaths) == 6


@pytest.mark.parametrize("current", CONTEXTS)
def test_a_closed_stream_of_the_second_device_runs_what_is_pending(cu, make_stream, gate, current):
    """contract: O1, O4, section 2."""
    stream = make_stream(1)
    ran = []
    gate.hold(stream)
    for number in range(100):
        host_launch(stream, lambda number=number: ran.append(number))

    def close():
        context = make_current(cu, current)
        stream.close()
        assert cu.current_context() == context

    waiting.bounded(close)
    gate.open()
    waiting.wait_until(lambda: len(ran) == 100)
    assert ran == list(range(100))
