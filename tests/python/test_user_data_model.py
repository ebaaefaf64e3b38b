# SPDX-License-Identifier: Apache-2.0
"""Any user_data: what is accepted and what the function then sees, compared with a model."""

import ctypes

import pytest

import waiting
from hostlaunch import host_launch

hypothesis = pytest.importorskip("hypothesis")
st = pytest.importorskip("hypothesis.strategies")

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(0, 2**64 - 1),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=300),
    st.binary(max_size=300).map(bytearray),
    st.tuples(st.binary(max_size=300), st.sampled_from([-3, -1, 1, 2])).map(
        lambda pair: memoryview(pair[0])[:: pair[1]]
    ),
    st.integers(-100, 100).map(ctypes.c_int),
    st.lists(st.integers(0, 255), max_size=3),
)


def expected(data):
    """The exception type, or the pointer, or the bytes."""
    if data is None:
        return 0
    if isinstance(data, bool | float | str | list | ctypes.c_int):
        return TypeError
    if isinstance(data, int):
        return data if 0 <= data < 2**64 else OverflowError
    if isinstance(data, memoryview) and not data.c_contiguous:
        return BufferError
    return bytes(data) or 0


def test_any_data_is_taken_or_refused_by_the_rules(stream, hostfns):
    """contract: U2, U3, U4, F2."""

    @hypothesis.settings(max_examples=150, deadline=None, derandomize=True)
    @hypothesis.given(anything)
    def run(data):
        hostfns.reset()
        wanted = expected(data)
        if isinstance(wanted, type):
            with pytest.raises(wanted):
                host_launch(stream, hostfns.note, user_data=data)
            return
        if isinstance(wanted, int):
            host_launch(stream, hostfns.note, user_data=data)
            stream.sync()
            assert hostfns.library.hf_seen_pointer() == wanted
            return
        payload = len(wanted).to_bytes(8, "little") + wanted
        host_launch(stream, hostfns.sum, user_data=type(data)(payload))
        stream.sync()
        total = 0
        for byte in wanted:
            total = (total * 31 + byte) % 2**64
        assert hostfns.library.hf_seen_sum() == total

    run()
    waiting.sync(stream)
