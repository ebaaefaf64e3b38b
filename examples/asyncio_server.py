#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server in asyncio whose requests are worked on by a GPU, with back-pressure and cancellation.

Each connection sends lines; the answer to each is what the device made of it. A request takes a
slot (a stream and its buffers) from a fixed number of them, so that clients wait while all are
busy. The work is enqueued, and the event loop serves others until the stream gets there. A client
that hangs up cancels its request: what has not started is taken back, and the slot is given on once
the device has done what was under way.

    asyncio_server.py --port 8765          serve until Ctrl-C
    asyncio_server.py --requests 1000      serve so many from clients of its own, and tell how long
"""

import argparse
import asyncio
import contextlib
import sys
import time

import hostlaunch

LINE = 256  # bytes of a request, at most
SLOTS = 8


class Slot:
    """A stream with the memory of one request."""

    def __init__(self):
        self.stream = hostlaunch.Stream()
        self.host = hostlaunch.Buffer(LINE, kind="pinned")
        self.device = hostlaunch.Buffer(LINE)
        self.back = hostlaunch.Buffer(LINE, kind="pinned")

    def enqueue(self, line):
        """Send the line through the device; a kernel would stand between the copies."""
        memoryview(self.host)[: len(line)] = line
        self.device.copy_from(self.host, stream=self.stream)
        self.device.copy_to(self.back, stream=self.stream)

    def answer(self, size):
        """On a thread of the pool, once the copies are done: the slow part, beside the loop."""
        return bytes(memoryview(self.back)[:size]).upper()


class Server:
    """Requests in, work on the device, results out."""

    def __init__(self, slots=SLOTS):
        self.free = asyncio.Queue()
        for _ in range(slots):
            self.free.put_nowait(Slot())
        self.served = self.cancelled = self.connections = 0
        self.returning = set()

    async def work(self, line):
        """Answer one request; waits for a slot first."""
        slot = await self.free.get()
        try:
            slot.enqueue(line)
            answer = await hostlaunch.submit(slot.stream, slot.answer, len(line))
            self.served += 1
            return answer
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.give_back(slot)

    def give_back(self, slot):
        """Free the slot once the device is done with its memory, whoever waits or does not."""
        task = asyncio.create_task(self.return_slot(slot))
        self.returning.add(task)  # the loop itself keeps tasks weakly
        task.add_done_callback(self.returning.discard)

    async def return_slot(self, slot):
        """Wait for the device, then let the next request have the slot."""
        await hostlaunch.work_done(slot.stream)
        self.free.put_nowait(slot)

    async def serve(self, reader, writer):
        """One connection: a line, its answer, and so on until the client hangs up."""
        self.connections += 1
        try:
            with contextlib.suppress(ConnectionError), contextlib.closing(writer):
                line = await reader.readline()
                while line:
                    line = await self.serve_one(line, reader, writer)
        finally:
            self.connections -= 1

    async def serve_one(self, line, reader, writer):
        """Answer a request; returns the next one, which is read meanwhile to see a hang-up."""
        working = asyncio.create_task(self.work(line[:LINE]))
        following = asyncio.create_task(reader.readline())
        try:
            await asyncio.wait([working, following], return_when=asyncio.FIRST_COMPLETED)
            if following.done() and not following.result():
                return b""
            writer.write(await working)
            await writer.drain()
            return await following
        finally:
            working.cancel()
            following.cancel()


async def client(port, count):
    """Ask so many times; the seconds that each answer took."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    took = []
    with contextlib.closing(writer):
        for number in range(count):
            begin = time.perf_counter()
            writer.write(b"request %d\n" % number)
            answer = await reader.readline()
            if answer != b"REQUEST %d\n" % number:
                raise RuntimeError(f"wrong answer: {answer!r}")
            took.append(time.perf_counter() - begin)
    return took


async def hasty(port):
    """Ask, and hang up without waiting for the answer."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"never mind\n")
    await writer.drain()
    writer.close()


async def main():
    """Serve, with clients of its own if so many requests are wanted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--requests", type=int, default=0, help="serve so many, then end")
    parser.add_argument("--clients", type=int, default=20, help="at once")
    settings = parser.parse_args()
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", settings.port)
    port = listening.sockets[0].getsockname()[1]
    async with listening:
        print(f"listening on 127.0.0.1:{port}", file=sys.stderr)
        if settings.requests == 0:
            await listening.serve_forever()
        each = max(1, settings.requests // settings.clients)
        begin = time.perf_counter()
        clients = [client(port, each) for _ in range(settings.clients)]
        took = sorted(t for times in await asyncio.gather(*clients) for t in times)
        seconds = time.perf_counter() - begin
        await asyncio.gather(*[hasty(port) for _ in range(settings.clients)])
        print(f"{len(took)} requests in {seconds:.2f} s, {len(took) / seconds:.0f} a second")
        print(f"median {took[len(took) // 2] * 1e3:.2f} ms, worst {took[-1] * 1e3:.2f} ms")
    while server.connections > 0 or server.free.qsize() < SLOTS:
        await asyncio.sleep(0.01)
    print(f"served {server.served}, cancelled {server.cancelled}, all {SLOTS} slots free")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
