# SPDX-License-Identifier: Apache-2.0
"""The public names with their docstrings, taken apart, and their signatures as syntax."""

import ast
import inspect
import re

import hostlaunch


def public_names():
    """Yield (qualified name, object) for all public names, methods and properties included."""
    for name in hostlaunch.__all__:
        thing = getattr(hostlaunch, name)
        if name in ("__version__", "HostFunction", "StreamLike"):
            continue  # a text, and aliases for annotations
        yield name, thing
        if inspect.isclass(thing) and not issubclass(thing, tuple):
            for member, value in vars(thing).items():
                if not member.startswith("_") or member == "__cuda_stream__":
                    yield f"{name}.{member}", value


def text(thing):
    """Return the docstring; of the extension's functions without the signature before it."""
    function = thing.fget if isinstance(thing, property) else thing
    if not inspect.isclass(thing) and hasattr(function, "__nb_signature__"):
        ((_, written, _),) = function.__nb_signature__
        return written or ""
    return inspect.getdoc(thing) or ""


def section(thing, title):
    """Return the text of a section of the docstring, or None."""
    heading = r"\n\n[A-Z]\w+\n---+\n"
    for part in re.sub(heading, lambda match: "\0" + match[0], text(thing)).split("\0"):
        match = re.match(rf"\n\n{title}\n---+\n", part)
        if match:
            return part[match.end() :]
    return None


def entries(thing, title):
    """List the names that a section of the docstring explains, in order."""
    found = []
    for line in (section(thing, title) or "").splitlines():
        if line and not line.startswith(" "):
            found += line.partition(" : ")[0].split(", ")
    return found


def signature(thing):
    """Return the definition of a function as it would be in a stub, parsed."""
    if hasattr(thing, "__nb_signature__"):
        ((written, _, _),) = thing.__nb_signature__
    else:
        written = f"def {thing.__name__}{inspect.signature(thing)}"
    (definition,) = ast.parse(f"{written}: ...").body
    return definition


def parameters(definition):
    """List the names of the parameters, without self."""
    given = definition.args
    names = [parameter.arg for parameter in given.posonlyargs + given.args]
    names += [f"*{given.vararg.arg}"] if given.vararg else []
    names += [parameter.arg for parameter in given.kwonlyargs]
    names += [f"**{given.kwarg.arg}"] if given.kwarg else []
    return [name for name in names if name != "self"]
