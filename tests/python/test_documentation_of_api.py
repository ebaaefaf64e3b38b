# SPDX-License-Identifier: Apache-2.0
"""Docstrings say what the public names take and raise, and their examples are true."""

import asyncio
import contextlib
import doctest
import inspect
import io
import warnings

import pytest

import docstrings
import hostlaunch

PUBLIC = dict(docstrings.public_names())
CLASSES = [name for name, thing in PUBLIC.items() if inspect.isclass(thing)]
FUNCTIONS = [name for name, thing in PUBLIC.items() if "." not in name and name not in CLASSES]

ONLY_READS = "tells what it keeps, without the driver"
NOT_CALLED = "users do not make them; what makes them says what it raises"
CLOSES = "closing never fails"
RAISES_NOTHING = {
    "CUDAError": NOT_CALLED,
    "DriverInfo": NOT_CALLED,
    "EmbeddedDriverWarning": NOT_CALLED,
    "Event": NOT_CALLED,
    "Future": NOT_CALLED,
    "Graph": NOT_CALLED,
    "GraphBuilder": NOT_CALLED,
    "GraphNode": NOT_CALLED,
    "PendingTask": NOT_CALLED,
    "Stats": NOT_CALLED,
    "Buffer.close": CLOSES,
    "Event.close": CLOSES,
    "Graph.close": CLOSES,
    "GraphBuilder.close": CLOSES,
    "Stream.close": CLOSES,
    "Buffer.handle": ONLY_READS,
    "Buffer.is_closed": ONLY_READS,
    "Buffer.nbytes": ONLY_READS,
    "Event.handle": ONLY_READS,
    "Event.is_closed": ONLY_READS,
    "Future.cancel": "what callbacks raise is logged",
    "Future.cancelled": ONLY_READS,
    "Future.done": ONLY_READS,
    "Future.running": ONLY_READS,
    "Graph.handle": ONLY_READS,
    "Graph.is_closed": ONLY_READS,
    "GraphBuilder.__cuda_stream__": ONLY_READS,
    "GraphBuilder.is_closed": ONLY_READS,
    "GraphBuilder.stream": ONLY_READS,
    "Stream.__cuda_stream__": ONLY_READS,
    "Stream.handle": ONLY_READS,
    "Stream.is_closed": ONLY_READS,
    "named.fn": ONLY_READS,
    "named.name": ONLY_READS,
    "pending": ONLY_READS,
    "stats": ONLY_READS,
}


@pytest.mark.parametrize("name", PUBLIC)
def test_each_public_name_has_a_docstring(name):
    """contract: section 1, 2, 3."""
    text = docstrings.text(PUBLIC[name])
    assert text
    # What a base has is not one of its own.
    assert text not in (inspect.getdoc(base) for base in (object, tuple, RuntimeError, UserWarning))


@pytest.mark.parametrize("name", PUBLIC)
def test_a_docstring_says_what_is_raised(name):
    """contract: section 1, 2, 3. The rest is listed with its reason."""
    assert bool(docstrings.entries(PUBLIC[name], "Raises")) == (name not in RAISES_NOTHING)


def test_what_is_said_to_raise_nothing_exists():
    assert set(RAISES_NOTHING) <= set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_docstring_explains_each_parameter(name):
    """contract: section 1, 2, 3. In the order of the signature."""
    thing = PUBLIC[name]
    taken = []
    if isinstance(thing, type) and name not in RAISES_NOTHING:
        taken = docstrings.parameters(docstrings.signature(thing.__init__))
    elif not isinstance(thing, type | property):
        taken = docstrings.parameters(docstrings.signature(thing))
    assert docstrings.entries(thing, "Parameters") == taken


@pytest.mark.parametrize("thing", [hostlaunch.DriverInfo, hostlaunch.Stats])
def test_the_docstring_of_a_tuple_explains_each_field(thing):
    """contract: D2, section 5."""
    assert docstrings.entries(thing, "Attributes") == list(thing._fields)


@pytest.mark.parametrize("name", CLASSES + FUNCTIONS)
def test_each_class_and_function_has_an_example(name):
    assert docstrings.section(PUBLIC[name], "Examples")


def examples_of(name):
    """List the examples of a docstring; of the package if the name is empty."""
    text = docstrings.text(PUBLIC[name] if name else hostlaunch)
    return doctest.DocTestParser().get_examples(text)


def run(examples, names):
    """Run the examples one after the other and return what they print, on whichever thread."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        for example in examples:
            exec(compile(example.source, "<example>", "single"), names)
    return printed.getvalue()


@pytest.mark.parametrize("name", ["", *(name for name in PUBLIC if examples_of(name))])
def test_an_example_prints_what_it_says(driver_in_use, make_stream, tmp_path, monkeypatch, name):
    """contract: section 1, 2, 3, 9."""
    monkeypatch.chdir(tmp_path)  # some write files
    examples = examples_of(name)
    source = "".join(example.source for example in examples)
    expected = "".join(example.want for example in examples)
    if "torch" in source:
        pytest.skip("needs PyTorch")
    if "embedded" in expected and driver_in_use.name != "embedded":
        pytest.skip("speaks of the embedded driver")
    names = dict.fromkeys(("work", "step", "log_step", "log_last_step"), int)
    names |= {"hostlaunch": hostlaunch, "asyncio": asyncio, "stream": make_stream(0)}
    names["future"] = hostlaunch.submit(names["stream"], sum, [1, 2, 3])
    names["future"].result(20)
    names["builder"] = make_stream(0).create_graph_builder().begin_building()
    try:
        assert run(examples, names) == expected
    finally:
        for thing in names.values():
            if isinstance(thing, hostlaunch.GraphBuilder):
                thing.close()  # an example may end while it builds
