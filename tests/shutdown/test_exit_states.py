# SPDX-License-Identifier: Apache-2.0
"""A few of the programs that tests/stress/exit_loop.py ends over and over."""

import pytest

import exit_states
import exiting
from child import repeats
from python_build import FREE_THREADED


@pytest.mark.forced_unwinding
@pytest.mark.skipif(
    FREE_THREADED,
    reason="3.13t crashed in 2 of 1,780: a bare thunk makes its thread state while CPython ends",
)
def test_programs_drawn_at_random_end_cleanly(hostfns, driver_in_use):
    """contract: X1, X2. The exit code is kept, nothing is told but what was dropped."""
    first = int(exiting.seed())
    for number in range(repeats(25)):
        program = exit_states.draw(first + number, embedded=driver_in_use.name == "embedded")
        exit_states.run(program)


@pytest.mark.parametrize("ending", exit_states.ENDINGS)
def test_each_ending_is_drawn(ending):
    """The loop leaves none out, nor any state."""
    names = [exit_states.draw(seed, embedded=True).name for seed in range(500)]
    assert any(name.endswith(f"; {ending}") for name in names)


def test_each_state_and_disturbance_is_drawn():
    """As above."""
    names = [exit_states.draw(seed, embedded=True).name for seed in range(500)]
    known = [*exit_states.STATES, *exit_states.ON_EMBEDDED, *exit_states.DISTURBANCES]
    assert [piece for piece in known if not any(piece in name for name in names)] == []
