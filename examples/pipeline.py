#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stream a file through a CUDA device and hash what comes back.

Host functions do the reading, the hashing and the writing, in stream order with the device's
copies. The printed SHA-256 is that of `sha256sum FILE`, so every byte made the round trip.
"""

import argparse
import contextlib
import functools
import hashlib
import itertools
import os
import random
import signal
import stat
import sys
import tempfile
import time
import warnings

import hostlaunch

MIB = 1 << 20
SAMPLE_MIB = 64
SAMPLE_SHA256 = "f1890c1ca63eae6fceb8ad36757df9660f4af30e73255e6816566b8a3aac404a"


class Slot:
    """The buffers of one chunk on its way, and the stream that all its work is enqueued on.

    Nothing is closed: a launch keeps its function, and so the slot, until it has run.
    """

    def __init__(self, nbytes):
        self.stream = hostlaunch.Stream()
        self.incoming = hostlaunch.Buffer(nbytes, kind="pinned")
        self.device = hostlaunch.Buffer(nbytes, kind="device")
        self.outgoing = hostlaunch.Buffer(nbytes, kind="pinned")
        self.valid = 0  # how many bytes of the buffers belong to the file
        self.read_done = self.hash_done = self.all_done = None  # events, one each, used again


class Pipeline:
    """One file on its way: the host functions, and what they leave for each other and for main.

    The driver runs `read`, `hash_and_write` and `show` on a thread of its own, one at a time, in
    the order that `enqueue` asks for. They must not call CUDA there, nor wait for somebody else.
    """

    def __init__(self, source, sink):
        self.source = source
        self.sink = sink
        self.shown_size = None  # with a number: show a progress bar
        self.digest = hashlib.sha256()
        self.nbytes = 0
        self.at_end = False
        self.stopped = False
        self.error = None

    def guarded(self, step, slot):
        """Run one step. If it fails, keep the error for main and let later steps do nothing.

        An exception that left the host function would go to sys.unraisablehook, and the stream
        would go on.
        """
        if self.stopped:
            return
        try:
            step(slot)
        except Exception as error:
            self.error = error
            self.stopped = True

    def read(self, slot):
        """Host function: read the next chunk of the file."""
        slot.valid = 0
        if not self.at_end:
            with naming(self.source), memoryview(slot.incoming) as chunk:
                slot.valid = self.source.readinto(chunk)
            self.at_end = slot.valid == 0

    def hash_and_write(self, slot):
        """Host function: hash what came back, and write it."""
        with memoryview(slot.outgoing) as buffer, buffer[: slot.valid] as chunk:
            self.digest.update(chunk)
            if self.sink is not None:
                with naming(self.sink):
                    write_all(self.sink, chunk)
        self.nbytes += slot.valid

    def show(self, slot):
        """Host function: update the progress bar."""
        percent = min(100 * self.nbytes // max(self.shown_size, 1), 100)
        text = f"\r[{'#' * (percent // 4):25}] {percent:3}% of {self.shown_size / MIB:.1f} MiB"
        print(text, end="", file=sys.stderr, flush=True)

    def enqueue(self, slot, before):
        """Enqueue all the work of the next chunk. `before` is the slot of the chunk before it.

        Stream order alone protects the buffers, for all that touches them is on the slot's stream:
        the next read into them comes after this chunk's hash. Events are needed for what spans
        streams: chunks have to be read, and hashed, in the order of the file.
        """
        stream = slot.stream
        if before is not None:
            stream.wait(before.read_done)
        hostlaunch.host_launch(stream, functools.partial(self.guarded, self.read, slot))
        slot.read_done = stream.record(slot.read_done)

        # Always whole buffers: how much of them is valid is known only once the read has run.
        slot.device.copy_from(slot.incoming, stream=stream)
        slot.device.copy_to(slot.outgoing, stream=stream)

        if before is not None:
            stream.wait(before.hash_done)
        hostlaunch.host_launch(stream, functools.partial(self.guarded, self.hash_and_write, slot))
        slot.hash_done = stream.record(slot.hash_done)

        if self.shown_size is not None:
            hostlaunch.host_launch(stream, functools.partial(self.guarded, self.show, slot))
        slot.all_done = stream.record(slot.all_done)

    def run(self, slots):
        """Enqueue chunks until a read finds the end of the file, then wait for what is left.

        At most one chunk per slot is outstanding: main waits for a slot's last chunk before it
        enqueues the next one. So every wait is short, which is what makes Ctrl-C prompt: a wait is
        a call into the driver, and KeyboardInterrupt is raised when it returns.
        """
        before = None
        try:
            for slot in itertools.cycle(slots):
                if slot.all_done is not None:
                    slot.all_done.sync()
                if self.at_end or self.stopped:
                    break
                self.enqueue(slot, before)
                before = slot
        except BaseException:
            self.stopped = True  # Ctrl-C, or the device failed: what is enqueued does nothing
            raise
        finally:
            # The functions use the files and the buffers, so nothing is closed under them.
            for slot in slots:
                slot.stream.sync()
        if self.error is not None:
            raise self.error


@contextlib.contextmanager
def naming(file):
    """Say in an OSError which file it is about."""
    try:
        yield
    except OSError as error:
        error.filename = file.name
        raise


def write_all(file, data):
    """Write all of it: one write to an unbuffered file may take less."""
    written = 0
    while written < len(data):
        written += file.write(data[written:])


def open_source(path):
    """Open the input, which has to be a regular file.

    All host functions of a context share one thread, so one that waits for the writer of a pipe
    would hold up every stream.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(0, "not a regular file", path)
    return open(path, "rb", 0)  # unbuffered: the pinned memory is the buffer


def open_sink(path, source):
    """Open the output, unless that would empty the input or wait for the reader of a pipe."""
    if os.path.exists(path):
        existing = os.stat(path)
        if os.path.samestat(existing, os.fstat(source.fileno())):
            raise OSError(0, "is the input file", path)
        if stat.S_ISFIFO(existing.st_mode):
            raise OSError(0, "is a pipe", path)
    return open(path, "wb", 0)


@contextlib.contextmanager
def sample_file():
    """Make a file of pseudo-random bytes, the same ones each time, and remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="hostlaunch-") as folder:
        path = os.path.join(folder, "sample.bin")
        numbers = random.Random(0)
        with open(path, "wb") as file, naming(file):
            for _ in range(SAMPLE_MIB):
                file.write(numbers.randbytes(MIB))
        yield path


def run(path, args):
    """Send the file through the device and print the report."""
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(open_source(path))
        sink = None
        if args.output is not None:
            sink = stack.enter_context(open_sink(args.output, source))
        pipeline = Pipeline(source, sink)
        if sys.stderr.isatty():
            pipeline.shown_size = os.fstat(source.fileno()).st_size
            stack.callback(print, "\r\033[K", end="", file=sys.stderr, flush=True)
        slots = [Slot(args.chunk_size) for _ in range(args.buffers)]
        ran_before = hostlaunch.stats().ran
        start = time.perf_counter()
        pipeline.run(slots)
        seconds = time.perf_counter() - start
        ran = hostlaunch.stats().ran - ran_before
    driver = hostlaunch.driver()
    cuda = f"CUDA {driver.version // 1000}.{driver.version % 1000 // 10}"
    mib = pipeline.nbytes / MIB
    report = (
        f"{pipeline.digest.hexdigest()}  {path}\n"
        f"{mib:.1f} MiB there and back in {seconds:.3f} s: {mib / seconds:.1f} MiB/s\n"
        f"{ran} host functions ran on the {driver.name} driver ({cuda}, {driver.path})\n"
    )
    if args.file is None:
        if pipeline.digest.hexdigest() != SAMPLE_SHA256:
            raise RuntimeError("what came back is not what was sent")
        report += "This is the known SHA-256 of the sample: OK\n"
    # Not print: the name may be no valid text, and a full disk behind stdout shows at once.
    os.write(sys.stdout.fileno(), os.fsencode(report))


def positive(text):
    """Parse an argument that counts something."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def interrupt_once(*_):
    """Let Ctrl-C end the program, and no second one cut short its cleaning up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def main():
    """Parse the arguments, run, and turn what can go wrong into one line and an exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", nargs="?", help=f"input (default: {SAMPLE_MIB} MiB made up)")
    parser.add_argument("--output", metavar="OUT", help="write what came back to OUT")
    parser.add_argument("--chunk-size", type=positive, default=4 * MIB, metavar="BYTES")
    parser.add_argument("--buffers", type=positive, default=2, metavar="N", help="chunks in flight")
    args = parser.parse_args()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt_once)
    # The report names the driver, so there is no need for a warning.
    warnings.simplefilter("ignore", hostlaunch.EmbeddedDriverWarning)
    try:
        with sample_file() if args.file is None else contextlib.nullcontext(args.file) as path:
            run(path, args)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except (RuntimeError, MemoryError) as error:  # hostlaunch.CUDAError is a RuntimeError
        message = str(error)
    else:
        return 0
    print(f"pipeline.py: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
