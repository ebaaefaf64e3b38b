# SPDX-License-Identifier: Apache-2.0
"""What tools read of the functions and classes: signatures, aliases."""

import inspect
import typing
from unittest import mock

import pytest

import hostlaunch
from hostlaunch import Buffer, Event, Graph, GraphBuilder, GraphNode, Stream

CLASSES = [Buffer, Event, Graph, GraphBuilder, GraphNode, Stream]


def names(thing):
    return list(inspect.signature(thing).parameters)


@pytest.mark.parametrize("cls", CLASSES)
def test_each_function_of_a_class_tells_its_signature(cls):
    """contract: section 2. Completion and mocks need it."""
    inspect.signature(cls)
    for name, value in vars(cls).items():
        if callable(value) and not isinstance(value, type):
            assert inspect.signature(value) is not None, name


def test_signatures_are_those_of_the_stub(stream):
    """contract: section 2."""
    signature = inspect.signature(Stream)
    assert names(Stream) == ["device_id", "nonblocking", "priority"]
    assert signature.parameters["nonblocking"].default is True
    assert signature.parameters["priority"].kind is inspect.Parameter.KEYWORD_ONLY
    assert names(Stream.record) == ["self", "event"]
    assert names(stream.record) == ["event"]
    assert inspect.signature(stream.record).return_annotation == "Event"
    assert names(Stream.from_handle) == ["handle"]
    assert inspect.signature(Buffer).parameters["kind"].default == "device"
    assert names(Graph) == []
    assert names(hostlaunch.host_launch) == ["stream", "fn", "user_data"]


def test_an_object_is_not_called(stream):
    """contract: section 2. The signature is the class's."""
    with pytest.raises(TypeError, match="not a callable"):
        inspect.signature(stream)


def test_a_mock_takes_what_the_class_takes():
    """contract: section 2."""
    double = mock.create_autospec(Stream)
    double(0, priority=1).sync()
    with pytest.raises(TypeError):
        double(0, 1)
    assert isinstance(double(), Stream)


def test_other_extensions_keep_theirs():
    """Signatures are given to types of this extension alone, which are made for it."""
    assert type(Stream).__module__ == "nanobind"
    with pytest.raises(TypeError, match="immutable"):
        type(Stream.sync).other = 1


def test_aliases_may_be_used_in_annotations():
    """contract: section 1."""

    def launch(stream: hostlaunch.StreamLike, fn: hostlaunch.HostFunction) -> None:
        pass

    assert set(launch.__annotations__) == {"stream", "fn", "return"}
    assert typing.get_args(hostlaunch.StreamLike)
    assert hostlaunch.StreamLike | None
