# SPDX-License-Identifier: Apache-2.0
"""Random programs over several streams, compared with a model of the order."""

import pytest

import embedded as embedded_driver
import hostlaunch
import waiting
from hostlaunch import host_launch

hypothesis = pytest.importorskip("hypothesis")
st = pytest.importorskip("hypothesis.strategies")

STREAMS = 3

operations = st.lists(
    st.one_of(
        st.tuples(st.just("python"), st.integers(0, STREAMS - 1)),
        st.tuples(st.just("as_is"), st.integers(0, STREAMS - 1)),
        st.tuples(st.just("wait"), st.integers(0, STREAMS - 1), st.integers(0, STREAMS - 1)),
        st.tuples(st.just("sync"), st.integers(0, STREAMS - 1)),
        st.tuples(st.just("renew"), st.integers(0, STREAMS - 1)),
    ),
    max_size=40,
)


class Model:
    """What must have run before what: for each stream the last functions that it is behind."""

    def __init__(self):
        self.behind = [set() for _ in range(STREAMS)]
        self.before = []  # for each function, those that must precede it

    def launch(self, stream):
        """Append a function; its number."""
        number = len(self.before)
        self.before.append(set(self.behind[stream]))
        self.behind[stream].add(number)
        return number

    def wait(self, stream, other):
        """Let one stream wait for what is on another now."""
        self.behind[stream] |= self.behind[other]

    def check(self, ran):
        """Compare with the order in which functions ran."""
        assert sorted(ran) == list(range(len(self.before)))
        position = {number: at for at, number in enumerate(ran)}
        for number, before in enumerate(self.before):
            assert all(position[earlier] < position[number] for earlier in before)


def perform(operation, streams, model, hostfns, retired):
    """Do one operation, and tell the model."""
    kind, at = operation[:2]
    if kind == "python":
        number = model.launch(at)
        host_launch(streams[at], lambda: hostfns.append(number))
    elif kind == "as_is":
        host_launch(streams[at], hostfns.append, user_data=model.launch(at))
    elif kind == "wait":
        streams[at].wait(streams[operation[2]].record())
        model.wait(at, operation[2])
    elif kind == "sync":
        waiting.sync(streams[at])
        ran = set(hostfns.order())
        assert model.behind[at] <= ran
    else:
        retired.append(streams[at])
        streams[at].close()
        streams[at] = hostlaunch.Stream(0)
        model.behind[at] = set()


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_any_program_of_launches_waits_syncs_and_closes_keeps_the_order(
    driver_in_use, hostfns, threads
):
    """contract: O1, O3 and section 2 (closing with functions pending)."""
    if driver_in_use.name == "embedded":
        embedded_driver.knobs().set_threads(threads)
    elif threads:
        pytest.skip("the real driver chooses its threads")

    @hypothesis.settings(max_examples=40, deadline=None, derandomize=True)
    @hypothesis.given(operations)
    def run(program):
        hostfns.reset()
        streams = [hostlaunch.Stream(0) for _ in range(STREAMS)]
        model, retired = Model(), []
        for operation in program:
            perform(operation, streams, model, hostfns, retired)
        waiting.sync(*streams)
        waiting.wait_until(lambda: len(hostfns.order()) == len(model.before))
        model.check(hostfns.order())
        for stream in streams:
            stream.close()

    try:
        run()
    finally:
        if driver_in_use.name == "embedded":
            embedded_driver.knobs().reset()
