#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Step host logic inside a graph that PyTorch or CuPy captures (needs an NVIDIA GPU).

A decode loop is the usual case: the library captures one step of kernels, and each replay needs a
little host code in its place in the order. `GraphBuilder.attach` adopts the capture, so that the
function lives as long as the library's own graph and runs once per replay.
"""

import argparse
import gc
import sys

import hostlaunch


class Steps:
    """Host logic that must see every step: reads what the kernels before it left behind."""

    def __init__(self, value):
        self.value = value  # reads the number that was copied to pinned memory
        self.seen = []

    def __call__(self):
        """Run as a host function, once per replay."""
        self.seen.append(self.value())


def with_torch(replays):
    """Capture with torch.cuda.graph and replay."""
    import torch

    counter = torch.zeros(1, device="cuda")
    pinned = torch.zeros(1, pin_memory=True)
    counter += 0  # loads the kernel: the first use of one may block
    torch.cuda.synchronize()
    steps = Steps(lambda: int(pinned[0]))

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        counter += 1
        pinned.copy_(counter, non_blocking=True)
        builder = hostlaunch.GraphBuilder.attach(torch.cuda.current_stream())
        hostlaunch.host_launch(builder, steps)
    seen = steps.seen
    del steps, builder
    gc.collect()  # the graph keeps the function

    for _ in range(replays):
        graph.replay()
    torch.cuda.synchronize()
    return seen


def with_cupy(replays):
    """Capture with a CuPy stream and replay."""
    import cupy

    counter = cupy.zeros(1, dtype=cupy.int64)
    one = cupy.ones(1, dtype=cupy.int64)
    host = cupy.cuda.alloc_pinned_memory(8)
    cupy.add(counter, one, out=counter)  # loads the kernel
    counter.fill(0)
    cupy.cuda.Device().synchronize()
    steps = Steps(lambda: int.from_bytes(memoryview(host)[:8], sys.byteorder))

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        cupy.add(counter, one, out=counter)
        counter.data.copy_to_host_async(host.ptr, 8, stream)
        builder = hostlaunch.GraphBuilder.attach(stream)
        hostlaunch.host_launch(builder, steps)
        graph = stream.end_capture()
    seen = steps.seen
    del steps, builder
    gc.collect()

    for _ in range(replays):
        graph.launch(stream)
    stream.synchronize()
    return seen


def main():
    """Run with one library and check what the host function saw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("library", choices=["torch", "cupy"])
    parser.add_argument("--replays", type=int, default=100)
    args = parser.parse_args()
    run = {"torch": with_torch, "cupy": with_cupy}[args.library]
    try:
        seen = run(args.replays)
    except ImportError as error:
        print(f"attach_capture.py: {error}", file=sys.stderr)
        return 1
    if seen != list(range(1, args.replays + 1)):
        print(f"attach_capture.py: the host function saw {seen}", file=sys.stderr)
        return 1
    print(f"{args.library}: {len(seen)} replays, each seen by the host function in its place: OK")
    return 0


if __name__ == "__main__":
    sys.exit(main())
