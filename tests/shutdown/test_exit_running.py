# SPDX-License-Identifier: Apache-2.0
"""Exit while functions run: they are waited for without the GIL, and not for ever."""

import pytest

from exiting import ANY, WHEN_EXIT_BEGINS, run_exit

START = f"""{WHEN_EXIT_BEGINS}
started = threading.Event()
def tell_a_long_wait():
    # Less than the 5 s that are waited where no other limit is set.
    when_exit_begins(lambda: (time.sleep(3.5), say("still waiting")))
"""

# Ways to launch a Python function called body.
KINDS = {
    "callable": "host_launch(stream, body)",
    "thunk": "thunk = CUhostFn(lambda pointer: body()); host_launch(stream, thunk)",
    "unrecognised thunk": (
        "thunk = CUhostFn(lambda pointer: body()); host_launch(stream, bare(thunk))"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("busy", [False, True])
def test_a_running_function_is_waited_for(kind, busy):
    """contract: X1. It needs the GIL all the while."""
    result = run_exit(f"""{START}
def body():
    started.set()
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        time.sleep(0 if {busy} else 0.4)
    say("finished")
{KINDS[kind]}
started.wait()
late_calls.append(lambda: say("late"))
""")
    assert result.lines == ["finished", "late"]


def test_functions_behind_the_running_one_run_too():
    """contract: X1."""
    result = run_exit(f"""{START}
def body():
    started.set()
    time.sleep(0.3)
    say("finished")
host_launch(stream, body)
started.wait()
for _ in range(10):
    host_launch(stream, lambda: say("ran"))
""")
    assert result.lines == ["finished"] + ["ran"] * 10


STUCK = {
    "asleep": "time.sleep(100)",
    "busy": "while True: pass",
    "on a lock that main holds": "lock.acquire()",
    "on an event": "threading.Event().wait()",
}


@pytest.mark.forced_unwinding
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stuck", STUCK)
def test_a_function_that_outlives_the_wait_does_not_hold_the_exit(kind, stuck):
    """contract: X1 (a setting)."""
    result = run_exit(
        f"""{START}
lock = threading.Lock()
lock.acquire()
def body():
    started.set()
    {STUCK[stuck]}
{KINDS[kind]}
started.wait()
for _ in range(10):
    host_launch(stream, lambda: say("ran"))
tell_a_long_wait()
sys.exit(5)
""",
        timeout_setting=0.3,
        drops=ANY,
        returncode=5,
    )
    assert result.stdout == ""


@pytest.mark.forced_unwinding
def test_a_function_that_outlives_the_wait_counts_as_dropped():
    """contract: X1."""
    result = run_exit(
        f"""{START}
def body():
    started.set()
    time.sleep(100)
host_launch(stream, body)
started.wait()
late_calls.append(lambda: say(hostlaunch.stats().dropped, waiting.adds_up(hostlaunch.stats())))
""",
        timeout_setting=0.2,
        drops=1,
    )
    assert result.lines == ["1 True"]


@pytest.mark.forced_unwinding
def test_a_function_that_ends_after_the_wait_parks_its_thread(embedded):
    """contract: X1. It returns to Python, which is ending or gone."""
    for delay in (0.1, 0.15, 0.2):
        run_exit(
            f"""{START}
def body():
    started.set()
    time.sleep({delay})
for each in [hostlaunch.Stream(0) for _ in range(4)]:
    host_launch(each, body)
started.wait()
""",
            timeout_setting=0.1,
            drops=ANY,
        )


def test_many_unrecognised_thunks_outlive_the_wait(embedded):
    """contract: X1, F2. They attach by themselves, before and after the end."""
    for mode in (0, 1, 2):
        run_exit(
            f"""{START}
knobs.set_threads({mode})
def body(pointer):
    started.set()
    time.sleep(0.002)
thunk = CUhostFn(body)
unrecognised = bare(thunk)
for each in [hostlaunch.Stream(0) for _ in range(4)]:
    for _ in range(200):
        host_launch(each, unrecognised)
started.wait()
""",
            timeout_setting=0.1,
            drops=ANY,
        )


PENDING_THUNK = f"""{START}
knobs.set_manual(1)
thunk = CUhostFn(lambda pointer: say("ran"))
host_launch(stream, bare(thunk))
late_calls.append(lambda: say("late"))
"""


def test_pending_thunks_that_are_not_recognised_are_waited_for(embedded):
    """contract: X1, F2."""
    result = run_exit(
        f"""{PENDING_THUNK}
when_exit_begins(lambda: (time.sleep(0.3), knobs.set_manual(0)))
""",
        timeout_setting=60,
    )
    assert result.lines == ["ran", "late"]


def test_pending_thunks_that_are_not_recognised_do_not_hold_the_exit(embedded):
    """contract: X1, F2."""
    result = run_exit(f"{PENDING_THUNK}tell_a_long_wait()", timeout_setting=0.3, drops=ANY)
    assert result.lines == ["late"]


def test_running_compiled_code_does_not_hold_the_exit(hostfns):
    """contract: X1. It is waited for as Python code is, and not for longer."""
    run_exit(
        """
host_launch(stream, compiled.block)
host_launch(stream, compiled.count, user_data=b"x")
assert compiled.library.hf_wait_blocked(20000)
""",
        timeout_setting=0.3,
        drops=2,
    )


@pytest.mark.parametrize("error", ["SystemExit(9)", "KeyboardInterrupt()", "ValueError('mine')"])
def test_what_a_function_raises_during_the_exit_does_not_change_its_code(error):
    """contract: X1, E1."""
    result = run_exit(
        f"""{START}
def body():
    started.set()
    time.sleep(0.2)
    raise {error}
host_launch(stream, body)
started.wait()
sys.exit(4)
""",
        returncode=4,
        stderr=None,
    )
    assert "Exception ignored in" in result.stderr


def test_sys_exit_inside_a_function_ends_nothing():
    """contract: E1, X1."""
    result = run_exit(
        """
host_launch(stream, lambda: sys.exit(9))
stream.sync()
host_launch(stream, lambda: say("next"))
stream.sync()
""",
        stderr=None,
    )
    assert result.lines == ["next"]
    assert "SystemExit" in result.stderr


SIGNALLED = f"""{START}
def body():
    started.set()
    time.sleep(100)
host_launch(stream, body)
started.wait()
"""


@pytest.mark.forced_unwinding
def test_ctrl_c_ends_the_wait():
    """contract: X1. Somebody who cannot wait is not made to wait."""
    run_exit(
        f"""{SIGNALLED}
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
when_exit_begins(lambda: os.kill(os.getpid(), signal.SIGINT))
sys.exit(3)
""",
        timeout_setting=90,
        timeout=30,
        drops=ANY,
        returncode=3,
    )


@pytest.mark.forced_unwinding
@pytest.mark.parametrize("error", ["LookupError", "SystemExit"])
def test_what_a_signal_handler_raises_during_the_wait_ends_it_and_is_told(error):
    """contract: X1. The exit code is kept."""
    result = run_exit(
        f"""{SIGNALLED}
def handler(*_):
    raise {error}(9)
signal.signal(signal.SIGTERM, handler)
when_exit_begins(lambda: os.kill(os.getpid(), signal.SIGTERM))
sys.exit(3)
""",
        timeout_setting=90,
        timeout=30,
        drops=ANY,
        returncode=3,
        stderr=None,
    )
    assert result.stderr.startswith("Exception ignored in")
    assert result.stderr.splitlines()[-1] == f"{error}: 9"


def test_a_hook_that_is_slow_at_exit_is_waited_for(embedded):
    """contract: X1, E1."""
    result = run_exit(f"""{START}
def hook(unraisable):
    started.set()
    time.sleep(0.3)
    say("reported")
sys.unraisablehook = hook
def body():
    raise ValueError
host_launch(stream, body)
started.wait()
""")
    assert result.lines == ["reported"]


@pytest.mark.parametrize("value", ["0", "0.0", "1e-3"])
def test_the_wait_can_be_switched_off(value):
    """contract: X1 (a setting)."""
    result = run_exit(
        f"""{START}
def body():
    started.set()
    time.sleep(3)
    say("waited for")
host_launch(stream, body)
started.wait()
""",
        timeout_setting=value,
        drops=1,
    )
    assert result.stdout == ""
