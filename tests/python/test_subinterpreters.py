# SPDX-License-Identifier: Apache-2.0
"""A subinterpreter is refused, and the main one takes no harm from it."""

import pytest

from child import run_python

PRELUDE = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def create(isolated):
    # Python 3.11 has one kind, which shares the GIL; 3.12 asks by a flag, later ones by a name.
    if sys.version_info < (3, 12):
        return interpreters.create()
    if sys.version_info < (3, 13):
        return interpreters.create(isolated=isolated)
    return interpreters.create("isolated" if isolated else "legacy")

IMPORT = '''
try:
    import hostlaunch
except ImportError as error:
    print("refused", error, flush=True)
'''

def sub():
    for isolated in (True, False):
        interpreter = create(isolated)
        for _ in range(2):
            interpreters.run_string(interpreter, IMPORT)
        interpreters.destroy(interpreter)

def main():
    import hostlaunch
    ran = []
    with hostlaunch.Stream(0) as stream:
        buffer = hostlaunch.Buffer(4, kind="pinned")
        buffer.fill(1, stream=stream)
        hostlaunch.host_launch(stream, lambda: ran.append(bytes(buffer)))
        event = stream.record()
        builder = stream.create_graph_builder().begin_building()
        builder.callback(lambda: ran.append("graph"))
        graph = builder.end_building().complete()
        graph.launch(stream)
        event.sync()
        stream.sync()
    print(ran, repr(graph)[:11], flush=True)
"""


@pytest.mark.parametrize("order", ["sub main", "main sub main", "sub main sub main"])
def test_the_import_is_refused_and_the_main_interpreter_goes_on(order):
    """contract: X4. Whichever came first."""
    result = run_python(PRELUDE + "".join(f"{what}()\n" for what in order.split()))
    expected = [what for what in order.split() for _ in range(4 if what == "sub" else 1)]
    assert len(result.lines) == len(expected)
    for what, line in zip(expected, result.lines, strict=True):
        if what == "main":
            assert line == r"[b'\x01\x01\x01\x01', 'graph'] <hostlaunch"
        else:
            assert line.startswith("refused")
            assert "subinterpreters" in line
