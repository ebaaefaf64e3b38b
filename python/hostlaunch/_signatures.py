# SPDX-License-Identifier: Apache-2.0
"""What `inspect.signature` tells of the extension: read from its own words, when somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hostlaunch import _native

if TYPE_CHECKING:
    import inspect


def _parameters(written: str) -> inspect.Signature:
    # Imported here: programs that never ask need neither.
    import ast
    import inspect

    (function,) = ast.parse(f"{written}: ...").body
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    kinds = inspect.Parameter
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + [*given.defaults, *given.kw_defaults]
    found = []
    for argument, default in zip([*plain, *given.kwonlyargs], defaults, strict=True):
        kind = (
            kinds.POSITIONAL_ONLY
            if argument in given.posonlyargs
            else (kinds.POSITIONAL_OR_KEYWORD if argument in plain else kinds.KEYWORD_ONLY)
        )
        value = kinds.empty if default is None else ast.literal_eval(default)
        meant = ast.unparse(argument.annotation) if argument.annotation else kinds.empty
        found.append(kinds(argument.arg, kind, default=value, annotation=meant))
    result = ast.unparse(function.returns) if function.returns else inspect.Signature.empty
    return inspect.Signature(found, return_annotation=result)


def of_function(function: Any) -> inspect.Signature:
    """Read the signature of a function or method of the extension."""
    ((written, _, _),) = function.__nb_signature__
    return _parameters(written)


def of_bound_method(method: Any) -> inspect.Signature:
    """Read the signature of a method without `self`, which is bound."""
    signature = of_function(method)
    return signature.replace(parameters=list(signature.parameters.values())[1:])


class OfClass:
    """The attribute ``__signature__`` of a class, which its objects do not have."""

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        """Read it from the method that makes the objects."""
        if instance is not None:
            raise AttributeError("__signature__")
        return of_bound_method(vars(owner)["__init__"]).replace(
            return_annotation=_parameters("def f()").return_annotation
        )


def install(*classes: Any) -> None:
    """Give functions, methods and classes of the extension their ``__signature__``."""
    stream = _native.Stream.from_handle(0)
    _native._set_signatures(
        _native._stats, _native.Stream.sync, stream.sync, of_function, of_bound_method
    )
    for cls in classes:
        cls.__signature__ = OfClass()
