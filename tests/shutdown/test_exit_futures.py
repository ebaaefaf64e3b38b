# SPDX-License-Identifier: Apache-2.0
"""Exit with futures in every state: nobody waits for ever, nothing crashes, the exit code stays."""

import pytest

from exiting import ANY, run_exit

FUTURES = """
import asyncio, concurrent.futures as cf
from hostlaunch import submit, work_done

def ended(future):
    say("cancelled" if future.cancelled() else "ended")
"""


def run(code, **kwargs):
    return run_exit(FUTURES + code, **kwargs)


def test_pending_futures_are_cancelled(embedded):
    """contract: P3, X1."""
    result = run(
        """
gate = waiting.Gate()
knobs.set_manual(1)
host_launch(stream, int)
futures = [submit(stream, say, "ran"), work_done(stream)]
for future in futures:
    future.add_done_callback(ended)
def late():
    try:
        futures[0].result()
    except cf.CancelledError:
        say("raised")
    for call in (lambda: submit(stream, int), lambda: work_done(stream)):
        try:
            call()
        except RuntimeError as error:
            say("refused", "exiting" in str(error))
late_calls.append(late)
sys.exit(7)
""",
        timeout_setting=0.2,
        returncode=7,
        drops=3,
    )
    assert sorted(result.lines) == ["cancelled"] * 2 + ["raised"] + ["refused True"] * 2


def test_pending_futures_are_waited_for():
    """contract: X1. What a program has submitted is wanted."""
    result = run(
        """
host_launch(stream, lambda: time.sleep(0.3))
submit(stream, say, "ran")
work_done(stream).add_done_callback(ended)
"""
    )
    assert sorted(result.lines) == ["ended", "ran"]


def test_a_daemon_thread_that_waits_is_told(embedded):
    """contract: P3, X1."""
    result = run(
        """
knobs.set_manual(1)
host_launch(stream, int)
future = work_done(stream)
told = threading.Event()
def waits():
    try:
        future.result()
    except cf.CancelledError:
        say("raised")
    told.set()
threading.Thread(target=waits, daemon=True).start()
waiting.wait_until(lambda: future._condition._waiters)
late_calls.append(lambda: told.wait(10))
""",
        timeout_setting=0.2,
        drops=2,
    )
    assert result.lines == ["raised"]


def test_a_function_that_runs_is_waited_for():
    """contract: X1."""
    result = run(
        """
entered = threading.Event()
def work():
    entered.set()
    time.sleep(0.3)
    say("ran")
future = submit(stream, work)
future.add_done_callback(ended)
assert entered.wait(20)
"""
    )
    assert result.lines == ["ran", "ended"]


def test_a_function_that_outlives_the_wait_is_given_up():
    """contract: X1."""
    result = run(
        """
entered = threading.Event()
def work():
    entered.set()
    time.sleep(20)
    say("ran")
future = submit(stream, work)
assert entered.wait(20)
""",
        timeout_setting=0.2,
        drops=1,
    )
    assert result.stdout == ""


def test_a_function_that_needs_the_main_thread_at_exit_gets_the_gil():
    """contract: X1."""
    result = run(
        """
entered = threading.Event()
def work():
    entered.set()
    for _ in range(50):
        time.sleep(0.001)
        hostlaunch.stats()
    say("ran")
submit(stream, work)
assert entered.wait(20)
"""
    )
    assert result.lines == ["ran"]


@pytest.mark.parametrize("statement", ["", "os._exit(3)", "sys.exit(3)", "raise SystemExit(3)"])
def test_streams_of_futures_until_the_end(statement):
    """contract: X1: threads submit while the interpreter exits."""
    code = 3 if statement else 0
    run(
        f"""
def submits():
    own = hostlaunch.Stream(0)
    try:
        while True:
            submit(own, int)
            work_done(own)
    except RuntimeError:
        pass
for _ in range(3):
    threading.Thread(target=submits, daemon=True).start()
time.sleep(random.random() / 10)
{statement}
""",
        timeout_setting=1,
        returncode=code,
        drops=ANY,
        stderr=None,
    )


def test_an_event_loop_that_is_running_at_exit():
    """contract: X1, P8."""
    run(
        """
def loops():
    async def main():
        own = hostlaunch.Stream(0)
        while True:
            await asyncio.gather(*[work_done(own) for _ in range(10)])
    try:
        asyncio.run(main())
    except RuntimeError:
        pass
threading.Thread(target=loops, daemon=True).start()
time.sleep(random.random() / 10)
""",
        timeout_setting=1,
        drops=ANY,
        stderr=None,
    )


def test_an_idle_pool_does_not_hold_up_the_exit():
    """contract: X1, W4."""
    result = run(
        """
assert submit(stream, int, 5).result(20) == 5
began = time.monotonic()
late_calls.append(lambda: say(time.monotonic() - began < 3))
"""
    )
    assert result.lines == ["True"]
