# SPDX-License-Identifier: Apache-2.0
"""Calls of the driver fail at random, those of the library's own thread too: all adds up still."""

import contextlib
import pathlib
import random
import re

import pytest

import cudriver
import exiting
import hostlaunch
import waiting
from child import repeats
from hostlaunch import Buffer, Stream, host_launch
from probes import Probe

ENTRY = re.compile(r"^HOSTLAUNCH_DRIVER_ENTRY\(\w+, (\w+),", re.MULTILINE)
LIST = pathlib.Path(__file__).parents[2] / "src/driver/entries.def"
# Where one of these fails, the driver keeps a graph, and with it what the graph holds.
KEEPS = {"cuGraphDestroy", "cuGraphExecDestroy", "cuUserObjectRelease", "cuStreamEndCapture"}
# Errors of a call, of the context and of a capture, and two answers that mean something else.
CODES = [1, 2, 4, 201, 400, 600, 700, 709, 719, 800, 801, 900, 901, 999, 54321]


class Program:
    """Operations of all kinds on a few streams, any of which may fail."""

    def __init__(self, rng, hostfns):
        self.rng, self.hostfns = rng, hostfns
        self.streams = [Stream(0), Stream(1), Stream(0, nonblocking=False)]
        self.deaths, self.made, self.accepted = [], 0, 0

    def probe(self):
        """Make a function whose end is counted."""
        self.made += 1
        return Probe(self.deaths)

    def launch(self, stream):
        """Launch a Python function."""
        host_launch(stream, self.probe())
        self.accepted += 1

    def launch_compiled(self, stream):
        """Launch a compiled one."""
        host_launch(stream, self.hostfns.copy64, user_data=bytes(64))
        self.accepted += 1

    def launch_graph(self, stream):
        """Build and launch a graph of one function; all of it is closed."""
        with contextlib.ExitStack() as stack:
            builder = stream.create_graph_builder()
            stack.callback(builder.close)
            builder.begin_building().callback(self.probe())
            graph = builder.end_building().complete()
            stack.callback(graph.close)
            graph.launch(stream)

    def order(self, stream):
        """Let another stream wait, by an event and directly."""
        other = self.rng.choice(self.streams)
        event = stream.record()
        other.wait(event)
        other.wait(stream)
        event.close()

    def fill(self, stream):
        """Work on memory that is freed at once, of whichever device."""
        memory = Buffer(64, device_id=self.rng.randrange(2))
        memory.fill(1, stream=stream)

    def step(self):
        """Do one of these; a refusal is no news."""
        operations = (
            *(self.launch,) * 3,
            self.launch_compiled,
            self.launch_graph,
            self.order,
            self.fill,
            waiting.sync,
        )
        with contextlib.suppress(RuntimeError):
            self.rng.choice(operations)(self.rng.choice(self.streams))


def run(seed, embedded, hostfns):
    """One program; the launches of it are counted at its end."""
    driver = cudriver.handle()
    rng = random.Random(seed)
    entries = sorted(set(ENTRY.findall(LIST.read_text())) - KEEPS)
    program, before = Program(rng, hostfns), hostlaunch.stats()
    for _ in range(60):
        if rng.random() < 0.6:
            embedded.fail(rng.choice(entries), rng.choice(CODES), rng.randrange(1, 6))
        program.step()
    embedded.reset()
    driver.exchange_capture_mode(cudriver.GLOBAL)
    driver.set_current(None)
    for stream in program.streams:
        stream.close()
    assert embedded.wait_idle()
    waiting.wait_until(lambda: len(program.deaths) >= program.made, 20)
    waiting.wait_until(waiting.is_quiet, 20)
    after = hostlaunch.stats()
    assert len(program.deaths) == program.made
    assert after.accepted - before.accepted == program.accepted
    assert waiting.adds_up(after)


def test_each_launch_has_one_outcome_and_each_payload_one_end(embedded, hostfns, cu):
    """contract: section 5, L1, L3, B2, B5."""
    first = int(exiting.seed())
    for seed in range(first, first + repeats(20)):
        try:
            run(seed, embedded, hostfns)
        except BaseException as error:
            error.add_note(f"seed {seed}: HOSTLAUNCH_TEST_SEED={seed} runs it again")
            raise


@pytest.mark.parametrize("entry", sorted(KEEPS))
def test_the_entries_left_out_are_in_the_list(entry):
    """Else nothing would be left out."""
    assert entry in ENTRY.findall(LIST.read_text())
