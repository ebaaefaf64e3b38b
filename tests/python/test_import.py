# SPDX-License-Identifier: Apache-2.0
"""Importing the package."""

from child import run_python


def test_another_import_under_the_same_process_is_refused_with_the_reason():
    """contract: section 1. The first one goes on."""
    result = run_python("""
import sys
import hostlaunch

stream = hostlaunch.Stream()
kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("hostlaunch")}
for _ in range(2):
    try:
        import hostlaunch as again
    except ImportError as error:
        print(error)
sys.modules.update(kept)
ran = []
hostlaunch.host_launch(stream, lambda: ran.append(1))
stream.sync()
print(ran)
""")
    assert len(result.lines) == 3
    assert "cannot be imported anew: its modules must stay in sys.modules" in result.lines[0]
    assert result.lines[1] == result.lines[0]
    assert result.lines[2] == "[1]"
