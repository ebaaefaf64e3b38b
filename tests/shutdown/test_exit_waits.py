# SPDX-License-Identifier: Apache-2.0
"""Exit with functions that have not started: they run first."""

import pytest

from child import repeats, run_python
from exiting import ENDINGS, WHEN_EXIT_BEGINS, run_exit


def test_the_first_example_prints_every_time():
    """contract: X1."""
    program = (
        "import hostlaunch; s=hostlaunch.Stream(); hostlaunch.host_launch(s, lambda: print('hi'))"
    )
    for _ in range(repeats(10)):
        assert run_python(program).lines == ["hi"]


LAUNCHED = {
    "callable": "host_launch(stream, lambda: say('ran'))",
    "thunk": "keep = CUhostFn(lambda _: say('ran')); host_launch(stream, keep)",
    "unrecognised thunk": "keep = CUhostFn(lambda _: say('ran')); host_launch(stream, bare(keep))",
}


@pytest.mark.parametrize("launched", LAUNCHED)
@pytest.mark.parametrize("ending", ENDINGS)
def test_pending_functions_run_before_the_program_ends(embedded, launched, ending):
    """contract: X1. Nothing moves before launches are refused, and nothing is dropped."""
    statement, code = ENDINGS[ending]
    result = run_exit(
        f"""{WHEN_EXIT_BEGINS}
knobs.set_manual(1)
{LAUNCHED[launched]}
late_calls.append(lambda: say("late", hostlaunch.stats().dropped))
when_exit_begins(lambda: knobs.set_manual(0))
{statement}
""",
        timeout_setting=60,
        returncode=code,
    )
    assert result.lines == ["ran", "late 0"]


def test_pending_compiled_functions_run_before_the_program_ends(embedded, hostfns):
    """contract: X1. As above."""
    result = run_exit(
        f"""{WHEN_EXIT_BEGINS}
knobs.set_manual(1)
for _ in range(50):
    host_launch(stream, compiled.copy64, user_data=bytes([7]) * 64)
late_calls.append(lambda: say(compiled.counter(), hostlaunch.stats().dropped))
when_exit_begins(lambda: knobs.set_manual(0))
""",
        timeout_setting=60,
    )
    assert result.lines == ["50 0"]


def test_what_pending_functions_hold_is_released_after_they_ran(embedded):
    """contract: X1, L1."""
    result = run_exit(
        f"""{WHEN_EXIT_BEGINS}
class Payload:
    def __call__(self):
        say("ran")
    def __del__(self):
        say("released", threading.current_thread() is threading.main_thread())
knobs.set_manual(1)
host_launch(stream, Payload())
when_exit_begins(lambda: knobs.set_manual(0))
""",
        timeout_setting=60,
    )
    assert result.lines == ["ran", "released True"]


@pytest.mark.forced_unwinding
def test_one_stream_that_cannot_move_keeps_no_other_from_running(embedded):
    """contract: X1. Its own functions are dropped when the time is up."""
    result = run_exit(
        """
gate = waiting.Gate()
knobs.set_threads(1)
gate.hold(hostlaunch.Stream(0))
for _ in range(20):
    host_launch(stream, lambda: say("ran"))
""",
        timeout_setting=1,
        drops=1,
    )
    assert result.lines == ["ran"] * 20
