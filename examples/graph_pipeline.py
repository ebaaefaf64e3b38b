#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stream a file through a CUDA device with one captured graph: each replay takes the next chunk.

pipeline.py enqueues its host functions again for every chunk. Here they are captured once, together
with the copies between them, and the graph is launched until the file has ended.
"""

import argparse
import contextlib
import hashlib
import os
import random
import sys
import tempfile
import time
import warnings

import hostlaunch

MIB = 1 << 20
SAMPLE_BYTES = 32 * MIB + 12345  # the last chunk is not full


class ChunkGraph:
    """One chunk's way to the device and back as a graph, and the state that replays step on.

    `read` and `hash` run on a thread of the driver, once per launch. What they raise would go to
    sys.unraisablehook, so it is kept for `run`.
    """

    def __init__(self, source, nbytes):
        self.source = source
        self.incoming = hostlaunch.Buffer(nbytes, kind="pinned")
        self.device = hostlaunch.Buffer(nbytes)
        self.outgoing = hostlaunch.Buffer(nbytes, kind="pinned")
        self.valid = 0  # how many bytes of the buffers belong to the file
        self.digest = hashlib.sha256()
        self.nbytes = 0
        self.at_end = False
        self.error = None

    def read(self):
        """Host function: read the next chunk of the file."""
        self.valid = 0
        if self.at_end:
            return
        try:
            with memoryview(self.incoming) as chunk:
                self.valid = self.source.readinto(chunk)
        except OSError as error:
            self.error = error
        self.at_end = self.valid == 0

    def hash(self):
        """Host function: hash what came back."""
        with memoryview(self.outgoing) as buffer, buffer[: self.valid] as chunk:
            self.digest.update(chunk)
        self.nbytes += self.valid

    def capture(self, stream):
        """Record the work of one chunk; nothing runs yet."""
        builder = stream.create_graph_builder().begin_building()
        hostlaunch.host_launch(builder, self.read)
        self.device.copy_from(self.incoming, stream=stream)
        self.device.copy_to(self.outgoing, stream=stream)
        hostlaunch.host_launch(builder, self.hash)
        return builder.end_building().complete()

    def run(self, stream):
        """Launch the graph until a read finds the end of the file: how many launches it took."""
        graph = self.capture(stream)
        launches = 0
        while not self.at_end:
            # A few at a time, so that the device has work while main looks: too many cost nothing,
            # since a read after the end leaves nothing to hash.
            for _ in range(4):
                graph.launch(stream)
                launches += 1
            stream.sync()
        if self.error is not None:
            raise self.error
        return launches


@contextlib.contextmanager
def sample_file():
    """Make a file of pseudo-random bytes and remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="hostlaunch-") as folder:
        path = os.path.join(folder, "sample.bin")
        with open(path, "wb") as file:
            file.write(random.Random(0).randbytes(SAMPLE_BYTES))
        yield path


def run(path, chunk_size):
    """Send the file through the device and print the report."""
    with open(path, "rb", 0) as source:
        work = ChunkGraph(source, chunk_size)
        with hostlaunch.Stream() as stream:
            start = time.perf_counter()
            launches = work.run(stream)
            seconds = time.perf_counter() - start
    mib = work.nbytes / MIB
    print(f"{work.digest.hexdigest()}  {path}")
    print(f"{mib:.1f} MiB there and back in {seconds:.3f} s: {mib / seconds:.1f} MiB/s")
    print(f"one graph, launched {launches} times, on the {hostlaunch.driver().name} driver")


def main():
    """Parse the arguments, run, and turn what can go wrong into one line and an exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", nargs="?", help="input, a regular file (default: one made up)")
    parser.add_argument("--chunk-size", type=int, default=4 * MIB, metavar="BYTES")
    args = parser.parse_args()
    warnings.simplefilter("ignore", hostlaunch.EmbeddedDriverWarning)  # the report names the driver
    try:
        with sample_file() if args.file is None else contextlib.nullcontext(args.file) as path:
            run(path, args.chunk_size)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(
            f"graph_pipeline.py: {error.filename or args.file}: {error.strerror}", file=sys.stderr
        )
        return 1
    except (RuntimeError, ValueError) as error:
        print(f"graph_pipeline.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
