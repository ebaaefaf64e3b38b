# SPDX-License-Identifier: Apache-2.0
"""The stub of the extension declares what the extension has, with the same signatures."""

import ast
import inspect
import pathlib

import pytest

import docstrings
import hostlaunch
from hostlaunch import _native

STUB = ast.parse(pathlib.Path(hostlaunch.__file__).with_name("_native.pyi").read_text())
CLASSES = {
    node.name: node
    for node in STUB.body
    if isinstance(node, ast.ClassDef) and "Protocol" not in map(ast.unparse, node.bases)
}
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}


def text_of(definition):
    """Write parameters and result in one form."""
    return f"({ast.unparse(definition.args)}) -> {ast.unparse(definition.returns)}"


def declared_members(node):
    """Map the members that the stub declares for a class to their kind and signature."""
    found = {}
    for member in node.body:
        if not isinstance(member, ast.FunctionDef):
            continue
        decorators = [ast.unparse(decorator) for decorator in member.decorator_list]
        if decorators == ["property"]:
            found[member.name] = ("property", ast.unparse(member.returns))
        else:
            found[member.name] = (*(decorators or ["method"]), text_of(member))
    return found


def native_members(cls):
    """Map the members that a class of the extension has to their kind and signature."""
    found = {}
    for name, value in vars(cls).items():
        if isinstance(value, property):
            ((text, _, _),) = value.fget.__nb_signature__
            found[name] = ("property", text.rpartition(" -> ")[2])
        elif type(value).__name__ in ("nb_func", "nb_method") and name != "__repr__":
            kind = "method" if type(value).__name__ == "nb_method" else "staticmethod"
            found[name] = (kind, text_of(docstrings.signature(value)))
    return found


def test_the_stub_declares_all_classes_and_functions():
    """contract: section 1, 2, 3."""
    native = {name for name in vars(_native) if not name.startswith("_")}
    private = {name for name in FUNCTIONS if name.startswith("_")}
    assert native == (CLASSES.keys() | FUNCTIONS.keys()) - private
    assert all(callable(getattr(_native, name)) for name in private)


@pytest.mark.parametrize("name", CLASSES.keys() - {"Future"})
def test_a_class_has_the_members_and_signatures_that_the_stub_declares(name):
    """contract: section 2, B1."""
    declared, native = declared_members(CLASSES[name]), native_members(getattr(_native, name))
    declared.pop("__buffer__", None)  # Python makes it of the slot, from 3.12 on
    if "__init__" not in declared:
        with pytest.raises(TypeError, match="is made by"):
            getattr(_native, name)()
        del native["__init__"]
    assert native == declared


def without_annotations(given):
    """Write parameters as a function that knows no types tells them."""
    every = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    for parameter in filter(None, every):
        parameter.annotation = None
    return ast.unparse(given)


def test_a_future_has_the_methods_and_parameters_that_the_stub_declares():
    """contract: P3. It is written against the C API, whose functions tell no types."""
    declared = {
        node.name: without_annotations(node.args)
        for node in CLASSES["Future"].body
        if isinstance(node, ast.FunctionDef) and node.name != "__await__"
    }
    native = {
        name: without_annotations(docstrings.signature(value).args)
        for name, value in vars(_native.Future).items()
        if inspect.ismethoddescriptor(value) and not name.startswith("_")
    }
    assert native == declared


def test_a_function_has_the_parameters_that_the_stub_declares():
    """contract: section 1. host_launch itself tells names, kinds and defaults, but no types."""
    for name, declared in FUNCTIONS.items():
        native = docstrings.signature(getattr(_native, name))
        assert ast.unparse(native.args) == without_annotations(declared.args), name


def test_private_functions_return_as_many_values_as_their_readers_take():
    """contract: D2, section 5."""
    for name, taker in (("_driver", hostlaunch.DriverInfo), ("_stats", hostlaunch.Stats)):
        declared = FUNCTIONS[name].returns.slice.elts
        assert len(declared) == len(taker._fields) == len(getattr(_native, name)())
        types = [inspect.get_annotations(taker)[field].__name__ for field in taker._fields]
        assert [ast.unparse(element) for element in declared] == types
