# SPDX-License-Identifier: Apache-2.0
"""A few of the programs that tests/stress/exit_loop.py ends over and over."""

import pytest

import exit_states
import exiting
from child import repeats
from python_build import FREE_THREADED


@pytest.mark.forced_unwinding
def test_programs_drawn_at_random_end_cleanly(hostfns, driver_in_use):
    """contract: X1, X2. The exit code is kept, nothing is told but what was dropped."""
    first = int(exiting.seed())
    for number in range(repeats(25)):
        program = exit_states.draw(
            first + number,
            embedded=driver_in_use.name == "embedded",
            free_threaded=FREE_THREADED,
        )
        exit_states.run(program)


def all_names():
    """What five hundred programs are made of."""
    draw = exit_states.draw
    return [draw(seed, embedded=True, free_threaded=False).name for seed in range(500)]


@pytest.mark.parametrize("ending", exit_states.ENDINGS)
def test_each_ending_is_drawn(ending):
    """The loop leaves none out, nor any state."""
    names = all_names()
    assert any(name.endswith(f"; {ending}") for name in names)


def test_each_state_and_disturbance_is_drawn():
    """As above."""
    names = all_names()
    known = [*exit_states.STATES, *exit_states.ON_EMBEDDED, *exit_states.DISTURBANCES]
    assert [piece for piece in known if not any(piece in name for name in names)] == []


def test_a_driver_call_with_the_gil_is_told_at_exit_too(embedded, hostfns):
    """contract: G1. Without this the other programs would pass whatever they call."""
    code = """
driver = ctypes.PyDLL(embedded.path())

class Bad:
    def __del__(self, call=driver.cuCtxGetCurrent, current=ctypes.byref(ctypes.c_void_p())):
        call(current)

sys.modules["kept"] = Bad()
"""
    result = exiting.run_exit(code, stderr=None)
    assert result.stderr == "a driver call with the GIL held\n"
